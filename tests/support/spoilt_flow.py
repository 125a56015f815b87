"""Spoilt programs: copies, tokens, slots, content and reductions; each with the rule that it breaks."""

from __future__ import annotations

from dataclasses import replace

from tilewright.check import Rule
from tilewright.plan import AxisRange, BufferKind, End, Kernel, Loop, Operand, Plan, Wait

from support import plans
from support.edits import (
    copy,
    destination,
    kernel,
    loops,
    on_step,
    read,
    runs,
    same,
    source,
    wait,
    with_buffer,
    without,
    write,
)
from support.groups import in_channel_tiles, two_stages
from support.sound import BASE, REDUCTION, ring, trails
from support.spoilt_memory import Spoilt

ROW_BELOW = (AxisRange((("oh", 1),), 0, 2, 1, 8), plans.whole(4))
SECOND_CHANNELS = (AxisRange((), 2, 3, 1, 4), plans.whole(3))
SHIFTED_ROWS = (AxisRange((("oh", 1),), -2, 1, 1, 8), plans.whole(4))
TOP_HALF = (AxisRange((), 0, 1, 1, 4), plans.whole(32))


def stored_at_once() -> Plan:
    """The result of the reduction is stored after its first part."""
    return on_step(on_step(REDUCTION, copy("mv.y"), runs(first=0)), wait("mv.y"), runs(first=0))


def added_elsewhere() -> Plan:
    """The parts of the reduction are added to different elements of the result."""
    moving = (AxisRange((("o", 1), ("c", 1)), 0, -1, 1, 4),)
    return on_step(REDUCTION, kernel("mv"), write(rectangle=moving))


def rows_loaded_once() -> Plan:
    """Rows arrive for the first two tiles only, the second time in place of the fourth."""
    plan = on_step(ring(), copy("conv.x"), runs(every=3, count=2))
    return on_step(plan, wait("conv.x"), runs(every=3, count=2))


def with_ring_of_m() -> Plan:
    """The convolution's result goes to a ring of all its rows that is a tile, not to a home."""
    plan = with_buffer(BASE, "m", kind=BufferKind.TILE, ring_axis=1, pools=("sram",))
    return replace(plan, relations=())


def another_height() -> Plan:
    rows = (AxisRange((("s", 2),), -1, 1, 1, 9), plans.whole(4))
    return on_step(two_stages(), kernel("b"), read(0, rectangle=rows))


def awaited_in_two_loops() -> Plan:
    other = Loop((), (Wait("conv.x"),))
    return on_step(BASE, loops, lambda step: (step, other))


def output_partly_written() -> Plan:
    plan = on_step(BASE, copy("relu.y"), source(rectangle=TOP_HALF))
    return on_step(plan, copy("relu.y"), destination(rectangle=TOP_HALF))


def producer_partly_written() -> Plan:
    """The convolution and its store stop one row early."""
    rows = (plans.along("oc", 4), AxisRange((("oh", 1),), 0, 0, 1, 7), plans.whole(4))
    plan = on_step(BASE, kernel("conv"), write(rectangle=rows))
    return on_step(on_step(plan, copy("conv.y"), source(rectangle=rows)), copy("conv.y"), destination(rectangle=rows))


def tiles_written_twice() -> Plan:
    """A tile of four rows begins every three rows, so that neighbouring tiles both write one row."""
    rows = (plans.along("oc", 4), plans.along("oh", 8, 0, 1), plans.whole(4))
    plan = with_buffer(BASE, "conv.y", shape=(2, 4, 4), strides_bytes=(16, 4, 1), slot_bytes=32, size_bytes=64)
    plan = replace(plan, placements=plans.shifted(plan, {"conv.scratch": 112}))
    plan = on_step(plan, kernel("conv"), write(rectangle=rows))
    return on_step(on_step(plan, copy("conv.y"), source(rectangle=rows)), copy("conv.y"), destination(rectangle=rows))


def read_after_in_place() -> Plan:
    """A second kernel reads what the first has overwritten in place."""

    def twice(step: Kernel) -> tuple[Kernel, Kernel]:
        return step, replace(step, writes=(), axes=step.axes[:1], maps=step.maps[:1])

    return on_step(trails(0, 0), kernel("relu"), twice)


def ring_of_nothing() -> Plan:
    """The input that fills a ring has no elements."""
    return replace(with_buffer(ring(), "x", shape=(8, 0)), inputs=(plans.interface("x", (8, 0)),))


