"""Small plans written by hand, for the tests of checker, lifetimes and reports."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tilewright.plan import (
    Access,
    AxisRange,
    Begin,
    Buffer,
    BufferKind,
    CopyStart,
    Core,
    Dimension,
    End,
    Index,
    InterfaceTensor,
    Iteration,
    Kernel,
    Layer,
    LayerFacts,
    Link,
    Loop,
    Operand,
    Placement,
    Plan,
    Pool,
    PoolUse,
    Quantization,
    Relation,
    RelationKind,
    Runs,
    Stage,
    Step,
    Stores,
    Wait,
    WriteOrder,
)

RW, RO = Access.READ_WRITE, Access.READ_ONLY
HOME_KINDS = (BufferKind.INPUT, BufferKind.OUTPUT, BufferKind.INTERMEDIATE, BufferKind.STATE)
POOLS = (
    Pool("l1", 256, 8, 1, 0, RW, (BufferKind.TILE, BufferKind.SCRATCH)),
    Pool("sram", 512, 8, 1, 0, RW, HOME_KINDS),
    Pool("flash", None, 8, 1, 0, RO, (BufferKind.CONSTANT,)),
)


def link(name: str, source: str, target: str, align: int = 1, round_up: int = 1, asynchronous: bool = True) -> Link:
    return Link(name, source, target, 4.0, 20, 4, 2, 0, 2, align, round_up, asynchronous, "core")


LINKS = (link("in", "sram", "l1"), link("out", "l1", "sram"), link("load", "flash", "l1"))


def packed(shape: tuple[int, ...], element_bytes: int = 1) -> tuple[int, ...]:
    return tuple(element_bytes * prod(shape[axis + 1 :]) for axis in range(len(shape)))


def buffer(name: str, kind: BufferKind, shape: tuple[int, ...], pool: str, copies: int = 1, tensor: str = "") -> Buffer:
    """One byte per element, packed, aligned to 4."""
    slot = -(-prod(shape) // 4) * 4
    size = slot * copies if kind is BufferKind.TILE else prod(shape)
    digest = "ab" * 32 if kind is BufferKind.CONSTANT else None
    return Buffer(name, kind, tensor or name, "uint8", shape, packed(shape), size, 4, (pool,), copies, slot, digest)


def whole(extent: int) -> AxisRange:
    return AxisRange((), 0, extent - 1, 1, extent)


def along(index: str, extent: int, before: int = 0, after: int = 0) -> AxisRange:
    return AxisRange(((index, 1),), -before, after, 1, extent)


def interface(name: str, shape: tuple[int, ...], quantization: Quantization | None = None) -> InterfaceTensor:
    return InterfaceTensor(name, name, name, "uint8", shape, quantization)


def conv_steps() -> tuple[Step, ...]:
    """m[oc, oh, :] from x[rows oh - 1 ... oh + 1, :] and w[oc, :], tiles of 2 channels and 3 rows."""
    tiles, channels = Runs(0, 1, 6, ("oc", "oh")), Runs(0, 3, 2, ("oc",))
    x = (along("oh", 8, 1, 1), whole(4))
    w = (along("oc", 4), whole(3))
    m = (along("oc", 4), along("oh", 8), whole(4))
    kernel = Kernel(
        "conv",
        "tw_conv",
        reads=(Operand("conv.x", x), Operand("conv.w", w, 3)),
        writes=(Operand("conv.y", m),),
        scratch=("conv.scratch",),
        axes=((0, 1), (0, 1), (0, 1, 2)),
        attributes=(("stride", 1),),
        runs=tiles,
        scratch_bytes=(16,),
    )
    kernel = with_nest(kernel, Dimension("oc", 4), Dimension("oh", 8))
    body: tuple[Step, ...] = (
        CopyStart("in", "conv.x", Operand("x", x), Operand("conv.x", x), replace(tiles, first=-1)),
        CopyStart("load", "conv.w", Operand("w", w), Operand("conv.w", w), channels),
        Wait("conv.x", Runs(0, 1, 6)),
        Wait("conv.w", Runs(0, 3, 2)),
        Wait("conv.y", Runs(2, 1, 6)),
        kernel,
        CopyStart("out", "conv.y", Operand("conv.y", m), Operand("m", m), tiles),
    )
    return (Loop((Index("oc", 4, 2), Index("oh", 8, 3)), body),)


def relu_steps() -> tuple[Step, ...]:
    """out = relu of m seen as v[4, 32], in one tile."""
    area = (whole(4), whole(32))
    return (
        CopyStart("in", "relu.x", Operand("v", area), Operand("relu.x", area)),
        Wait("relu.x"),
        elementwise(
            Kernel(
                "relu",
                "tw_relu",
                (Operand("relu.x", area),),
                (Operand("relu.y", area),),
                (),
                ((0, 1), (0, 1)),
                (),
            ),
            4,
            32,
        ),
        CopyStart("out", "relu.y", Operand("relu.y", area), Operand("out", area)),
        Wait("relu.y"),
    )


def with_nest(kernel: Kernel, *dimensions: Dimension) -> Kernel:
    """A kernel step whose rectangles name dimensions: they are its maps."""
    maps = tuple(operand.rectangle for operand in (*kernel.reads, *kernel.writes))
    return replace(kernel, dimensions=dimensions, maps=maps)


def elementwise(kernel: Kernel, *shape: int) -> Kernel:
    """A kernel step on whole tensors of one shape, which stores element on element."""
    dimensions = tuple(Dimension(f"d{axis}", extent) for axis, extent in enumerate(shape))
    maps = (tuple(along(f"d{axis}", extent) for axis, extent in enumerate(shape)),) * 2
    return replace(kernel, dimensions=dimensions, maps=maps, stores=Stores(WriteOrder.ELEMENTWISE, (0,)))


def facts(name: str, tiles: int, operator: str = "Conv") -> LayerFacts:
    traffic = (("in", 192), ("out", 128))
    return LayerFacts(
        name, operator, f"tw_{name}", 384, 768, tiles, (("oh", 3, 8),), (("x", 2),), traffic, traffic, 1000
    )


def two_layers() -> Plan:
    """A tiled convolution with double buffering, then a layer of one tile that reads a view."""
    tile, scratch = BufferKind.TILE, BufferKind.SCRATCH
    near = (
        buffer("conv.x", tile, (5, 4), "l1", 2, "x"),
        buffer("conv.w", tile, (2, 3), "l1", 1, "w"),
        buffer("conv.y", tile, (2, 3, 4), "l1", 2, "m"),
        buffer("conv.scratch", scratch, (16,), "l1"),
    )
    late = (buffer("relu.x", tile, (4, 32), "l1", 1, "v"), buffer("relu.y", tile, (4, 32), "l1", 1, "out"))
    homes = (
        buffer("x", BufferKind.INPUT, (8, 4), "sram"),
        buffer("out", BufferKind.OUTPUT, (4, 32), "sram"),
        buffer("m", BufferKind.INTERMEDIATE, (4, 8, 4), "sram"),
        buffer("v", BufferKind.INTERMEDIATE, (4, 32), "sram"),
        buffer("w", BufferKind.CONSTANT, (4, 3), "flash"),
    )
    program: tuple[Step, ...] = (
        Begin("m"),
        Begin("v"),
        *(Begin(item.name) for item in near),
        Layer("conv", (Stage("conv", "Conv", "conv"),), conv_steps()),
        *(End(item.name) for item in near),
        *(Begin(item.name) for item in late),
        Layer("relu", (Stage("relu", "Relu", "relu"),), relu_steps()),
        *(End(item.name) for item in late),
        End("v"),
        End("m"),
    )
    offsets = {"conv.x": 0, "conv.w": 40, "conv.y": 48, "conv.scratch": 96, "relu.x": 0, "relu.y": 128}
    return Plan(
        name="net",
        model="net.onnx",
        model_sha256="cd" * 32,
        platform="test",
        port=None,
        tool_version="0",
        pools=POOLS,
        links=LINKS,
        core=Core(1, (("l1", 1),)),
        io_pool="sram",
        stack_bytes=0,
        inputs=(interface("x", (8, 4), Quantization((0.5,), (3,))),),
        outputs=(interface("out", (4, 32)),),
        buffers=(*homes, *near, *late),
        relations=(Relation(RelationKind.AT_OFFSET, "v", "m", 0, (0, 0, 0)),),
        placements=(
            Placement("m", "sram", 0),
            Placement("v", "sram", 0),
            Placement("w", "flash", 0),
            *(Placement(name, "l1", offset) for name, offset in offsets.items()),
        ),
        program=program,
        layers=(facts("conv", 6), facts("relu", 1, "Relu")),
        pool_use=(PoolUse("l1", 256, 256, True), PoolUse("sram", 128, 128, True), PoolUse("flash", 12, 12, True)),
        kernel_sources=("conv.c",),
    )


def reduction() -> Plan:
    """y[o] = sum over c of w[o, c] * x[c], c cut in three, partial results kept in l1; core reads sram."""
    x, w, y = (along("c", 6),), (along("o", 4), along("c", 6)), (along("o", 4),)
    tiles, results = Runs(0, 1, 6, ("o", "c")), Runs(2, 3, 2)
    kernel = Kernel(
        "mv",
        "tw_mv",
        (Operand("x", x), Operand("mv.w", w)),
        (Operand("mv.y", y, 3),),
        (),
        ((0,), (0, 1), (0,)),
        (),
        reduction=("c",),
        runs=tiles,
    )
    kernel = with_nest(kernel, Dimension("o", 4), Dimension("c", 6, Iteration.REDUCTION))
    body: tuple[Step, ...] = (
        CopyStart("load", "mv.w", Operand("w", w), Operand("mv.w", w), tiles),
        Wait("mv.w", Runs(0, 1, 6)),
        kernel,
        CopyStart("out", "mv.y", Operand("mv.y", y), Operand("y", y), replace(results, over=("o",))),
        Wait("mv.y", results),
    )
    base = two_layers()
    buffers = (
        buffer("x", BufferKind.INPUT, (6,), "sram"),
        buffer("y", BufferKind.OUTPUT, (4,), "sram"),
        buffer("w", BufferKind.CONSTANT, (4, 6), "flash"),
        buffer("mv.w", BufferKind.TILE, (2, 2), "l1", 1, "w"),
        buffer("mv.y", BufferKind.TILE, (2,), "l1", 1, "y"),
    )
    marks = ("mv.w", "mv.y")
    loop = Loop((Index("o", 4, 2), Index("c", 6, 2)), body)
    return Plan(
        name="mv",
        model="mv.onnx",
        model_sha256="ef" * 32,
        platform="test",
        port=None,
        tool_version="0",
        pools=base.pools,
        links=base.links,
        core=Core(1, (("l1", 1), ("sram", 2))),
        io_pool="sram",
        stack_bytes=0,
        inputs=(interface("x", (6,)),),
        outputs=(interface("y", (4,)),),
        buffers=buffers,
        relations=(),
        placements=(Placement("w", "flash", 0), Placement("mv.w", "l1", 0), Placement("mv.y", "l1", 4)),
        program=(*map(Begin, marks), Layer("mv", (Stage("mv", "MatMul", "mv"),), (loop,)), *map(End, marks)),
        layers=(facts("mv", 6, "MatMul"),),
        pool_use=(PoolUse("l1", 8, 8, True), PoolUse("flash", 24, 24, True)),
        kernel_sources=(),
    )


def shifted(plan: Plan, offsets: dict[str, int]) -> tuple[Placement, ...]:
    """The plan's placements with other offsets for some buffers."""
    return tuple(replace(item, offset_bytes=offsets.get(item.buffer, item.offset_bytes)) for item in plan.placements)
