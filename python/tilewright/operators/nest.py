"""An operator as a loop nest with affine accesses, and the interval arithmetic on it.

Footprints, halos, reuse between tiles, padding and copy rectangles of every operator
follow from the functions here; no operator computes them on its own.

Before:  y[n, oc, oh] += w[oc, ic, kh] * x[n, ic, 2*oh + kh - 1]
After:   tile oh = [4, 8), kh whole (extent 3)  reads  x rows [7, 16)
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from math import prod

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import AxisRange, Dimension, Index, Iteration

__all__ = [
    "AxisMap",
    "Dimension",
    "Interval",
    "Iteration",
    "Nest",
    "along",
    "axis_range",
    "blocks",
    "clipped",
    "index_bounds",
    "is_exact",
    "tile_extent",
    "touched",
    "unclipped",
    "whole",
]

Interval = tuple[int, int]
"""Half-open [lower, upper)."""


@dataclass(frozen=True, slots=True)
class AxisMap:
    """Which part of a tensor axis an iteration box touches.

    first = floor((sum stride * dimension + first_offset) / divisor) at the low corner of
    the box, last = floor((sum stride * dimension + last_offset) / divisor) at the high
    corner; a window of w elements is last_offset = first_offset + w - 1.
    """

    terms: tuple[tuple[str, int], ...] = ()
    first_offset: int = 0
    last_offset: int = 0
    divisor: int = 1


def along(dimension: str, stride: int = 1, offset: int = 0, window: int = 1) -> AxisMap:
    """The axis follows one dimension: [stride * d + offset, ... + window)."""
    return AxisMap(((dimension, stride),), offset, offset + window - 1)


def blocks(dimension: str, block: int) -> AxisMap:
    """The axis holds blocks of ``block`` steps of a dimension (packed constants)."""
    return AxisMap(((dimension, 1),), 0, 0, block)


def whole(extent: int) -> AxisMap:
    """The whole axis, whatever the box (broadcast axes, data-dependent accesses)."""
    return AxisMap((), 0, extent - 1)


@dataclass(frozen=True, slots=True)
class Nest:
    """Iteration dimensions, and a map for each axis of each operand.

    ``reads`` and ``writes`` stand in the order of the node's inputs and outputs; the map
    of an absent optional input is empty. ``macs_per_point`` counts multiply-accumulates
    (else elementary operations are ``operations_per_point``) at each point of the nest, but for
    ``idle_points``, at which a kernel computes nothing.
    """

    dimensions: tuple[Dimension, ...]
    reads: tuple[tuple[AxisMap, ...], ...]
    writes: tuple[tuple[AxisMap, ...], ...]
    macs_per_point: int = 0
    operations_per_point: int = 1
    idle_points: int = 0

    @property
    def points(self) -> int:
        """Number of points of the iteration space at which there is something to compute."""
        return prod(dimension.extent for dimension in self.dimensions) - self.idle_points

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the whole operator."""
        return self.points * self.macs_per_point

    @property
    def operations(self) -> int:
        """Elementary operations; one multiply-accumulate is two."""
        return 2 * self.macs if self.macs_per_point else self.points * self.operations_per_point

    def dimension(self, name: str) -> Dimension:
        """The dimension of that name."""
        return next(dimension for dimension in self.dimensions if dimension.name == name)

    def with_iteration(self, names: Container[str], iteration: Iteration) -> Nest:
        """The nest for a kernel that does something else with these dimensions."""
        return replace(
            self,
            dimensions=tuple(
                replace(one, iteration=iteration) if one.name in names else one for one in self.dimensions
            ),
        )


def axis_range(axis: AxisMap, extent: int, whole_extents: Mapping[str, int]) -> AxisRange:
    """Fold dimensions that are not cut (``whole_extents``) into the offsets of an axis map."""
    first, last = axis.first_offset, axis.last_offset
    terms = []
    for name, stride in axis.terms:
        if name not in whole_extents:
            terms.append((name, stride))
            continue
        reach = stride * (whole_extents[name] - 1)
        first += min(reach, 0)
        last += max(reach, 0)
    return AxisRange(tuple(terms), first, last, axis.divisor, extent)


