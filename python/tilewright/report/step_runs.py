"""The runs of a layer's steps in their order, with the bytes that each copy moves and the points of each call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import AxisRange, Buffer, CopyStart, Kernel, Link, Loop, Plan, Runs, Step, Wait, steps_in
from tilewright.plan.copies import MAX_RANK, copy_commands, link_commands

Counts = npt.NDArray[np.int64]

Bounds = Mapping[str, tuple[Counts, Counts]]
"""The elements [lower, upper) of each index, for each block of a step, or one for all of them."""

Copy = tuple[str, int]
"""A copy: its token and its number."""


@dataclass(frozen=True, slots=True)
class Started:
    """The start of a copy: ``commands`` of the link, with all their lines and bytes together."""

    copy: Copy
    link: str
    commands: int
    lines: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Awaited:
    """The program waits for a copy."""

    copy: Copy


@dataclass(frozen=True, slots=True)
class Called:
    """A call of a kernel on a block of ``points`` points of its nest; ``shared`` if several cores run it."""

    kernel: str
    points: int
    shared: bool


Event = Started | Awaited | Called


def run_count(body: Sequence[Step]) -> int:
    """How often the copies, waits and kernels of a body run together."""
    total = 0
    for step in steps_in(body):
        if isinstance(step, Loop):
            total += step.runs.count * run_count(step.body)
        elif isinstance(step, (CopyStart, Wait, Kernel)):
            total += step.runs.count
    return total


def step_runs(plan: Plan, body: Sequence[Step]) -> Iterator[Event]:
    """The copies, waits and calls of a layer's body, in order."""
    buffers = {buffer.name: buffer for buffer in plan.buffers}
    links = {link.name: link for link in plan.links}
    yield from _body(body, None, {}, (buffers, links))


_Names = tuple[Mapping[str, Buffer], Mapping[str, Link]]


def _body(body: Sequence[Step], loop: Loop | None, outer: Bounds, names: _Names) -> Iterator[Event]:
    """The events of a body in order of iterations, and in each of them in the order of its steps."""
    found: list[tuple[int, int, Iterator[Event]]] = []
    for place, step in enumerate(steps_in(body)):
        if isinstance(step, Loop):
            found += [(at, place, inside) for at, inside in _entries(step, loop, outer, names)]
        elif isinstance(step, (CopyStart, Wait, Kernel)):
            blocks = _events(step, loop, outer, names)
            found += [(at, place, iter((event,))) for at, event in zip(step.runs.iterations, blocks, strict=True)]
    for _, _, events in sorted(found, key=lambda item: item[:2]):
        yield from events


def _entries(step: Loop, loop: Loop | None, outer: Bounds, names: _Names) -> Iterator[tuple[int, Iterator[Event]]]:
    """For each block of a loop within a loop (or of one that runs once) its iteration and its events."""
    bounds = {**outer, **_bounds(step.runs, loop)}
    for block, at in enumerate(step.runs.iterations):
        inside = {
            name: (lower[block : block + 1], upper[block : block + 1]) if lower.size > 1 else (lower, upper)
            for name, (lower, upper) in bounds.items()
        }
        yield at, _body(step.body, step, inside, names)


def _events(step: CopyStart | Wait | Kernel, loop: Loop | None, outer: Bounds, names: _Names) -> list[Event]:
    """One event for each block of a step."""
    if isinstance(step, Wait):
        return [Awaited((step.token, step.number + block)) for block in range(step.runs.count)]
    bounds = {**outer, **_bounds(step.runs, loop)}
    if isinstance(step, Kernel):
        points: Counts = np.ones(step.runs.count, np.int64)
        for item in step.dimensions:
            lower, upper = bounds.get(item.name, (np.zeros(1, np.int64), np.full(1, item.extent, np.int64)))
            points = points * (upper - lower)
        return [Called(step.name, count, step.split is not None) for count in points.tolist()]
    return list(_started(step, bounds, names))


def _started(step: CopyStart, bounds: Bounds, names: _Names) -> Iterator[Started]:
    """The start of each block's copy; rows beyond a ring's end are copied to the ring's start."""
    buffer = names[0][step.destination.buffer]
    axis, geometry = buffer.ring_axis, _geometry(step, names)
    spans = _spans(step, bounds, names)
    first = np.zeros(1, np.int64) if axis is None else spans[axis][0]
    columns = [*(end - begin for begin, end in spans), first, np.zeros(step.runs.count)]
    rows = np.stack(np.broadcast_arrays(*columns), 1)[:, :-1].astype(np.int64)
    for block, (*shape, begin) in enumerate(rows.tolist()):
        pieces = [tuple(shape)] if axis is None else _pieces(shape, axis, begin, buffer.shape[axis])
        copies = [_commands(piece, *geometry) for piece in pieces]
        commands, lines, size = map(sum, zip(*copies, strict=True))
        yield Started((step.token, block), step.link, commands, lines, size)


