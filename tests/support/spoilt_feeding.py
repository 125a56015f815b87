"""A plan whose input is fed, made by hand, and spoilt ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilewright.check import Rule
from tilewright.plan import (
    AxisRange,
    BufferKind,
    Dimension,
    Index,
    InterfaceTensor,
    Kernel,
    Layer,
    Loop,
    Operand,
    Plan,
    Runs,
)

from support import plans
from support.edits import with_buffer
from support.groups import two_stages
from support.spoilt_memory import Spoilt

Change = Callable[[Loop, Kernel], tuple[Loop, Kernel]]


def fed(rows: int = 3, late: int = 1) -> Plan:
    """m[8, 4] is x[8, 4], row by row, in a ring of ``rows``; y[4, 4] from rows 2s - 1 ... 2s + 1 of m.

    The second stage begins ``late`` iterations behind the first; with two it needs a ring of four rows.
    """
    return _given(with_feed(two_stages(rows, late=late), _copied), fed_axis=0)


def with_feed(plan: Plan, change: Change) -> Plan:
    """The plan with another loop around the rows, and another kernel that takes them."""

    def changed(layer: Layer) -> Layer:
        (loop,) = (step for step in layer.body if isinstance(step, Loop))
        kernel = next(step for step in loop.body if isinstance(step, Kernel))
        other, spoilt = change(loop, kernel)
        body = tuple(spoilt if step is kernel else step for step in loop.body)
        return replace(layer, body=(replace(other, body=body),))

    first = next(step for step in plan.program if isinstance(step, Layer))
    return replace(plan, program=tuple(changed(first) if step is first else step for step in plan.program))


def _given(plan: Plan, **changes: object) -> Plan:
    (item,) = plan.inputs
    return replace(plan, inputs=(replace(item, **changes),))  # type: ignore[arg-type]  # fields by their names


def _copied(loop: Loop, kernel: Kernel) -> tuple[Loop, Kernel]:
    taken = replace(kernel, reads=(Operand("x", (plans.along("r", 8), plans.whole(4))),))
    return loop, plans.with_nest(taken, Dimension("r", 8))


def two_at_a_time(loop: Loop, kernel: Kernel) -> tuple[Loop, Kernel]:
    (name,) = kernel.runs.over
    indices = tuple(replace(item, step=2) if item.name == name else item for item in loop.indices)
    return replace(loop, indices=indices), replace(kernel, runs=Runs(0, 2, 4, (name,)))


def every_second(loop: Loop, kernel: Kernel) -> tuple[Loop, Kernel]:
    return loop, replace(kernel, runs=replace(kernel.runs, every=2))


def a_row_later(loop: Loop, kernel: Kernel) -> tuple[Loop, Kernel]:
    return loop, replace(kernel, runs=replace(kernel.runs, first=1))


def along_two(loop: Loop, kernel: Kernel) -> tuple[Loop, Kernel]:
    runs = Runs(0, 1, 8, (*kernel.runs.over, "again"))
    return replace(loop, indices=(*loop.indices, Index("again", 1, 1))), replace(kernel, runs=runs)


def three_rows(loop: Loop, kernel: Kernel) -> tuple[Loop, Kernel]:
    return loop, replace(kernel, reads=(Operand("x", (plans.along("r", 8, 1, 1), plans.whole(4))),))


def half_a_row(loop: Loop, kernel: Kernel) -> tuple[Loop, Kernel]:
    return loop, replace(kernel, reads=(Operand("x", (plans.along("r", 8), AxisRange((), 0, 1, 1, 4))),))


def twice(loop: Loop, kernel: Kernel) -> tuple[Loop, Kernel]:
    return loop, replace(
        kernel, reads=kernel.reads * 2, axes=(*kernel.axes, kernel.axes[0]), maps=(*kernel.maps, kernel.maps[0])
    )


def _two_inputs() -> Plan:
    plan = fed()
    (item,) = plan.inputs
    other = plans.buffer("z", BufferKind.INPUT, (8, 4), "sram")
    second = InterfaceTensor("z", "z", "z", item.dtype, item.shape, fed_axis=0)
    return replace(plan, buffers=(*plan.buffers, other), inputs=(item, second))


def _on_cores(plan: Plan) -> Plan:
    return replace(plan, core=replace(plan.core, count=2))


FEEDING: Spoilt = {
    "fed input in a ring of a row less": (Rule.SLOT_CONTENT, lambda: fed(3, late=2)),
    "fed along no axis": (Rule.FEED, lambda: _given(fed(), fed_axis=2)),
    "fed along columns": (Rule.FEED, lambda: _given(fed(), fed_axis=1)),
    "fed rows with gaps between columns": (
        Rule.FEED,
        lambda: with_buffer(fed(), "x", strides_bytes=(1, 8)),
    ),
    "two fed inputs": (Rule.FEED, _two_inputs),
    "fed on two cores": (Rule.FEED, lambda: _on_cores(fed())),
    "fed rows two at a time": (Rule.FEED, lambda: with_feed(fed(), two_at_a_time)),
    "fed rows at every second iteration": (Rule.FEED, lambda: with_feed(fed(), every_second)),
    "fed rows an iteration late": (Rule.FEED, lambda: with_feed(fed(), a_row_later)),
    "fed rows along two indices": (Rule.FEED, lambda: with_feed(fed(), along_two)),
    "fed rows that are read again": (Rule.FEED, lambda: with_feed(fed(), three_rows)),
    "half of each fed row": (Rule.FEED, lambda: with_feed(fed(), half_a_row)),
    "fed rows that are read twice": (Rule.FEED, lambda: with_feed(fed(), twice)),
}
