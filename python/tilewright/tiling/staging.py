"""Tiles of tiles: the larger tiles of an operand in the pools between its home and the core.

Before:  weights at home in l3, tiles of 8 channels in l1, loop order (oc: 16 tiles, oh: 4 tiles)
After:   l2 holds 32 channels at a time: 4 tiles of oc form a group, loaded every 16 tiles of the loop;
         outputs are stored to larger tiles in l2 in the same way, and from there to l3 group by group
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import NamedTuple

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.options import Buffering, Slots
from tilewright.plan import Link
from tilewright.plan.copies import line_cycles
from tilewright.tiling.cost import gaps_at_home, rectangle_shape
from tilewright.tiling.footprint import plain_shape, slot_bytes, tile_shape
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem


@dataclass(frozen=True, slots=True)
class Staging:
    """The larger tiles of one operand in one pool between its home and the core.

    Attributes:
        index: the loop index whose tiles form groups; None if the whole operand is one larger tile.
        tiles: tiles of that index in a group.
        steps: steps of the larger tile, for all dimensions.
        period: tiles of the loop during which a larger tile stays.
        slot_bytes: bytes of one larger tile, with the bytes that the link needs behind its lines.
        repeats: how often each larger tile travels in one run.
        link_bytes: bytes over the far link in one run.
        copies: slots; with two, the next larger tile arrives while tiles are cut from the present one.
    """

    index: str | None
    tiles: int
    steps: Mapping[str, int]
    period: int
    slot_bytes: int
    link_bytes: int = 0
    copies: int = 1
    repeats: int = 1

    @property
    def size_bytes(self) -> int:
        """Bytes of all slots."""
        return self.copies * self.slot_bytes


@dataclass(frozen=True, slots=True)
class Staged:
    """The stagings of all operands of one tile shape, and their cost.

    ``stagings`` has for each operand those of its pools between, from the nearest to the core. ``near_bytes`` are
    bytes by pool with the larger tiles counted; ``cycles`` and ``link_bytes`` are spent on the far links, and
    ``hidden`` of the cycles may pass beside kernels, but for ``ends``: the first larger tile in, and the last one out.
    """

    stagings: tuple[tuple[Staging, ...], ...]
    near_bytes: dict[str, int]
    cycles: float
    hidden: float
    ends: float
    link_bytes: int


@dataclass(frozen=True, slots=True)
class _Hop:
    """One far link of an operand, with what decides about the larger tiles at its end that is nearer to the core.

    Attributes:
        position: number of the operand.
        number: of the link among the operand's far links.
        link: the far link.
        pool: where the larger tiles stay.
        given: steps of the larger tiles that the user gives.
        copies: numbers of slots that may be taken.
    """

    position: int
    number: int
    link: Link
    pool: str
    given: Mapping[str, int]
    copies: tuple[int, ...]


def stage(
    problem: TilingProblem,
    steps: Mapping[str, int],
    order: tuple[str, ...],
    near_bytes: Mapping[str, int],
    capacities: Mapping[str, int | None],
    buffering: Buffering = Buffering.AUTO,
) -> Staged | None:
    """Stage every operand that no link joins with the core's pool; None if a pool between is too small.

    Operands take their room one after the other; each leaves one tile's bytes to every operand behind it.
    """
    stagings: list[tuple[Staging, ...]] = []
    near = dict(near_bytes)
    cycles, hidden, ends, link_bytes = 0.0, 0.0, 0.0, 0
    reserved = least_staged_bytes(problem, steps)
    for position in range(len(problem.operands)):
        found: tuple[Staging, ...] = ()
        for hop in _hops(problem, position, buffering):
            capacity = capacities.get(hop.pool)
            reserved[hop.pool] -= _larger_tile(problem, position, hop.number, steps).slot_bytes
            room = None if capacity is None else capacity - near.get(hop.pool, 0) - reserved[hop.pool]
            staging = _best_staging(problem, hop, steps, order, room, found[-1] if found else None)
            if staging is None:
                return None
            found = (*found, staging)
            near[hop.pool] = near.get(hop.pool, 0) + staging.size_bytes
            own = _far_cycles(problem, hop, staging)
            cycles += own
            if staging.copies > 1:
                hidden += own
                ends += own / _loads(staging)
            link_bytes += staging.link_bytes
        stagings.append(found)
    return Staged(tuple(stagings), near, cycles, hidden, ends, link_bytes)


def _hops(problem: TilingProblem, position: int, buffering: Buffering) -> Iterator[_Hop]:
    """The far links of operand ``position``, the nearest to the core first."""
    operand = problem.operands[position]
    for number, (pool, link) in enumerate(zip(operand.between, operand.far_links, strict=True)):
        how = problem.far_buffers.get((operand.name, pool), buffering)
        yield _Hop(position, number, link, pool, problem.given_far.get(pool, {}), slots_between(link, how))


def _far_cycles(problem: TilingProblem, hop: _Hop, staging: Staging) -> float:
    """Cycles of all larger tiles of an operand over a far link."""
    key = _key(problem, hop.position, hop.number, staging.steps)
    if key not in problem.known_setups:
        operand, link = problem.operands[hop.position], hop.link
        steps = {name: np.asarray(step, dtype=np.int64) for name, step in staging.steps.items()}
        shape = tile_shape(operand, steps)
        lines, commands = rectangle_shape(operand, link, shape)
        size_bytes = slot_bytes(operand, shape)
        besides = float(line_cycles(link, lines, size_bytes, size_bytes < operand.size_bytes))
        problem.known_setups[key] = int(commands) * link.setup_cycles + besides
    return _loads(staging) * problem.known_setups[key] + staging.link_bytes / hop.link.bytes_per_cycle


def _loads(staging: Staging) -> int:
    """Number of larger tiles that travel in one run, as if all were full."""
    return max(-(-staging.link_bytes // max(staging.slot_bytes, 1)), 1)


class _LargerTile(NamedTuple):
    """A larger tile of an operand at a far link.

    ``moved_bytes`` are those of all distinct larger tiles together, ``whole_units`` says whether no store of one
    writes beside its elements (``stores_whole_units``).
    """

    slot_bytes: int
    moved_bytes: int
    whole_units: bool


def _larger_tile(problem: TilingProblem, position: int, number: int, steps: Mapping[str, int]) -> _LargerTile:
    """The larger tile of operand ``position`` at far link number ``number``; thousands of candidates share it."""
    key = _key(problem, position, number, steps)
    if key not in problem.known_larger:
        operand = problem.operands[position]
        whole = stores_whole_units(operand, operand.far_links[number], steps)
        moved = problem.moved_bytes(position, steps)
        problem.known_larger[key] = _slot_bytes(operand, number, steps), moved, whole
    return _LargerTile(*problem.known_larger[key])


def _key(
    problem: TilingProblem, position: int, number: int, steps: Mapping[str, int]
) -> tuple[int, int, tuple[int, ...]]:
    """All that decides a larger tile: of its steps, those of the dimensions that its operand depends on."""
    axes = problem.operands[position].axes
    return position, number, tuple([steps[name] for axis in axes for name, _ in axis.terms])


def slots_between(link: Link, buffering: Slots) -> tuple[int, ...]:
    """Numbers of slots that larger tiles may have. Two slots help where the far link works beside the core."""
    if isinstance(buffering, int):
        return (buffering,)
    if buffering is Buffering.AUTO:
        return (1, 2) if link.asynchronous else (1,)
    return (2,) if buffering is Buffering.DOUBLE else (1,)


def least_staged_bytes(problem: TilingProblem, steps: Mapping[str, int]) -> dict[str, int]:
    """Bytes by pool that staged operands take at least: one tile each."""
    least: dict[str, int] = {}
    for position, operand in enumerate(problem.operands):
        for number, pool in enumerate(operand.between):
            least[pool] = least.get(pool, 0) + _larger_tile(problem, position, number, steps).slot_bytes
    return least


def _slot_bytes(operand: TileOperand, number: int, steps: Mapping[str, int]) -> int:
    return staged_layout(operand, number, plain_shape(operand, steps))[1]


def staged_layout(operand: TileOperand, number: int, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Strides per axis, and bytes, of a larger tile of ``shape`` at far link ``number``, both in bytes.

    A link that rounds lines up (``round_up_bytes``) writes or reads behind each line, so where a copy has
    several lines each begins at a multiple of that unit.
    """
    unit = max(link.round_up_bytes for link in operand.far_links[max(number - 1, 0) : number + 1])
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


