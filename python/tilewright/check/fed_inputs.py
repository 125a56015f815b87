"""The rule on a fed input: one kernel takes its rows, each once, in their order, one for each iteration of a loop.

So the loop can stop behind any row and go on when the next one comes. That rows stay where they were copied until
nothing reads them any more follows from the rules on rings.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.check.expand import Site, iterations, operands_of
from tilewright.check.names import Facts
from tilewright.check.rules import Log, Rule
from tilewright.plan import (
    AxisRange,
    Begin,
    Buffer,
    BufferKind,
    End,
    Index,
    InterfaceTensor,
    Kernel,
    Layer,
    Loop,
    Operand,
)


def check_feeding(facts: Facts, roots: tuple[Site, ...], log: Log) -> None:
    """At most one input is fed, and a layer's loop takes its rows one by one."""
    fed = [item for item in facts.plan.inputs if item.fed_axis is not None]
    for message in _model_faults(facts, fed):
        log.report(Rule.FEED, message, "inputs")
    for item in fed:
        for message in _input_faults(facts, item) or _reader_faults(facts, item, roots):
            log.report(Rule.FEED, message, f"fed input {item.name}")


def _model_faults(facts: Facts, fed: list[InterfaceTensor]) -> Iterator[str]:
    if len(fed) > 1:
        yield f"{len(fed)} inputs are fed, one can be"
    if fed and facts.plan.io_in_pools:
        yield "an input is fed, and inputs lie in pools"
    if fed and facts.plan.profile is not None:
        yield "an input is fed, and layers are measured as if they ran once"
    if fed and facts.plan.guards is not None:
        yield "an input is fed, and guards are compared as if layers ran once"
    if fed and facts.plan.core.count > 1:
        yield f"an input is fed to {facts.plan.core.count} cores"


def _input_faults(facts: Facts, item: InterfaceTensor) -> list[str]:
    """Faults of the input's buffer, or of its strides, with which the caller cannot give rows one behind another."""
    buffer, axis = facts.buffers[item.buffer], item.fed_axis
    if axis is None or not 0 <= axis < len(buffer.shape) or buffer.shape[axis] < 2:
        return [f"rows along axis {axis} of {buffer.shape}"]
    if buffer.kind is not BufferKind.INPUT or any(place.buffer == buffer.name for place in facts.plan.placements):
        return [f"its buffer, of kind {buffer.kind.value}, is the plan's"]
    if not follow_each_other(buffer, axis):
        return [f"rows along axis {axis} do not follow each other with strides {buffer.strides_bytes}"]
    return []


def follow_each_other(buffer: Buffer, axis: int) -> bool:
    """Whether the positions of an axis are rows that lie one behind the other, each in one piece."""
    reach = sum(
        (extent - 1) * stride
        for number, (extent, stride) in enumerate(zip(buffer.shape, buffer.strides_bytes, strict=True))
        if number != axis
    )
    return 0 <= reach < buffer.strides_bytes[axis] and buffer.strides_bytes[axis] * buffer.shape[axis] <= _room(buffer)


def _room(buffer: Buffer) -> int:
    return max(buffer.size_bytes, buffer.slot_bytes)


def _reader_faults(facts: Facts, item: InterfaceTensor, roots: tuple[Site, ...]) -> Iterator[str]:
    """Faults of the steps that read the input."""
    found = list(_readers(facts, item, roots, ()))
    if len(found) != 1:
        yield f"{len(found)} operands of steps are the input, one takes its rows"
        return
    ((around, step, operand),) = found
    layer, loop = around if len(around) == 2 else (None, None)
    if not isinstance(layer, Layer) or not isinstance(loop, Loop) or len(layer.body) != 1:
        yield "its rows are not taken by the only loop of a layer"
        return
    if not isinstance(step, Kernel) or any(not isinstance(other, (Kernel, Begin, End)) for other in loop.body):
        yield "its rows are taken by copies, or beside copies"
        return
    rows = facts.buffers[item.buffer].shape[item.fed_axis or 0]
    names = {index.name for index in loop.indices if index == Index(index.name, rows, 1)}
    runs = step.runs
    if (runs.every, runs.count) != (1, rows) or runs.first != iterations(loop.body)[0] or runs.first != 0:
        yield f"its {rows} rows are taken at {runs.count} iterations from {runs.first}, every {runs.every}"
    elif len(runs.over) != 1 or runs.over[0] not in names:
        yield f"its rows are taken along {runs.over}, which is not one row after another"
    else:
        yield from _operand_faults(facts, item, operand, runs.over[0])


def _operand_faults(facts: Facts, item: InterfaceTensor, operand: Operand, index: str) -> Iterator[str]:
    """Faults of an operand's rectangle, which must be the whole row of the iteration."""
    buffer, given = facts.buffers[operand.buffer], facts.buffers[item.buffer]
    stride = given.strides_bytes[item.fed_axis or 0]
    moving = [number for number, axis in enumerate(operand.rectangle) if axis.terms]
    if [buffer.strides_bytes[number] for number in moving] != [stride]:
        yield f"axes {moving} of {operand.buffer} move from row to row, not the one of {stride} bytes"
        return
    for number, (axis, extent) in enumerate(zip(operand.rectangle, buffer.shape, strict=True)):
        row = AxisRange(((index, 1),), 0, 0, 1, extent)
        if axis != (row if number in moving else AxisRange((), 0, extent - 1, 1, extent)):
            yield f"axis {number} of {operand.buffer} is not that of one row"


def _readers(
    facts: Facts, item: InterfaceTensor, sites: tuple[Site, ...], around: tuple[Layer | Loop, ...]
) -> Iterator[tuple[tuple[Layer | Loop, ...], object, Operand]]:
    """Operands that are the input, or a view of the input, with the layers and loops around each."""
    for site in sites:
        step = site.step
        if isinstance(step, (Layer, Loop)):
            yield from _readers(facts, item, site.children, (*around, step))
            continue
        for operand in (part for side in operands_of(step) for part in side):
            if facts.root[operand.buffer] == item.buffer:
                yield around, step, operand
