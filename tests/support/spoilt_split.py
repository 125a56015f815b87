"""A plan whose convolution is shared by three cores, and ways to spoil the split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilewright.check import Rule
from tilewright.plan import (
    Begin,
    BufferKind,
    End,
    Kernel,
    Placement,
    Plan,
    Relation,
    RelationKind,
    Split,
    SplitAxis,
)

from support.edits import kernel, on_step, same
from support.plans import along, buffer
from support.sound import BASE

SPLIT = Split(
    dimension="oh",
    extent=8,
    chunk=1,
    cores=3,
    axes=(SplitAxis(0, 0, along("oh", 8, 1, 1)), SplitAxis(2, 1, along("oh", 8))),
    scratch_bytes=(4,),
    views="conv.views",
    views_bytes=16,
)


def shared(split: Split = SPLIT, cores: int = 4) -> Plan:
    """Each core has one row of the tile's three."""
    views = buffer("conv.views", BufferKind.SCRATCH, (48,), "l1")
    plan = replace(
        BASE,
        core=replace(BASE.core, count=cores),
        buffers=(*BASE.buffers, views),
        placements=(*BASE.placements, Placement("conv.views", "l1", 112)),
    )
    plan = on_step(plan, same(Begin("conv.scratch")), lambda step: (step, Begin("conv.views")))
    plan = on_step(plan, same(End("conv.scratch")), lambda step: (step, End("conv.views")))

    def change(step: Kernel) -> Kernel:
        return replace(step, split=split, scratch_bytes=(4,))

    return on_step(plan, kernel("conv"), change)


def spoilt(**fields: object) -> Callable[[], Plan]:
    """The plan with other fields of the split."""
    return lambda: shared(replace(SPLIT, **fields))  # type: ignore[arg-type]


def _axes(first: SplitAxis | None, second: SplitAxis | None) -> Callable[[], Plan]:
    return spoilt(axes=tuple(axis for axis in (first, second) if axis is not None))


def _trails() -> Plan:
    plan = shared()
    return replace(plan, relations=(*plan.relations, Relation(RelationKind.TRAILS, "conv.y", "conv.x", 0)))


X_ROWS, Y_ROWS = SPLIT.axes

Spoilt = dict[str, tuple[Rule, Callable[[], Plan]]]
SPLITS: Spoilt = {
    "split over more cores than there are": (Rule.SPLIT, lambda: shared(cores=2)),
    "split into chunks that do not cover the tile": (Rule.SPLIT, spoilt(cores=2)),
    "split without a chunk": (Rule.SPLIT, spoilt(chunk=0)),
    "split with scratch for fewer cores": (Rule.SPLIT, spoilt(scratch_bytes=(8,))),
    "split with too few sizes of scratch": (Rule.SPLIT, spoilt(scratch_bytes=())),
    "split with views for fewer cores": (Rule.SPLIT, spoilt(views_bytes=20)),
    "split of which all cores write everything": (Rule.SPLIT, _axes(X_ROWS, None)),
    "split of an axis that does not exist": (Rule.SPLIT, _axes(replace(X_ROWS, axis=2), Y_ROWS)),
    "split whose parts of y overlap": (Rule.SPLIT, _axes(X_ROWS, replace(Y_ROWS, range=along("oh", 8, 0, 1)))),
    "split whose parts of x lie elsewhere": (Rule.SPLIT, _axes(replace(X_ROWS, range=along("oh", 8, 2, 1)), Y_ROWS)),
    "split along another dimension": (Rule.SPLIT, _axes(X_ROWS, replace(Y_ROWS, range=along("oc", 8)))),
    "split of a layer in place": (Rule.SPLIT, _trails),
    "split with views in no buffer": (Rule.UNKNOWN_NAME, spoilt(views="nowhere")),
}
"""Name of the edit: the rule that it breaks, and the plan."""