def _best_staging(
    problem: TilingProblem,
    hop: _Hop,
    steps: Mapping[str, int],
    order: tuple[str, ...],
    room: int | None,
    inner: Staging | None,
) -> Staging | None:
    """The larger tiles that fit ``room`` bytes and move the fewest bytes; of equals, the most slots, then the largest.

    They have the given steps in the dimensions that the operand depends on; a larger tile that is loaded only once
    has one slot. Each consists of whole larger tiles of the pool before, ``inner``, if there is one. None if no larger
    tiles are possible.
    """
    operand, extents = problem.operands[hop.position], problem.extents
    wanted = [(name, step) for name, step in hop.given.items() if name in operand.dimensions]
    tiles = prod(-(-extents[name] // steps[name]) for name in order)
    best: tuple[tuple[int, int, int], _Group] | None = None
    for group in _groups(operand, steps, order, extents):
        larger = _larger_tile(problem, hop.position, hop.number, group.steps)
        fits_given = all(group.steps[name] == step for name, step in wanted)
        if not fits_given or not contains(group, inner, order) or not larger.whole_units:
            continue
        for copies in hop.copies if group.period < tiles else (1,):
            if room is None or copies * larger.slot_bytes <= room:
                score = group.repeats * larger.moved_bytes, -copies, -larger.slot_bytes
                best = (score, group) if best is None or score < best[0] else best
    if best is None:
        return None
    (moved, copies, slot_bytes), group = best
    return group.staging(-slot_bytes, moved, -copies)


def contains(item: Staging | _Group, inner: Staging | None, order: tuple[str, ...]) -> bool:
    """Whether larger tiles consist of whole larger tiles of the pool before, ``inner``, if there is one."""
    if inner is None or item.index is None:
        return True
    if inner.index is None:
        return False
    places = order.index(item.index), order.index(inner.index)
    return places[0] < places[1] or (places[0] == places[1] and item.tiles % inner.tiles == 0)


def stores_whole_units(operand: TileOperand, link: Link, steps: Mapping[str, int]) -> bool:
    """Whether no store of a larger tile writes beside its elements, over a link that rounds lines up."""
    unit = link.round_up_bytes
    if not operand.write or unit == 1:
        return True
    run = operand.element_bytes
    shape, gaps = plain_shape(operand, steps), dict(gaps_at_home(operand))
    for axis in reversed(operand.order):
        if run % unit == 0:
            return True
        if gaps[axis]:
            return False
        extent, step = operand.extents[axis], shape[axis]
        if step < extent:
            return run * step % unit == 0 and run * (extent % step) % unit == 0
        run *= extent
    return run % unit == 0


def stagings(
    operand: TileOperand, number: int, steps: Mapping[str, int], order: tuple[str, ...], extents: Mapping[str, int]
) -> Iterator[Staging]:
    """Every way to group tiles at far link ``number``: the whole operand, then groups of each index it depends on.

    Bytes over the link are not counted yet.
    """
    for group in _groups(operand, steps, order, extents):
        yield group.staging(_slot_bytes(operand, number, group.steps))


@dataclass(frozen=True, slots=True)
class _Group:
    """Tiles that are one larger tile; the fields are those of ``Staging``."""

    index: str | None
    tiles: int
    steps: dict[str, int]
    period: int
    repeats: int = 1

    def staging(self, slot_bytes: int, link_bytes: int = 0, copies: int = 1) -> Staging:
        """The larger tiles with their bytes."""
        return Staging(self.index, self.tiles, self.steps, self.period, slot_bytes, link_bytes, copies, self.repeats)


def _groups(
    operand: TileOperand, steps: Mapping[str, int], order: tuple[str, ...], extents: Mapping[str, int]
) -> Iterator[_Group]:
    """The groups of ``stagings``."""
    dimensions = operand.dimensions
    counts = [-(-extents[name] // steps[name]) for name in order]
    yield _Group(None, prod(counts), dict(extents), prod(counts))
    for position, name in enumerate(order):
        if name not in dimensions:
            continue
        inner = {inside: extents[inside] for inside in order[position + 1 :]}
        repeats = prod([counts[at] for at in range(position) if order[at] not in dimensions])
        inside = prod(counts[position + 1 :])
        for tiles in range(counts[position], 0, -1):
            if counts[position] % tiles == 0:
                larger = {**steps, **inner, name: min(steps[name] * tiles, extents[name])}
                yield _Group(name, tiles, larger, inside * tiles, repeats)
