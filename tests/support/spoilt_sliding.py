"""A plan whose window slides, made by hand, and spoilt ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilewright.check import Rule
from tilewright.plan import (
    AxisRange,
    Begin,
    BufferKind,
    Dimension,
    End,
    Index,
    Kernel,
    Layer,
    Loop,
    Operand,
    Placement,
    Plan,
    PoolUse,
    Relation,
    RelationKind,
    Runs,
    Slide,
    kernel_steps,
)

from support import plans
from support.edits import kernel, on_step, with_buffer
from support.groups import two_stages
from support.spoilt_memory import Spoilt

FRAMES, PERIOD = 12, 6
Change = Callable[[Kernel], Kernel]


def slid(rows: int = 3) -> Plan:
    """m[12, 4] is x[12, 4], in a ring of ``rows``; y[12, 4] from rows s - 2 ... s of m: 6 frames, and 6 of a period."""
    plan = two_stages(rows)
    first, second = kernel_steps(plan.program)
    new, past = plans.along("r", FRAMES), plans.along("s", FRAMES, 2, 0)
    first = replace(first, reads=(_rows("x", new),), writes=(_rows("m", new),), runs=Runs(0, 1, FRAMES, ("r",)))
    second = replace(
        second,
        reads=(_rows("m", past),),
        writes=(_rows("y", plans.along("s", FRAMES)),),
        runs=Runs(0, 1, FRAMES, ("s",)),
    )
    body = (plans.with_nest(first, Dimension("r", FRAMES)), plans.with_nest(second, Dimension("s", FRAMES)))
    loop = Loop((Index("r", FRAMES, 1), Index("s", FRAMES, 1)), body)
    (layer,) = (step for step in plan.program if isinstance(step, Layer))
    position = replace(plans.buffer("at", BufferKind.STATE, (1,), "sram"), dtype="uint32", strides_bytes=(4,))
    position = replace(position, size_bytes=4, slot_bytes=4)
    shapes = {"x": (FRAMES, 4), "y": (FRAMES, 4)}
    callers = {"x": BufferKind.INPUT, "y": BufferKind.OUTPUT}
    homes = [plans.buffer(name, kind, shapes[name], "sram") for name, kind in callers.items()]
    (ring,) = (item for item in plan.buffers if item.name == "m")
    return replace(
        plan,
        inputs=(replace(plans.interface("x", (1, 4)), fed_axis=0),),
        outputs=(replace(plans.interface("y", (1, 4)), fed_axis=0),),
        buffers=(*homes, ring, position),
        placements=(*plan.placements, Placement("at", "sram", 0)),
        pool_use=(*plan.pool_use, PoolUse("sram", 4, 4, True)),
        program=(Begin("at"), Begin("m"), replace(layer, body=(loop,)), End("m"), End("at")),
        slide=Slide(1, 6, PERIOD, "at"),
    )


def _rows(name: str, rows: AxisRange) -> Operand:
    return Operand(name, (rows, plans.whole(4)))


def _slide(**changes: object) -> Plan:
    plan = slid()
    assert plan.slide is not None
    return replace(plan, slide=replace(plan.slide, **changes))  # type: ignore[arg-type]  # fields by their names


def _taken(**changes: object) -> Plan:
    plan = slid()
    (item,) = plan.outputs
    return replace(plan, outputs=(replace(item, **changes),))  # type: ignore[arg-type]  # fields by their names


def _kernel(name: str, change: Change) -> Plan:
    return on_step(slid(), kernel(name), change)


def _looked_ahead() -> Plan:
    """The second kernel works an iteration late, on rows s - 1 ... s + 1, of which the last is padding."""

    def change(step: Kernel) -> Kernel:
        late = replace(step, reads=(_rows("m", plans.along("s", FRAMES, 1, 1)),), runs=replace(step.runs, first=1))
        return plans.with_nest(late, Dimension("s", FRAMES))

    return _kernel("b", change)


def _padded() -> Plan:
    """The second kernel reads rows before the first frame in the period: s - 7 and s - 6."""

    def change(step: Kernel) -> Kernel:
        old = AxisRange((("s", 1),), -7, -6, 1, FRAMES)
        return plans.with_nest(replace(step, reads=(_rows("m", old),)), Dimension("s", FRAMES))

    return on_step(slid(12), kernel("b"), change)


def _read_again() -> Plan:
    def change(step: Kernel) -> tuple[Kernel, Kernel]:
        rows = plans.along("s", FRAMES)
        again = replace(step, name="c", reads=(_rows("y", rows),), writes=(_rows("m", rows),))
        return step, plans.with_nest(again, Dimension("s", FRAMES))

    return on_step(slid(), kernel("b"), change)  # type: ignore[arg-type]  # two steps


def _in_two_layers() -> Plan:
    plan = slid()
    (layer,) = (step for step in plan.program if isinstance(step, Layer))
    other = replace(layer, name="other", stages=(), body=())
    return replace(
        plan, program=tuple(part for step in plan.program for part in ((step, other) if step is layer else (step,)))
    )


def _trailing() -> Plan:
    plan = slid()
    relation = Relation(RelationKind.TRAILS, "y", "x", 0)
    return replace(plan, relations=(*plan.relations, relation))


def _by_a_step() -> Plan:
    """The second kernel reads where the next run begins."""

    def change(step: Kernel) -> Kernel:
        read = Operand("at", (plans.whole(1),))
        (_, given), (_, seen) = (step.maps, step.axes)
        maps, axes = (step.maps[0], read.rectangle, given), (step.axes[0], (0,), seen)
        return replace(step, reads=(*step.reads, read), maps=maps, axes=axes)

    return _kernel("b", change)


SLIDING: Spoilt = {
    "a window of whose ring a period has no whole turns": (Rule.SLIDE, lambda: slid(4)),
    "a window whose ring is a whole tensor": (Rule.SLIDE, lambda: with_buffer(slid(12), "m", ring_axis=None)),
    "a window of half a run": (Rule.SLIDE, lambda: _slide(rows=5)),
    "a window of two frames a run": (Rule.SLIDE, lambda: _slide(rows=2)),
    "a period of no whole runs": (Rule.SLIDE, lambda: _slide(period=0)),
    "a period from before the first frame": (Rule.SLIDE, lambda: _slide(period=FRAMES + 1)),
    "a period in which padding is read": (Rule.SLIDE, _padded),
    "a window that looks ahead": (Rule.SLIDE, _looked_ahead),
    "a position of another type": (Rule.SLIDE, lambda: with_buffer(slid(), "at", dtype="int32")),
    "a position that is a ring": (Rule.SLIDE, lambda: _slide(position="m")),
    "a position that a step reads": (Rule.SLIDE, _by_a_step),
    "a window in two layers": (Rule.SLIDE, _in_two_layers),
    "a window whose output lies over its input": (Rule.SLIDE, _trailing),
    "a window whose output is whole": (Rule.INTERFACE, lambda: _taken(fed_axis=None)),
    "a window whose output goes along columns": (Rule.INTERFACE, lambda: _taken(fed_axis=1)),
    "a window that gives two rows a run": (Rule.SLIDE, lambda: _taken(shape=(2, 4))),
    "a window whose output is read again": (Rule.SLIDE, _read_again),
    "rows of an output where no window slides": (Rule.INTERFACE, lambda: replace(slid(), slide=None)),
}
