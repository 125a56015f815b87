"""Spoilt programs: copies, tokens, slots, content and reductions; each with the rule that it breaks."""

from __future__ import annotations

from dataclasses import replace

from tilewright.check import Rule
from tilewright.plan import AxisRange, End, Kernel, Operand, Phase, Plan, Wait, When

from support import plans
from support.edits import (
    copy,
    destination,
    kernel,
    loops,
    on_step,
    read,
    same,
    source,
    wait,
    when,
    with_buffer,
    without,
    write,
)
from support.sound import BASE, REDUCTION, ring, trails
from support.spoilt_memory import Spoilt

ROW_BELOW = (AxisRange((("oh", 1),), 0, 2, 1, 8), plans.whole(4))
SECOND_CHANNELS = (AxisRange((), 2, 3, 1, 4), plans.whole(3))
SHIFTED_ROWS = (AxisRange((("oh", 1),), -2, 1, 1, 8), plans.whole(4))
TOP_HALF = (AxisRange((), 0, 1, 1, 4), plans.whole(32))


def phased(plan: Plan, phase: Phase) -> Plan:
    """Store the result of the reduction in another phase."""
    return on_step(on_step(plan, copy("mv.y"), when(phase=phase)), wait("mv.y"), when(phase=phase))


def rows_loaded_by(condition: When) -> Plan:
    """Rows of the ring arrive at other times."""
    plan = on_step(ring(), copy("conv.x"), lambda step: replace(step, when=condition))
    return on_step(plan, wait("conv.x"), when(period=condition.period))


def output_partly_written() -> Plan:
    plan = on_step(BASE, copy("relu.y"), source(rectangle=TOP_HALF))
    return on_step(plan, copy("relu.y"), destination(rectangle=TOP_HALF))


def producer_partly_written() -> Plan:
    """The convolution and its store stop one row early."""
    rows = (plans.along("oc", 4), AxisRange((("oh", 1),), 0, 0, 1, 7), plans.whole(4))
    plan = on_step(BASE, kernel("conv"), write(rectangle=rows))
    return on_step(on_step(plan, copy("conv.y"), source(rectangle=rows)), copy("conv.y"), destination(rectangle=rows))


def tiles_written_twice() -> Plan:
    """Tiles of four rows every three rows."""
    rows = (plans.along("oc", 4), plans.along("oh", 8, 0, 1), plans.whole(4))
    plan = with_buffer(BASE, "conv.y", shape=(2, 4, 4), strides_bytes=(16, 4, 1), slot_bytes=32, size_bytes=64)
    plan = replace(plan, placements=plans.shifted(plan, {"conv.scratch": 112}))
    plan = on_step(plan, kernel("conv"), write(rectangle=rows))
    return on_step(on_step(plan, copy("conv.y"), source(rectangle=rows)), copy("conv.y"), destination(rectangle=rows))


def read_after_in_place() -> Plan:
    """A second kernel reads what the first has overwritten in place."""

    def twice(step: Kernel) -> tuple[Kernel, Kernel]:
        return step, replace(step, name="again", writes=(), axes=step.axes[:1])

    return on_step(trails(0, 0), kernel("relu"), twice)


def loaded_once() -> Plan:
    plan = on_step(BASE, copy("conv.w"), when(period=6))
    return on_step(plan, wait("conv.w"), when(period=6))


def lead_too_short() -> Plan:
    return on_step(BASE, loops, lambda step: replace(step, lead=0))


def copy_and_wait_missing() -> Plan:
    return on_step(on_step(BASE, wait("relu.x"), without), copy("relu.x"), without)


def started_without_end() -> Plan:
    """A copy between two buffers that live to the end, never awaited."""
    plan = replace(REDUCTION, links=(*REDUCTION.links, plans.link("copy", "sram", "sram")))
    extra = plans.CopyStart("copy", "copy", Operand("x", (plans.whole(6),)), Operand("z", (plans.whole(6),)))
    plan = replace(plan, buffers=(*plan.buffers, plans.buffer("z", plans.BufferKind.OUTPUT, (6,), "sram")))
    plan = replace(plan, outputs=(*plan.outputs, plans.interface("z", (6,))))
    return on_step(plan, same(End("mv.w")), lambda step: (extra, step))


