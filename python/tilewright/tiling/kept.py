"""Halo rows that stay near the core: the next tile needs them too, so only the others are loaded.

The tile's buffer is a ring then: row r of the tensor lies at r modulo the rows of a tile.

Before:  3 x 3 convolution, tiles of 8 rows: x rows [0, 9), [7, 17), [15, 25) are loaded, 29 in all
After:   x rows [0, 9), [9, 17), [17, 25): 25; rows 7, 8 and 15, 16 are where they were
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from tilewright.operators.nest import AxisMap, axis_range
from tilewright.plan import AxisRange
from tilewright.tiling.footprint import Counts
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem


def ring_axis(problem: TilingProblem, operand: TileOperand, dimension: str) -> int | None:
    """The axis of the stored array that could be a ring while tiles advance along ``dimension``; None if none.

    The axis must be the only axis that the dimension moves, towards higher elements, in the first
    operand of a kernel that can walk rings; tiles must come straight from the home, over a link that takes single
    bytes.
    """
    if operand is not problem.operands[0] or operand.write or operand.link is None or operand.far_links:
        return None
    if operand.link.align_bytes > 1:
        return None
    if operand.data is not None and operand.tensor is None:
        return None
    moved = [number for number, axis in enumerate(operand.axes) if dimension in dict(axis.terms)]
    if len(moved) != 1 or dict(operand.axes[moved[0]].terms)[dimension] <= 0:
        return None
    places = [place for place, axis in enumerate(operand.view) if axis == moved[0]]
    return moved[0] if places and places[0] in problem.kernel.ring_axes else None


def ring_place(problem: TilingProblem, dimension: str) -> int | None:
    """The axis of the first operand's view that is a ring while rows are kept along ``dimension``; None for ''."""
    axis = ring_axis(problem, problem.operands[0], dimension) if dimension else None
    return None if axis is None else problem.operands[0].view.index(axis)


def kept_dimension(problem: TilingProblem, operand: TileOperand, steps: Mapping[str, int], order: Sequence[str]) -> str:
    """The loop index between whose tiles rows of the operand are kept; empty if none are.

    That index is the innermost one that moves the tile: only along it is the previous tile a neighbour.
    """
    moving = [name for name in order if name in operand.dimensions]
    if not moving:
        return ""
    axis = ring_axis(problem, operand, moving[-1])
    if axis is None or set(moving[:-1]) & {name for name, _ in operand.axes[axis].terms}:
        return ""
    extents = problem.extents
    uncut = {name: extent for name, extent in extents.items() if name != moving[-1]}
    ranged = axis_range(operand.axes[axis], operand.extents[axis], uncut)
    extent, step = extents[moving[-1]], steps[moving[-1]]
    return moving[-1] if axis_total(ranged, extent, step, kept=True) < axis_total(ranged, extent, step) else ""


def kept_dimensions(problem: TilingProblem, steps: Mapping[str, int], order: Sequence[str]) -> tuple[str, ...]:
    """``kept_dimension`` of each operand; () if no operand keeps rows."""
    found = tuple(kept_dimension(problem, operand, steps, order) for operand in problem.operands)
    return found if any(found) else ()


@lru_cache(maxsize=4096)
def axis_total(axis: AxisRange, extent: int, step: int, *, kept: bool = False) -> int:
    """Elements of an axis of one dimension, clipped to the tensor, summed over its tiles.

    With ``kept``, elements that the previous tile has too are left out.
    """
    begin, end = touched_intervals(axis, extent, step, kept=kept)
    return int((end - begin).sum())


def ring_pieces(axis: AxisRange, extent: int, step: int, shift: int, ring_rows: int) -> Counts:
    """Elements of each copy into a ring of ``ring_rows`` along an axis of one dimension, tile by tile.

    What a tile adds beyond the ring's end is a copy of its own, to the ring's start. The first tile is shorter by
    ``shift``.
    """
    begin, end = touched_intervals(axis, extent, step, shift, kept=True)
    head = np.minimum(end - begin, ring_rows - begin % ring_rows)
    pieces = np.stack([head, end - begin - head], axis=1).reshape(-1)
    return pieces[pieces > 0]


def touched_intervals(
    axis: AxisRange, extent: int, step: int, shift: int = 0, *, kept: bool = False
) -> tuple[Counts, Counts]:
    """Begin and end, clipped to the tensor, of what each tile touches; with ``kept`` of what the previous has not."""
    starts = np.arange(-shift, extent, step, dtype=np.int64)
    lower, upper = np.maximum(starts, 0), np.minimum(starts + step, extent)
    first = np.full_like(lower, axis.first_offset)
    last = np.full_like(lower, axis.last_offset)
    for _, stride in axis.terms:
        low, high = stride * lower, stride * (upper - 1)
        first += np.minimum(low, high)
        last += np.maximum(low, high)
    begin = np.clip(first // axis.divisor, 0, axis.extent)
    end = np.minimum(last // axis.divisor + 1, axis.extent)
    if kept:
        begin[1:] = np.maximum(begin[1:], end[:-1])
    return begin, np.maximum(begin, end)


def axis_totals(
    axis: AxisMap, length: int, dimension: str, steps: Counts, extents: Mapping[str, int], *, kept: bool = False
) -> Counts:
    """``axis_total`` for each step of one cut dimension; the axis's other dimensions are whole."""
    uncut = {name: extents[name] for name, _ in axis.terms if name != dimension}
    ranged = axis_range(axis, length, uncut)
    distinct, inverse = np.unique(steps, return_inverse=True)
    totals = [axis_total(ranged, extents[dimension], step, kept=kept) for step in distinct.tolist()]
    return np.asarray(totals, dtype=np.int64)[inverse]