def _pieces(shape: list[int], axis: int, begin: int, ring_rows: int) -> list[tuple[int, ...]]:
    """The parts of a block up to a ring's end and behind it."""
    head = min(shape[axis], ring_rows - begin % ring_rows)
    return [(*shape[:axis], extent, *shape[axis + 1 :]) for extent in (head, shape[axis] - head)]


def _bounds(runs: Runs, loop: Loop | None) -> dict[str, tuple[Counts, Counts]]:
    """The bounds of the indices that a step enumerates, and of the coarse indices around them, for each block."""
    if loop is None:
        return {}
    indices = {index.name: index for index in loop.indices}
    coarse = {item.name: item for item in loop.coarse}

    def shape(name: str) -> tuple[int, int, int, int]:
        """Extent, step, shift and number of tiles."""
        if name in indices:
            index = indices[name]
            return index.extent, index.step, index.shift, index.count
        extent, step, _, count = shape(coarse[name].of)
        return extent, step * coarse[name].tiles, 0, count // coarse[name].tiles

    places: dict[str, Counts] = {}
    left = np.arange(runs.count, dtype=np.int64)
    for name in reversed(runs.over):
        left, places[name] = np.divmod(left, shape(name)[3])
    for item in loop.coarse:
        if item.of in places and item.name not in places:
            places[item.name] = places[item.of] // item.tiles
    found = {}
    for name, place in places.items():
        extent, step, shift, _ = shape(name)
        lower = place * step - shift
        found[name] = np.maximum(lower, 0), np.minimum(lower + step, extent)
    return found


def _spans(step: CopyStart, bounds: Bounds, names: _Names) -> list[tuple[Counts, Counts]]:
    """For each axis the elements that each block copies; where a ring keeps rows, only those behind them."""
    axis = names[0][step.destination.buffer].ring_axis
    found = []
    for number, ranged in enumerate(step.destination.rectangle):
        begin, end = _touched(ranged, bounds)
        if step.kept and number == axis:
            lower, upper = bounds[step.kept]
            before = {**bounds, step.kept: (np.maximum(lower - (upper - lower).max(), 0), lower)}
            kept = np.where(lower > 0, _touched(ranged, before)[1], begin)
            begin = np.minimum(np.maximum(begin, kept), end)
        found.append((begin, end))
    return found


def _touched(axis: AxisRange, bounds: Bounds) -> tuple[Counts, Counts]:
    """The part of an axis that each block touches, clipped to the tensor."""
    low: Counts = np.full(1, axis.first_offset, np.int64)
    high: Counts = np.full(1, axis.last_offset, np.int64)
    for name, stride in axis.terms:
        ends = stride * bounds[name][0], stride * (bounds[name][1] - 1)
        low, high = low + np.minimum(*ends), high + np.maximum(*ends)
    begin = np.clip(low // axis.divisor, 0, axis.extent)
    return begin, np.maximum(begin, np.minimum(high // axis.divisor + 1, axis.extent))


def _geometry(step: CopyStart, names: _Names) -> tuple[tuple[int, ...], tuple[int, ...], int, int, int]:
    """Strides of source and destination, bytes of an element, and dimensions and longest command of the link."""
    buffers, links = names
    source, destination = buffers[step.source.buffer], buffers[step.destination.buffer]
    link, element = links[step.link], np.dtype(source.dtype).itemsize
    return source.strides_bytes, destination.strides_bytes, element, link.dimensions, link.max_bytes


@lru_cache(maxsize=4096)
def _commands(
    shape: tuple[int, ...],
    source_strides: tuple[int, ...],
    destination_strides: tuple[int, ...],
    element_bytes: int,
    dimensions: int,
    max_bytes: int,
) -> tuple[int, int, int]:
    """Commands of the link, lines and bytes of one copy."""
    long = [axis for axis, extent in enumerate(shape) if extent != 1][:MAX_RANK]
    extents, source, destination = (
        [values[axis] for axis in long] for values in (shape, source_strides, destination_strides)
    )
    copies, lines, line_bytes = copy_commands(extents, source, destination, element_bytes)
    commands = link_commands(dimensions, max_bytes, *(np.asarray(item) for item in (copies, lines, line_bytes)))
    return int(commands), copies * lines, copies * lines * line_bytes
