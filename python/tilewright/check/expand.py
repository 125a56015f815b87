"""The program as the sequence of steps that run, with the tile that each one is for.

Interval arithmetic is written here from the docstring of ``plan.AxisRange``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tilewright.plan import (
    AxisRange,
    Barrier,
    Begin,
    CopyStart,
    End,
    Fork,
    Kernel,
    Layer,
    Loop,
    Operand,
    Phase,
    Step,
    Wait,
    When,
)

Rectangle = tuple[tuple[int, int], ...]
"""Half-open bounds on each axis, in coordinates of the whole tensor."""


@dataclass(frozen=True, slots=True)
class Digit:
    """One index in one tile: bounds [lower, upper), and which of its ``count`` tiles it is."""

    lower: int
    upper: int
    coordinate: int
    count: int


Digits = Mapping[str, Digit]


@dataclass(frozen=True, slots=True)
class Site:
    """A step in the program: its tick, layer and innermost loop (the loop's tick, or -1).

    ``names`` are the indices visible to it; ``tiles`` the number of tiles of its loop.
    """

    step: Step
    tick: int
    layer: str
    loop: int
    tiles: int
    names: frozenset[str]
    children: tuple[Site, ...] = ()

    @property
    def place(self) -> str:
        """Where the step stands, for messages."""
        layer = f"layer {self.layer}, " if self.layer else ""
        return f"{layer}tick {self.tick}, {describe(self.step)}"


@dataclass(frozen=True, slots=True)
class Event:
    """One run of a step for tile ``tile``; ``instance`` counts entries into loops."""

    site: Site
    tile: int
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
    """What a step reads and what it writes."""
    if isinstance(step, CopyStart):
        return (step.source,), (step.destination,)
    if isinstance(step, Kernel):
        return step.reads, step.writes
    return (), ()


def scratch_of(step: Kernel) -> tuple[str, ...]:
    """Scratch buffers that the kernel and the cores that share it use."""
    return step.scratch if step.split is None else (*step.scratch, step.split.views)


def when_of(step: Step) -> When | None:
    """The step's ``When``, if its kind has one."""
    return step.when if isinstance(step, (CopyStart, Wait, Kernel)) else None


def sites(program: tuple[Step, ...]) -> tuple[Site, ...]:
    """The program's steps with their ticks: positions in the pre-order walk."""
    return _Numbering().walk(program, "", -1, 1, frozenset())


@dataclass(slots=True)
class _Numbering:
    tick: int = 0

    def walk(
        self, body: tuple[Step, ...], layer: str, loop: int, tiles: int, names: frozenset[str]
    ) -> tuple[Site, ...]:
        return tuple(self._site(step, layer, loop, tiles, names) for step in body)

    def _site(self, step: Step, layer: str, loop: int, tiles: int, names: frozenset[str]) -> Site:
        tick = self.tick
        self.tick += 1
        children: tuple[Site, ...] = ()
        if isinstance(step, Layer):
            children = self.walk(step.body, step.name, loop, tiles, names)
        elif isinstance(step, Loop):
            inside = names | {index.name for index in step.indices} | {group.name for group in step.groups}
            children = self.walk(step.body, layer, tick, _tiles(step), inside)
        return Site(step, tick, layer, loop, tiles, names, children)


def _tiles(loop: Loop) -> int:
    """Number of tiles; 0 for a malformed index, which another rule reports."""
    return loop.tiles if all(index.step >= 1 for index in loop.indices) else 0


def event_count(body: tuple[Step, ...], times: int = 1) -> int:
    """At most how many events the program has; its loops must be well-formed."""
    total = 0
    for step in body:
        if isinstance(step, Layer):
            total += event_count(step.body, times)
        elif isinstance(step, Loop):
            total += event_count(step.body, times * (step.lead + step.tiles + step.trail))
        else:
            total += times
    return total


def flatten(roots: tuple[Site, ...]) -> Iterator[Site]:
    """Every site in the order of ticks."""
    for site in roots:
        yield site
        yield from flatten(site.children)


@dataclass(slots=True)
class Expansion:
    """Runs through a program, tile by tile."""

    roots: tuple[Site, ...]
    entries: int = field(default=0)

    def events(self) -> Iterator[Event]:
        """The steps that run, in order. Loops and layers themselves are no events."""
        yield from self._body(self.roots, 0, 1, {0: {}}, 0)

    def _body(
        self, body: tuple[Site, ...], time: int, tiles: int, digits: Mapping[int, Digits], instance: int
    ) -> Iterator[Event]:
        for site in body:
            step = site.step
            if isinstance(step, Layer):
                yield from self._body(site.children, time, tiles, digits, instance)
            elif isinstance(step, Loop):
                if 0 <= time < tiles:
                    yield from self._loop(site, step, digits[time])
            elif isinstance(step, (Begin, End, Fork, Barrier)):
                yield Event(site, time, {}, instance)
            elif isinstance(step, Wait) and site.loop < 0:
                yield Event(site, step.when.ahead, {}, instance)
            else:
                tile = time + step.when.ahead
                if runs(step.when, tile, tiles):
                    yield Event(site, tile, digits[tile], instance)

    def _loop(self, site: Site, loop: Loop, outer: Digits) -> Iterator[Event]:
        self.entries += 1
        instance = self.entries
        tiles = loop.tiles
        digits = {tile: {**outer, **tile_digits(loop, tile)} for tile in range(tiles)}
        for time in range(-loop.lead, tiles + loop.trail):
            yield from self._body(site.children, time, tiles, digits, instance)


def fresh_bounds(axis: AxisRange, kept: str, digits: Digits) -> tuple[int, int]:
    """The part of an axis that a copy brings: behind what the tile before along ``kept`` touches."""
    ((begin, end),) = rectangle_of((axis,), digits)
    digit = digits[kept]
    if digit.coordinate == 0:
        return begin, end
    step = digit.lower // digit.coordinate
    before = Digit(digit.lower - step, digit.lower, digit.coordinate - 1, digit.count)
    ((_, had),) = rectangle_of((axis,), {**digits, kept: before})
    return min(max(begin, had), end), end


def runs(when: When, tile: int, tiles: int) -> bool:
    """Whether a step runs for a tile number; numbers outside [0, tiles) never do."""
    if not 0 <= tile < tiles:
        return False
    return tile % when.period == (0 if when.phase is Phase.FIRST else when.period - 1)


def tile_digits(loop: Loop, tile: int) -> dict[str, Digit]:
    """Every index and group of a loop in one of its tiles, in their order; the last index turns fastest."""
    digits: list[tuple[str, Digit]] = []
    for index in reversed(loop.indices):
        count = -(-index.extent // index.step)
        tile, coordinate = divmod(tile, count)
        lower = coordinate * index.step
        digits.append((index.name, Digit(lower, min(index.extent, lower + index.step), coordinate, count)))
    found = dict(reversed(digits))
    steps = {index.name: index for index in loop.indices}
    for group in loop.groups:
        fine, index = found[group.of], steps[group.of]
        coordinate = fine.coordinate // group.tiles
        step = group.tiles * index.step
        upper = min(index.extent, (coordinate + 1) * step)
        found[group.name] = Digit(coordinate * step, upper, coordinate, fine.count // group.tiles)
    return found


def rectangle_of(ranges: tuple[AxisRange, ...], digits: Digits) -> Rectangle:
    """A rectangle in one tile; an empty axis is (a, a)."""
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
