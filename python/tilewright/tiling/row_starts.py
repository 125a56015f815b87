"""Rows of adjacent elements, one by one of which an elementwise kernel walks over its operands.

Before:  y = x + z on [16, 8, 32], a tile of 11 of 32 channels; x lies whole near the core, z and y travel in tiles
After:   128 rows of 11 elements, since x has 21 others between two rows; of packed tiles alone one row of 1,408

runtime/kernels/walk.c merges axes in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tilewright.graph import packed_strides_bytes
from tilewright.kernels.kernel import KernelChoice, TileSteps
from tilewright.operators.nest import axis_range, tile_extent
from tilewright.plan import WriteOrder
from tilewright.tiling.operand import TileOperand


def walks_rows(kernel: KernelChoice) -> bool:
    """Whether the kernel is elementwise: work on windows and sums outweighs the starts of rows."""
    return kernel.stores.order is WriteOrder.ELEMENTWISE


def further_rows(kernel: KernelChoice, operands: Sequence[TileOperand], part: TileSteps, steps: TileSteps) -> int:
    """Rows beyond the first of one call on ``part`` of a tile of ``steps``; 0 for kernels that are not elementwise."""
    if not walks_rows(kernel):
        return 0
    strides = [_strides(operand, steps) for operand in operands if operand.tensor is not None]
    walked = [dimension.name for dimension in kernel.nest.dimensions if part[dimension.name] > 1]
    walked.sort(key=lambda name: strides[-1].get(name, 0))
    lengths: list[int] = []
    last: str | None = None
    for name in walked:
        if last is not None and all(_goes_on(stride, last, lengths[-1], name) for stride in strides):
            lengths[-1] *= part[name]
            continue
        lengths.append(part[name])
        last = name
    return prod(lengths[1:]) - 1


def _goes_on(strides: Mapping[str, int], inner: str, length: int, outer: str) -> bool:
    return strides.get(outer, 0) == strides.get(inner, 0) * length


def _strides(operand: TileOperand, steps: TileSteps) -> dict[str, int]:
    """Bytes from one element to the next along each dimension: in the home, or in a packed tile of ``steps``."""
    extents = operand.extents
    if operand.link is not None:
        axes = zip(operand.axes, operand.extents, strict=True)
        extents = tuple(tile_extent(axis_range(axis, extent, {}), steps) for axis, extent in axes)
    strides = packed_strides_bytes(extents, operand.order, operand.element_bytes)
    if operand.link is None and operand.home_strides is not None:
        strides = operand.home_strides
    return {
        name: factor * stride
        for axis, extent, stride in zip(operand.axes, operand.extents, strides, strict=True)
        for name, factor in axis.terms
        if extent > 1
    }
