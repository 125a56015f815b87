"""The iterations of a loop as arrays: what tells one from another, apart from where in the tensors they work.

Two iterations of one number in ``kinds`` make the same steps on the same bytes near the core, on elements that lie
alike to each other and to those of the iteration before. A checker that knows what it had of one and in which state
knows what it has of the other. What lies far from the core (tensors that the loop reads, or writes, piece by piece)
is compared for all iterations at once, in ``far_bytes``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.check.calls import Bounds, Counts, touched
from tilewright.check.expand import Digits, Site, index_counts, iterations
from tilewright.check.names import Facts
from tilewright.check.shadow import slots_of
from tilewright.plan import BufferKind, CopyStart, Kernel, Loop, Operand, Runs, Wait, WriteOrder


@dataclass(frozen=True, slots=True)
class Blocks:
    """All blocks of a step in one entry into its loop.

    ``bounds`` are those of the indices that the step sees; ``places`` which of how many tiles each is, in the order
    in which ``Event.digits`` has them. ``at`` gives for each iteration the block, of the last run or of the first
    that is to come; ``here`` whether the step runs in it.
    """

    site: Site
    step: CopyStart | Wait | Kernel
    bounds: Mapping[str, Bounds]
    places: Mapping[str, tuple[Counts, int]]
    at: Counts
    here: Counts

    @property
    def numbers(self) -> Counts:
        """The blocks, int64[count]."""
        return np.arange(self.step.runs.count, dtype=np.int64)

    def spread(self, column: Counts) -> Counts:
        """A value for each block, as one for each iteration."""
        return np.broadcast_to(column, self.step.runs.count)[self.at]


def blocks_of(site: Site, step: CopyStart | Wait | Kernel, loop: Loop, outer: Digits) -> Blocks:
    """The blocks of a step of a loop, with the digits of the loops around."""
    runs, (begin, end) = step.runs, iterations(loop.body)
    bounds: dict[str, Bounds] = {
        name: (np.full(1, digit.lower, np.int64), np.full(1, digit.upper, np.int64)) for name, digit in outer.items()
    }
    places = {name: (np.full(1, digit.coordinate, np.int64), digit.count) for name, digit in outer.items()}
    for name, (place, count, lower, upper) in _indices(runs, loop).items():
        bounds[name], places[name] = (lower, upper), (place, count)
    at, rest = np.divmod(np.arange(begin, end, dtype=np.int64) - runs.first, runs.every)
    here = (rest == 0) & (at >= 0) & (at < runs.count)
    return Blocks(site, step, bounds, places, np.clip(at, 0, runs.count - 1), here.astype(np.int64))


def _indices(runs: Runs, loop: Loop) -> dict[str, tuple[Counts, int, Counts, Counts]]:
    """Of each index that a step enumerates, for each block, which of how many tiles it is and its bounds."""
    counts = index_counts(loop)
    forms = {index.name: (index.extent, index.step, index.shift) for index in loop.indices}
    for coarse in loop.coarse:
        extent, step, _ = forms[coarse.of]
        forms[coarse.name] = (extent, step * coarse.tiles, 0)
    left, own = np.arange(runs.count, dtype=np.int64), {}
    for name in reversed(runs.over):
        left, own[name] = np.divmod(left, counts[name])
    places = {name: own[name] for name in runs.over}
    for coarse in loop.coarse:
        if coarse.of in own:
            places[coarse.name] = own[coarse.of] // coarse.tiles
    found = {}
    for name, place in places.items():
        extent, step, shift = forms[name]
        lower = place * step - shift
        found[name] = place, counts[name], np.maximum(lower, 0), np.minimum(extent, lower + step)
    return found


@dataclass(frozen=True, slots=True)
class Reach:
    """One operand in all blocks: the bounds of its axes, and of the larger rectangle that a slot holds."""

    blocks: Blocks
    operand: Operand
    axes: tuple[Bounds, ...]
    held: tuple[Bounds, ...]
    is_write: bool


def reaches_of(blocks: Blocks) -> tuple[Reach, ...]:
    """The operands of a step: reads, then writes."""
    step = blocks.step
    if isinstance(step, Wait):
        return ()
    reads = (step.source,) if isinstance(step, CopyStart) else step.reads
    writes = (step.destination,) if isinstance(step, CopyStart) else step.writes
    return tuple(
        Reach(
            blocks,
            operand,
            tuple(touched(axis, blocks.bounds) for axis in operand.rectangle),
            tuple(touched(axis, blocks.bounds) for axis in operand.within or operand.rectangle),
            number >= len(reads),
        )
        for number, operand in enumerate((*reads, *writes))
    )


@dataclass(slots=True)
class Turns:
    """The iterations of one entry into a loop.

    ``origins`` has for each buffer near the core where its content is counted from in each iteration, an array for
    each axis and one for the number of the content; ``firsts`` the number of copies that each token is counted from.
    ``kinds`` numbers iterations that are alike.
    """

    facts: Facts
    count: int
    blocks: tuple[Blocks, ...]
    reaches: tuple[tuple[Reach, ...], ...]
    near: frozenset[str]
    origins: dict[str, tuple[tuple[Counts, ...], Counts]] = field(default_factory=dict)
    firsts: dict[str, Counts] = field(default_factory=dict)
    kinds: Counts = field(default_factory=lambda: np.zeros(0, np.int64))

    def far(self) -> Iterator[Reach]:
        """The operands that lie far from the core."""
        return (reach for some in self.reaches for reach in some if reach.operand.buffer not in self.near)


def turns_of(facts: Facts, body: tuple[Site, ...], loop: Loop, outer: Digits) -> Turns | None:
    """The iterations of a loop of plain steps; None where they cannot be told apart by what is compared here."""
    found = []
    for site in body:
        if not isinstance(site.step, (CopyStart, Wait, Kernel)) or (
            isinstance(site.step, CopyStart) and site.step.words
        ):
            return None
        if site.step.runs.count < 1:
            continue
        found.append(blocks_of(site, site.step, loop, outer))
    blocks = tuple(found)
    reaches = tuple(reaches_of(item) for item in blocks)
    begin, end = iterations(loop.body)
    turns = Turns(facts, end - begin, blocks, reaches, _near(facts, blocks, reaches))
    if not _fits(turns):
        return None
    _set_origins(turns)
    turns.kinds = _kinds(turns)
    return turns


def _near(facts: Facts, blocks: tuple[Blocks, ...], reaches: tuple[tuple[Reach, ...], ...]) -> frozenset[str]:
    """Tiles, rings and scratch: buffers whose bytes are written again and again."""
    names = {reach.operand.buffer for some in reaches for reach in some}
    near = {
        name
        for name in names
        if facts.buffers[name].kind is BufferKind.TILE or facts.buffers[name].ring_axis is not None
    }
    scratch = {name for item in blocks if isinstance(item.step, Kernel) for name in item.step.scratch}
    return frozenset(near | scratch)


def _fits(turns: Turns) -> bool:
    """Whether what is far lies in its buffer in all blocks, and copies have one rank."""
    for reach in turns.far():
        shape = turns.facts.buffers[reach.operand.buffer].shape
        if any((end > extent).any() for (_, end), extent in zip(reach.axes, shape, strict=True)):
            return False
    return all(
        len(some[0].axes) == len(some[1].axes)
        for item, some in zip(turns.blocks, turns.reaches, strict=True)
        if isinstance(item.step, CopyStart)
    )


def _set_origins(turns: Turns) -> None:
    for item, some in zip(turns.blocks, turns.reaches, strict=True):
        if isinstance(item.step, CopyStart):
            turns.firsts.setdefault(item.step.token, item.at)
        for reach in some:
            name = reach.operand.buffer
            if name in turns.near and name not in turns.origins:
                axes = tuple(item.spread(begin) for begin, _ in reach.held)
                turns.origins[name] = _own_axes(turns, name, axes), item.at // reach.operand.period


def _own_axes(turns: Turns, name: str, axes: tuple[Counts, ...]) -> tuple[Counts, ...]:
    """A ring that is no tile has a place for all elements of a row, so only its rows are counted from an origin."""
    buffer = turns.facts.buffers[name]
    if buffer.kind is BufferKind.TILE:
        return axes
    return tuple(values if axis == buffer.ring_axis else np.zeros_like(values) for axis, values in enumerate(axes))


def _kinds(turns: Turns) -> Counts:
    """Numbers of iterations that differ in no column."""
    kinds = np.zeros(turns.count, np.int64)
    for column in _columns(turns):
        if (column == column[0]).all():
            continue
        _, values = np.unique(column, return_inverse=True)
        _, kinds = np.unique(kinds * (int(values.max()) + 1) + values.reshape(-1), return_inverse=True)
        kinds = kinds.reshape(-1)
    return kinds


def _columns(turns: Turns) -> Iterator[Counts]:
    """All that steps do in an iteration, each as one number for each iteration; 0 where the step does not run."""
    for axes, content in turns.origins.values():
        yield from (np.diff(values, prepend=values[:1]) for values in (*axes, content))
    yield from (np.diff(values, prepend=values[:1]) for values in turns.firsts.values())
    for item, some in zip(turns.blocks, turns.reaches, strict=True):
        yield item.here
        yield from (item.here * column for column in _step_columns(turns, item, some))


def _step_columns(turns: Turns, item: Blocks, some: tuple[Reach, ...]) -> Iterator[Counts]:
    step, facts = item.step, turns.facts
    if not isinstance(step, Kernel):
        number = item.at + (step.number if isinstance(step, Wait) else 0)
        yield number - turns.firsts[step.token] if step.token in turns.firsts else number
    for reach in some:
        name = reach.operand.buffer
        yield from _near_columns(turns, item, reach) if name in turns.near else _far_columns(turns, item, reach)
    if isinstance(step, CopyStart):
        for one, other in zip(some[0].axes, some[1].axes, strict=True):
            yield from (item.spread(a - b) for a, b in zip(one, other, strict=True))
        axis = facts.buffers[step.destination.buffer].ring_axis
        if step.kept and axis is not None:
            yield from (
                item.spread(bound) - item.spread(some[1].axes[axis][0]) for bound in _not_kept(item, step, axis)
            )
    if isinstance(step, Kernel):
        yield from (item.spread(values) for values in progress_of(item, step))
        if _is_walked_over(turns, step, some):
            yield from (item.spread(bound) for bounds in item.bounds.values() for bound in bounds)


def _near_columns(turns: Turns, item: Blocks, reach: Reach) -> Iterator[Counts]:
    buffer = turns.facts.buffers[reach.operand.buffer]
    axes, content = turns.origins[buffer.name]
    for bounds, origin in zip(reach.axes, axes, strict=True):
        yield from (item.spread(bound) - origin for bound in bounds)
    if reach.operand.within:
        for bounds, origin in zip(reach.held, axes, strict=True):
            yield from (item.spread(bound) - origin for bound in bounds)
    slots, number = slots_of(turns.facts, reach.operand), item.at // reach.operand.period
    yield number - content
    if slots:
        yield number % slots
    if buffer.ring_axis is not None:
        yield item.spread(reach.axes[buffer.ring_axis][0]) % buffer.shape[buffer.ring_axis]


def _far_columns(turns: Turns, item: Blocks, reach: Reach) -> Iterator[Counts]:
    """Extents, and what a link asks of addresses."""
    yield from (item.spread(end - begin) for begin, end in reach.axes)
    if isinstance(item.step, CopyStart):
        link, buffer = turns.facts.links[item.step.link], turns.facts.buffers[reach.operand.buffer]
        offset = sum(
            (begin * stride for (begin, _), stride in zip(reach.axes, buffer.strides_bytes, strict=True)),
            start=np.zeros(1, np.int64),
        )
        if link.round_up_bytes > 1:
            yield item.spread(offset)
        if link.align_bytes > 1:
            yield item.spread(offset) % link.align_bytes


def _not_kept(item: Blocks, step: CopyStart, axis: int) -> Bounds:
    """What of a ring's axis each block copies, as ``expand.not_kept_bounds`` has it for one block."""
    ranged, (place, _) = step.destination.rectangle[axis], item.places[step.kept]
    begin, end = touched(ranged, item.bounds)
    lower = item.bounds[step.kept][0]
    length = lower // np.maximum(place, 1)
    _, had = touched(ranged, {**item.bounds, step.kept: (lower - length, lower)})
    first = np.where(place == 0, begin, np.minimum(np.maximum(begin, had), end))
    return first, end


def progress_of(item: Blocks, step: Kernel) -> tuple[Counts, Counts]:
    """As ``calls.progress``, for each block."""
    done, total = np.zeros(1, np.int64), 1
    for name, (place, count) in item.places.items():
        if name in step.reduction:
            done, total = done * count + place, total * count
    return done, np.full(1, total, np.int64)


def _is_walked_over(turns: Turns, step: Kernel, some: tuple[Reach, ...]) -> bool:
    """Whether a result may lie over a read that the kernel walks along: then what it walks decides."""
    if step.stores.order is not WriteOrder.RASTER:
        return False
    facts = turns.facts
    spans = [(*_home(facts, reach.operand.buffer), reach.is_write) for reach in some]
    return any(
        write and not read and memory == other and begin < last and first < end
        for memory, begin, end, write in spans
        for other, first, last, read in spans
    )


def _home(facts: Facts, name: str) -> tuple[str, int, int]:
    if name in facts.callers:
        begin = facts.shift_bytes[name]
        return facts.root[name], begin, begin + facts.buffers[name].size_bytes
    return (f"pool {facts.placements[name].pool}", *facts.span(name))
