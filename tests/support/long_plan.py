"""A plan of as many layers as one likes: each copies a tensor through l1 tile by tile, two tensors taking turns."""

from __future__ import annotations

from dataclasses import replace

from tilewright.plan import (
    Begin,
    BufferKind,
    CopyStart,
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
    Wait,
)

from support.plans import along, buffer, facts, interface, two_layers, whole, with_nest

ROWS, COLUMNS, STEP = 16, 8, 4


def long_plan(layers: int) -> Plan:
    """t0 = f(x), t1 = f(t0), ..., out; four tiles each."""
    names = [f"t{number}" for number in range(layers - 1)]
    homes = ["x", *names, "out"]
    middle = [buffer(name, BufferKind.INTERMEDIATE, (ROWS, COLUMNS), "sram") for name in names]
    ends = [
        buffer("x", BufferKind.INPUT, (ROWS, COLUMNS), "sram"),
        buffer("out", BufferKind.OUTPUT, (ROWS, COLUMNS), "sram"),
    ]
    tiles = [
        buffer(f"f{number}.{side}", BufferKind.TILE, (STEP, COLUMNS), "l1", 1, homes[number + (side == "y")])
        for number in range(layers)
        for side in "xy"
    ]
    program: list[Step] = []
    for number in range(layers):
        near = (f"f{number}.x", f"f{number}.y")
        program += [Begin(name) for name in (homes[number + 1], *near) if name != "out"]
        program.append(
            Layer(
                f"f{number}",
                (Stage(f"f{number}", "Relu", f"f{number}"),),
                (_loop(number, homes[number], homes[number + 1]),),
            )
        )
        program += [End(name) for name in (*near, homes[number]) if name != "x"]
    places = [Placement(name, "sram", number % 2 * ROWS * COLUMNS) for number, name in enumerate(names)]
    places += [Placement(tile.name, "l1", (tile.name[-1] == "y") * STEP * COLUMNS) for tile in tiles]
    two = PoolUse("sram", 2 * ROWS * COLUMNS, 2 * ROWS * COLUMNS, True)
    near_use = PoolUse("l1", 2 * STEP * COLUMNS, 2 * STEP * COLUMNS, True)
    return replace(
        two_layers(),
        name="long",
        inputs=(interface("x", (ROWS, COLUMNS)),),
        outputs=(interface("out", (ROWS, COLUMNS)),),
        buffers=(*ends, *middle, *tiles),
        relations=(),
        placements=tuple(places),
        program=tuple(program),
        layers=tuple(facts(f"f{number}", ROWS // STEP, "Relu") for number in range(layers)),
        pool_use=(near_use, two, PoolUse("flash", 0, 0, True)),
    )


def _loop(number: int, source: str, target: str) -> Loop:
    area = (along("r", ROWS), whole(COLUMNS))
    tiles = Runs(0, 1, ROWS // STEP, ("r",))
    once = replace(tiles, over=())
    near = [Operand(f"f{number}.{side}", area) for side in "xy"]
    body: tuple[Step, ...] = (
        CopyStart("in", near[0].buffer, Operand(source, area), near[0], tiles),
        Wait(near[0].buffer, once),
        with_nest(
            Kernel(f"f{number}", f"tw_f{number}", (near[0],), (near[1],), (), ((0, 1), (0, 1)), (), runs=tiles),
            Dimension("r", ROWS),
        ),
        CopyStart("out", near[1].buffer, near[1], Operand(target, area), tiles),
        Wait(near[1].buffer, once),
    )
    return Loop((Index("r", ROWS, STEP),), body)
