"""The stages that write and read each buffer, the steps of a report in which it lives, and the flow of data.

Step n of a report is the n-th stage of the program, counted from 0. A buffer that begins before the layer of
stage 3 and ends behind the layer of stage 5 lives in steps [3, 6): stages of one layer run together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import BufferKind, CopyStart, Kernel, Plan, RelationKind, Wait
from tilewright.plan.stages import numbered_layers, steps_by_stage
from tilewright.report.alive import Lifetime

HOMES = (BufferKind.INPUT, BufferKind.OUTPUT, BufferKind.INTERMEDIATE, BufferKind.STATE)
"""Kinds of buffers that hold whole tensors, through which one stage passes data to another."""


@dataclass(frozen=True, slots=True)
class Touched:
    """The numbers of the stages that write a buffer, and of those that read it, ascending."""

    written: tuple[int, ...] = ()
    read: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """Stage ``source`` writes ``buffer`` and stage ``target`` reads it; None stands for the model's caller."""

    source: int | None
    target: int | None
    buffer: str


def alive_steps(spans: Sequence[Lifetime], lifetime: Lifetime) -> Lifetime:
    """The half-open steps of a report in which a buffer lives; ``lifetime`` are the buffer's half-open ticks.

    ``spans`` are the ticks of each step. A buffer that begins between two layers begins with the second layer.
    """
    begin, end = lifetime
    return sum(behind <= begin for _, behind in spans), sum(first < end for first, _ in spans)


def touched_buffers(plan: Plan) -> dict[str, Touched]:
    """For every buffer of the plan the numbers of the stages that write and read it."""
    written: dict[str, list[int]] = {}
    read: dict[str, list[int]] = {}
    for item in numbered_layers(plan.program):
        for stage, step in steps_by_stage(item.layer):
            for name, writes in _touches(step):
                found = (written if writes else read).setdefault(name, [])
                if item.first + stage not in found:
                    found.append(item.first + stage)
    return {
        buffer.name: Touched(tuple(sorted(written.get(buffer.name, ()))), tuple(sorted(read.get(buffer.name, ()))))
        for buffer in plan.buffers
    }


def edges(plan: Plan, touched: Mapping[str, Touched]) -> tuple[Edge, ...]:
    """The flow of data through whole tensors, ordered by the reading stage.

    A stage that reads a buffer depends on every earlier stage that wrote any of its bytes, be it through the
    buffer itself, a view of it, or the buffer in which it lies.
    """
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


def _touches(step: CopyStart | Wait | Kernel) -> Iterator[tuple[str, bool]]:
    """(Buffer, whether the step writes it) for each buffer of a step."""
    if isinstance(step, CopyStart):
        yield step.source.buffer, False
        yield step.destination.buffer, True
    elif isinstance(step, Kernel):
        yield from ((operand.buffer, False) for operand in step.reads)
        yield from ((operand.buffer, True) for operand in step.writes)
        yield from ((name, True) for name in step.scratch)
