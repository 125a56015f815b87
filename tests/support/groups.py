"""Layers of two stages that hand rows to each other through a ring, made by hand out of plans of single layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from tilewright.plan import (
    AxisRange,
    Begin,
    Buffer,
    BufferKind,
    CopyStart,
    Core,
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
    Runs,
    Stage,
    Step,
    Stores,
    Wait,
    kernel_steps,
)

from support import plans
from support.planned import far_platform


def two_stages(rows: int = 3, kind: BufferKind = BufferKind.INTERMEDIATE, late: int = 1) -> Plan:
    """m[8, 4] from rows r - 1 ... r + 1 of x, y[4, 4] from rows 2s - 1 ... 2s + 1 of m, of which a ring has ``rows``.

    The second stage works at every second iteration, ``late`` iterations behind the first.
    """
    window, wide = plans.along("r", 8, 1, 1), AxisRange((("s", 2),), -1, 1, 1, 8)
    first = Kernel(
        "a",
        "tw_a",
        (Operand("x", (window, plans.whole(4))),),
        (Operand("m", (plans.along("r", 8), plans.whole(4))),),
        (),
        ((0, 1), (0, 1)),
        (),
        runs=Runs(0, 1, 8, ("r",)),
    )
    second = Kernel(
        "b",
        "tw_b",
        (Operand("m", (wide, plans.whole(4))),),
        (Operand("y", (plans.along("s", 4), plans.whole(4))),),
        (),
        ((0, 1), (0, 1)),
        (),
        runs=Runs(late, 2, 4, ("s",)),
    )
    body = (plans.with_nest(first, Dimension("r", 8)), plans.with_nest(second, Dimension("s", 4)))
    base = plans.two_layers()
    ring = plans.buffer("m", kind, (rows, 4), "l1")
    return replace(
        base,
        core=Core(1, (("l1", 1), ("sram", 2))),
        inputs=(plans.interface("x", (8, 4)),),
        outputs=(plans.interface("y", (4, 4)),),
        pools=(replace(base.pools[0], holds=(BufferKind.TILE, BufferKind.INTERMEDIATE)), *base.pools[1:]),
        buffers=(
            plans.buffer("x", BufferKind.INPUT, (8, 4), "sram"),
            plans.buffer("y", BufferKind.OUTPUT, (4, 4), "sram"),
            replace(ring, ring_axis=0),
        ),
        relations=(),
        placements=(Placement("m", "l1", 0),),
        program=(
            Begin("m"),
            Layer(
                "a to b",
                (Stage("a", "Conv", "a"), Stage("b", "MaxPool", "b")),
                (Loop((Index("r", 8, 1), Index("s", 4, 1)), body),),
            ),
            End("m"),
        ),
        layers=(plans.facts("a", 8), plans.facts("b", 4, "MaxPool")),
        pool_use=(PoolUse("l1", ring.size_bytes, ring.size_bytes, True),),
    )


def in_channel_tiles(rows: int = 3) -> Plan:
    """As ``two_stages``, but the first stage makes two channels at a time, so it writes each ring row in two parts."""
    plan = two_stages(rows)
    first, second = kernel_steps(plan.program)
    across = plans.along("c", 4)
    first = replace(
        first,
        writes=(Operand("m", (plans.along("r", 8), across)),),
        reads=(Operand("x", (plans.along("r", 8, 1, 1), across)),),
        runs=Runs(0, 1, 16, ("r", "c")),
    )
    first = plans.with_nest(first, Dimension("r", 8), Dimension("c", 4))
    second = replace(second, runs=Runs(3, 4, 4, ("s",)))
    (layer,) = (step for step in plan.program if isinstance(step, Layer))
    loop = Loop((Index("r", 8, 1), Index("c", 4, 2), Index("s", 4, 1)), (first, second))
    return replace(plan, program=(Begin("m"), replace(layer, body=(loop,)), End("m")))


def run_together(plan: Plan, cuts: tuple[Index, Index], runs: tuple[Runs, Runs], ring: str, rows: int) -> Plan:
    """Two layers, each one kernel step in a straight line, as one layer: in blocks, with a ring for what is between.

    ``cuts`` are the indices of the blocks, named as the dimension ``oh`` of the stages shall be called.
    """
    layers = [step for step in plan.program if isinstance(step, Layer)]
    kernels = kernel_steps(plan.program)
    body = tuple(in_blocks(kernel, cut, how) for kernel, cut, how in zip(kernels, cuts, runs, strict=True))
    layer = Layer("together", tuple(stage for item in layers for stage in item.stages), (Loop(cuts, body),))
    begins = [step for step in plan.program if isinstance(step, Begin)]
    ends = [step for step in plan.program if isinstance(step, End)]
    program: tuple[Step, ...] = (*begins, layer, *ends)
    return placed_apart(replace(with_ring(plan, ring, rows), program=program))


def with_ring(plan: Plan, name: str, rows: int) -> Plan:
    """The buffer of a tensor (channels last, rows on axis 2) as a ring of some of the tensor's rows."""

    def shortened(shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:2], rows, *shape[3:])

    def changed(buffer: Buffer) -> Buffer:
        if buffer.name != name:
            return buffer
        size = rows * buffer.strides_bytes[2]
        return replace(buffer, shape=shortened(buffer.shape), size_bytes=size, slot_bytes=size, ring_axis=2)

    return replace(plan, buffers=tuple(map(changed, plan.buffers)))


