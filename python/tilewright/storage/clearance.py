"""How near an output may lie to an input over which it is written, from a kernel's maps and its order of stores.

Before:  y[oh] = x[2*oh] + x[2*oh + 1], rows of 8 bytes, 4 rows of y; the kernel reads two rows, then stores one
After:   y begins 0 bytes below x or more: rows 0 to n of y are stored when rows 0 to 2n + 1 of x were read
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from tilewright.base.lazy_dataclass import dataclass
from tilewright.kernels.kernel import KernelChoice
from tilewright.operators.nest import AxisMap
from tilewright.plan import Stores, WriteOrder

_Counts = npt.NDArray[np.int64]
_Box = Mapping[str, tuple[_Counts, _Counts]]
"""Dimension to the first and the last value at each point, both inclusive."""


@dataclass(frozen=True, slots=True)
class Clearance:
    """Where an output may begin that is written over an input.

    ``least_bytes`` to ``most_bytes`` (None: any number) below the input's start, or, if the kernel walks backward,
    ``above_bytes`` or more above the input's start (None: the kernel cannot).
    """

    least_bytes: int = 0
    most_bytes: int | None = 0
    above_bytes: int | None = None

    def shared_bytes(self, size_bytes: int, other_bytes: int) -> int:
        """The most bytes that an output of ``size_bytes`` can share with an input of ``other_bytes``."""
        fits = sorted((0, size_bytes - other_bytes))
        most = fits[1] if self.most_bytes is None else self.most_bytes
        below = [max(self.least_bytes, min(fits[0], most))]
        below += [] if self.above_bytes is None else [min(-self.above_bytes, fits[1])]
        return max(0, *(min(other_bytes, size_bytes - by) - max(0, -by) for by in below))


SAME_PLACE = Clearance()
"""Element on element."""


@dataclass(frozen=True, slots=True)
class Placed:
    """An operand of a kernel: its map, extents and strides in bytes for each axis, and bytes of an element."""

    axes: tuple[AxisMap, ...]
    shape: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    element_bytes: int


def clearance(kernel: KernelChoice, read: Placed, write: Placed) -> Clearance | None:
    """The clearance of a kernel that stores in raster order; None if its output must not lie over the input at all.

    ``read`` is one of the operands over which the kernel may store, and all dimensions of the nest are whole.
    """
    stores = kernel.stores
    if stores.order is not WriteOrder.RASTER or 0 in (*read.shape, *write.shape):
        return None
    extents = {dimension.name: dimension.extent for dimension in kernel.nest.dimensions}
    least = _least(extents, stores, read, write)
    if any(extents[name] > 1 for name in stores.apart):
        return _apart(extents, stores, least, read, write)
    if least is None:
        # Everything is read before the first store.
        return Clearance(-_reach(read), None)
    turned = backward_choice(kernel, read.axes, read.shape)
    if turned is None:
        return Clearance(least, None)
    return Clearance(least, None, _least(extents, turned.stores, read, write))


def backward_choice(kernel: KernelChoice, axes: Sequence[AxisMap], shape: Sequence[int]) -> KernelChoice | None:
    """The choice whose kernel walks backward over a read of these axes; None if the kernel cannot."""
    turned = kernel.kernel.backward
    if turned is None:
        return None
    extents = [extent for axis, extent in zip(axes, shape, strict=True) if turned.dimension in dict(axis.terms)]
    return kernel.backward(extents[0]) if len(extents) == 1 else None


def _reach(item: Placed) -> int:
    """Bytes from an operand's first byte to behind its last."""
    pairs = zip(item.shape, item.strides_bytes, strict=True)
    return item.element_bytes + sum((extent - 1) * pitch for extent, pitch in pairs)


