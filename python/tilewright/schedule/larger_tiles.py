"""Larger tiles in a pool between home and core: how they are filled, and as what smaller tiles are cut from them.

Before:  weights at home in l3, tiles of 8 channels in l1, loop over oc (16 tiles) and oh (4 tiles)
After:   l2 holds tiles of 32 channels (coarse index oc_1: 4 tiles of oc): copied from l3 every 16 iterations,
         and awaited before the first of the four tiles in l1 is copied from there
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.operators.nest import axis_range
from tilewright.plan import Buffer, CoarseIndex, CopyStart, Operand, Runs, Wait
from tilewright.schedule.tile_buffers import staged_buffer
from tilewright.tiling.choice import TileChoice
from tilewright.tiling.problem import TilingProblem


@dataclass(frozen=True, slots=True)
class LargerTile:
    """The larger tile of an operand: its buffer, the copy that fills it with its wait, and the source of smaller tiles.

    ``coarse`` is the index of larger tiles, empty where the operand lies in the pool between as a whole.
    """

    buffer: Buffer
    coarse: tuple[CoarseIndex, ...]
    start: CopyStart
    wait: Wait
    source: Operand


def larger_tile(
    problem: TilingProblem, choice: TileChoice, position: int, fine: Operand, name: str, runs: Runs
) -> LargerTile:
    """The larger tile ``name`` of operand ``position``, whose smaller tiles are copied from it by ``runs``.

    ``fine`` is the rectangle of a smaller tile in the operand's home.
    """
    operand, staging = problem.operands[position], choice.staging(position)
    assert staging is not None
    assert operand.far_link is not None
    renamed = {staging.index: f"{staging.index}_{position}"} if staging.index is not None else {}
    at = choice.order.index(staging.index) if staging.index is not None else 0
    outside = choice.order[:at]
    uncut = {dim: extent for dim, extent in problem.extents.items() if dim not in (*outside, staging.index)}
    ranges = tuple(axis_range(axis, extent, uncut) for axis, extent in zip(operand.axes, operand.extents, strict=True))
    coarse = tuple(
        replace(item, terms=tuple((renamed.get(dim, dim), stride) for dim, stride in item.terms)) for item in ranges
    )
    pool = operand.far_link.target
    buffer = staged_buffer(name, replace(operand, near=pool), replace(choice, steps=staging.steps), staging.copies)
    token = f"{name}.far"
    count = runs.count * runs.every // staging.period
    ready = Runs(runs.first, staging.period, count)
    early = Runs(
        runs.first - (staging.copies - 1) * staging.period, staging.period, count, (*outside, *renamed.values())
    )
    start = CopyStart(operand.far_link.name, token, Operand(fine.buffer, coarse), Operand(name, coarse), early)
    return LargerTile(
        buffer=buffer,
        coarse=tuple(CoarseIndex(new, old, staging.tiles) for old, new in renamed.items()),
        start=start,
        wait=Wait(token, ready),
        source=Operand(name, fine.rectangle, staging.period // runs.every, coarse),
    )
