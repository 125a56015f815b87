"""Variants of the hand-made plans that are sound as well."""

from __future__ import annotations

from dataclasses import replace

from tilewright.plan import (
    Begin,
    BufferKind,
    CopyStart,
    End,
    Index,
    Layer,
    Placement,
    Plan,
    PoolUse,
    Relation,
    RelationKind,
    Step,
    Stores,
    Wait,
    WriteOrder,
)

from support import plans
from support.edits import (
    copy,
    kernel,
    loops,
    moved,
    on_step,
    read,
    runs,
    wait,
    with_buffer,
    with_links,
)

BASE, REDUCTION = plans.two_layers(), plans.reduction()


def ring() -> Plan:
    """Rows of x that the next tile needs too stay in a ring of five rows."""
    plan = with_buffer(BASE, "conv.x", copies=1, size_bytes=20, ring_axis=0)
    return on_step(plan, copy("conv.x"), lambda step: replace(runs(first=0)(step), kept="oh"))


def words(token: str = "conv.w", words: str = "words", link: str = "", align_bytes: int = 4) -> Plan:
    """Links, or one of them, take whole words; bytes of a copy that are none pass through a scratch buffer."""
    links = tuple(replace(item, align_bytes=align_bytes) if link in ("", item.name) else item for item in BASE.links)
    at = next(number for number, step in enumerate(BASE.program) if isinstance(step, Layer))
    program = (*BASE.program[:at], Begin("words"), BASE.program[at], End("words"), *BASE.program[at + 1 :])
    buffers = (*BASE.buffers, plans.buffer("words", BufferKind.SCRATCH, (8,), "l1"))
    placements = (*BASE.placements, Placement("words", "l1", 112))
    plan = replace(BASE, links=links, program=program, buffers=buffers, placements=placements)
    return on_step(plan, copy(token), lambda step: replace(step, words=words))


def trails(offset: int, behind: int) -> Plan:
    """relu.y over relu.x: it begins ``behind`` bytes below, and must begin ``offset`` bytes below.

    In place the kernel stores element on element, below in raster order.
    """
    relation = Relation(RelationKind.TRAILS, "relu.y", "relu.x", offset)
    plan = moved(moved(replace(BASE, relations=(*BASE.relations, relation)), "relu.x", 64), "relu.y", 64 - behind)
    return stored(plan, RASTER) if behind else plan


RASTER = Stores(WriteOrder.RASTER, (0,), ("d0", "d1"))
REVERSE = replace(RASTER, backward=("d0", "d1"))

PERMUTED = Stores(WriteOrder.PERMUTED, (0,))

APART = Stores(WriteOrder.RASTER, (0,), ("d0",), apart=("d1",))


def stored(plan: Plan, stores: Stores) -> Plan:
    """The plan whose second layer's kernel stores in another order."""
    return on_step(plan, kernel("relu"), lambda step: replace(step, stores=stores))


def window(rows: int, behind: int, stores: Stores = RASTER) -> Plan:
    """The second layer as a window of so many rows and columns beside each element, output ``behind`` bytes below."""
    maps = (plans.along("d0", 4, rows, rows), plans.along("d1", 32, rows, rows))
    plan = stored(trails(behind, behind), stores)
    return on_step(plan, kernel("relu"), lambda step: replace(step, maps=(maps, step.maps[1])))


def above(plan: Plan, bytes_above: int) -> Plan:
    """relu.y begins ``bytes_above`` bytes above relu.x, and relu.x may trail relu.y."""
    relation = Relation(RelationKind.TRAILS, "relu.x", "relu.y", 0)
    plan = replace(plan, relations=(*BASE.relations, relation))
    return moved(moved(plan, "relu.x", 64), "relu.y", 64 + bytes_above)


def placed_io(offset: int) -> Plan:
    """The interface's buffers inside the pools: x behind m, out at an offset."""
    placements = (*BASE.placements, Placement("x", "sram", 128), Placement("out", "sram", offset))
    use = (PoolUse("l1", 256, 256, True), PoolUse("sram", 288, 288, True), PoolUse("flash", 12, 12, True))
    return replace(BASE, placements=placements, io_in_pools=True, pool_use=use)


def one_tile_loop() -> Plan:
    """The first layer's loop with a single tile."""
    index = (Index("oc", 4, 4), Index("oh", 8, 8))
    plan = on_step(BASE, loops, lambda step: replace(step, indices=index))
    for wanted in (is_conv_copy, kernel("conv"), wait("conv.x"), wait("conv.w")):
        plan = on_step(plan, wanted, runs(first=0, every=1, count=1))
    plan = on_step(plan, wait("conv.y"), lambda step: None)
    plan = on_step(plan, copy("conv.y"), lambda step: (step, Wait("conv.y")))
    plan = on_step(plan, kernel("conv"), read(1, period=1))
    for name, shape in {"conv.x": (8, 4), "conv.w": (4, 3), "conv.y": (4, 8, 4)}.items():
        like = plans.buffer(name, BufferKind.TILE, shape, "l1")
        sizes = {"size_bytes": like.size_bytes, "slot_bytes": like.slot_bytes}
        plan = with_buffer(plan, name, shape=shape, strides_bytes=like.strides_bytes, copies=1, **sizes)
    for name, offset in (("conv.w", 32), ("conv.y", 48), ("conv.scratch", 176)):
        plan = moved(plan, name, offset)
    return plan


def rounded_up() -> Plan:
    """Links that round to 4 bytes; the weights of two channels are 6, with room behind them."""
    plan = with_links(with_buffer(BASE, "w", size_bytes=16), round_up_bytes=4)
    return replace(plan, pool_use=(*plan.pool_use[:2], PoolUse("flash", 16, 16, True)))


def is_conv_copy(step: Step) -> bool:
    return isinstance(step, CopyStart) and step.token.startswith("conv.")
