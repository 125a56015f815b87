"""The tiles of a layer that runs block by block in a group of layers, and what their copies cost.

Before:  3 x 3 convolution whose rows advance with its group's loop, 4 rows at a time; x at home in sram
After:   x: a tile of 6 rows, of which two stay from block to block; weights: one tile, loaded once
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import Index
from tilewright.tiling.cost import load_cycles
from tilewright.tiling.footprint import moved_elements, tile_bytes
from tilewright.tiling.kept import kept_dimension
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem
from tilewright.tiling.tile_choice import TileChoice


@dataclass(frozen=True, slots=True)
class BlockCopies:
    """The copies of one operand in a group: bytes of its tile, bytes moved, and cycles for which the core waits."""

    tile_bytes: int
    moved_bytes: int
    cycles: float


def may_run_in_blocks(problem: TilingProblem) -> bool:
    """Whether the tiles of a layer in a group may travel: over links of single bytes.

    Tiles, slots and a level that the user gives are those of a layer alone. Operands far from the core do not travel
    in groups; whether one does is not known here, since rows between stages stay near the core.
    """
    given = problem.has_given_tiles or problem.level
    links = [operand.link for operand in problem.operands if operand.link is not None]
    is_plain = all(link.align_bytes == link.round_up_bytes == 1 for link in links)
    return not given and is_plain


def copies_of(problem: TilingProblem, position: int, blocks: Index) -> BlockCopies:
    """The copies of operand ``position``, which travels, for a layer that makes ``blocks``."""
    # Groups of many lengths have the same layer in the same blocks.
    key = (position, blocks)
    if key not in problem.known_copies:
        problem.known_copies[key] = _copies_of(problem, problem.operands[position], blocks)
    return BlockCopies(*problem.known_copies[key])


def _copies_of(problem: TilingProblem, operand: TileOperand, blocks: Index) -> tuple[int, int, float]:
    steps, order = _steps(problem, blocks)
    kept = kept_dimension(problem, operand, steps, order)
    shapes = {name: np.asarray(step, dtype=np.int64) for name, step in steps.items()}
    moved = moved_elements(operand, steps, problem.extents, kept, blocks.shift) * operand.element_bytes
    times = blocks.count if blocks.name in operand.dimensions else 1
    assert operand.link is not None
    cycles = times * float(load_cycles(operand, shapes)) + moved / operand.link.bytes_per_cycle
    return int(tile_bytes(operand, shapes)), moved, cycles


def in_blocks(problem: TilingProblem, choice: TileChoice, blocks: Index, cycles: float, scratch: int) -> TileChoice:
    """``choice`` for a layer that makes ``blocks`` in a group.

    Args:
        cycles: of all calls of the kernel.
        scratch: bytes of the kernel's scratch.
    """
    steps, order = _steps(problem, blocks)
    near = {problem.scratch_pool: scratch} if scratch else {}
    kept = [kept_dimension(problem, operand, steps, order) for operand in problem.operands]
    for position, operand in enumerate(problem.operands):
        if operand.link is None:
            continue
        copies = copies_of(problem, position, blocks)
        near[operand.near] = near.get(operand.near, 0) + copies.tile_bytes
        cycles += copies.cycles
    return replace(
        choice,
        steps=steps,
        order=order,
        copies=tuple(int(operand.link is not None) for operand in problem.operands),
        near_bytes=near,
        predicted_cycles=round(cycles),
        stagings=(),
        kept=tuple(kept) if any(kept) else (),
        shift=blocks.shift,
    )


def _steps(problem: TilingProblem, blocks: Index) -> tuple[dict[str, int], tuple[str, ...]]:
    steps = {**problem.extents, blocks.name: min(blocks.step, blocks.extent)}
    return steps, (blocks.name,) if blocks.count > 1 else ()