def in_blocks(kernel: Kernel, cut: Index, runs: Runs) -> Kernel:
    """The kernel step with dimension ``oh`` cut by an index of another name."""
    names = {"oh": cut.name}
    dimensions = tuple(replace(item, name=names.get(item.name, item.name)) for item in kernel.dimensions)
    maps = tuple(
        tuple(
            replace(axis, terms=tuple((names.get(name, name), stride) for name, stride in axis.terms))
            for axis in operand
        )
        for operand in kernel.maps
    )
    whole = {item.name: item.extent for item in dimensions if item.name != cut.name}
    operands = [
        replace(operand, rectangle=tuple(folded(axis, whole) for axis in axes))
        for operand, axes in zip((*kernel.reads, *kernel.writes), maps, strict=True)
    ]
    count = len(kernel.reads)
    return replace(
        kernel,
        reads=tuple(operands[:count]),
        writes=tuple(operands[count:]),
        dimensions=dimensions,
        maps=maps,
        stores=renamed_stores(kernel.stores, names),
        runs=runs,
    )


def renamed_stores(stores: Stores, names: Mapping[str, str]) -> Stores:
    """The stores with other names of dimensions."""

    def renamed(dimensions: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in dimensions)

    walk, backward, apart = map(renamed, (stores.walk, stores.backward, stores.apart))
    return replace(stores, walk=walk, backward=backward, apart=apart)


def folded(axis: AxisRange, whole: dict[str, int]) -> AxisRange:
    """The axis with uncut dimensions as a part of its offsets."""
    reach = [stride * (whole[name] - 1) for name, stride in axis.terms if name in whole]
    return replace(
        axis,
        terms=tuple(item for item in axis.terms if item[0] not in whole),
        first_offset=axis.first_offset + sum(min(item, 0) for item in reach),
        last_offset=axis.last_offset + sum(max(item, 0) for item in reach),
    )