def unclipped(axis: AxisRange, box: Mapping[str, Interval]) -> Interval:
    """The interval that a box touches, padding included."""
    first, last = axis.first_offset, axis.last_offset
    for name, stride in axis.terms:
        lower, upper = box[name]
        low, high = stride * lower, stride * (upper - 1)
        first += min(low, high)
        last += max(low, high)
    return first // axis.divisor, last // axis.divisor + 1


def clipped(axis: AxisRange, box: Mapping[str, Interval]) -> Interval:
    """The part of the axis that a box touches; empty intervals are (a, a)."""
    first, end = unclipped(axis, box)
    lower = min(max(first, 0), axis.extent)
    return lower, max(lower, min(end, axis.extent))


def tile_extent(axis: AxisRange, steps: Mapping[str, int]) -> int:
    """The most elements of an axis that any tile with these steps touches."""
    return min(touched(axis, steps), axis.extent)


def touched(axis: AxisMap | AxisRange, steps: Mapping[str, int]) -> int:
    """``tile_extent`` of an axis without end.

    Where the first quotient of all tiles has the same remainder 0, the tile holds span // divisor + 1 elements, else
    up to one more. A term of negative stride is least at the last of its steps.
    """
    reaches = [stride * (steps[name] - 1) for name, stride in axis.terms]
    span = sum(map(abs, reaches)) + axis.last_offset - axis.first_offset
    if axis.divisor == 1:
        return span + 1
    lowest = axis.first_offset + sum(min(reach, 0) for reach in reaches)
    aligned = lowest % axis.divisor == 0 and all(
        (stride * steps[name]) % axis.divisor == 0 for name, stride in axis.terms
    )
    return span // axis.divisor + (1 if aligned else 2)


def index_bounds(indices: tuple[Index, ...], tile: int) -> dict[str, Interval]:
    """The bounds of every index in tile number ``tile`` (last index fastest)."""
    bounds = {}
    for index in reversed(indices):
        tile, coordinate = divmod(tile, index.count)
        lower = coordinate * index.step - index.shift
        bounds[index.name] = (max(lower, 0), min(lower + index.step, index.extent))
    return bounds


def is_exact(axis: AxisRange, steps: Mapping[str, int]) -> bool:
    """Whether tiles of these steps write every element of an axis exactly once.

    An example: the axis of 3 groups of 8 channels, group * 8 + channel. Tiles of one group and 4
    channels write [0, 4), [4, 8), [8, 12), ...: exact. Tiles of all channels of 2 groups write
    [0, 16), [16, 24): exact. Tiles of 2 groups and 4 channels would write [0, 4) and [8, 12)
    together, which is no interval: not exact.

    In general the dimensions are the digits of a number, in the order of their strides, the smallest
    stride last. A tile with several values of one digit must have all values of every digit behind
    that digit. The last tile of a dimension may be shorter.

    Args:
        axis: an axis that the whole iteration space writes completely, each element once.
        steps: step of every dimension of the axis; the extent, where a tile covers it.
    """
    if axis.divisor != 1:
        return _is_exact_division(axis, steps)
    reach = axis.last_offset - axis.first_offset + 1
    if not axis.terms:
        return axis.first_offset <= 0 and axis.last_offset >= axis.extent - 1
    for stride, step in sorted((abs(stride), steps[name]) for name, stride in axis.terms):
        if stride < reach or (step > 1 and stride != reach):
            return False
        if step > 1:
            reach *= step
    return True


def _is_exact_division(axis: AxisRange, steps: Mapping[str, int]) -> bool:
    """``is_exact`` for floor((stride * dimension + offset) / divisor): tiles must meet at multiples of the divisor."""
    if len(axis.terms) != 1 or axis.first_offset % axis.divisor != 0:
        return False
    name, stride = axis.terms[0]
    window = axis.last_offset - axis.first_offset
    meets = (stride * steps[name]) % axis.divisor == 0
    return stride > 0 and meets and stride - axis.divisor <= window < stride
