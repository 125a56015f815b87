"""Spoilt plans: what kernels compute, over what they write, and what is said twice; each with the rule it breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilewright.check import Rule
from tilewright.plan import (
    AxisRange,
    BufferKind,
    Dimension,
    Index,
    Iteration,
    Kernel,
    Layer,
    Loop,
    Plan,
    Relation,
    RelationKind,
    Runs,
    Step,
    Stores,
    WriteOrder,
)

from support import plans
from support.edits import (
    Change,
    copy,
    destination,
    kernel,
    loops,
    moved,
    on_step,
    read,
    source,
    wait,
    with_buffer,
    write,
)
from support.sound import APART, BASE, PERMUTED, RASTER, REDUCTION, REVERSE, above, stored, trails, window
from support.spoilt_memory import Spoilt

NO_HALO = (plans.along("oh", 8), plans.whole(4))


def conv(change: Change) -> Plan:
    return on_step(BASE, kernel("conv"), change)


def relu(plan: Plan, **fields: object) -> Plan:
    return on_step(plan, kernel("relu"), lambda step: replace(step, **fields))


def dimensions(change: Callable[[Dimension], Dimension], plan: Plan = BASE, name: str = "conv") -> Plan:
    def edit(step: Kernel) -> Kernel:
        return replace(step, dimensions=tuple(map(change, step.dimensions)))

    return on_step(plan, kernel(name), edit)


def without_halo() -> Plan:
    """The convolution's rows above and below a tile are neither loaded nor read, in all steps alike."""
    plan = with_buffer(BASE, "conv.x", shape=(3, 4), strides_bytes=(4, 1))
    plan = on_step(plan, copy("conv.x"), source(rectangle=NO_HALO))
    plan = on_step(plan, copy("conv.x"), destination(rectangle=NO_HALO))
    return on_step(plan, kernel("conv"), read(0, rectangle=NO_HALO))


def transposed(behind: int) -> Plan:
    """relu as a transposition, 8 x 16 to 16 x 8, that writes ``behind`` bytes below its live input."""
    area = (plans.whole(8), plans.whole(16))
    maps = ((plans.along("d0", 8), plans.along("d1", 16)), (plans.along("d1", 16), plans.along("d0", 8)))
    plan = stored(trails(behind, behind), RASTER)
    for name in ("v", "relu.x"):
        plan = with_buffer(plan, name, shape=(8, 16), strides_bytes=(16, 1))
    for name in ("relu.y", "out"):
        plan = with_buffer(plan, name, shape=(16, 8), strides_bytes=(8, 1))
    plan = replace(plan, outputs=(plans.interface("out", (16, 8)),))
    turned = area[::-1]
    plan = on_step(plan, copy("relu.x"), source(rectangle=area))
    plan = on_step(plan, copy("relu.x"), destination(rectangle=area))
    plan = on_step(plan, copy("relu.y"), source(rectangle=turned))
    plan = on_step(plan, copy("relu.y"), destination(rectangle=turned))
    plan = on_step(plan, kernel("relu"), read(0, rectangle=area))
    plan = on_step(plan, kernel("relu"), write(rectangle=turned))
    plan = relu(plan, maps=maps, dimensions=(Dimension("d0", 8), Dimension("d1", 16)))
    return moved(moved(plan, "relu.x", 128), "relu.y", 128 - behind)


def pooled_in_place() -> Plan:
    """relu, which runs in place, has the maps of a 3x3 pooling window."""
    plan = on_step(trails(0, 0), kernel("relu"), lambda step: replace(step, symbol="tw_max_pool_3x3"))
    maps = ((plans.along("d0", 4, 1, 1), plans.along("d1", 32, 1, 1)), (plans.along("d0", 4), plans.along("d1", 32)))
    facts = tuple(replace(item, kernel="tw_max_pool_3x3") if item.name == "relu" else item for item in plan.layers)
    return relu(replace(plan, layers=facts), maps=maps)


