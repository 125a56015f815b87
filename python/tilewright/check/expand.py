"""The program as the sequence of steps that run, with the block that each one is for.

Arithmetic of blocks and intervals is written here from the docstrings of ``plan.Runs`` and ``plan.AxisRange``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from itertools import chain
from math import prod

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import (
    AxisRange,
    Begin,
    CopyStart,
    End,
    Kernel,
    Layer,
    Loop,
    Operand,
    Runs,
    Step,
    Wait,
)

Rectangle = tuple[tuple[int, int], ...]
"""Half-open bounds on each axis, in coordinates of the whole tensor."""


@dataclass(frozen=True, slots=True)
class Digit:
    """One index in one block: bounds [lower, upper), and which of the index's ``count`` tiles it is."""

    lower: int
    upper: int
    coordinate: int
    count: int

    @property
    def bounds(self) -> tuple[int, int]:
        """The elements [lower, upper) of the index's dimension that are in the block."""
        return self.lower, self.upper


Digits = Mapping[str, Digit]


@dataclass(frozen=True, slots=True)
class Site:
    """A step in the program: its tick, layer and innermost loop (the loop's tick, or -1).

    ``names`` are the indices that the step's rectangles may name: those that it enumerates, and those of the blocks
    of the loops around it. ``blocks`` is the number of combinations that it enumerates. ``place`` says in messages
    where the step stands.
    """

    step: Step
    tick: int
    layer: str
    loop: int
    names: frozenset[str]
    blocks: int
    place: str
    children: tuple[Site, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """One run of a step, for block ``block``; ``instance`` counts entries into loops."""

    site: Site
    block: int
    digits: Digits
    instance: int


def describe(step: Step) -> str:
    """A step in a few words."""
    if isinstance(step, CopyStart):
        return f"copy {step.token}"
    if isinstance(step, Wait):
        return f"wait {step.token}"
    if isinstance(step, (Kernel, Layer)):
        return f"{type(step).__name__.lower()} {step.name}"
    if isinstance(step, (Begin, End)):
        return f"{type(step).__name__.lower()} {step.buffer}"
    return type(step).__name__.lower()


def operands_of(step: Step) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """The operands that a step reads, and those that it writes."""
    if isinstance(step, CopyStart):
        return (step.source,), (step.destination,)
    if isinstance(step, Kernel):
        return step.reads, step.writes
    return (), ()


def scratch_of(step: Kernel | CopyStart) -> tuple[str, ...]:
    """Scratch buffers that a kernel and the cores that share it use, or that bytes of a copy pass through."""
    if isinstance(step, CopyStart):
        return (step.words,) if step.words else ()
    return step.scratch if step.split is None else (*step.scratch, step.split.views)


def runs_of(step: Step) -> Runs | None:
    """The step's ``Runs``, if its kind has one."""
    return step.runs if isinstance(step, (CopyStart, Wait, Kernel, Loop)) else None


def sites(program: tuple[Step, ...]) -> tuple[Site, ...]:
    """The program's steps with their ticks: positions in the pre-order walk."""
    return _Numbering().walk(program, _Around())


@dataclass(frozen=True, slots=True)
class _Around:
    """What stands around a body: the layer, the innermost loop with its tick, the indices of blocks of loops."""

    layer: str = ""
    tick: int = -1
    loop: Loop | None = None
    names: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Numbering:
    tick: int = 0

    def walk(self, body: tuple[Step, ...], around: _Around) -> tuple[Site, ...]:
        return tuple(self._site(step, around) for step in body)

    def _site(self, step: Step, around: _Around) -> Site:
        tick = self.tick
        self.tick += 1
        names, blocks = _enumerated(step, around)
        children: tuple[Site, ...] = ()
        if isinstance(step, Layer):
            children = self.walk(step.body, _Around(step.name, around.tick, around.loop, around.names))
        elif isinstance(step, Loop):
            children = self.walk(step.body, _Around(around.layer, tick, step, names))
        layer = f"layer {around.layer}, " if around.layer else ""
        place = f"{layer}tick {tick}, {describe(step)}"
        return Site(step, tick, around.layer, around.tick, names, blocks, place, children)


def _enumerated(step: Step, around: _Around) -> tuple[frozenset[str], int]:
    """The indices visible to a step, and how many blocks it could have; 0 for malformed indices."""
    runs = runs_of(step)
    if runs is None:
        return around.names, 1
    counts = index_counts(around.loop)
    coarse = around.loop.coarse if around.loop is not None else ()
    own = {name for name in runs.over if name in counts}
    own |= {item.name for item in coarse if item.of in own}
    return around.names | own, prod(counts.get(name, 0) for name in runs.over)


def index_counts(loop: Loop | None) -> dict[str, int]:
    """How many tiles each index and coarse index of a loop has; 0 for a malformed one, which another rule reports."""
    if loop is None:
        return {}
    counts = {index.name: index.count if index.step >= 1 else 0 for index in loop.indices}
    for item in loop.coarse:
        counts[item.name] = counts.get(item.of, 0) // item.tiles if item.tiles >= 1 else 0
    return counts


def iterations(body: tuple[Step, ...]) -> tuple[int, int]:
    """The iterations [begin, end) of a loop with this body: from the first to the last at which a step runs."""
    begin, end = [], []
    for step in body:
        runs = runs_of(step)
        if isinstance(step, Layer):
            first, last = iterations(step.body)
        elif runs is not None:
            first, last = runs.first, runs.first + runs.every * (runs.count - 1) + 1
        else:
            continue
        if first < last:
            begin.append(first)
            end.append(last)
    return min(begin, default=0), max(end, default=0)


def event_count(body: tuple[Step, ...], times: int = 1) -> int:
    """How many steps the program runs, and iterations of its loops; the loops must be well-formed."""
    total = 0
    for step in body:
        runs = runs_of(step)
        if isinstance(step, Layer):
            total += event_count(step.body, times)
        elif isinstance(step, Loop):
            begin, end = iterations(step.body)
            total += times * step.runs.count * (end - begin) + event_count(step.body, times * step.runs.count)
        else:
            total += times * (runs.count if runs is not None else 1)
    return total


def flatten(roots: tuple[Site, ...]) -> Iterator[Site]:
    """Every site in the order of ticks."""
    for site in roots:
        yield site
        yield from flatten(site.children)


@dataclass(slots=True)
class Expansion:
    """Runs through a program, iteration by iteration.

    ``skips`` says of a loop that it need not be run through. ``takes`` runs an entry into a loop itself, given the
    loop, its steps (those of layers in their place), the digits of the loops around and the number of the entry; or
    it says that it did not.
    """

    roots: tuple[Site, ...]
    skips: Callable[[Site], bool] = lambda site: False
    takes: Callable[[Site, tuple[Site, ...], Digits, int], bool] = lambda site, body, outer, instance: False
    entries: int = field(default=0)

    def events(self) -> Iterator[Event]:
        """The steps that run, in order. Loops and layers themselves are no events; a loop may be skipped."""
        yield from self._body(_without_layers(self.roots), range(1), _Entry(None, {}, 0))

    def _body(self, body: tuple[Site, ...], times: range, entry: _Entry) -> Iterator[Event]:
        steps = [(site, runs_of(site.step)) for site in body]
        for time in times:
            for site, runs in steps:
                if runs is None:
                    yield Event(site, 0, {}, entry.instance)
                    continue
                block = block_at(runs, time)
                if block is None:
                    continue
                digits = entry.digits(runs.over, block)
                if not isinstance(site.step, Loop):
                    yield Event(site, block, digits, entry.instance)
                elif not self.skips(site):
                    yield from self._loop(site, site.step, digits)

    def _loop(self, site: Site, loop: Loop, outer: Digits) -> Iterator[Event]:
        self.entries += 1
        entry, body = _Entry(loop, outer, self.entries), _without_layers(site.children)
        if not self.takes(site, body, outer, self.entries):
            yield from self._body(body, range(*iterations(loop.body)), entry)


def _without_layers(body: tuple[Site, ...]) -> tuple[Site, ...]:
    """The steps of a body, those of its layers in their place."""
    nested = (_without_layers(site.children) if isinstance(site.step, Layer) else (site,) for site in body)
    return tuple(chain.from_iterable(nested))


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry into a loop (None: the program itself), with the digits of the loops around it."""

    loop: Loop | None
    outer: Digits
    instance: int
    known: dict[tuple[tuple[str, ...], int], Digits] = field(default_factory=dict)

    def digits(self, over: tuple[str, ...], block: int) -> Digits:
        """The indices visible to a step in one of its blocks."""
        if not over or self.loop is None:
            return self.outer
        key = (over, block)
        if key not in self.known:
            self.known[key] = {**self.outer, **block_digits(self.loop, over, block)}
        return self.known[key]


def not_kept_bounds(axis: AxisRange, kept: str, digits: Digits) -> tuple[int, int]:
    """The elements of an axis that a copy brings: those behind the elements of the previous tile along ``kept``."""
    ((begin, end),) = rectangle_of((axis,), digits)
    digit = digits[kept]
    if digit.coordinate == 0:
        return begin, end
    step = digit.lower // digit.coordinate
    before = Digit(digit.lower - step, digit.lower, digit.coordinate - 1, digit.count)
    ((_, had),) = rectangle_of((axis,), {**digits, kept: before})
    return min(max(begin, had), end), end


def block_at(runs: Runs, time: int) -> int | None:
    """The block on which a step works at an iteration; None if it does not run then."""
    block, rest = divmod(time - runs.first, runs.every)
    return block if rest == 0 and 0 <= block < runs.count else None


def block_digits(loop: Loop, over: tuple[str, ...], block: int) -> dict[str, Digit]:
    """Every index that a step enumerates in one of its blocks, and the coarse indices around them.

    The digits stand in the order of ``over``; the last index turns fastest.
    """
    counts = index_counts(loop)
    extents = {index.name: (index.extent, index.step, index.shift) for index in loop.indices}
    for coarse in loop.coarse:
        extent, step, _ = extents[coarse.of]
        extents[coarse.name] = (extent, step * coarse.tiles, 0)
    coordinates: dict[str, int] = {}
    for name in reversed(over):
        block, coordinates[name] = divmod(block, counts[name])
    found = {name: _digit(*extents[name], coordinates[name], counts[name]) for name in over}
    for coarse in loop.coarse:
        if coarse.of in coordinates:
            coordinate = coordinates[coarse.of] // coarse.tiles
            found[coarse.name] = _digit(*extents[coarse.name], coordinate, counts[coarse.name])
    return found


def _digit(extent: int, step: int, shift: int, coordinate: int, count: int) -> Digit:
    lower = coordinate * step - shift
    return Digit(max(lower, 0), min(extent, lower + step), coordinate, count)


def rectangle_of(ranges: tuple[AxisRange, ...], digits: Digits) -> Rectangle:
    """A rectangle in one block; an empty axis is (a, a)."""
    bounds = []
    for axis in ranges:
        low, high = axis.first_offset, axis.last_offset
        for name, stride in axis.terms:
            digit = digits[name]
            if stride >= 0:
                low += stride * digit.lower
                high += stride * (digit.upper - 1)
            else:
                low += stride * (digit.upper - 1)
                high += stride * digit.lower
        begin = min(max(low // axis.divisor, 0), axis.extent)
        end = min(high // axis.divisor + 1, axis.extent)
        bounds.append((begin, max(begin, end)))
    return tuple(bounds)
