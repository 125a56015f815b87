"""Tensors that move outward, to pools farther from the core, where the pool that holds them is too small.

Before:  intermediates may live in l2, then l3; while conv2 runs, a (6 KB), b (4 KB) and c (4 KB) live in l2, of 10 KB
After:   of a, b and c, those live in l3 whose way costs the fewest cycles and which leave room enough
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tilewright.base.lazy_dataclass import dataclass
from tilewright.options import HomeChoice
from tilewright.placement import DoesNotFit
from tilewright.plan import BufferKind
from tilewright.plan.lifetimes import lifetimes
from tilewright.plan.stages import stage_spans
from tilewright.planning.prepare import Prepared
from tilewright.platform import Platform
from tilewright.schedule.building import Schedule
from tilewright.storage.lives import Life, group_lives
from tilewright.storage.overlaps import layer_use
from tilewright.tiling.homed_operand import rehomed
from tilewright.tiling.joint import Candidate, Resident, choose_jointly
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.paths import links_between
from tilewright.tiling.problem import TilingProblem
from tilewright.tiling.staging import stores_whole_units

Room = Mapping[tuple[str, int], int]
"""(Pool, number of a layer) to the bytes of the pool that whole tensors may take together while the layer runs."""


@dataclass(frozen=True, slots=True)
class Traveller:
    """Tensors that share bytes, none of them where the core reaches, with the pools where they may live.

    Attributes:
        root: the tensor whose bytes they share.
        size_bytes: bytes of all of them together.
        pools: (pool, cycles of its way to the core and back), in the platform's order, or the user's.
        first: the first layer that runs while they live.
        last: the last such layer.
    """

    root: str
    size_bytes: int
    pools: tuple[tuple[str, int], ...]
    first: int
    last: int

    def lives_at(self, layer: int) -> bool:
        """Whether the tensors live while a layer runs."""
        return self.first <= layer <= self.last


def with_homes(prepared: Prepared, platform: Platform, pools: Mapping[str, str]) -> Prepared:
    """``prepared`` with other homes for some tensors: ``pools`` maps the tensor that owns their bytes to its pool."""
    homes = prepared.homes
    moved = {name: pools[root] for name, root in homes.roots.items() if root in pools}
    problems = tuple(tuple(at_homes(item, platform, moved) for item in layer) for layer in prepared.problems)
    settled = {name: (pool,) for name, pool in moved.items()}
    return replace(prepared, homes=replace(homes, pools={**homes.pools, **settled}), problems=problems)


def at_homes(problem: TilingProblem, platform: Platform, moved: Mapping[str, str]) -> TilingProblem:
    """The problem of a layer with other homes for some tensors: ``moved`` maps tensors to pools."""

    def settled(operand: TileOperand) -> TileOperand:
        if operand.data is not None or moved.get(operand.tensor or "", operand.home) == operand.home:
            return operand
        return rehomed(operand, problem.node, platform, moved[operand.tensor or ""], problem.level)

    operands = tuple(map(settled, problem.operands))
    moves = any(one is not other for one, other in zip(operands, problem.operands, strict=True))
    return problem.with_operands(operands) if moves else problem


@dataclass(frozen=True, slots=True)
class Travelling:
    """Tensors that share bytes, none of them where the core reaches: the operands of layers that are such tensors.

    ``first`` and ``last`` are the first and the last layer that runs while they live.
    """

    root: str
    size_bytes: int
    operands: tuple[TileOperand, ...]
    first: int
    last: int


def travelling(prepared: Prepared) -> list[Travelling]:
    """The tensors that the plan places and that travel, but for those whose pool the user gives."""
    homes, graph = prepared.homes, prepared.graph
    touched = [layer_use(ways[0].kernel, graph).touched for ways in prepared.problems]
    lives = group_lives(touched, homes)
    count = len(prepared.problems)
    uses: dict[str, list[TileOperand]] = {}
    for ways in prepared.problems:
        for operand in (operand for way in ways for operand in way.operands):
            if operand.tensor is not None and operand.data is None:
                uses.setdefault(homes.roots[operand.tensor], []).append(operand)
    spans: dict[str, list[Life]] = {}
    for group, life in lives.items():
        spans.setdefault(homes.roots[group], []).append(life)
    found = []
    for root, operands in uses.items():
        if root in homes.pinned or homes.is_callers(root) or root not in spans:
            continue
        if any(operand.link is None for operand in operands):
            continue
        first, last = min(life.begin for life in spans[root]), max(life.end for life in spans[root])
        size = max(homes.sizes[root], 1)
        found.append(Travelling(root, size, tuple(operands), max(0, first), min(count - 1, last)))
    return found


def travellers(prepared: Prepared, platform: Platform) -> list[Traveller]:
    """The tensors that the plan places, that travel over links to the core, and that may live in several pools."""
    found = []
    for item in travelling(prepared):
        homes = prepared.homes
        given = homes.given.get(item.root, tuple(pool.name for pool in platform.pools))
        pools = tuple(_pools(item.operands, homes.kinds[item.root], given, platform))
        if len(pools) > 1:
            found.append(Traveller(item.root, item.size_bytes, pools, item.first, item.last))
    return found


def _pools(
    operands: Sequence[TileOperand], kind: BufferKind, names: Sequence[str], platform: Platform
) -> Iterator[tuple[str, int]]:
    """Of pools ``names`` those from and to which links lead for all operands, with the cycles of all bytes' way."""
    for pool in map(platform.pool, names):
        if kind not in pool.holds or platform.access_cycles(pool.name) is not None:
            continue
        ways = [_cycles(operand, platform, pool.name) for operand in operands]
        if all(way is not None for way in ways):
            yield pool.name, sum(way for way in ways if way is not None)


