"""The buffers and bytes that are alive in a pool at each step of a report, computed from the plan alone.

Bytes that two buffers share (a view and its root, an output that overlaps its input) count once.
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
    """The buffers of one pool: ``spans`` are bytes of the pool, ``lives`` are ticks, both half-open [begin, end)."""

    plan: Plan
    pool: Pool
    buffers: Mapping[str, Buffer]
    spans: Mapping[str, tuple[int, int]]
    lives: Mapping[str, Lifetime]

    @property
    def over(self) -> dict[str, str]:
        """Each output that overlaps an input of its layer, with that input, which began earlier."""
        pairs = [(item.first, item.second) for item in self.plan.relations if item.kind is RelationKind.TRAILS]
        inside = [pair for pair in pairs if pair[0] in self.lives and pair[1] in self.lives]
        ordered = (sorted(pair, key=lambda name: self.lives[name][0]) for pair in inside)
        return {output: given for given, output in ordered}

    def at(self, tick: int) -> list[str]:
        """Buffers that are alive at a tick, largest first."""
        now = [name for name, (begin, end) in self.lives.items() if begin <= tick < end]
        return sorted(now, key=lambda name: (-self.buffers[name].size_bytes, name))

    def bytes_at(self, tick: int) -> int:
        """Bytes of the pool that hold an alive buffer at a tick."""
        total, reached = 0, 0
        for begin, end in sorted(self.spans[name] for name in self.at(tick)):
            total += max(0, end - max(begin, reached))
            reached = max(reached, end)
        return total

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
    return Living(plan, pool, known, spans, {name: alive[name] for name in spans})


def peak(found: Living) -> dict[str, Any] | None:
    """The first tick at which the most bytes of the pool are alive, its layer, and the buffers alive there.

    The buffers leave out constants, and each view whose root is alive too. None for a pool without buffers.
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
    related = {(item.kind, item.first): item.second for item in found.plan.relations}
    return {
        "name": name,
        "size_bytes": found.buffers[name].size_bytes,
        "inside": related.get((RelationKind.AT_OFFSET, name)),
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