COPIES: Spoilt = {
    "ends of two shapes": (Rule.COPY_SHAPE, lambda: on_step(BASE, copy("conv.x"), source(rectangle=ROW_BELOW))),
    "two types": (Rule.COPY_SHAPE, lambda: with_buffer(BASE, "conv.x", dtype="int8")),
    "from another place": (Rule.COPY_ORIGIN, lambda: on_step(BASE, copy("conv.w"), source(rectangle=SECOND_CHANNELS))),
    "rectangle larger than the slot": (Rule.RECTANGLE, lambda: with_buffer(BASE, "conv.x", shape=(4, 4))),
}

TOKENS: Spoilt = {
    "no wait for a load": (Rule.READ_BEFORE_WAIT, lambda: on_step(BASE, wait("conv.x"), without)),
    "no wait for a load by period": (Rule.READ_BEFORE_WAIT, lambda: on_step(BASE, wait("conv.w"), without)),
    "no wait in a straight line": (Rule.READ_BEFORE_WAIT, lambda: on_step(BASE, wait("relu.x"), without)),
    "no wait for a store": (Rule.OVERWRITTEN_BEFORE_WAIT, lambda: on_step(BASE, wait("conv.y"), without)),
    "no wait for the last store": (Rule.END_BEFORE_WAIT, lambda: on_step(BASE, wait("relu.y"), without)),
    "no wait to the end": (Rule.NEVER_AWAITED, started_without_end),
    "trail too short": (
        Rule.END_BEFORE_WAIT,
        lambda: on_step(BASE, loops, lambda step: replace(step, trail=1)),
    ),
    "waits for the wrong tile": (Rule.TOKEN_NOT_STARTED, lambda: on_step(BASE, wait("conv.x"), when(ahead=2))),
    "waits for a store too late": (
        Rule.OVERWRITTEN_BEFORE_WAIT,
        lambda: on_step(BASE, wait("conv.y"), when(ahead=-3)),
    ),
    "waits twice": (Rule.TOKEN_NOT_STARTED, lambda: on_step(BASE, wait("relu.x"), lambda step: (step, step))),
    "never started": (Rule.TOKEN_NOT_STARTED, lambda: on_step(BASE, copy("relu.x"), without)),
    "never started in a loop": (Rule.TOKEN_NOT_STARTED, lambda: on_step(BASE, copy("conv.x"), without)),
    "store never started": (Rule.TOKEN_NOT_STARTED, lambda: on_step(BASE, copy("conv.y"), without)),
    "lead too short": (Rule.TOKEN_NOT_STARTED, lead_too_short),
    "started twice": (Rule.TOKEN_REUSED, lambda: on_step(BASE, copy("relu.x"), lambda step: (step, step))),
    "awaited outside its loop": (
        Rule.TOKEN_NOT_STARTED,
        lambda: on_step(BASE, wait("relu.x"), lambda step: (step, Wait("conv.x"))),
    ),
    "awaited by another period": (Rule.TOKEN_SCOPE, lambda: on_step(BASE, wait("conv.w"), when(period=1))),
    "period does not divide": (Rule.MALFORMED, lambda: on_step(BASE, copy("conv.w"), when(period=4))),
}

