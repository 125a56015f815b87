"""Tiles of tiles: the larger tiles of an operand in a pool between its home and the core.

Before:  weights at home in l3, tiles of 8 channels in l1, loop order (oc: 16 tiles, oh: 4 tiles)
After:   l2 holds 32 channels at a time: 4 tiles of oc form a group, loaded every 16 tiles of the loop
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from tilewright.options import Buffering
from tilewright.plan import Link
from tilewright.tiling.cost import transfer_shape
from tilewright.tiling.footprint import moved_elements, tile_shape
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem


@dataclass(frozen=True, slots=True)
class Staging:
    """The larger tiles of one operand in the pool between its home and the core.

    Attributes:
        index: the loop index whose tiles form groups; None if the whole operand is one larger tile.
        tiles: tiles of that index in a group.
        steps: steps of the larger tile, for all dimensions.
        period: tiles of the loop during which a larger tile stays.
        slot_bytes: bytes of one larger tile, with the bytes that the link needs behind its lines.
        link_bytes: bytes over the far link in one run.
        copies: slots; with two, the next larger tile arrives while tiles are cut from the present one.
    """

    index: str | None
    tiles: int
    steps: Mapping[str, int]
    period: int
    slot_bytes: int
    link_bytes: int
    copies: int = 1

    @property
    def size_bytes(self) -> int:
        """Bytes of all slots."""
        return self.copies * self.slot_bytes


@dataclass(frozen=True, slots=True)
class Staged:
    """The stagings of all operands of one tile shape, and their cost.

    ``near_bytes`` are bytes by pool with the larger tiles counted; ``cycles`` and ``link_bytes`` are
    spent on the far links, and ``hidden`` of the cycles may pass beside kernels.
    """

    stagings: tuple[Staging | None, ...]
    near_bytes: dict[str, int]
    cycles: float
    hidden: float
    link_bytes: int


def stage(
    problem: TilingProblem,
    steps: Mapping[str, int],
    order: tuple[str, ...],
    near_bytes: Mapping[str, int],
    capacities: Mapping[str, int | None],
    buffering: Buffering = Buffering.AUTO,
) -> Staged | None:
    """Stage every operand that no link joins with the core's pool; None if the pool between is too small.

    Operands take their room one after the other; each leaves one tile's bytes to every operand behind it.
    """
    stagings: list[Staging | None] = []
    near = dict(near_bytes)
    cycles, hidden, link_bytes = 0.0, 0.0, 0
    reserved = _least_bytes(problem, steps)
    for operand in problem.operands:
        if operand.far_link is None:
            stagings.append(None)
            continue
        pool = operand.far_link.target
        capacity = capacities.get(pool)
        reserved[pool] -= _tile_bytes(operand, steps)
        room = None if capacity is None else capacity - near.get(pool, 0) - reserved[pool]
        given = problem.given_far.get(pool, {})
        copies = slots_between(operand, problem.far_buffers.get(operand.name, buffering))
        staging = choose_staging(operand, steps, order, problem.extents, room, given, copies)
        if staging is None:
            return None
        stagings.append(staging)
        near[pool] = near.get(pool, 0) + staging.size_bytes
        own = _far_cycles(operand, operand.far_link, staging)
        cycles += own
        hidden += own if staging.copies > 1 else 0.0
        link_bytes += staging.link_bytes
    return Staged(tuple(stagings), near, cycles, hidden, link_bytes)


def _far_cycles(operand: TileOperand, link: Link, staging: Staging) -> float:
    """Cycles of all larger tiles of an operand over its far link."""
    loads = -(-staging.link_bytes // max(staging.slot_bytes, 1))
    steps = {name: np.asarray(step, dtype=np.int64) for name, step in staging.steps.items()}
    lines, commands = transfer_shape(operand, link, steps)
    each = int(commands) * link.setup_cycles + int(lines) * link.line_cycles
    return loads * each + staging.link_bytes / link.bytes_per_cycle


def slots_between(operand: TileOperand, buffering: Buffering) -> tuple[int, ...]:
    """Numbers of slots that larger tiles may have. Two slots help where the far link works beside the core."""
    assert operand.far_link is not None
    if buffering is Buffering.AUTO:
        return (1, 2) if operand.far_link.asynchronous else (1,)
    return (2,) if buffering is Buffering.DOUBLE else (1,)


def _least_bytes(problem: TilingProblem, steps: Mapping[str, int]) -> dict[str, int]:
    """Bytes by pool that staged operands take at least: one tile each."""
    least: dict[str, int] = {}
    for operand in problem.operands:
        if operand.far_link is not None:
            pool = operand.far_link.target
            least[pool] = least.get(pool, 0) + _tile_bytes(operand, steps)
    return least


def _tile_bytes(operand: TileOperand, steps: Mapping[str, int]) -> int:
    arrays = {name: np.asarray(step, dtype=np.int64) for name, step in steps.items()}
    return staged_layout(operand, tuple(int(extent) for extent in tile_shape(operand, arrays)))[1]


def staged_layout(operand: TileOperand, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Strides per axis, and bytes, of a larger tile of ``shape``, both in bytes.

    A link that rounds lines up (``round_up_bytes``) writes behind each line, so where a copy has
    several lines each begins at a multiple of that unit.
    """
    unit = operand.far_link.round_up_bytes if operand.far_link is not None else 1
    strides = [0] * len(shape)
    reach, is_line = operand.element_bytes, True
    for axis in reversed(operand.order):
        if shape[axis] > 1 and not is_line:
            reach = _rounded(reach, unit)
        strides[axis] = reach
        reach *= shape[axis]
        is_line = is_line and shape[axis] == operand.extents[axis]
    return tuple(strides), _rounded(reach, max(unit, operand.align_bytes))