def fewer_parts() -> Plan:
    """The reduction's loop ends one element early."""
    return on_step(REDUCTION, loops, lambda step: replace(step, indices=(step.indices[0], Index("c", 5, 2))))


def called_twice() -> Plan:
    """Each tile is computed twice, once in each round of an index that is no dimension."""

    def again(step: Layer) -> Layer:
        inner = tuple(replace(item, runs=Runs(0, 1, 2, ("again",))) for item in step.body if isinstance(item, Loop))
        return replace(step, body=(Loop((Index("again", 2, 1),), inner),))

    return on_step(REDUCTION, lambda step: isinstance(step, Layer), again)


def two_layers_of_writes() -> Plan:
    """A kernel that writes nothing runs in every tile of another's loop, on the whole of what it reads."""

    def beside(step: Kernel) -> tuple[Step, Step]:
        idle = Kernel("conv", "tw_conv", (), (), (), (), (), runs=step.runs, dimensions=step.dimensions)
        return step, idle

    return conv(beside)


def fewer_columns() -> Plan:
    """relu in place, apart by columns, on all columns but the last, though its maps say all of them."""
    area = (plans.whole(4), plans.whole(31))
    plan = on_step(stored(trails(0, 0), APART), kernel("relu"), read(0, rectangle=area))
    return on_step(plan, kernel("relu"), write(rectangle=area))


def parts_apart() -> Plan:
    """Parts of one result are computed with those of others between them."""
    turned = Runs(0, 1, 6, ("c", "o"))
    plan = on_step(REDUCTION, kernel("mv"), lambda step: replace(step, runs=turned))
    plan = on_step(plan, copy("mv.w"), lambda step: replace(step, runs=turned))
    plan = on_step(plan, kernel("mv"), write(period=1))
    plan = on_step(plan, copy("mv.y"), lambda step: replace(step, runs=Runs(4, 1, 2, ("o",))))
    plan = on_step(plan, wait("mv.y"), lambda step: replace(step, runs=Runs(4, 1, 2)))
    plan = with_buffer(plan, "mv.y", copies=2, size_bytes=8)
    return replace(plan, pool_use=(replace(plan.pool_use[0], used_bytes=12, lower_bound_bytes=12), *plan.pool_use[1:]))


def tensor(**fields: object) -> Plan:
    """The output as another interface tensor."""
    return replace(BASE, outputs=(replace(BASE.outputs[0], **fields),))  # type: ignore[arg-type]


def caller_view(offset: int) -> Plan:
    """A second input of the first layer is four rows of the caller's x, from row 2 on."""
    part = replace(plans.buffer("part", BufferKind.INPUT, (4, 4), "sram"), tensor="part")
    relation = Relation(RelationKind.AT_OFFSET, "part", "x", offset, (2, 0))
    return replace(BASE, buffers=(*BASE.buffers, part), relations=(*BASE.relations, relation))


def second_scratch(name: str) -> Change:
    return lambda step: replace(step, scratch=(name,))


