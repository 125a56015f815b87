"""How several cores share one kernel call: a dimension, and how much of it each core gets.

Before:  a tile of 25 rows, 5 columns and 64 channels on 8 cores
After:   8 channels for each core, since a split by rows gives six cores 4 rows, the seventh 1 row and the
         eighth none; for an elementwise kernel 4 rows, since 8 channels would make its inner loops 8 elements long
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tilewright.base.lazy_dataclass import dataclass
from tilewright.kernels.kernel import KernelChoice, TileSteps
from tilewright.operators.nest import AxisMap, Iteration, axis_range, is_exact, tile_extent
from tilewright.tiling.operand import TileOperand

FORK_CYCLES = 300
"""Cycles of fork, of the cores' views of the operands, and of join; measured on pulp-open."""

ROW_CYCLES = 80.0
"""Cycles of an elementwise kernel for each row of adjacent elements, beside the cycles for the elements."""

SHAPE_BYTES = 80
VIEW_POINTERS = 2
"""Bytes of a shape, and pointers in a view, as runtime/include/tilewright/runtime.h declares both."""

MOST_CORES = 32


@dataclass(frozen=True, slots=True)
class CoreSplit:
    """Core c works on elements [c * chunk, (c + 1) * chunk) of the tile's part of ``dimension``."""

    dimension: str
    chunk: int
    cores: int

    def part(self, steps: TileSteps) -> dict[str, int]:
        """The steps of the largest part of a tile with these steps."""
        return {**steps, self.dimension: min(self.chunk, steps[self.dimension])}


def best_core_split(
    kernel: KernelChoice,
    operands: Sequence[TileOperand],
    steps: TileSteps,
    cores: int,
    fork_cycles: float = FORK_CYCLES,
) -> CoreSplit | None:
    """The split of a tile whose slowest core needs the fewest cycles; None if one core alone is as fast."""
    if cores == 1:
        return None
    best: CoreSplit | None = None
    least = kernel.cycles(steps) + _rows_cycles(kernel, operands, steps, steps) - fork_cycles
    for dimension in kernel.nest.dimensions:
        step = steps[dimension.name]
        if dimension.iteration is not Iteration.PARALLEL or dimension.name in kernel.uncut or step == 1:
            continue
        multiple = kernel.multiples.get(dimension.name, 1)
        chunk = -(-step // (multiple * min(cores, MOST_CORES))) * multiple
        core_split = CoreSplit(dimension.name, chunk, -(-step // chunk))
        if core_split.cores == 1 or not _can_share(kernel, operands, steps, core_split):
            continue
        part = core_split.part(steps)
        cycles = kernel.cycles(part) + _rows_cycles(kernel, operands, steps, part)
        if cycles < least:
            best, least = core_split, cycles
    return best


def views_bytes(operands: Sequence[TileOperand], scratches: int, dimension: str, pointer_bytes: int) -> int:
    """Bytes of one core's views of a kernel's operands, and of its own shapes of the operands that are split."""
    shapes = sum(_has_shape(operand) for operand in operands if follows(operand, dimension))
    return pointer_bytes * VIEW_POINTERS * (len(operands) + scratches) + SHAPE_BYTES * shapes


def _has_shape(operand: TileOperand) -> bool:
    """Whether kernels may see the operand with a shape: tiles of packed constants have none."""
    return operand.tensor is not None or operand.link is None


def follows(operand: TileOperand, dimension: str) -> bool:
    """Whether the operand's rectangle moves with the dimension."""
    return dimension in operand.dimensions


def _rows_cycles(kernel: KernelChoice, operands: Sequence[TileOperand], steps: TileSteps, part: TileSteps) -> float:
    """Cycles for the starts of rows where an elementwise kernel works on ``part`` of a tile.

    0 for a kernel with a dimension that is not parallel: its sums outweigh the starts of its rows.
    """
    if any(dimension.iteration is not Iteration.PARALLEL for dimension in kernel.nest.dimensions):
        return 0.0
    rows = 0
    for operand in operands:
        if not operand.write:
            continue
        lengths = [_length(axis, extent, part) for axis, extent in zip(operand.axes, operand.extents, strict=True)]
        adjacent = 1
        for number in reversed(operand.order):
            adjacent *= lengths[number]
            if lengths[number] < _length(operand.axes[number], operand.extents[number], steps):
                break
        rows += -(-prod(lengths) // max(adjacent, 1))
    return ROW_CYCLES * rows


def _length(axis: AxisMap, extent: int, steps: TileSteps) -> int:
    return tile_extent(axis_range(axis, extent, {}), steps)


def _can_share(kernel: KernelChoice, operands: Sequence[TileOperand], steps: TileSteps, core_split: CoreSplit) -> bool:
    """Whether cores write disjoint parts of all results, and no cut dimension moves an axis that the split moves."""
    extents = {dimension.name: dimension.extent for dimension in kernel.nest.dimensions}
    for operand in operands:
        following = [axis for axis in operand.axes if core_split.dimension in dict(axis.terms)]
        if operand.write and len(following) != 1:
            return False
        for axis, extent in zip(operand.axes, operand.extents, strict=True):
            names = [name for name, _ in axis.terms]
            if core_split.dimension not in names:
                continue
            if any(steps[name] < extents[name] for name in names if name != core_split.dimension):
                return False
            if operand.write and not _is_exact(axis, extent, extents, core_split):
                return False
    return True


def _is_exact(axis: AxisMap, extent: int, extents: Mapping[str, int], core_split: CoreSplit) -> bool:
    steps = {**extents, core_split.dimension: core_split.chunk}
    return is_exact(axis_range(axis, extent, {}), steps)
