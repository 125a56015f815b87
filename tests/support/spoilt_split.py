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
    PoolUse,
    Relation,
    RelationKind,
    Split,
    SplitAxis,
)

from support.edits import kernel, on_step, same, with_pool
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
    views_bytes=224,
)


def shared(split: Split = SPLIT, cores: int = 4) -> Plan:
    """The plan in which three cores share the convolution: each computes one of a tile's three rows."""
    views = buffer("conv.views", BufferKind.SCRATCH, (672,), "l1")
    plan = replace(
        BASE,
        core=replace(BASE.core, count=cores),
        pool_use=(PoolUse("l1", 928, 928, True), *BASE.pool_use[1:]),
        buffers=(*BASE.buffers, views),
        placements=(*BASE.placements, Placement("conv.views", "l1", 256)),
    )
    plan = with_pool(plan, "l1", size_bytes=1024)
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
    "split with views for fewer cores": (Rule.SPLIT, spoilt(views_bytes=228)),
    "split with views too small": (Rule.SPLIT, spoilt(views_bytes=216)),
    "split with chunks larger than cores need": (Rule.SPLIT, spoilt(chunk=2, cores=3)),
    "split along no dimension of the kernel": (Rule.SPLIT, spoilt(dimension="ow")),
    "split of which all cores write everything": (Rule.SPLIT, _axes(X_ROWS, None)),
    "split of an axis that does not exist": (Rule.SPLIT, _axes(replace(X_ROWS, axis=2), Y_ROWS)),
    "split whose parts of y overlap": (Rule.SPLIT, _axes(X_ROWS, replace(Y_ROWS, range=along("oh", 8, 0, 1)))),
    "split whose parts of x lie elsewhere": (Rule.SPLIT, _axes(replace(X_ROWS, range=along("oh", 8, 2, 1)), Y_ROWS)),
    "split along another dimension": (Rule.SPLIT, _axes(X_ROWS, replace(Y_ROWS, range=along("oc", 8)))),
    "split of a layer in place": (Rule.SPLIT, _trails),
    "split with views in no buffer": (Rule.UNKNOWN_NAME, spoilt(views="nowhere")),
}
"""Name of the edit: the rule that it breaks, and the plan."""
