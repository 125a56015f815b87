"""The buffers and bytes that are alive in a pool at each step of a report, computed from the plan alone.

Bytes that two buffers share (a view and its root, an output that overlaps its input) count once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import Begin, Buffer, BufferKind, End, Layer, Loop, Plan, Pool, RelationKind, Step
from tilewright.plan.lifetimes import layer_at, lifetimes, tick_count

Lifetime = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Living:
    """The buffers of one pool: ``spans`` are bytes of the pool, ``lives`` are ticks, both half-open [begin, end).

    Attributes:
        over: each output that overlaps an input of its layer, with that input, which began earlier.
        inside: each view with the buffer around it.
        changes: ascending ticks; between two of them the same buffers are alive.
        now: before the first change, and from each one on, the buffers that are alive, largest first.
        now_bytes: bytes of the pool that these buffers take together.
    """

    plan: Plan
    pool: Pool
    buffers: Mapping[str, Buffer]
    spans: Mapping[str, tuple[int, int]]
    lives: Mapping[str, Lifetime]
    over: Mapping[str, str]
    inside: Mapping[str, str]
    changes: tuple[int, ...]
    now: tuple[tuple[str, ...], ...]
    now_bytes: tuple[int, ...]

    def at(self, tick: int) -> tuple[str, ...]:
        """Buffers that are alive at a tick, largest first."""
        return self.now[bisect_right(self.changes, tick)]

    def bytes_at(self, tick: int) -> int:
        """Bytes of the pool that hold an alive buffer at a tick."""
        return self.now_bytes[bisect_right(self.changes, tick)]

    def peak_tick(self) -> int | None:
        """The first tick at which the most bytes are alive; None for a pool without buffers."""
        ticks = sorted({begin for begin, end in self.lives.values() if begin < end})
        return max(ticks, key=lambda tick: (self.bytes_at(tick), -tick), default=None)


def all_lifetimes(plan: Plan) -> dict[str, Lifetime]:
    """The lifetime of every buffer in ticks; a buffer without Begin and End lives throughout the program."""
    throughout = (0, tick_count(plan.program))
    marked = lifetimes(plan.program)
    return {buffer.name: marked.get(buffer.name, throughout) for buffer in plan.buffers}


def living(plan: Plan, pool: Pool, alive: Mapping[str, Lifetime]) -> Living:
    """The buffers that the plan places in ``pool``; ``alive`` is ``all_lifetimes(plan)``."""
    known = {buffer.name: buffer for buffer in plan.buffers}
    spans = {
        item.buffer: (item.offset_bytes, item.offset_bytes + known[item.buffer].size_bytes)
        for item in plan.placements
        if item.pool == pool.name
    }
    lives = {name: alive[name] for name in spans}
    changes = tuple(sorted({tick for begin, end in lives.values() if begin < end for tick in (begin, end)}))
    now = tuple(
        tuple(sorted(names, key=lambda name: (-known[name].size_bytes, name))) for names in _alive(lives, changes)
    )
    return Living(
        plan=plan,
        pool=pool,
        buffers=known,
        spans=spans,
        lives=lives,
        over=_over(plan, lives),
        inside={item.first: item.second for item in plan.relations if item.kind is RelationKind.AT_OFFSET},
        changes=changes,
        now=now,
        now_bytes=tuple(_union_bytes(spans[name] for name in names) for names in now),
    )


def _alive(lives: Mapping[str, Lifetime], changes: Sequence[int]) -> Iterator[list[str]]:
    """The buffers that are alive before the first change, and from each one on."""
    begins: dict[int, list[str]] = {}
    ends: dict[int, list[str]] = {}
    for name, (begin, end) in lives.items():
        if begin < end:
            begins.setdefault(begin, []).append(name)
            ends.setdefault(end, []).append(name)
    now: dict[str, None] = {}
    yield []
    for tick in changes:
        for name in ends.get(tick, ()):
            del now[name]
        now.update(dict.fromkeys(begins.get(tick, ())))
        yield list(now)


def _over(plan: Plan, lives: Mapping[str, Lifetime]) -> dict[str, str]:
    pairs = [(item.first, item.second) for item in plan.relations if item.kind is RelationKind.TRAILS]
    inside = [pair for pair in pairs if pair[0] in lives and pair[1] in lives]
    ordered = (sorted(pair, key=lambda name: lives[name][0]) for pair in inside)
    return {output: given for given, output in ordered}


def _union_bytes(spans: Iterable[tuple[int, int]]) -> int:
    total, reached = 0, 0
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def peak(found: Living) -> dict[str, Any] | None:
    """The first tick at which the most bytes of the pool are alive, its layer, and the buffers alive there.

    The buffers leave out constants, and each view whose root is alive too. None for a pool without buffers.
    """
    tick = found.peak_tick()
    if tick is None:
        return None
    now = found.at(tick)
    alive = set(now)
    shown = [
        name
        for name in now
        if found.buffers[name].kind is not BufferKind.CONSTANT and found.inside.get(name) not in alive
    ]
    return {
        "tick": tick,
        "layer": layer_at(found.plan.program, tick),
        "alive_bytes": found.bytes_at(tick),
        "alive": shown,
    }


def steps(found: Living, io_bytes: int) -> list[dict[str, Any]]:
    """For each stage of the program: the buffers that begin and end with its layer, and the bytes alive in the layer.

    Buffers in ``begins`` have their Begin between the previous layer and this layer, or in this layer; buffers in
    ``ends`` have their End in this layer or directly behind it. Both lists stand at the layer's first stage alone.
    ``with_io_bytes`` adds ``io_bytes``, the inputs and outputs that the caller owns in this pool.
    """
    entries: list[dict[str, Any]] = []
    begins: list[dict[str, Any]] = []
    early: list[str] = []
    for step, tick in _marks_and_layers(found.plan.program, 0):
        if isinstance(step, Layer):
            alive = found.bytes_at(tick)
            largest = [_sized(found, name) for name in found.at(tick)[:1]]
            for number, stage in enumerate(step.stages):
                entries.append(
                    {
                        "layer": stage.name,
                        "begins": [] if number else begins,
                        "ends": [] if number else early,
                        "alive_bytes": alive,
                        "with_io_bytes": alive + io_bytes,
                        "largest": largest[0] if largest else None,
                    }
                )
            begins, early = [], []
        elif step.buffer in found.spans and isinstance(step, Begin):
            begins.append(_sized(found, step.buffer))
        elif step.buffer in found.spans:
            (entries[-1]["ends"] if entries and not begins else early).append(step.buffer)
    return entries


def _sized(found: Living, name: str) -> dict[str, Any]:
    """A buffer's name and bytes, the buffer around it (``inside``), and the input that it overlaps (``over``)."""
    return {
        "name": name,
        "size_bytes": found.buffers[name].size_bytes,
        "inside": found.inside.get(name),
        "over": found.over.get(name),
    }


def _marks_and_layers(body: Sequence[Step], tick: int) -> Iterator[tuple[Begin | End | Layer, int]]:
    """Layers and marks with their ticks, in the order of the program.

    Marks inside a layer are yielded around the layer: each Begin before it, each End behind it.
    """
    for step in body:
        inside = list(_marks_and_layers(step.body, tick + 1)) if isinstance(step, (Layer, Loop)) else []
        yield from (item for item in inside if isinstance(item[0], Begin))
        if isinstance(step, (Begin, End, Layer)):
            yield step, tick
        yield from (item for item in inside if not isinstance(item[0], Begin))
        tick += tick_count((step,))