MAPS: Spoilt = {
    "halo dropped in all steps alike": (Rule.MAP, without_halo),
    "map with a wider window": (
        Rule.MAP,
        lambda: conv(lambda step: replace(step, maps=((plans.along("oh", 8, 2, 1), plans.whole(4)), *step.maps[1:]))),
    ),
    "border of the input": (
        Rule.MAP,
        lambda: on_step(
            on_step(BASE, copy("relu.x"), source(rectangle=(AxisRange((), 0, 3, 1, 5), plans.whole(32)))),
            copy("relu.x"),
            destination(rectangle=(AxisRange((), 0, 3, 1, 5), plans.whole(32))),
        ),
    ),
    "maps for fewer operands": (Rule.MALFORMED, lambda: conv(lambda step: replace(step, maps=step.maps[:2]))),
    "map of another rank": (
        Rule.MALFORMED,
        lambda: conv(lambda step: replace(step, maps=(step.maps[0][:1], *step.maps[1:]))),
    ),
    "map of no dimension": (
        Rule.MALFORMED,
        lambda: conv(lambda step: replace(step, maps=((plans.along("ow", 8), plans.whole(4)), *step.maps[1:]))),
    ),
    "view that has an axis twice": (
        Rule.MALFORMED,
        lambda: conv(lambda step: replace(step, axes=((0, 0), *step.axes[1:]))),
    ),
    "view that lacks an axis": (
        Rule.MALFORMED,
        lambda: conv(lambda step: replace(step, axes=((0, -1), *step.axes[1:]))),
    ),
    "no iteration space": (Rule.MALFORMED, lambda: conv(lambda step: replace(step, dimensions=()))),
    "part of a home": (
        Rule.MALFORMED,
        lambda: on_step(BASE, copy("conv.x"), source(within=(plans.whole(8), plans.whole(4)))),
    ),
    "store into a part": (
        Rule.MALFORMED,
        lambda: on_step(BASE, copy("conv.y"), destination(within=tuple(map(plans.whole, (4, 8, 4))))),
    ),
    "kernel reads a part": (
        Rule.MALFORMED,
        lambda: conv(read(0, within=(plans.along("oh", 8, 1, 1), plans.whole(4)))),
    ),
}

BOXES: Spoilt = {
    "reduction that ends early": (Rule.COVERAGE, fewer_parts),
    "tiles computed twice": (Rule.WRITTEN_TWICE, called_twice),
    "kernel that runs too often": (Rule.COVERAGE, two_layers_of_writes),
    "parts between other parts": (Rule.BOX, parts_apart),
    "cut of what is never cut": (Rule.BOX, lambda: dimensions(lambda item: replace(item, iteration=Iteration.WHOLE))),
    "tiles beside multiples": (Rule.BOX, lambda: dimensions(lambda item: replace(item, multiple=2))),
    "larger than the loop": (Rule.COVERAGE, lambda: dimensions(lambda item: replace(item, extent=9))),
    "smaller than the loop": (Rule.BOX, lambda: dimensions(lambda item: replace(item, extent=3))),
    "reduction that is parallel": (
        Rule.BOX,
        lambda: dimensions(lambda item: replace(item, iteration=Iteration.PARALLEL), REDUCTION, "mv"),
    ),
    "dimension without points": (Rule.MALFORMED, lambda: dimensions(lambda item: replace(item, extent=0))),
}

