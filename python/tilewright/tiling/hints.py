"""Soft preferences for tiles that fill the hardware: whole SIMD words, and work for every core.

Before:  24 int8 channels in tiles of 6, on SIMD words of 4 bytes: 2 words for 6 elements, 2 of 8 lanes idle
After:   tiles of 8 channels, if they cost nearly the same
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.kernels.kernel import TileSteps
from tilewright.tiling.core_split import CoreSplit
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem

IDLE_SHARE = 0.04
"""The share by which all idle lanes (or all idle cores) raise the cost of tiles; half of them raise it by half."""


def idle_factor(problem: TilingProblem, steps: TileSteps, idle_cores: float) -> float:
    """The factor, at least 1, by which idle lanes and cores raise the cost of tiles of nearly the same cost."""
    return 1.0 + IDLE_SHARE * (idle_lanes(problem, steps) + idle_cores)


def idle_lanes(problem: TilingProblem, steps: TileSteps) -> float:
    """The share (0 to 1) of SIMD lanes that idle because of the tiles' edges, of the operand with the largest share."""
    return max((_idle(problem.extents[name], steps[name], lanes) for name, lanes in _lines(problem)), default=0.0)


def idle_cores(problem: TilingProblem, steps: TileSteps, core_split: CoreSplit | None) -> float:
    """The share (0 to 1) of the cores' time without work while tiles are computed."""
    if problem.cores == 1:
        return 0.0
    if core_split is None:
        return 1.0 - 1.0 / problem.cores
    extent, step = problem.extents[core_split.dimension], steps[core_split.dimension]
    whole, rest = divmod(extent, step)
    slowest = whole * min(core_split.chunk, step) + min(core_split.chunk, rest)
    return 1.0 - extent / (problem.cores * slowest)


def _idle(extent: int, step: int, lanes: int) -> float:
    whole, rest = divmod(extent, step)
    words = whole * -(-step // lanes) + -(-rest // lanes)
    return 1.0 - -(-extent // lanes) / words


def _lines(problem: TilingProblem) -> Iterator[tuple[str, int]]:
    """Dimensions along which the elements of a tensor are neighbours in memory, with the lanes of a word."""
    extents = problem.extents
    for operand in problem.operands:
        lanes = problem.simd_bytes // operand.element_bytes
        name = _neighbours(operand, extents) if lanes > 1 and operand.data is None else ""
        if name:
            yield name, lanes


def _neighbours(operand: TileOperand, extents: Mapping[str, int]) -> str:
    """The dimension that moves by one element in memory; empty if none does."""
    if not operand.order:
        return ""
    axis = operand.axes[operand.order[-1]]
    return next((name for name, stride in axis.terms if stride == axis.divisor == 1 and extents[name] > 1), "")