def loaded_once() -> Plan:
    plan = on_step(BASE, copy("conv.w"), runs(every=6, count=1))
    return on_step(plan, wait("conv.w"), runs(every=6, count=1))


def loaded_too_often() -> Plan:
    """Weights are loaded for every tile, and awaited for each tile of channels."""
    return on_step(BASE, copy("conv.w"), runs(every=1, count=6, over=("oc", "oh")))


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
    "no wait for the last store of a loop": (
        Rule.END_BEFORE_WAIT,
        lambda: on_step(BASE, wait("conv.y"), runs(count=5)),
    ),
    "waits for the wrong copy": (
        Rule.TOKEN_NOT_STARTED,
        lambda: on_step(BASE, wait("conv.x"), lambda step: replace(step, number=2)),
    ),
    "waits for a store too late": (
        Rule.OVERWRITTEN_BEFORE_WAIT,
        lambda: on_step(BASE, wait("conv.y"), runs(first=3)),
    ),
    "waits twice": (Rule.TOKEN_NOT_STARTED, lambda: on_step(BASE, wait("relu.x"), lambda step: (step, step))),
    "never started": (Rule.TOKEN_NOT_STARTED, lambda: on_step(BASE, copy("relu.x"), without)),
    "never started in a loop": (Rule.TOKEN_NOT_STARTED, lambda: on_step(BASE, copy("conv.x"), without)),
    "store never started": (Rule.TOKEN_NOT_STARTED, lambda: on_step(BASE, copy("conv.y"), without)),
    "the last load is missing": (Rule.TOKEN_NOT_STARTED, lambda: on_step(BASE, copy("conv.x"), runs(count=5))),
    "loads start too late": (Rule.TOKEN_NOT_STARTED, lambda: on_step(BASE, copy("conv.x"), runs(first=1))),
    "started twice": (Rule.TOKEN_REUSED, lambda: on_step(BASE, copy("relu.x"), lambda step: (step, step))),
    "awaited outside its loop": (
        Rule.TOKEN_NOT_STARTED,
        lambda: on_step(BASE, wait("relu.x"), lambda step: (step, Wait("conv.x"))),
    ),
    "awaited in two loops": (Rule.TOKEN_SCOPE, awaited_in_two_loops),
    "awaited more often than started": (
        Rule.TOKEN_NOT_STARTED,
        lambda: on_step(BASE, wait("conv.w"), runs(every=1, count=6)),
    ),
    "period does not divide": (Rule.MALFORMED, lambda: on_step(BASE, copy("conv.w"), destination(period=4))),
    "runs at no iteration": (Rule.MALFORMED, lambda: on_step(BASE, copy("conv.w"), runs(every=0))),
    "never runs": (Rule.MALFORMED, lambda: on_step(BASE, copy("conv.w"), runs(count=0))),
    "more blocks than tiles": (Rule.MALFORMED, lambda: on_step(BASE, kernel("conv"), runs(count=7))),
    "enumerates an index twice": (Rule.MALFORMED, lambda: on_step(BASE, kernel("conv"), runs(over=("oc", "oc", "oh")))),
    "enumerates no index": (Rule.UNKNOWN_NAME, lambda: on_step(BASE, kernel("conv"), runs(over=("oc", "ow")))),
    "names an index that it does not enumerate": (
        Rule.UNKNOWN_NAME,
        lambda: on_step(BASE, copy("conv.x"), runs(over=("oc",), count=2)),
    ),
    "a wait that enumerates": (Rule.MALFORMED, lambda: on_step(BASE, wait("conv.x"), runs(over=("oc", "oh")))),
    "a wait for no copy": (
        Rule.MALFORMED,
        lambda: on_step(BASE, wait("conv.x"), lambda step: replace(step, number=-1)),
    ),
    "runs twice outside loops": (Rule.MALFORMED, lambda: on_step(BASE, wait("relu.x"), runs(count=2))),
    "runs late outside loops": (Rule.MALFORMED, lambda: on_step(BASE, kernel("relu"), runs(first=1))),
}

