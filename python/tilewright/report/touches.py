"""Which layers write and read each buffer, in which steps it lives, and how data flows between layers.

Step n is the n-th layer of the program, counted from 0. A buffer that begins before layer 3 and
ends behind layer 5 lives in steps [3, 6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.plan import BufferKind, CopyStart, Kernel, Layer, Loop, Plan, RelationKind, Step
from tilewright.plan.lifetimes import tick_count
from tilewright.report.alive import Lifetime

HOMES = (BufferKind.INPUT, BufferKind.OUTPUT, BufferKind.INTERMEDIATE, BufferKind.STATE)
"""Kinds of buffers that hold whole tensors, which layers hand to each other."""


@dataclass(frozen=True, slots=True)
class Touched:
    """Numbers of the layers that write and that read a buffer, in the program's order."""

    written: tuple[int, ...] = ()
    read: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """Layer ``target`` reads ``buffer``, which layer ``source`` wrote; None is the model's border."""

    source: int | None
    target: int | None
    buffer: str


def layer_spans(plan: Plan) -> tuple[Lifetime, ...]:
    """Half-open ticks of each layer with all that stands in it."""
    spans, at = [], 0
    for step in plan.program:
        size = tick_count((step,))
        if isinstance(step, Layer):
            spans.append((at, at + size))
        at += size
    return tuple(spans)


def alive_steps(spans: Sequence[Lifetime], lifetime: Lifetime) -> Lifetime:
    """Half-open steps in which a buffer lives that lives at these ticks; what begins between layers begins with the
    next one.
    """
    begin, end = lifetime
    return sum(behind <= begin for _, behind in spans), sum(first < end for first, _ in spans)


def touched_buffers(plan: Plan) -> dict[str, Touched]:
    """For every buffer the layers that touch it."""
    written: dict[str, list[int]] = {}
    read: dict[str, list[int]] = {}
    layers = [step for step in plan.program if isinstance(step, Layer)]
    for number, layer in enumerate(layers):
        for name, writes in _touches(layer.body):
            found = (written if writes else read).setdefault(name, [])
            if found[-1:] != [number]:
                found.append(number)
    return {
        buffer.name: Touched(tuple(written.get(buffer.name, ())), tuple(read.get(buffer.name, ())))
        for buffer in plan.buffers
    }


def edges(plan: Plan, touched: Mapping[str, Touched]) -> tuple[Edge, ...]:
    """The data flow through whole tensors, in the order of the readers; views and parts share bytes."""
    buffers = {buffer.name: buffer for buffer in plan.buffers if buffer.kind in HOMES}
    spans = _spans_in_roots(plan)
    relatives: dict[str, list[str]] = {}
    for name in buffers:
        relatives.setdefault(spans[name][0], []).append(name)
    found: list[Edge] = []
    for name, buffer in buffers.items():
        root, first, end = spans[name]
        sharing = [other for other in relatives[root] if spans[other][1] < end and first < spans[other][2]]
        writers = sorted({number for other in sharing for number in touched[other].written})
        for reader in touched[name].read:
            before = [writer for writer in writers if writer < reader]
            sources: list[int | None] = [*before] or [None]
            found += [Edge(source, reader, name) for source in sources]
        if buffer.kind is BufferKind.OUTPUT:
            found += [Edge(writer, None, name) for writer in writers]
    border = len(plan.program)
    return tuple(sorted(found, key=lambda edge: (_order(edge.target, border), _order(edge.source, -1), edge.buffer)))


def _order(layer: int | None, border: int) -> int:
    return border if layer is None else layer


def _spans_in_roots(plan: Plan) -> dict[str, tuple[str, int, int]]:
    """Buffer to the outermost buffer in which it lies (itself, if it is no view or part) and its bytes there."""
    parents = {
        item.first: (item.second, item.offset_bytes) for item in plan.relations if item.kind is RelationKind.AT_OFFSET
    }
    spans = {}
    for buffer in plan.buffers:
        root, offset = buffer.name, 0
        while root in parents:
            root, further = parents[root]
            offset += further
        spans[buffer.name] = (root, offset, offset + buffer.size_bytes)
    return spans


def _touches(body: Sequence[Step]) -> Iterator[tuple[str, bool]]:
    """Buffers with whether they are written, in the program's order."""
    for step in body:
        if isinstance(step, (Layer, Loop)):
            yield from _touches(step.body)
        elif isinstance(step, CopyStart):
            yield step.source.buffer, False
            yield step.destination.buffer, True
        elif isinstance(step, Kernel):
            yield from ((operand.buffer, False) for operand in step.reads)
            yield from ((operand.buffer, True) for operand in step.writes)
            yield from ((name, True) for name in step.scratch)
