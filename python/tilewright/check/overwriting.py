"""Rule on one call of a kernel: the bytes that it writes miss the bytes that it still has to read.

A kernel may store over a read at the same address, element on element or in another order, or at the distance
that its maps and the order of its stores demand; that distance is computed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.check.calls import Bounds, Counts, touched
from tilewright.check.expand import Digits, Event
from tilewright.check.names import Facts
from tilewright.check.rules import Log, Rule
from tilewright.check.shadow import Region, Seen, Shadow, locate, text
from tilewright.plan import AxisRange, Kernel, WriteOrder

Axes = tuple[int, ...]
"""For each axis of a kernel's view the buffer's axis, or -1."""


@dataclass(frozen=True, slots=True)
class Touched:
    """An operand of a call: the bytes that the call touches, its axes in the kernel's view, and its map."""

    seen: Seen
    axes: Axes
    maps: tuple[AxisRange, ...]


def check_overwriting(
    facts: Facts, shadow: Shadow, read: tuple[int, Touched], write: Touched, event: Event, log: Log
) -> None:
    """One read (its position, and what it touches) and one write of a call, whose bytes may ``meet``."""
    position, source = read
    one, other = source.seen.tracked, write.seen.tracked
    assert one is not None
    assert other is not None
    kernel = event.site.step
    assert isinstance(kernel, Kernel)
    stores = kernel.stores
    allowed = position in stores.over
    if allowed and stores.order is WriteOrder.ELEMENTWISE and _is_elementwise(facts, source, write):
        return
    if allowed and stores.order is WriteOrder.PERMUTED and _are_same_bytes(facts, source, write):
        return
    if not _share_bytes(shadow, one, other):
        return
    is_raster = allowed and stores.order is WriteOrder.RASTER
    if is_raster and _keeps_apart(facts, shadow, source, write, event):
        needed = _distance(facts, kernel, source, write, event.digits)
        if needed is not None and needed <= 0:
            return
        if needed is not None:
            message = (
                f"{write.seen.buffer} is {needed} bytes too close to {source.seen.buffer}, over which it is written"
            )
            log.report(Rule.WRITE_ORDER, message, event.site.place, event.block)
            return
    message = f"{write.seen.buffer} {text(write.seen.rectangle)} is written over elements of {source.seen.buffer}"
    log.report(Rule.WRITE_ORDER, f"{message} that the kernel may still read", event.site.place, event.block)


def meet(read: Seen, write: Seen) -> bool:
    """Whether the bytes from the first to the last of two operands overlap."""
    one, other = read.tracked, write.tracked
    if one is None or other is None or one.memory != other.memory:
        return False
    return one.base < other.end and other.base < one.end


def _share_bytes(shadow: Shadow, one: Region, other: Region) -> bool:
    """Whether two regions of a memory have a byte in common."""
    size = max(one.end, other.end)
    marks = np.zeros(size, np.int32)
    shadow.window(marks, one)[...] = 1
    return bool(shadow.window(marks, other).any())


def _is_elementwise(facts: Facts, read: Touched, write: Touched) -> bool:
    """Both begin at one address, and elements of one position in the kernel's view lie on each other."""
    assert read.seen.bytes is not None
    assert write.seen.bytes is not None
    if read.seen.bytes.base != write.seen.bytes.base or len(read.axes) != len(write.axes):
        return False
    return _layout(facts, read) == _layout(facts, write)


def _are_same_bytes(facts: Facts, read: Touched, write: Touched) -> bool:
    """Both begin at one address, and each is all of its bytes up to one end, without gaps or rings."""
    ends = [end.seen.bytes for end in (read, write)]
    assert ends[0] is not None
    assert ends[1] is not None
    alike = (ends[0].base, ends[0].end) == (ends[1].base, ends[1].end)
    return alike and all(
        facts.buffers[end.seen.buffer].ring_axis is None
        and prod(last - first for first, last in end.seen.rectangle) * facts.element_bytes(end.seen.buffer)
        == span.end - span.base
        for end, span in zip((read, write), ends, strict=True)
        if span is not None
    )


def _layout(facts: Facts, end: Touched) -> tuple[object, ...]:
    """Bytes of an element; extent, stride and map of each long axis by its place in the kernel's view."""
    buffer = facts.buffers[end.seen.buffer]
    extents = [last - first for first, last in end.seen.rectangle]
    return (
        facts.element_bytes(buffer.name),
        buffer.ring_axis,
        *(
            (place, extents[axis], buffer.strides_bytes[axis], end.maps[axis])
            for place, axis in enumerate(end.axes)
            if axis >= 0 and extents[axis] > 1
        ),
    )