def _cycles(operand: TileOperand, platform: Platform, pool: str) -> int | None:
    """Cycles of moving an operand once between the core and a pool; None if no links do."""
    links = links_between(platform, operand.near, pool, write=operand.write)
    if not links or any(operand.element_bytes % link.align_bytes for link in links[1:]):
        return None
    whole = dict.fromkeys(operand.dimensions, 1 << 30)
    if not all(stores_whole_units(operand, link, whole) for link in links[1:]):
        return None
    return sum(link.setup_cycles + round(operand.size_bytes / link.bytes_per_cycle) for link in links)


def spilled(
    prepared: Prepared, platform: Platform, schedule: Schedule, overflow: DoesNotFit, room: Room, choice: HomeChoice
) -> tuple[Prepared, Room] | None:
    """``prepared`` with homes that free the missing bytes of the pool that overflowed, and the room of these homes.

    ``room`` is the room of the homes of ``schedule``. None if no tensor can leave the pool.
    """
    found, pool = travellers(prepared, platform), overflow.diagnosis.pool
    if not any(prepared.homes.pools[item.root] == (pool,) for item in found):
        return None
    room = {**room, **_less(found, prepared, schedule, overflow, platform)}
    pools = _in_order(found, room) if choice is HomeChoice.IN_ORDER else _cheapest(found, room, len(prepared.problems))
    if pools is None or all(prepared.homes.pools[root] == (pool,) for root, pool in pools.items()):
        return None
    return with_homes(prepared, platform, pools), room


def _less(
    found: Sequence[Traveller], prepared: Prepared, schedule: Schedule, overflow: DoesNotFit, platform: Platform
) -> Room:
    """The room in the pool that overflowed, for each layer during which whole tensors must take fewer bytes of it."""
    diagnosis = overflow.diagnosis
    pool, have = diagnosis.pool, platform.pool(diagnosis.pool).usable_bytes or 0
    alive = _alive_bytes(schedule, pool, prepared)
    peak = max(alive)
    # Lifetimes of parts have holes, which are not seen here: the true peak is the one of placement.
    unseen = max(0, peak - diagnosis.needed)
    excess = {number: size - unseen - have for number, size in enumerate(alive)}
    if max(excess.values()) <= 0:
        # All buffers would fit, so gaps between buffers take the missing bytes.
        excess[alive.index(peak)] = max(1, diagnosis.missing)
    held = [item for item in found if prepared.homes.pools[item.root] == (pool,)]
    return {
        (pool, number): max(0, sum(item.size_bytes for item in held if item.lives_at(number)) - missing)
        for number, missing in excess.items()
        if missing > 0
    }


def _alive_bytes(schedule: Schedule, pool: str, prepared: Prepared) -> list[int]:
    """Bytes of a pool that live while each layer runs, those that an output shares with an input counted once."""
    alive, homes = lifetimes(schedule.program), prepared.homes
    apart = {relation.first for relation in schedule.relations} | {
        name for name in homes.roots if homes.is_callers(name)
    }
    sizes = {
        buffer.name: buffer.size_bytes
        for buffer in schedule.buffers
        if buffer.pools == (pool,) and buffer.name not in apart
    }
    found = []
    for begin, end in stage_spans(schedule.program):
        inside = {name for name in sizes if alive[name][0] < end and begin < alive[name][1]}
        shared = sum(
            item.clearance.shared_bytes(sizes[item.first], sizes[item.second])
            for item in schedule.overlaps
            if {item.first, item.second} <= inside
        )
        found.append(sum(sizes[name] for name in inside) - shared)
    return found


def _cheapest(found: Sequence[Traveller], room: Room, layers: int) -> dict[str, str] | None:
    """A pool for each root so that all tensors have room, with the fewest cycles on links; None if there is none."""
    most = sum(item.size_bytes for item in found)
    pools = sorted({pool for pool, _ in room})
    rooms = [{pool: room.get((pool, number), most) for pool in pools} for number in range(layers)]
    taken = [[Candidate({pool: most - have for pool, have in own.items()}, 0)] for own in rooms]
    # Of equal ways the first pool is taken.
    ranked = [
        tuple((pool, cost * len(item.pools) + at) for at, (pool, cost) in enumerate(item.pools)) for item in found
    ]
    residents = [
        Resident(item.size_bytes, pools, item.first, item.last) for item, pools in zip(found, ranked, strict=True)
    ]
    chosen = choose_jointly(taken, residents, dict.fromkeys(pools, most))
    if chosen is None:
        return None
    return {item.root: pool for item, pool in zip(found, chosen.pools, strict=True)}


def _in_order(found: Sequence[Traveller], room: Room) -> dict[str, str] | None:
    """The first pool with room for each root, in the order in which they come alive; None if one finds none."""
    left = dict(room)
    pools: dict[str, str] = {}
    for item in sorted(found, key=lambda item: item.first):
        own = range(item.first, item.last + 1)
        fits = (
            pool
            for pool, _ in item.pools
            if all(left.get((pool, layer), item.size_bytes) >= item.size_bytes for layer in own)
        )
        pool = next(fits, None)
        if pool is None:
            return None
        pools[item.root] = pool
        for key in ((pool, layer) for layer in own if (pool, layer) in left):
            left[key] -= item.size_bytes
    return pools
