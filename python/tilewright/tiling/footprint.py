"""Bytes that tiles occupy, and bytes that links move for them, for many tile shapes at once.

Everything follows from the operands' axis maps. ``Steps`` maps each dimension to an array
of candidate steps; results are arrays over the candidates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from tilewright.operators.nest import AxisMap, axis_range, clipped, touched
from tilewright.plan import AxisRange
from tilewright.tiling.operand import TileOperand

Counts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Steps = Mapping[str, Counts]


def tile_shape(operand: TileOperand, steps: Steps) -> list[Counts]:
    """The most elements that a tile touches on each axis of the operand."""
    return [_axis_extent(axis, extent, steps) for axis, extent in zip(operand.axes, operand.extents, strict=True)]


def tile_bytes(operand: TileOperand, steps: Steps) -> Counts:
    """Bytes of one slot of a tile buffer, padded to its alignment."""
    return slot_bytes(operand, tile_shape(operand, steps))


def slot_bytes(operand: TileOperand, shape: Sequence[Counts]) -> Counts:
    """As ``tile_bytes``, for tiles of ``shape``."""
    elements: Counts = np.asarray(1, dtype=np.int64)
    for extent in shape:
        elements = elements * extent
    size = elements * operand.element_bytes
    return -(-size // operand.align_bytes) * operand.align_bytes


def _axis_extent(axis: AxisMap, extent: int, steps: Steps) -> Counts:
    reach: Counts = np.asarray(axis.last_offset - axis.first_offset, dtype=np.int64)
    lowest: Counts = np.asarray(axis.first_offset, dtype=np.int64)
    for name, stride in axis.terms:
        reach = reach + abs(stride) * (steps[name] - 1)
        lowest = lowest + min(stride, 0) * (steps[name] - 1)
    if axis.divisor == 1:
        return np.minimum(reach + 1, extent)
    aligned: Flags = np.asarray(lowest % axis.divisor == 0)
    for name, stride in axis.terms:
        aligned = aligned & (np.asarray(stride * steps[name]) % axis.divisor == 0)
    return np.minimum(reach // axis.divisor + np.where(aligned, 1, 2), extent)


def plain_shape(operand: TileOperand, steps: Mapping[str, int]) -> tuple[int, ...]:
    """``tile_shape`` of one candidate, without arrays."""
    pairs = zip(operand.axes, operand.extents, strict=True)
    return tuple(min(touched(axis, steps), extent) for axis, extent in pairs)


def written_elements(operands: Iterable[TileOperand], steps: Mapping[str, int]) -> int:
    """Elements of all results of a tile."""
    return sum(prod(plain_shape(operand, steps)) for operand in operands if operand.write)


def exact_writes(operand: TileOperand, steps: Steps) -> Flags:
    """For each candidate, whether its tiles write disjoint, gapless parts of the operand (``nest.is_exact``)."""
    exact: Flags = np.asarray(True)
    for axis, extent in zip(operand.axes, operand.extents, strict=True):
        exact = exact & _is_exact(axis, extent, steps)
    return exact


def _is_exact(axis: AxisMap, extent: int, steps: Steps) -> Flags:
    if not axis.terms:
        return np.asarray(axis.first_offset <= 0 and axis.last_offset >= extent - 1)
    if axis.divisor != 1:
        return _is_exact_division(axis, steps)
    exact: Flags = np.asarray(True)
    reach: Counts = np.asarray(axis.last_offset - axis.first_offset + 1, dtype=np.int64)
    for name, stride in sorted(axis.terms, key=lambda term: abs(term[1])):
        cut = steps[name] > 1
        exact = exact & (abs(stride) >= reach) & (~cut | (abs(stride) == reach))
        reach = np.where(cut, reach * steps[name], reach)
    return exact


def _is_exact_division(axis: AxisMap, steps: Steps) -> Flags:
    if len(axis.terms) != 1 or axis.first_offset % axis.divisor != 0:
        return np.asarray(False)
    name, stride = axis.terms[0]
    window = axis.last_offset - axis.first_offset
    meets: Flags = (stride * steps[name]) % axis.divisor == 0
    gapless: Flags = np.asarray(stride > 0 and stride - axis.divisor <= window < stride)
    return meets & gapless


def dense_tiles(operand: TileOperand, steps: Steps, extents: Mapping[str, int]) -> Flags:
    """For each candidate, whether shorter tiles at the edges fill their slot from its start without gaps.

    C walks a packed constant without strides, so only the outermost axis of which a tile has
    more than one element may be cut unevenly.
    """
    dense: Flags = np.asarray(True)
    if operand.data is None or operand.tensor is not None:
        return dense
    outside: Counts = np.asarray(1, dtype=np.int64)
    for axis, extent in zip(operand.axes, tile_shape(operand, steps), strict=True):
        for name, _ in axis.terms:
            dense = dense & ((extents[name] % steps[name] == 0) | (outside == 1))
        outside = outside * extent
    return dense


def rounds(order: Sequence[str], counts: Mapping[str, Counts], operand: TileOperand) -> Counts:
    """How many times the operand's tile changes when tiles are walked in ``order``.

    An operand is loaded again whenever a dimension that it depends on moves; dimensions
    inside the innermost such dimension leave it in place.
    """
    loads: Counts = np.asarray(1, dtype=np.int64)
    pending: Counts = np.asarray(1, dtype=np.int64)
    dimensions = operand.dimensions
    for name in order:
        pending = pending * counts[name]
        if name in dimensions:
            moves = counts[name] > 1
            loads = np.where(moves, loads * pending, loads)
            pending = np.where(moves, 1, pending)
    return loads


def moved_elements(
    operand: TileOperand, steps: Mapping[str, int], extents: Mapping[str, int], kept: str = "", shift: int = 0
) -> int:
    """Elements of the operand summed over all distinct tiles, edges and halos exact.

    Elements that the previous tile along dimension ``kept`` has too are left out. The first tile along the only
    dimension that is cut is shorter by ``shift``.
    """
    total = 1
    for group in _independent_axes(operand.axes, operand.extents):
        names = sorted({name for axis in group for name, _ in axis.terms})
        lengths = tuple((name, steps[name], extents[name]) for name in names)
        total *= _elements_of(group, lengths, kept, shift)
    return total


def needed_elements(operand: TileOperand, cuttable: Collection[str], extents: Mapping[str, int]) -> int:
    """Elements that must be moved however ``cuttable`` dimensions are cut.

    Example: a 1 x 1 convolution with stride 2 needs 4 of 8 rows, if rows may be cut.
    """
    total = 1
    for axis, extent in zip(operand.axes, operand.extents, strict=True):
        uncut = {name: extents[name] for name, _ in axis.terms if name not in cuttable}
        ranged = axis_range(axis, extent, uncut)
        total *= _needed(ranged, tuple(extents[name] for name, _ in ranged.terms))
    return total


@lru_cache(maxsize=4096)
def _needed(axis: AxisRange, lengths: tuple[int, ...]) -> int:
    """Elements of the union of an axis's intervals over all points of its dimensions, whose extents are ``lengths``."""
    points: Counts = np.zeros(1, dtype=np.int64)
    for (_, stride), length in zip(axis.terms, lengths, strict=True):
        points = (points[:, None] + stride * np.arange(length, dtype=np.int64)[None, :]).reshape(-1)
    begin = np.clip((points + axis.first_offset) // axis.divisor, 0, axis.extent)
    end = np.clip((points + axis.last_offset) // axis.divisor + 1, begin, axis.extent)
    edges = np.zeros(axis.extent + 1, dtype=np.int64)
    np.add.at(edges, begin, 1)
    np.add.at(edges, end, -1)
    return int(np.count_nonzero(np.cumsum(edges)[:-1] > 0))


@lru_cache(maxsize=4096)
def _independent_axes(axes: tuple[AxisMap, ...], extents: tuple[int, ...]) -> tuple[tuple[AxisRange, ...], ...]:
    """An operand's axes grouped so that different groups share no dimension."""
    groups: list[tuple[set[str], list[AxisRange]]] = []
    for axis, extent in zip(axes, extents, strict=True):
        names = {name for name, _ in axis.terms}
        members = [axis_range(axis, extent, {})]
        for other in [group for group in groups if group[0] & names]:
            names |= other[0]
            members = other[1] + members
            groups.remove(other)
        groups.append((names, members))
    return tuple(tuple(members) for _, members in groups)


@lru_cache(maxsize=4096)
def _elements_of(axes: tuple[AxisRange, ...], lengths: tuple[tuple[str, int, int], ...], kept: str, shift: int) -> int:
    """``moved_elements`` of some axes; ``lengths`` has name, step and extent of each of their dimensions."""
    steps = {name: step for name, step, _ in lengths}
    spans = [
        [(max(lower, 0), min(lower + step, extent)) for lower in range(-shift if step < extent else 0, extent, step)]
        for _, step, extent in lengths
    ]
    total = 0
    for bounds in product(*spans):
        box = dict(zip(steps, bounds, strict=True))
        elements = 1
        for axis in axes:
            lower, upper = clipped(axis, box)
            if kept in dict(axis.terms) and box[kept][0] > 0:
                before = {**box, kept: (box[kept][0] - steps[kept], box[kept][0])}
                lower = min(max(lower, clipped(axis, before)[1]), upper)
            elements *= upper - lower
        total += elements
    return total
