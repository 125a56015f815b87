"""Rules on lifetimes: marks, use while alive, and no two live buffers on the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tilewright.base.lazy_dataclass import dataclass
from tilewright.check.expand import Event, Expansion, Site, flatten, operands_of, scratch_of
from tilewright.check.guarded import check_between
from tilewright.check.names import Facts
from tilewright.check.placed import trail_excuses
from tilewright.check.rules import Log, Rule
from tilewright.plan import Begin, BufferKind, CopyStart, End, Kernel, Step

_FROM_START = (BufferKind.INPUT, BufferKind.CONSTANT, BufferKind.STATE)
_TO_END = (BufferKind.OUTPUT, BufferKind.CONSTANT, BufferKind.STATE)
_MARKED = (BufferKind.INTERMEDIATE, BufferKind.SCRATCH, BufferKind.TILE)


def check_lifetimes(facts: Facts, roots: tuple[Site, ...], log: Log) -> None:
    """Run the marks on every iteration and compare each buffer that begins with all that live."""
    state = _Lives(facts, log)
    begun = {site.step.buffer for site in flatten(roots) if isinstance(site.step, Begin)}
    for buffer in facts.plan.buffers:
        if facts.is_left(buffer.name):
            continue
        if buffer.kind in _FROM_START or (buffer.kind is BufferKind.OUTPUT and buffer.name not in begun):
            state.occupy(buffer.name, "start of the program")
    for event in Expansion(roots, state.is_sound_loop).events():
        state.step(event)
    for name in state.begun:
        if facts.buffers[name].kind in _MARKED:
            log.report(Rule.NEVER_ENDED, f"{name} is still alive at the end of the program", f"buffer {name}")


@dataclass(slots=True)
class _Lives:
    facts: Facts
    log: Log
    begun: dict[str, None] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    occupied: dict[str, dict[str, None]] = field(default_factory=dict)
    compared: set[tuple[str, str]] = field(default_factory=set)
    sound_sites: set[int] = field(default_factory=set)

    def step(self, event: Event) -> None:
        step, place = event.site.step, event.site.place
        if isinstance(step, Begin):
            self._begin(step.buffer, place)
        elif isinstance(step, End):
            self._end(step.buffer, place)
        elif event.site.tick not in self.sound_sites:
            self._use(event)

    def is_sound_loop(self, loop: Site) -> bool:
        """Whether a loop has no marks and its steps use living buffers only: then one iteration is checked for all."""
        inside = tuple(flatten(loop.children))
        if any(isinstance(site.step, (Begin, End)) for site in inside):
            return False
        return all(self._is_alive(name) for site in inside for name in _used(site.step))

    def _begin(self, name: str, place: str) -> None:
        # What is alive only changes at marks, so the steps between them are looked at again.
        self.sound_sites.clear()
        if name in self.begun:
            self.log.report(Rule.DOUBLE_BEGIN, f"{name} is already alive", place)
        self.begun[name] = None
        self.ended.discard(name)
        self.occupy(name, place)

    def _end(self, name: str, place: str) -> None:
        self.sound_sites.clear()
        if name not in self.begun:
            self.log.report(Rule.DOUBLE_END, f"{name} is not alive", place)
        self.begun.pop(name, None)
        self.ended.add(name)
        if self.facts.buffers[name].kind not in _TO_END or self.facts.is_found(name):
            self._beside(name).pop(name, None)

    def _use(self, event: Event) -> None:
        sound = True
        for name in _used(event.site.step):
            if not self._is_alive(name):
                message = f"{name} is used {'after its End' if name in self.ended else 'before its Begin'}"
                self.log.report(Rule.OUTSIDE_LIFETIME, message, event.site.place, event.block)
                sound = False
        if sound:
            self.sound_sites.add(event.site.tick)

    def _is_alive(self, name: str) -> bool:
        needs_begin = self.facts.buffers[name].kind in _MARKED or self.facts.is_left(name)
        return name not in self.ended and not (needs_begin and name not in self.begun)

    def occupy(self, name: str, place: str) -> None:
        """Compare a buffer that comes alive with all that are in its pool, and add it; callers place their own."""
        if name in self.facts.callers or name in self._beside(name):
            return
        begin, end = self.facts.span(name)
        for other in self._beside(name):
            other_begin, other_end = self.facts.span(other)
            if other_begin < end and begin < other_end:
                self._compare(name, other, place)
            check_between(self.facts, name, other, self.log)
        self._beside(name)[name] = None

    def _beside(self, name: str) -> dict[str, None]:
        """The buffers that are alive in the pool of a buffer."""
        return self.occupied.setdefault(self.facts.pool_of(name), {})

    def _compare(self, name: str, other: str, place: str) -> None:
        """Report two buffers that share bytes while both are alive, unless they may."""
        if (name, other) in self.compared:
            return
        self.compared.add((name, other))
        facts, pool = self.facts, self.facts.pool_of(name)
        if facts.root[name] == facts.root[other]:
            return
        (begin, end), (other_begin, other_end) = facts.span(name), facts.span(other)
        excused = trail_excuses(facts, name, other)
        if excused:
            return
        message = f"{name} [{begin}, {end}) and {other} [{other_begin}, {other_end}) in pool {pool} " + (
            "are closer than their trails relation allows" if excused is False else "are alive together"
        )
        self.log.report(Rule.OVERLAP if excused is None else Rule.TRAILS, message, f"{place}; with {other}")


def _used(step: Step) -> Iterator[str]:
    reads, writes = operands_of(step)
    for operand in (*reads, *writes):
        yield operand.buffer
    if isinstance(step, (CopyStart, Kernel)):
        yield from scratch_of(step)
