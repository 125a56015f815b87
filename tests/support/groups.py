"""Layers of two stages that hand rows to each other through a ring, made by hand out of plans of single layers."""

from __future__ import annotations

from dataclasses import replace

from tilewright.plan import (
    AxisRange,
    Begin,
    BufferKind,
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
    kernel_steps,
)

from support import plans


def blocks(extent: int, step: int, first: int = 0, every: int = 1) -> tuple[int, int, int, int]:
    """Extent and step of an index, and when its blocks run."""
    return extent, step, first, every


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
    """The same, with two channels at a time in the first stage: each row of the ring is written in two parts."""
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
    """The tensor (channels last, rows on axis 2) as a ring of its rows."""

    def shortened(shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:2], rows, *shape[3:])

    def changed(buffer: plans.Buffer) -> plans.Buffer:
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
        runs=runs,
    )


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
    """All placed buffers one behind the other in their pools, nothing over anything."""
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