def _rounded(size_bytes: int, unit: int) -> int:
    return -(-size_bytes // unit) * unit


def choose_staging(
    operand: TileOperand,
    steps: Mapping[str, int],
    order: tuple[str, ...],
    extents: Mapping[str, int],
    room_bytes: int | None,
    given: Mapping[str, int],
    copies: Sequence[int] = (1,),
) -> Staging | None:
    """The larger tiles that fit ``room_bytes`` and move the fewest bytes; of equals, the most slots, then the largest.

    They have the ``given`` steps in the dimensions that the operand depends on, and a number of slots out of
    ``copies``; a larger tile that is loaded only once has one slot. None if no larger tiles are possible.
    """
    wanted = {name: step for name, step in given.items() if name in operand.dimensions}
    fitting = [
        slotted
        for item in stagings(operand, steps, order, extents)
        for slotted in (_slotted(item, number, order, steps, extents) for number in copies)
        if _fits(slotted.size_bytes, room_bytes) and all(item.steps[name] == step for name, step in wanted.items())
    ]
    return min(fitting, key=lambda item: (item.link_bytes, -item.copies, -item.slot_bytes), default=None)


def _slotted(
    item: Staging, copies: int, order: tuple[str, ...], steps: Mapping[str, int], extents: Mapping[str, int]
) -> Staging:
    tiles = prod(-(-extents[name] // steps[name]) for name in order)
    return replace(item, copies=copies) if item.period < tiles else item


def stagings(
    operand: TileOperand, steps: Mapping[str, int], order: tuple[str, ...], extents: Mapping[str, int]
) -> list[Staging]:
    """Every way to group tiles: the whole operand, then groups of each index that it depends on."""
    counts = [-(-extents[name] // steps[name]) for name in order]
    found = [_staging(operand, None, prod(counts), dict(extents), prod(counts), 1, extents)]
    for position, name in enumerate(order):
        if name not in operand.dimensions:
            continue
        inner = {inside: extents[inside] for inside in order[position + 1 :]}
        repeats = prod(counts[at] for at in range(position) if order[at] not in operand.dimensions)
        inside = prod(counts[position + 1 :])
        for tiles in range(counts[position], 0, -1):
            if counts[position] % tiles == 0:
                larger = {**steps, **inner, name: min(steps[name] * tiles, extents[name])}
                found.append(_staging(operand, name, tiles, larger, inside * tiles, repeats, extents))
    return found


def _staging(
    operand: TileOperand,
    index: str | None,
    tiles: int,
    steps: Mapping[str, int],
    period: int,
    repeats: int,
    extents: Mapping[str, int],
) -> Staging:
    moved = moved_elements(operand, steps, extents) * operand.element_bytes * repeats
    return Staging(index, tiles, steps, period, _tile_bytes(operand, steps), moved)


def _fits(size_bytes: int, room_bytes: int | None) -> bool:
    return room_bytes is None or size_bytes <= room_bytes