def _distance(facts: Facts, kernel: Kernel, read: Touched, write: Touched, digits: Digits) -> int | None:
    """Bytes by which the write is too near to the read for the kernel's walk; 0 or less if it is far enough.

    None where an operand is a ring, whose addresses do not grow with its elements.
    """
    if any(facts.buffers[end.seen.buffer].ring_axis is not None for end in (read, write)):
        return None
    box, shape = _walked(kernel, digits)
    first_read, end_read = (item.reshape(shape) for item in _addresses(facts, read, box))
    first_write, end_write = (item.reshape(shape) for item in _addresses(facts, write, box))
    block, points = kernel.stores.block, shape[1]
    begins = np.arange(0, points, block)
    # When the first ``stored`` points may be stored, the points from ``unread`` on may still be read.
    stored = np.minimum(begins + block, points)
    unread = begins if kernel.stores.rereads else stored
    stored, unread = stored[unread < points], unread[unread < points]
    if not stored.size:
        return 0
    above = np.maximum.accumulate(end_write, 1)[:, stored - 1] - _least_behind(first_read)[:, unread]
    below = -_least_behind(-end_read)[:, unread] - np.minimum.accumulate(first_write, 1)[:, stored - 1]
    return int(np.minimum(above, below).max())


def _least_behind(values: Counts) -> Counts:
    """For each column the least value in it and in the columns behind it."""
    return np.minimum.accumulate(values[:, ::-1], 1)[:, ::-1]


def _keeps_apart(facts: Facts, shadow: Shadow, read: Touched, write: Touched, event: Event) -> bool:
    """Whether the bytes that the kernel writes for one point of the dimensions ``apart`` are read for no other."""
    kernel = event.site.step
    assert isinstance(kernel, Kernel)
    if not kernel.stores.apart:
        return True
    parts = [list(_parts(facts, shadow, kernel, end, event.digits)) for end in (read, write)]
    places = [part for some in parts for part in some if part is not None]
    if any(part.base < 0 for part in places):
        return False
    # Parts may reach beyond an operand that is smaller than its map; another rule reports that.
    readers = np.zeros(max((part.end for part in places), default=0), np.int32)
    for number, part in enumerate(parts[0], start=1):
        if part is not None:
            seen = shadow.window(readers, part)
            seen[...] = np.where((seen == 0) | (seen == number), number, -1)
    for number, part in enumerate(parts[1], start=1):
        if part is not None:
            seen = shadow.window(readers, part)
            if ((seen != 0) & (seen != number)).any():
                return False
    return True


def _parts(facts: Facts, shadow: Shadow, kernel: Kernel, end: Touched, digits: Digits) -> Iterator[Region | None]:
    """What an operand touches for each point of the dimensions ``apart``, all others whole."""
    seen = end.seen
    box, _ = _points(kernel, kernel.stores.apart, digits)
    axes = [touched(axis, box) for axis in end.maps]
    count = max((bounds[0].size for bounds in box.values()), default=1)
    lower = np.stack([np.broadcast_to(low, count) for low, _ in axes], 1)
    upper = np.stack([np.broadcast_to(high, count) for _, high in axes], 1)
    for low, high in zip(lower.tolist(), upper.tolist(), strict=True):
        rectangle = tuple(zip(low, high, strict=True))
        yield locate(facts, shadow, seen.buffer, rectangle, seen.slot, None if seen.slot < 0 else seen.held).bytes


def _walked(kernel: Kernel, digits: Digits) -> tuple[dict[str, Bounds], tuple[int, int]]:
    """The boxes of the points of one call, in their order in memory.

    For each point of ``apart`` (rows of the shape) all points of the walk (columns), in their order.
    """
    stores = kernel.stores
    box, lengths = _points(kernel, (*stores.apart, *stores.walk), digits)
    for name in stores.backward:
        lower, upper = box[name]
        first, last = int(lower.min()), int(upper.max())
        box[name] = first + last - upper, first + last - lower
    rows = prod(lengths[: len(stores.apart)])
    return box, (rows, prod(lengths[len(stores.apart) :]))


def _points(kernel: Kernel, names: tuple[str, ...], digits: Digits) -> tuple[dict[str, Bounds], list[int]]:
    """The box of each point of some dimensions in lexicographic order, others whole; extents of these dimensions."""
    whole = {
        item.name: (digits[item.name].lower, digits[item.name].upper) if item.name in digits else (0, item.extent)
        for item in kernel.dimensions
    }
    lengths = [whole[name][1] - whole[name][0] for name in names]
    points = np.indices(lengths, np.int64).reshape(len(lengths), prod(lengths))
    box: dict[str, Bounds] = {
        name: (np.full(1, lower, np.int64), np.full(1, upper, np.int64)) for name, (lower, upper) in whole.items()
    }
    for name, at in zip(names, points, strict=True):
        box[name] = at + whole[name][0], at + whole[name][0] + 1
    return box, lengths


def _addresses(facts: Facts, end: Touched, box: Mapping[str, Bounds]) -> tuple[Counts, Counts]:
    """For each point of a walk the first byte that it touches and the byte behind the last; far away for none."""
    buffer, seen = facts.buffers[end.seen.buffer], end.seen
    points = max(bounds[0].size for bounds in box.values())
    first, last, empty = np.zeros(points, np.int64), np.zeros(points, np.int64), np.zeros(points, np.bool_)
    for axis, stride, (origin, _) in zip(end.maps, buffer.strides_bytes, seen.rectangle, strict=True):
        low, high = touched(axis, box)
        first, last = first + (low - origin) * stride, last + (high - 1 - origin) * stride
        empty |= low >= high
    assert seen.bytes is not None
    first, last = first + seen.bytes.base, last + seen.bytes.base + facts.element_bytes(buffer.name)
    far = 1 << 60
    return np.where(empty, far, first), np.where(empty, -far, last)