def placed_apart(plan: Plan) -> Plan:
    """The plan with all placed buffers one behind the other in their pools, so that none share bytes."""
    pools = {item.buffer: item.pool for item in plan.placements}
    at = dict.fromkeys(pools.values(), 0)
    placements = []
    for buffer in plan.buffers:
        if buffer.name in pools:
            pool = pools[buffer.name]
            offset = -(-at[pool] // 16) * 16
            placements.append(Placement(buffer.name, pool, offset))
            at[pool] = offset + buffer.size_bytes
    use = tuple(PoolUse(pool, size, 0, False) for pool, size in at.items())
    return replace(plan, placements=tuple(placements), pool_use=use, relations=())


def through_copies(plan: Plan, ahead: int) -> Plan:
    """Two stages that run together, with x and y behind links: rows of x in a ring, two slots for rows of y.

    Rows of x are loaded ``ahead`` iterations early. The second stage's weights are loaded once before the loop,
    the last store is awaited behind it.
    """
    (layer,) = (step for step in plan.program if isinstance(step, Layer))
    (loop,) = (step for step in layer.body if isinstance(step, Loop))
    first, second = kernel_steps(layer.body)
    buffers = {buffer.name: buffer for buffer in plan.buffers}
    x, y, w = first.reads[0], second.writes[0], second.reads[1]
    index = loop.indices[0]
    rows = index.step + 2 + ahead * index.step
    early = replace(first.runs, first=-ahead)
    near = {
        "x.tile": near_tile(buffers["x"], "x.tile", {2: rows}, ring_axis=2),
        "y.tile": near_tile(buffers["y"], "y.tile", {2: loop.indices[1].step}, copies=2),
        "w.tile": near_tile(buffers[w.buffer], "w.tile", {}),
    }
    last = second.runs.count - 1
    stored = Wait("y", Runs(second.runs.first + 2 * second.runs.every, second.runs.every, last))
    body = (
        CopyStart("sram->l1", "x", x, replace(x, buffer="x.tile"), early, index.name),
        Wait("x", replace(first.runs, over=())),
        replace(first, reads=(replace(x, buffer="x.tile"), *first.reads[1:])),
        stored,
        replace(
            second,
            reads=(second.reads[0], replace(w, buffer="w.tile"), *second.reads[2:]),
            writes=(replace(y, buffer="y.tile"),),
        ),
        CopyStart("l1->sram", "y", replace(y, buffer="y.tile"), y, second.runs),
    )
    before = (CopyStart("flash->l1", "w", w, replace(w, buffer="w.tile")), Wait("w"))
    together = replace(layer, body=(*before, replace(loop, body=body), Wait("y", number=last)))
    begins = [step for step in plan.program if isinstance(step, Begin)]
    ends = [step for step in plan.program if isinstance(step, End)]
    program = (*begins, *map(Begin, near), together, *map(End, near), *ends)
    platform = far_platform(1 << 20, asynchronous=True, reach=("l1", "flash"))
    kinds = (*platform.pools[0].holds, BufferKind.INTERMEDIATE)
    callers = {tensor.buffer for tensor in (*plan.inputs, *plan.outputs)}
    moved = [
        buffer if buffer.kind is BufferKind.CONSTANT or buffer.name in callers else replace(buffer, pools=("l1",))
        for buffer in plan.buffers
    ]
    places = [replace(item, pool="l1" if item.pool == "sram" else item.pool) for item in plan.placements]
    return placed_apart(
        replace(
            plan,
            pools=(replace(platform.pools[0], holds=kinds), *platform.pools[1:]),
            links=platform.links,
            core=platform.core,
            buffers=(*moved, *near.values()),
            placements=(*places, *(Placement(name, "l1", 0) for name in near)),
            program=program,
        )
    )


def near_tile(
    home: Buffer, name: str, extents: dict[int, int], *, copies: int = 1, ring_axis: int | None = None
) -> Buffer:
    """Slots for a part of a home (channels last, or packed) with other extents on some axes."""
    shape = tuple(extents.get(axis, extent) for axis, extent in enumerate(home.shape))
    part = home.size_bytes * prod(shape) // prod(home.shape)
    slot = -(-part // 16) * 16
    return replace(
        home,
        name=name,
        kind=BufferKind.TILE,
        shape=shape,
        size_bytes=slot * copies,
        slot_bytes=slot,
        align_bytes=16,
        pools=("l1",),
        copies=copies,
        ring_axis=ring_axis,
        sha256=None,
        accessed_bytes=0,
    )