def _apart(
    extents: Mapping[str, int], stores: Stores, least: int | None, read: Placed, write: Placed
) -> Clearance | None:
    """The clearance where points of one dimension lie on bytes of their own: channels that lie side by side, say."""
    names = [name for name in stores.apart if extents[name] > 1]
    periods = {_period(names[0], extents, item) for item in (read, write)}
    if len(names) > 1 or len(periods) > 1:
        return None
    (period,) = periods
    if period is None:
        return None
    by = -(-max(least or 0, 0) // period[1]) * period[1]
    return Clearance(by, by)


def _period(name: str, extents: Mapping[str, int], item: Placed) -> tuple[int, int] | None:
    """Bytes from one point of a dimension to the next, and bytes of all its points; None if points share bytes."""
    steps = [
        (abs(stride) * pitch, term)
        for axis, pitch in zip(item.axes, item.strides_bytes, strict=True)
        for term, stride in axis.terms
        if extents[term] > 1
    ]
    own = [step for step, term in steps if term == name]
    if len(own) != 1:
        return None
    step, whole = own[0], own[0] * extents[name]
    within = item.element_bytes
    for axis, extent, pitch in zip(item.axes, item.shape, item.strides_bytes, strict=True):
        if extent > 1 and pitch < step:
            if dict(axis.terms).get(name):
                return None
            within += (extent - 1) * pitch
        elif extent > 1 and pitch % whole and not dict(axis.terms).get(name):
            return None
    outer = all(other % whole == 0 for other, term in steps if term != name and other >= step)
    return (step, whole) if outer and within <= step else None


def _least(extents: Mapping[str, int], stores: Stores, read: Placed, write: Placed) -> int | None:
    """The least bytes by which the output must begin below the input; above it, if the walk is backward.

    For one point of the dimensions ``apart``. None if the kernel stores nothing before it has read everything.
    """
    box = _points(extents, stores)
    first_read, end_read = _addresses(read, box)
    first_write, end_write = _addresses(write, box)
    begins = np.arange(0, first_read.size, stores.block)
    stored = np.minimum(begins + stores.block, first_read.size)
    unread = begins if stores.rereads else stored
    stored, unread = stored[unread < first_read.size], unread[unread < first_read.size]
    if not stored.size:
        return None
    if stores.backward:
        highest = np.maximum.accumulate(end_read[::-1])[::-1][unread]
        return int((highest - np.minimum.accumulate(first_write)[stored - 1]).max())
    lowest = np.minimum.accumulate(first_read[::-1])[::-1][unread]
    return int((np.maximum.accumulate(end_write)[stored - 1] - lowest).max())


def _points(extents: Mapping[str, int], stores: Stores) -> _Box:
    """The points of the walk in its order; of dimensions apart the first value, of others all."""
    lengths = [extents[name] for name in stores.walk]
    points = np.indices(lengths, np.int64).reshape(len(lengths), prod(lengths))
    zero = np.zeros(1, np.int64)
    box = {name: (zero, zero if name in stores.apart else zero + extent - 1) for name, extent in extents.items()}
    for name, extent, at in zip(stores.walk, lengths, points, strict=True):
        turned = extent - 1 - at if name in stores.backward else at
        box[name] = turned, turned
    return box


def _addresses(item: Placed, box: _Box) -> tuple[_Counts, _Counts]:
    """For each point the first byte that it touches and the byte behind the last, from the tensor's first byte."""
    count = max(low.size for low, _ in box.values())
    first, end, nothing = np.zeros(count, np.int64), np.full(count, item.element_bytes), np.zeros(count, np.bool_)
    for axis, extent, pitch in zip(item.axes, item.shape, item.strides_bytes, strict=True):
        low, high = _touched(axis, box)
        low, high = np.maximum(low, 0), np.minimum(high, extent - 1)
        nothing |= low > high
        first, end = first + low * pitch, end + high * pitch
    # A point that touches nothing bounds nothing.
    far = 1 << 60
    return np.where(nothing, far, first), np.where(nothing, -far, end)


def _touched(axis: AxisMap, box: _Box) -> tuple[_Counts, _Counts]:
    low, high = np.full(1, axis.first_offset), np.full(1, axis.last_offset)
    for name, stride in axis.terms:
        ends: Sequence[_Counts] = box[name] if stride >= 0 else box[name][::-1]
        low, high = low + stride * ends[0], high + stride * ends[1]
    return low // axis.divisor, high // axis.divisor
