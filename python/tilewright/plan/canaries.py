"""Where canaries lie while a layer runs: beside the buffers that are alive, on bytes that belong to none of these.

Before:  layer k runs with a [32, 132) and b [160, 220) alive; 28 bytes below each and 4 behind it are guarded
After:   canaries [4, 32) and [132, 136) of a, [132, 160) and [220, 224) of b, in layer k
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan.lifetimes import lifetimes
from tilewright.plan.memory import Guards
from tilewright.plan.program import Plan
from tilewright.plan.stages import numbered_layers, stage_spans

Span = tuple[int, int]
"""Bytes [begin, end) of a pool."""


@dataclass(frozen=True, slots=True)
class Canaries:
    """Bytes of a pool that hold canaries while layers ``first`` to ``last`` (counted from 0) run.

    ``at`` is the offset of the first of these bytes from the first byte of ``buffer``, which is None at a pool's ends.
    """

    buffer: str | None
    pool: str
    offset_bytes: int
    size_bytes: int
    at: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class _Side:
    """The room on one side of a buffer, or at one end of a pool."""

    buffer: str | None
    span: Span
    start: int


def canaries(plan: Plan) -> tuple[Canaries, ...]:
    """All canaries of a plan, by pool and offset; none for a plan without guards."""
    if plan.guards is None:
        return ()
    found = [item for pool in plan.guards.pools for item in _of_pool(plan, plan.guards, pool)]
    # Views have canaries where their roots have them.
    once = {(item.pool, item.offset_bytes, item.size_bytes, item.first, item.last): item for item in reversed(found)}
    return tuple(reversed(once.values()))


def guarded_bytes(plan: Plan, pool: str) -> int:
    """Bytes of a pool that hold canaries at some time."""
    spans = [(item.offset_bytes, item.offset_bytes + item.size_bytes) for item in canaries(plan) if item.pool == pool]
    most = max((end for _, end in spans), default=0)
    return most - sum(end - begin for begin, end in _free((0, most), spans))


def _of_pool(plan: Plan, guards: Guards, pool: str) -> Iterator[Canaries]:
    sizes = {buffer.name: buffer.size_bytes for buffer in plan.buffers}
    spans = {
        item.buffer: (item.offset_bytes, item.offset_bytes + sizes[item.buffer])
        for item in plan.placements
        if item.pool == pool and sizes[item.buffer]
    }
    if not spans:
        return
    used = next(use.used_bytes for use in plan.pool_use if use.pool == pool)
    ends = (_Side(None, (0, guards.below_bytes), 0), _Side(None, (used - guards.behind_bytes, used), 0))
    layers = _alive_by_layer(plan, spans)
    for side in (*ends, *_sides(spans, guards)):
        yield from _of_side(side, pool, [(alive, [spans[name] for name in alive]) for alive in layers])


def _sides(spans: dict[str, Span], guards: Guards) -> Iterator[_Side]:
    for name, (begin, end) in sorted(spans.items(), key=lambda item: (item[1], item[0])):
        yield _Side(name, (begin - guards.below_bytes, begin), begin)
        yield _Side(name, (end, end + guards.behind_bytes), begin)


def _alive_by_layer(plan: Plan, spans: dict[str, Span]) -> list[frozenset[str]]:
    """For each layer the buffers of a pool that are alive at some time while it runs."""
    alive = lifetimes(plan.program)
    ticks = stage_spans(plan.program)
    layers = [ticks[item.first] for item in numbered_layers(plan.program)]
    return [
        frozenset(name for name in spans if alive[name][0] < end and begin < alive[name][1]) for begin, end in layers
    ]


def _of_side(side: _Side, pool: str, layers: list[tuple[frozenset[str], list[Span]]]) -> Iterator[Canaries]:
    """The pieces of one side that are free, each over all layers in a row in which it is."""
    running: dict[Span, int] = {}
    for number in range(len(layers) + 1):
        pieces: set[Span] = set()
        if number < len(layers):
            alive, taken = layers[number]
            pieces = set(_free(side.span, taken)) if side.buffer is None or side.buffer in alive else set()
        for piece in sorted(set(running) - pieces):
            begin, end = piece
            yield Canaries(side.buffer, pool, begin, end - begin, begin - side.start, running.pop(piece), number - 1)
        for piece in pieces:
            running.setdefault(piece, number)


def _free(span: Span, taken: Iterable[Span]) -> list[Span]:
    """The parts of a span that no other span touches."""
    free, at = [], span[0]
    for begin, end in sorted(taken):
        if begin < span[1] and end > at:
            if begin > at:
                free.append((at, begin))
            at = max(at, end)
    if at < span[1]:
        free.append((at, span[1]))
    return free
