"""Lifetimes of buffers from the live and dead marks of a program.

A tick is the position of a step in the pre-order walk of the program, each loop body
counted once. A buffer lives in [tick of its Begin, tick of its End).

Before:  0 Begin a   1 Layer   2 Loop   3 Kernel   4 End a   5 Begin b   6 End b
After:   a [0, 4)    b [5, 6)   disjoint: no pair
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import Begin, End, Layer, Loop, Step

Lifetime = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Visit:
    """A step at its tick; ``loops`` are the spans of ticks of the loops around it, outermost first."""

    step: Step
    tick: int
    layer: str | None
    loops: tuple[Lifetime, ...]


def lifetimes(program: tuple[Step, ...]) -> dict[str, Lifetime]:
    """Half-open ticks of every buffer that has a mark, in the order of first marks.

    Without a Begin a buffer lives from tick 0, without an End to the program's last tick.
    Where only one of the two marks stands in a loop, the buffer lives throughout that loop.
    """
    begins: dict[str, list[_Visit]] = {}
    ends: dict[str, list[_Visit]] = {}
    for visit in _walk(program):
        if isinstance(visit.step, (Begin, End)):
            begins.setdefault(visit.step.buffer, [])
            ends.setdefault(visit.step.buffer, [])
        if isinstance(visit.step, Begin):
            begins[visit.step.buffer].append(visit)
        elif isinstance(visit.step, End):
            ends[visit.step.buffer].append(visit)
    finish = tick_count(program)
    return {name: _lifetime(begins[name], ends[name], finish) for name in begins}


def tick_count(program: tuple[Step, ...]) -> int:
    """Number of ticks of a program."""
    return sum(1 for _ in _walk(program))


def disjoint_pairs(alive: Mapping[str, Lifetime]) -> dict[str, set[str]]:
    """For each buffer those that are alive together with it at some tick; symmetric, itself left out.

    A sweep over the marks: time grows with the number of pairs found.
    """
    pairs: dict[str, set[str]] = {name: set() for name in alive}
    marks = [(end, False, name) for name, (begin, end) in alive.items() if begin < end]
    marks += [(begin, True, name) for name, (begin, end) in alive.items() if begin < end]
    # Half-open: at one tick, what ends goes before what begins.
    marks.sort(key=lambda mark: (mark[0], mark[1]))
    now: set[str] = set()
    for _, begins, name in marks:
        if not begins:
            now.discard(name)
            continue
        for other in now:
            pairs[name].add(other)
            pairs[other].add(name)
        now.add(name)
    return pairs


def layer_at(program: tuple[Step, ...], tick: int) -> str | None:
    """The layer at a tick; between two layers the next one, whose buffers begin there.

    None behind the last layer.
    """
    for visit in _walk(program):
        if visit.tick >= tick and visit.layer is not None:
            return visit.layer
    return None


def _lifetime(begins: list[_Visit], ends: list[_Visit], finish: int) -> Lifetime:
    first, last = 0, finish
    if begins:
        first = min(_reach(visit, ends)[0] for visit in begins)
    if ends:
        last = max(_reach(visit, begins)[1] for visit in ends)
    return first, last


def _reach(visit: _Visit, others: list[_Visit]) -> Lifetime:
    """The tick of a mark, widened to the outermost loop around it that holds none of the other marks."""
    for loop in visit.loops:
        if not any(loop in other.loops for other in others):
            return loop
    return visit.tick, visit.tick


def _walk(program: tuple[Step, ...]) -> Iterator[_Visit]:
    yield from _walk_body(program, 0, None, ())


def _walk_body(body: tuple[Step, ...], tick: int, layer: str | None, loops: tuple[Lifetime, ...]) -> Iterator[_Visit]:
    for step in body:
        size = _size(step)
        name = step.name if isinstance(step, Layer) else layer
        yield _Visit(step, tick, name, loops)
        if isinstance(step, Loop):
            yield from _walk_body(step.body, tick + 1, name, (*loops, (tick, tick + size)))
        elif isinstance(step, Layer):
            yield from _walk_body(step.body, tick + 1, name, loops)
        tick += size


def _size(step: Step) -> int:
    """Ticks of a step with all that stands in it."""
    if isinstance(step, (Loop, Layer)):
        return 1 + sum(_size(inner) for inner in step.body)
    return 1
