"""What is alive in a pool at each step of a report, from the plan alone: marks, bytes, the largest buffer.

Bytes that two buffers share (a view and its root, an output that lies over its input) count once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.plan import Begin, Buffer, BufferKind, End, Layer, Loop, Plan, Pool, RelationKind, Step
from tilewright.plan.lifetimes import layer_at, lifetimes, tick_count

Lifetime = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Living:
    """The buffers of one pool with the bytes that they take, [begin, end), and their lifetimes in ticks."""

    plan: Plan
    pool: Pool
    buffers: Mapping[str, Buffer]
    spans: Mapping[str, tuple[int, int]]
    lives: Mapping[str, Lifetime]

    def at(self, tick: int) -> list[str]:
        """Buffers that are alive at a tick, largest first."""
        now = [name for name, (begin, end) in self.lives.items() if begin <= tick < end]
        return sorted(now, key=lambda name: (-self.buffers[name].size_bytes, name))

    def bytes_at(self, tick: int) -> int:
        """Bytes that are taken at a tick."""
        total, reached = 0, 0
        for begin, end in sorted(self.spans[name] for name in self.at(tick)):
            total += max(0, end - max(begin, reached))
            reached = max(reached, end)
        return total

    def peak_tick(self) -> int | None:
        """The first tick with the most bytes; None if nothing ever lives."""
        ticks = sorted({begin for begin, end in self.lives.values() if begin < end})
        return max(ticks, key=lambda tick: (self.bytes_at(tick), -tick), default=None)


def all_lifetimes(plan: Plan) -> dict[str, Lifetime]:
    """Lifetimes of every buffer; one without marks lives throughout."""
    throughout = (0, tick_count(plan.program))
    marked = lifetimes(plan.program)
    return {buffer.name: marked.get(buffer.name, throughout) for buffer in plan.buffers}


def living(plan: Plan, pool: Pool, alive: Mapping[str, Lifetime]) -> Living:
    """The buffers that the plan places in a pool."""
    known = {buffer.name: buffer for buffer in plan.buffers}
    spans = {
        item.buffer: (item.offset_bytes, item.offset_bytes + known[item.buffer].size_bytes)
        for item in plan.placements
        if item.pool == pool.name
    }
    return Living(plan, pool, known, spans, {name: alive[name] for name in spans})


def peak(found: Living) -> dict[str, Any] | None:
    """The first tick at which the most bytes of the pool are alive, the layer there, and the buffers that live then.

    Constants are left out, and views whose root lives; None for a pool in which nothing lives.
    """
    tick = found.peak_tick()
    if tick is None:
        return None
    views = {item.first: item.second for item in found.plan.relations if item.kind is RelationKind.AT_OFFSET}
    now = found.at(tick)
    shown = [name for name in now if found.buffers[name].kind is not BufferKind.CONSTANT and views.get(name) not in now]
    return {
        "tick": tick,
        "layer": layer_at(found.plan.program, tick),
        "alive_bytes": found.bytes_at(tick),
        "alive": shown,
    }


def steps(found: Living, io_bytes: int) -> list[dict[str, Any]]:
    """For each stage of the program, what begins and ends with its layer, and how many bytes are alive in it.

    ``begins`` are buffers whose Begin stands behind the layer before, or in this layer; ``ends`` those whose End
    stands in this layer or directly behind it. Of several stages of a layer the first has both. ``with_io_bytes``
    are the bytes alive and ``io_bytes``, the inputs and outputs that the caller owns in this pool.
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
    """A buffer with its bytes, the one in which it lies, and the one over which it is written."""
    related = {(item.kind, item.first): item.second for item in found.plan.relations}
    return {
        "name": name,
        "size_bytes": found.buffers[name].size_bytes,
        "inside": related.get((RelationKind.AT_OFFSET, name)),
        "over": related.get((RelationKind.TRAILS, name)),
    }


def _marks_and_layers(body: Sequence[Step], tick: int) -> Iterator[tuple[Begin | End | Layer, int]]:
    """Layers and marks with their ticks, in the order of the program.

    The marks inside a layer stand around it: each Begin before the layer, each End behind it.
    """
    for step in body:
        inside = list(_marks_and_layers(step.body, tick + 1)) if isinstance(step, (Layer, Loop)) else []
        yield from (item for item in inside if isinstance(item[0], Begin))
        if isinstance(step, (Begin, End, Layer)):
            yield step, tick
        yield from (item for item in inside if not isinstance(item[0], Begin))
        tick += tick_count((step,))