RINGS: Spoilt = {
    "rows kept of another channel": (
        Rule.SLOT_CONTENT,
        lambda: on_step(ring(), copy("conv.x"), lambda step: replace(step, kept="oc")),
    ),
    "rows loaded once": (Rule.SLOT_CONTENT, lambda: rows_loaded_by(When(0, 3))),
    "rows loaded too early": (Rule.DESTINATION_BUSY, lambda: rows_loaded_by(When(1))),
    "no wait for rows": (Rule.READ_BEFORE_WAIT, lambda: on_step(ring(), wait("conv.x"), without)),
    "more rows than the ring has": (Rule.RECTANGLE, lambda: with_buffer(ring(), "conv.x", shape=(4, 4))),
    "rows of another place": (
        Rule.COPY_ORIGIN,
        lambda: on_step(ring(), copy("conv.x"), source(rectangle=SHIFTED_ROWS)),
    ),
    "a ring that keeps nothing": (
        Rule.MALFORMED,
        lambda: on_step(ring(), copy("conv.x"), lambda step: replace(step, kept="")),
    ),
    "keeps without a ring": (Rule.MALFORMED, lambda: with_buffer(ring(), "conv.x", ring_axis=None)),
    "a ring of two slots": (Rule.MALFORMED, lambda: with_buffer(ring(), "conv.x", copies=2, size_bytes=40)),
    "a ring on no axis": (Rule.MALFORMED, lambda: with_buffer(ring(), "conv.x", ring_axis=2)),
    "a ring that is written": (Rule.MALFORMED, lambda: with_buffer(BASE, "relu.y", ring_axis=0)),
    "a ring of which the kernel sees no rows": (
        Rule.MALFORMED,
        lambda: on_step(ring(), kernel("conv"), lambda step: replace(step, axes=((1,), *step.axes[1:]))),
    ),
    "keeps along no index": (
        Rule.MALFORMED,
        lambda: on_step(ring(), copy("conv.x"), lambda step: replace(step, kept="ow")),
    ),
}

CONTENT: Spoilt = {
    "slots swapped at the store": (Rule.SLOT_CONTENT, lambda: on_step(BASE, copy("conv.y"), source(period=3))),
    "slots swapped at the load": (Rule.DESTINATION_BUSY, lambda: on_step(BASE, copy("conv.x"), destination(period=3))),
    "one slot for two tiles": (Rule.DESTINATION_BUSY, lambda: with_buffer(BASE, "conv.x", copies=1)),
    "loaded once for all": (Rule.SLOT_CONTENT, loaded_once),
    "loaded too often": (Rule.TOKEN_SCOPE, lambda: on_step(BASE, copy("conv.w"), when(period=1))),
    "reads another rectangle": (Rule.SLOT_CONTENT, lambda: on_step(BASE, kernel("conv"), read(0, rectangle=ROW_BELOW))),
    "copy and wait missing": (Rule.UNWRITTEN_READ, copy_and_wait_missing),
    "kernel missing": (Rule.UNWRITTEN_READ, lambda: on_step(BASE, kernel("conv"), without)),
    "kernel missing in a straight line": (Rule.UNWRITTEN_READ, lambda: on_step(BASE, kernel("relu"), without)),
    "output partly written": (Rule.OUTPUT_INCOMPLETE, output_partly_written),
    "producer partly written": (Rule.UNWRITTEN_READ, producer_partly_written),
    "tiles written twice": (Rule.WRITTEN_TWICE, tiles_written_twice),
    "read after overwritten in place": (Rule.UNWRITTEN_READ, read_after_in_place),
    "partial results stored": (Rule.PARTIAL_READ, lambda: phased(REDUCTION, Phase.FIRST)),
    "reduction not declared": (
        Rule.WRITTEN_TWICE,
        lambda: on_step(REDUCTION, kernel("mv"), lambda step: replace(step, reduction=())),
    ),
    "part of a reduction skipped": (
        Rule.REDUCTION_ORDER,
        lambda: on_step(REDUCTION, kernel("mv"), lambda step: replace(step, when=When(0, 3, Phase.LAST))),
    ),
    "accumulator moves": (Rule.SLOT_CONTENT, lambda: accumulator_moves()),
}


def accumulator_moves() -> Plan:
    """Two slots for partial results, changed at every part."""
    plan = with_buffer(REDUCTION, "mv.y", copies=2, size_bytes=8)
    plan = replace(plan, pool_use=(replace(plan.pool_use[0], used_bytes=12, lower_bound_bytes=12), *plan.pool_use[1:]))
    return on_step(plan, kernel("mv"), write(period=1))


FLOW: Spoilt = {**COPIES, **TOKENS, **CONTENT, **RINGS}
