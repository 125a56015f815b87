"""Predicted cycles of all kernel calls of a layer, with what a ring of rows costs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.tiling.core_split import CoreSplit
from tilewright.tiling.kept import ring_place
from tilewright.tiling.problem import TilingProblem, tile_lengths


def cycles_of_calls(
    problem: TilingProblem, steps: Mapping[str, int], core_split: CoreSplit | None, ring: int | None = None
) -> float:
    """Kernel cycles of all calls; the last tile of a dimension may be shorter. ``ring`` is as for ``kernel_cycles``."""
    tiles = tile_lengths(problem, steps)
    calls = sum(problem.kernel_cycles(lengths, core_split, ring) * times for lengths, times in tiles)
    return calls + problem.costs.kernel(problem.kernel.name).first_cycles


def slowing_ring(problem: TilingProblem, steps: Mapping[str, int], kept: Sequence[str]) -> int | None:
    """The axis of the first operand's view along which its tile is a ring that costs the kernel time; None for none.

    ``kept`` has for each operand the dimension along which it keeps rows, or nothing where none does.
    """
    ring = ring_place(problem, kept[0]) if kept else None
    return ring if ring is not None and problem.kernel.parts(steps, ring).ring > 0.0 else None