RINGS: Spoilt = {
    "rows kept of another channel": (
        Rule.SLOT_CONTENT,
        lambda: on_step(ring(), copy("conv.x"), lambda step: replace(step, kept="oc")),
    ),
    "rows loaded once": (Rule.SLOT_CONTENT, rows_loaded_once),
    "rows loaded too early": (Rule.DESTINATION_BUSY, lambda: on_step(ring(), copy("conv.x"), runs(first=-1))),
    "rows of a home without elements": (Rule.RECTANGLE, lambda: ring_of_nothing()),
    "no wait for rows": (Rule.READ_BEFORE_WAIT, lambda: on_step(ring(), wait("conv.x"), without)),
    "more rows than the ring has": (Rule.RECTANGLE, lambda: with_buffer(ring(), "conv.x", shape=(4, 4))),
    "rows of another place": (
        Rule.COPY_ORIGIN,
        lambda: on_step(ring(), copy("conv.x"), source(rectangle=SHIFTED_ROWS)),
    ),
    "keeps without a ring": (Rule.MALFORMED, lambda: with_buffer(ring(), "conv.x", ring_axis=None)),
    "a ring of two slots": (Rule.MALFORMED, lambda: with_buffer(ring(), "conv.x", copies=2, size_bytes=40)),
    "a ring on no axis": (Rule.MALFORMED, lambda: with_buffer(ring(), "conv.x", ring_axis=2)),
    "a ring that the caller has": (Rule.MALFORMED, lambda: with_buffer(BASE, "out", ring_axis=0)),
    "a ring with a view": (Rule.MALFORMED, lambda: with_buffer(BASE, "m", ring_axis=0)),
    "a copy of rows of a home": (
        Rule.MALFORMED,
        lambda: replace(with_buffer(BASE, "m", ring_axis=0), relations=(), placements=BASE.placements),
    ),
    "a copy from ring to ring": (Rule.MALFORMED, lambda: with_buffer(with_ring_of_m(), "conv.y", ring_axis=1)),
    "a ring of two tensors' rows": (Rule.MALFORMED, another_height),
    "a ring of too few rows for its reader": (Rule.RECTANGLE, lambda: two_stages(2)),
    "rows overwritten before they are read": (Rule.SLOT_CONTENT, lambda: two_stages(3, late=2)),
    "rows read before they are written": (Rule.SLOT_CONTENT, lambda: two_stages(4, late=0)),
    "rows overwritten in a tile": (Rule.SLOT_CONTENT, lambda: two_stages(3, BufferKind.TILE, late=2)),
    "a part of a row is missing": (
        Rule.UNWRITTEN_READ,
        lambda: on_step(in_channel_tiles(), kernel("b"), runs(first=2)),
    ),
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
    "loaded too often": (Rule.READ_BEFORE_WAIT, loaded_too_often),
    "reads another rectangle": (Rule.SLOT_CONTENT, lambda: on_step(BASE, kernel("conv"), read(0, rectangle=ROW_BELOW))),
    "copy and wait missing": (Rule.UNWRITTEN_READ, copy_and_wait_missing),
    "kernel missing": (Rule.UNWRITTEN_READ, lambda: on_step(BASE, kernel("conv"), without)),
    "kernel missing in a straight line": (Rule.UNWRITTEN_READ, lambda: on_step(BASE, kernel("relu"), without)),
    "output partly written": (Rule.OUTPUT_INCOMPLETE, output_partly_written),
    "producer partly written": (Rule.UNWRITTEN_READ, producer_partly_written),
    "tiles written twice": (Rule.WRITTEN_TWICE, tiles_written_twice),
    "read after overwritten in place": (Rule.UNWRITTEN_READ, read_after_in_place),
    "partial results stored": (Rule.PARTIAL_READ, stored_at_once),
    "reduction not declared": (
        Rule.WRITTEN_TWICE,
        lambda: on_step(REDUCTION, kernel("mv"), lambda step: replace(step, reduction=())),
    ),
    "part of a reduction added elsewhere": (Rule.REDUCTION_ORDER, added_elsewhere),
    "accumulator moves": (Rule.SLOT_CONTENT, lambda: accumulator_moves()),
}


def accumulator_moves() -> Plan:
    """Two slots for partial results, changed at every part."""
    plan = with_buffer(REDUCTION, "mv.y", copies=2, size_bytes=8)
    plan = replace(plan, pool_use=(replace(plan.pool_use[0], used_bytes=12, lower_bound_bytes=12), *plan.pool_use[1:]))
    return on_step(plan, kernel("mv"), write(period=1))


FLOW: Spoilt = {**COPIES, **TOKENS, **CONTENT, **RINGS}
