"""Spoilt plans: form, placement, lifetimes and reach; each with the rule that it breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilewright.check import Rule
from tilewright.plan import (
    Begin,
    BufferKind,
    Core,
    End,
    Index,
    Kernel,
    Placement,
    Plan,
    Relation,
    RelationKind,
)

from support import plans
from support.edits import (
    copy,
    destination,
    in_pool,
    kernel,
    loops,
    moved,
    on_step,
    read,
    runs,
    same,
    source,
    with_buffer,
    with_links,
    with_pool,
    without,
)
from support.sound import BASE, REDUCTION, placed_io, trails, words

Spoilt = dict[str, tuple[Rule, Callable[[], Plan]]]


def use(**fields: object) -> Plan:
    """The plan with another report of the use of pool l1, which is full."""
    stated = replace(BASE.pool_use[0], **fields)  # type: ignore[arg-type]
    return replace(BASE, pool_use=(stated, *BASE.pool_use[1:]))


def viewed(*relations: Relation) -> Plan:
    return replace(BASE, relations=relations)


def variable_in_flash() -> Plan:
    plan = with_pool(with_buffer(BASE, "m", pools=("flash",)), "flash", holds=tuple(BufferKind))
    return in_pool(plan, "m", "flash")


def ended_before_use() -> Plan:
    plan = on_step(BASE, same(End("v")), without)
    return on_step(plan, same(Begin("relu.x")), lambda step: (End("v"), step))


def ended_in_the_loop() -> Plan:
    plan = on_step(BASE, same(End("conv.w")), without)
    return on_step(plan, copy("conv.y"), lambda step: (step, End("conv.w")))


def kernel_writes_constant() -> Plan:
    def spoil(step: Kernel) -> Kernel:
        return replace(
            step, writes=(replace(step.reads[1], buffer="w"),), reads=(), axes=step.axes[1:2], maps=step.maps[1:2]
        )

    plan = replace(REDUCTION, core=Core(1, (("l1", 1), ("sram", 1), ("flash", 1))))
    return on_step(plan, kernel("mv"), spoil)


def caller_views_the_plan() -> Plan:
    return viewed(*BASE.relations, Relation(RelationKind.AT_OFFSET, "out", "m", 0, (0, 0, 0)))


def more_tiles_than_can_be_checked() -> Plan:
    plan = on_step(BASE, loops, lambda step: replace(step, indices=(Index("oc", 4, 2), Index("oh", 9 * 10**11, 3))))
    return on_step(plan, kernel("conv"), runs(count=6 * 10**11))


FORM: Spoilt = {
    "unknown buffer": (
        Rule.UNKNOWN_NAME,
        lambda: on_step(BASE, copy("conv.x"), source(buffer="nothing")),
    ),
    "unknown link": (
        Rule.UNKNOWN_NAME,
        lambda: on_step(BASE, copy("conv.x"), lambda step: replace(step, link="nothing")),
    ),
    "unknown index": (
        Rule.UNKNOWN_NAME,
        lambda: on_step(BASE, copy("relu.x"), source(rectangle=(plans.along("oh", 4), plans.whole(32)))),
    ),
    "unknown pool": (Rule.UNKNOWN_NAME, lambda: replace(BASE, io_pool="nothing")),
    "two buffers of one name": (Rule.DUPLICATE_NAME, lambda: replace(BASE, buffers=(*BASE.buffers, BASE.buffers[0]))),
    "slots do not fit": (Rule.BUFFER_SIZE, lambda: with_buffer(BASE, "conv.x", copies=3)),
    "elements do not fit": (Rule.BUFFER_SIZE, lambda: with_buffer(BASE, "m", size_bytes=127)),
    "elements on each other": (Rule.MALFORMED, lambda: with_buffer(BASE, "m", strides_bytes=(32, 3, 1))),
    "rank of strides": (Rule.MALFORMED, lambda: with_buffer(BASE, "m", strides_bytes=(32, 1))),
    "rank of a rectangle": (Rule.MALFORMED, lambda: on_step(BASE, copy("relu.x"), source(rectangle=()))),
    "unknown type": (Rule.MALFORMED, lambda: with_buffer(BASE, "m", dtype="int7")),
    "index without a step": (
        Rule.MALFORMED,
        lambda: on_step(BASE, loops, lambda step: replace(step, indices=(Index("oc", 4, 0), Index("oh", 8, 3)))),
    ),
    "more tiles than can be checked": (Rule.TOO_LARGE, more_tiles_than_can_be_checked),
    "beyond all memory": (Rule.TOO_LARGE, lambda: moved(BASE, "m", 10**12)),
    "view of two buffers": (
        Rule.MALFORMED,
        lambda: viewed(*BASE.relations, Relation(RelationKind.AT_OFFSET, "v", "relu.x", 0)),
    ),
    "view of itself": (
        Rule.CIRCULAR_VIEW,
        lambda: viewed(Relation(RelationKind.AT_OFFSET, "v", "v", 0)),
    ),
    "views in a circle": (
        Rule.CIRCULAR_VIEW,
        lambda: viewed(*BASE.relations, Relation(RelationKind.AT_OFFSET, "m", "v", 0)),
    ),
}

PLACEMENT: Spoilt = {
    "offset moved by one byte": (Rule.ALIGNMENT, lambda: moved(BASE, "conv.y", 49)),
    "pool not aligned enough": (Rule.ALIGNMENT, lambda: with_pool(BASE, "l1", align_bytes=2)),
    "slots not aligned": (Rule.ALIGNMENT, lambda: with_buffer(BASE, "conv.x", slot_bytes=20, align_bytes=8)),
    "moved onto a live neighbour": (Rule.OVERLAP, lambda: moved(BASE, "conv.y", 40)),
    "moved onto a live neighbour's end": (Rule.OVERLAP, lambda: moved(BASE, "conv.scratch", 92)),
    "pool one byte too small": (Rule.CAPACITY, lambda: with_pool(BASE, "l1", size_bytes=255)),
    "pool one granule too small": (
        Rule.CAPACITY,
        lambda: with_pool(BASE, "sram", size_bytes=190, granule_bytes=64 * 3),
    ),
    "behind the end of the pool": (Rule.CAPACITY, lambda: moved(BASE, "relu.y", 132)),
    "below the pool": (Rule.CAPACITY, lambda: moved(BASE, "conv.x", -4)),
    "reported use too small": (Rule.POOL_USE, lambda: use(used_bytes=252, lower_bound_bytes=252)),
    "bound above use": (Rule.POOL_USE, lambda: use(lower_bound_bytes=257, optimal=False)),
    "optimal with a gap": (Rule.POOL_USE, lambda: use(lower_bound_bytes=255)),
    "use not reported": (Rule.POOL_USE, lambda: replace(BASE, pool_use=BASE.pool_use[1:])),
    "no placement": (Rule.UNPLACED, lambda: replace(BASE, placements=BASE.placements[:-1])),
    "interface not placed": (Rule.UNPLACED, lambda: replace(BASE, io_in_pools=True)),
    "two placements": (
        Rule.PLACED_TWICE,
        lambda: replace(BASE, placements=(*BASE.placements, BASE.placements[0])),
    ),
    "caller's buffer placed": (
        Rule.CALLER_BUFFER,
        lambda: replace(BASE, placements=(*BASE.placements, Placement("x", "sram", 256))),
    ),
    "caller's buffer is a view": (Rule.UNPLACED, caller_views_the_plan),
    "pool no candidate": (Rule.POOL_CANDIDATE, lambda: in_pool(BASE, "conv.scratch", "sram")),
    "pool does not hold the kind": (Rule.POOL_HOLDS, lambda: with_pool(BASE, "l1", holds=(BufferKind.TILE,))),
    "variable in a read-only pool": (Rule.POOL_HOLDS, variable_in_flash),
    "view beside its place": (Rule.AT_OFFSET, lambda: moved(BASE, "v", 4)),
    "view leaves its parent": (Rule.AT_OFFSET, lambda: viewed(Relation(RelationKind.AT_OFFSET, "v", "m", 4))),
    "no relation": (Rule.OVERLAP, lambda: viewed()),
    "trails too closely": (Rule.TRAILS, lambda: trails(8, 4)),
    "trails above": (Rule.TRAILS, lambda: trails(0, -4)),
    "output over live input": (Rule.OVERLAP, lambda: placed_io(144)),
}

LIFETIMES: Spoilt = {
    "begun twice": (Rule.DOUBLE_BEGIN, lambda: on_step(BASE, same(Begin("m")), lambda step: (step, step))),
    "ended twice": (Rule.DOUBLE_END, lambda: on_step(BASE, same(End("m")), lambda step: (step, step))),
    "never ended": (Rule.NEVER_ENDED, lambda: on_step(BASE, same(End("relu.x")), without)),
    "never begun": (Rule.OUTSIDE_LIFETIME, lambda: on_step(BASE, same(Begin("conv.x")), without)),
    "scratch never begun": (Rule.OUTSIDE_LIFETIME, lambda: on_step(BASE, same(Begin("conv.scratch")), without)),
    "ended before its use": (Rule.OUTSIDE_LIFETIME, ended_before_use),
    "ended in the loop": (Rule.OUTSIDE_LIFETIME, ended_in_the_loop),
}


def words_leave_the_constant() -> Plan:
    return with_buffer(words(link="load", align_bytes=8), "words", align_bytes=8)


REACH: Spoilt = {
    "kernel operand out of reach": (Rule.CORE_REACH, lambda: on_step(BASE, kernel("relu"), read(0, buffer="v"))),
    "core reaches nothing": (Rule.CORE_REACH, lambda: replace(BASE, core=Core(1, ()))),
    "copy over another link": (
        Rule.LINK_REACH,
        lambda: on_step(BASE, copy("conv.w"), lambda step: replace(step, link="in")),
    ),
    "link asks for more alignment": (Rule.LINK_ALIGNMENT, lambda: with_links(BASE, align_bytes=8)),
    "link asks for longer lines": (Rule.LINK_ALIGNMENT, lambda: words(words="")),
    "words pass through a tile": (Rule.WORDS, lambda: words(words="conv.x")),
    "words pass through a kernel's scratch": (Rule.WORDS, lambda: words(words="conv.scratch")),
    "words are larger than their buffer": (Rule.WORDS, lambda: words(link="load", align_bytes=16)),
    "words leave the constant": (Rule.WORDS, words_leave_the_constant),
    "words are stored without a way back": (Rule.WORDS, lambda: words("conv.y", link="in")),
    "words pass after their buffer's end": (Rule.OUTSIDE_LIFETIME, lambda: words("relu.x")),
    "link rounds up over the neighbour": (Rule.LINK_ROUND_UP, lambda: with_links(BASE, round_up_bytes=16)),
    "write to a constant": (Rule.FORBIDDEN_WRITE, kernel_writes_constant),
    "write to the input": (
        Rule.FORBIDDEN_WRITE,
        lambda: on_step(BASE, copy("relu.y"), destination(buffer="x", rectangle=(plans.whole(8), plans.whole(4)))),
    ),
}

MEMORY: Spoilt = {**FORM, **PLACEMENT, **LIFETIMES, **REACH}