ORDER: Spoilt = {
    "transposition over its input": (Rule.WRITE_ORDER, lambda: transposed(4)),
    "transposition a word too close": (Rule.WRITE_ORDER, lambda: transposed(104)),
    "permutation from another address": (Rule.WRITE_ORDER, lambda: stored(transposed(4), PERMUTED)),
    "permutation with gaps": (Rule.WRITE_ORDER, lambda: stored(fewer_columns(), PERMUTED)),
    "permutation of another read": (
        Rule.WRITE_ORDER,
        lambda: stored(transposed(0), Stores(WriteOrder.PERMUTED, ())),
    ),
    "window in place": (Rule.WRITE_ORDER, pooled_in_place),
    "window in raster order too close": (Rule.WRITE_ORDER, lambda: window(1, 32)),
    "window in reverse order below": (
        Rule.WRITE_ORDER,
        lambda: window(1, 36, REVERSE),
    ),
    "raster order above": (Rule.WRITE_ORDER, lambda: stored(above(trails(0, 4), 4), RASTER)),
    "unknown order in place": (Rule.WRITE_ORDER, lambda: stored(trails(0, 0), Stores())),
    "order of another read": (Rule.WRITE_ORDER, lambda: stored(trails(0, 0), Stores(WriteOrder.ELEMENTWISE, ()))),
    "in place with other strides": (
        Rule.WRITE_ORDER,
        lambda: with_buffer(trails(0, 0), "relu.y", strides_bytes=(1, 4)),
    ),
    "elementwise from another address": (
        Rule.WRITE_ORDER,
        lambda: stored(trails(4, 4), Stores(WriteOrder.ELEMENTWISE, (0,))),
    ),
    "over no read": (Rule.MALFORMED, lambda: stored(BASE, Stores(WriteOrder.ELEMENTWISE, (1,)))),
    "raster order without a walk": (Rule.MALFORMED, lambda: stored(BASE, Stores(WriteOrder.RASTER, (0,)))),
    "a walk over no dimension": (Rule.MALFORMED, lambda: stored(BASE, Stores(WriteOrder.RASTER, (0,), ("d2",)))),
    "blocks without points": (Rule.MALFORMED, lambda: stored(BASE, replace(RASTER, block=0))),
    "a walk backward over what it lacks": (Rule.MALFORMED, lambda: stored(BASE, replace(RASTER, backward=("d2",)))),
    "points apart and in the walk": (Rule.MALFORMED, lambda: stored(BASE, replace(RASTER, apart=("d1",)))),
    "points apart that share bytes": (Rule.WRITE_ORDER, lambda: stored(trails(4, 4), APART)),
    "points apart beyond what is read and written": (Rule.SLOT_CONTENT, fewer_columns),
    "reads between stores in place": (
        Rule.WRITE_ORDER,
        lambda: stored(trails(0, 0), replace(RASTER, rereads=True)),
    ),
    "block that stores over its neighbours": (
        Rule.WRITE_ORDER,
        lambda: stored(above(trails(0, 4), 4), replace(RASTER, block=4)),
    ),
}

SCRATCH: Spoilt = {
    "scratch that is a tile": (Rule.SCRATCH, lambda: conv(second_scratch("conv.w"))),
    "scratch dropped": (Rule.MALFORMED, lambda: conv(lambda step: replace(step, scratch=()))),
    "scratch too small": (Rule.SCRATCH, lambda: conv(lambda step: replace(step, scratch_bytes=(17,)))),
    "scratch without elements": (Rule.SCRATCH, lambda: with_buffer(BASE, "conv.scratch", shape=(0,))),
    "scratch of bytes that lie apart": (
        Rule.SCRATCH,
        lambda: with_buffer(BASE, "conv.scratch", shape=(8,), strides_bytes=(2,)),
    ),
    "scratch twice": (
        Rule.SCRATCH,
        lambda: conv(lambda step: replace(step, scratch=step.scratch * 2, scratch_bytes=(8, 8))),
    ),
}

TWICE: Spoilt = {
    "renamed kernel": (
        Rule.LAYER_FACTS,
        lambda: on_step(trails(0, 0), kernel("relu"), lambda step: replace(step, symbol="max_pool_3x3")),
    ),
    "output that is a tile": (
        Rule.INTERFACE,
        lambda: with_buffer(BASE, "out", kind=BufferKind.TILE),
    ),
    "interface of another shape": (Rule.INTERFACE, lambda: tensor(shape=(8, 32))),
    "interface of another type": (Rule.INTERFACE, lambda: tensor(dtype="float32")),
    "interface of another name": (Rule.INTERFACE, lambda: tensor(name="float32")),
    "two of one identifier": (
        Rule.INTERFACE,
        lambda: replace(BASE, inputs=(*BASE.inputs, BASE.inputs[0])),
    ),
    "view from another element on": (Rule.AT_OFFSET, lambda: caller_view(9)),
    "view of other strides": (
        Rule.AT_OFFSET,
        lambda: with_buffer(caller_view(8), "part", strides_bytes=(3, 1), shape=(4, 3)),
    ),
}

NESTS: Spoilt = {**MAPS, **BOXES, **ORDER, **SCRATCH, **TWICE}
