"""The rule on a window that slides: behind the last iteration of the loop, the one a period before can follow.

Then every kernel works as it would ``period`` iterations later, on rows that lie where they lay a period before. That
what it reads is there follows from the rules on the period that was run: each row that is read was written, by a block
that has its counterpart a period later, and nothing was written over it meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.base.lazy_dataclass import dataclass
from tilewright.check.expand import Site, flatten, iterations, operands_of
from tilewright.check.fed_inputs import follow_each_other
from tilewright.check.names import Facts
from tilewright.check.rules import Log, Rule
from tilewright.plan import (
    INTERFACE,
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
    RelationKind,
    Slide,
)


def check_sliding(facts: Facts, roots: tuple[Site, ...], log: Log) -> None:
    """Where a window slides, the program is a loop that can go on for ever, and gives outputs row by row."""
    slide = facts.plan.slide
    if slide is None:
        for item in facts.plan.outputs:
            if item.fed_axis is not None:
                log.report(Rule.SLIDE, "given row by row, and no window slides", f"output {item.name}")
        return
    for message in _model_faults(facts, slide, roots):
        log.report(Rule.SLIDE, message, "the window")
    loop = _only_loop(roots)
    if loop is None:
        log.report(Rule.SLIDE, "the program is not one layer of one loop", "the window")
        return
    for place, message in _faults_of(facts, slide, loop):
        log.report(Rule.SLIDE, message, place)


def _faults_of(facts: Facts, slide: Slide, loop: Loop) -> Iterator[tuple[str, str]]:
    """(Place, fault) of the loop, its kernels and the outputs."""
    yield from (("the window", message) for message in _loop_faults(facts, slide, loop))
    for step in (step for step in loop.body if isinstance(step, Kernel)):
        yield from ((f"kernel {step.name}", message) for message in _Turns(facts, slide, loop, step).faults())
    for item in facts.plan.outputs:
        yield from ((f"output {item.name}", message) for message in _output_faults(facts, slide, loop, item))


def _model_faults(facts: Facts, slide: Slide, roots: tuple[Site, ...]) -> Iterator[str]:
    plan = facts.plan
    if len(plan.inputs) != 1 or plan.inputs[0].fed_axis is None:
        yield "its frames are not the only input"
    if plan.states or plan.external is not None or plan.protected:
        yield "it has states, weights in a file, or protected layers"
    if any(relation.kind is RelationKind.TRAILS for relation in plan.relations):
        yield "a result lies over what it is computed from"
    held = facts.buffers.get(slide.position)
    if held is None or (held.kind, held.dtype, held.size_bytes) != (BufferKind.STATE, "uint32", 4):
        yield f"its position {slide.position} is no state of one word"
    touched = {facts.root[part.buffer] for site in flatten(roots) for side in operands_of(site.step) for part in side}
    if held is not None and (facts.root[held.name] != held.name or held.name in touched):
        yield f"its position {slide.position} is written by a step, or a view"


def _only_loop(roots: tuple[Site, ...]) -> Loop | None:
    """The loop of a program of one layer, which has nothing else."""
    layers = [site.step for site in roots if not isinstance(site.step, (Begin, End))]
    body = layers[0].body if len(layers) == 1 and isinstance(layers[0], Layer) else ()
    loop = body[0] if len(body) == 1 else None
    steps = loop.body if isinstance(loop, Loop) else ()
    return loop if isinstance(loop, Loop) and all(isinstance(step, (Kernel, Begin, End)) for step in steps) else None


def _loop_faults(facts: Facts, slide: Slide, loop: Loop) -> Iterator[str]:
    begin, end = iterations(loop.body)
    if begin != 0 or end % max(slide.rows, 1):
        yield f"{end} iterations from {begin}, of which a run takes {slide.rows}"
    if slide.rows < 1 or slide.period < 1 or slide.period % max(slide.rows, 1) or slide.period > end:
        yield f"a period of {slide.period} iterations of {end}, of which a run takes {slide.rows}"
    for item in facts.plan.inputs:
        given = facts.buffers[item.buffer].shape
        if item.fed_axis is not None and (given[item.fed_axis], item.shape[item.fed_axis]) != (end, slide.rows):
            yield f"{given[item.fed_axis]} frames, {item.shape[item.fed_axis]} a run; {end} iterations"


@dataclass(frozen=True, slots=True)
class _Turns:
    """One kernel in the period, from its first block there to its last."""

    facts: Facts
    slide: Slide
    loop: Loop
    step: Kernel

    def faults(self) -> Iterator[str]:
        """What keeps the kernel from going on as it did a period before."""
        runs, end = self.step.runs, iterations(self.loop.body)[1]
        index = next((item for item in self.loop.indices if (item.name,) == runs.over), None)
        if index is None or self.step.reduction or index.count != runs.count:
            yield f"it works along {runs.over}, which is not one index to its end"
            return
        if self.slide.rows % runs.every or self.slide.period % runs.every:
            yield f"it works at every {runs.every} iterations, a run takes {self.slide.rows} of {self.slide.period}"
            return
        last = runs.first + runs.every * (runs.count - 1)
        if last >= end or last + runs.every < end or runs.first > end - self.slide.period:
            yield f"it works from iteration {runs.first} to {last}, not throughout the period before {end}"
        if (index.extent + index.shift) % index.step:
            yield f"its last block has fewer than {index.step} rows"
        first = -(-(end - self.slide.period - runs.first) // runs.every)
        if first * index.step < index.shift:
            yield "its first block, of fewer rows, is in the period"
        for operand in (*self.step.reads, *self.step.writes):
            yield from self._operand_faults(operand, index, first)

    def _operand_faults(self, operand: Operand, index: Index, first: int) -> Iterator[str]:
        blocks = self.slide.period // self.step.runs.every
        buffer = self.facts.buffers[operand.buffer]
        for number, axis in enumerate(operand.rectangle):
            if not axis.terms:
                continue
            moved, rest = divmod(dict(axis.terms).get(index.name, 0) * index.step * blocks, axis.divisor)
            if moved <= 0 or rest or len(axis.terms) > 1:
                yield f"{operand.buffer} does not move by whole rows in a period"
            elif not _is_inside(axis, index, first):
                yield f"{operand.buffer} has rows outside of the tensor in the period"
            elif not self._lies_alike(buffer, number, moved):
                yield f"{operand.buffer} has other rows where those of the period before lay"

    def _lies_alike(self, buffer: Buffer, axis: int, moved: int) -> bool:
        """Whether rows ``moved`` rows later lie at the same place."""
        if self.facts.root_kind(buffer.name) in INTERFACE:
            return True
        return buffer.ring_axis == axis and moved % buffer.shape[axis] == 0


def _is_inside(axis: AxisRange, index: Index, first: int) -> bool:
    """Whether the elements of blocks from the first on are all in the tensor, none of them in its padding."""
    ((_, stride),) = axis.terms
    lower = max(first * index.step - index.shift, 0)
    begin = (stride * lower + axis.first_offset) // axis.divisor
    end = (stride * (index.extent - 1) + axis.last_offset) // axis.divisor + 1
    return begin >= 0 and end <= axis.extent


def _output_faults(facts: Facts, slide: Slide, loop: Loop, item: InterfaceTensor) -> Iterator[str]:
    buffer, axis = facts.buffers[item.buffer], item.fed_axis
    if axis is None or not 0 <= axis < len(buffer.shape) or not follow_each_other(buffer, axis):
        yield f"the caller does not get it row by row along axis {axis}"
        return
    kernels = [step for step in loop.body if isinstance(step, Kernel)]
    touching = [
        (kernel, operand)
        for kernel in kernels
        for operand in (*kernel.reads, *kernel.writes)
        if facts.root[operand.buffer] == item.buffer
    ]
    if len(touching) != 1 or touching[0][1] not in touching[0][0].writes:
        yield f"{len(touching)} operands of kernels are the output, one writes its rows"
        return
    ((kernel, operand),) = touching
    index = next((found for found in loop.indices if (found.name,) == kernel.runs.over), Index("", 0, 1))
    given = facts.buffers[operand.buffer]
    rows = AxisRange(((index.name, 1),), 0, 0, 1, index.extent)
    moving = [number for number, own in enumerate(operand.rectangle) if own.terms]
    if [operand.rectangle[number] for number in moving] != [rows] or [
        given.strides_bytes[number] for number in moving
    ] != [buffer.strides_bytes[axis]]:
        yield "its rows are not written one behind the other"
    elif any(
        own != AxisRange((), 0, extent - 1, 1, extent)
        for number, (own, extent) in enumerate(zip(operand.rectangle, given.shape, strict=True))
        if number not in moving
    ):
        yield "a part of its rows is written"
    if buffer.shape[axis] != index.extent:
        yield f"it has {buffer.shape[axis]} rows, {index.extent} are written"
    if slide.rows // kernel.runs.every * index.step != item.shape[axis]:
        yield f"a run gives {slide.rows // kernel.runs.every * index.step} rows, the caller gets {item.shape[axis]}"
