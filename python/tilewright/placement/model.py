"""The problem in the form in which algorithms search it: rigid units and forbidden differences.

Items joined by ``at_offset`` move as one, so they become one ``Unit``. Every other relation
between two items is an open interval that the difference of their addresses must avoid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from math import gcd

import numpy as np

from tilewright.base.errors import bad_input, does_not_fit
from tilewright.base.lazy_dataclass import dataclass
from tilewright.placement.conflicts import Conflicts, Lifetime, Zone
from tilewright.placement.items import Item, PoolLimit

AlignedPools = Callable[[tuple[str, ...], int], tuple[int, ...]]
"""``_aligned_pools`` of one problem, each answer computed once."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Items that move as one; ``members`` gives each item's distance from the unit's offset.

    The offset is ``residue`` modulo ``modulus``. ``fixed`` is the offset when it is given.
    ``pools`` are positions in ``Model.pools``, in order of preference.
    """

    index: int
    name: str
    members: tuple[tuple[Item, int], ...]
    size: int
    modulus: int
    residue: int
    pools: tuple[int, ...]
    fixed: int | None
    accesses: int
    lifetime: tuple[int, int] | None

    def align_up(self, offset: int) -> int:
        """The smallest admissible offset that is not below ``offset``."""
        return offset + (self.residue - offset) % self.modulus


@dataclass(frozen=True, slots=True)
class Model:
    """Units and, for each unit, its neighbours.

    ``zones[u][v]`` are open intervals (low, high), sorted: offset(u) - offset(v) is in none of
    them if both are in the same pool. Neighbours are found as they are asked for.
    """

    pools: tuple[PoolLimit, ...]
    units: tuple[Unit, ...]
    zones: Conflicts

    def limit(self, pool: int) -> int | None:
        """Bytes that items may use in a pool."""
        return self.pools[pool].size_bytes


def build_model(items: Sequence[Item], pools: Sequence[PoolLimit]) -> Model:
    """Check a problem and put it in the form that algorithms search.

    Raises:
        TilewrightError: on unknown names, contradicting views or alignments, and items that no
            pool can take whatever else is placed.
    """
    by_name = _index(items, pools)
    clusters = _clusters(items, by_name)
    where = {item.name: number for number, cluster in enumerate(clusters) for item, _ in cluster}
    aligned = cache(partial(_aligned_pools, pools))
    units = tuple(_unit(number, cluster, pools, aligned) for number, cluster in enumerate(clusters))
    delta = {item.name: distance for unit in units for item, distance in unit.members}
    lives = tuple(_life(unit) for unit in units)
    found: dict[tuple[int, int], list[Zone]] = {}
    for first, second, low, high in _pair_zones(items, by_name):
        u, v = where[first], where[second]
        if u == v:
            continue
        shift = delta[second] - delta[first]
        zone = (low + shift, high + shift)
        pair, zone = ((u, v), zone) if u < v else ((v, u), (-zone[1], -zone[0]))
        found.setdefault(pair, []).extend([zone] if low < high else [])
    for pair in sorted({*found, *_uneven_pairs(units, lives)}):
        found.setdefault(pair, []).extend(_zones_of_lives(units[pair[0]], units[pair[1]]))
    conflicts = Conflicts(
        [unit.size for unit in units], [unit.pools for unit in units], lives, _listed(len(units), found)
    )
    model = Model(tuple(pools), units, conflicts)
    _check_fixed(model)
    return model


def _listed(count: int, found: Mapping[tuple[int, int], Sequence[Zone]]) -> list[dict[int, tuple[Zone, ...]]]:
    """For each of ``count`` units the zones of its pairs, from those of (u, v) with u < v."""
    listed: list[dict[int, tuple[Zone, ...]]] = [{} for _ in range(count)]
    for (u, v), zones in found.items():
        joint = _merge(zones)
        listed[u][v] = joint
        listed[v][u] = tuple((-high, -low) for low, high in reversed(joint))
    return listed


def _timed(unit: Unit) -> list[tuple[Item, int, Lifetime]]:
    """The members that conflict by their lifetimes, each with its distance and its ticks."""
    return [
        (item, distance, item.lifetime)
        for item, distance in unit.members
        if item.by_lifetime and item.size_bytes and item.lifetime is not None and item.lifetime[0] < item.lifetime[1]
    ]


def _life(unit: Unit) -> Lifetime:
    """The ticks of all members, if all bytes of the unit are taken at each of them; else empty: pairs are listed."""
    timed = _timed(unit)
    if not timed or any(distance or item.size_bytes != unit.size for item, distance, _ in timed):
        return (0, 0)
    if any(item.size_bytes and not item.by_lifetime for item, _ in unit.members):
        return (0, 0)
    lifetimes = sorted(lifetime for _, _, lifetime in timed)
    begin, end = lifetimes[0]
    for following, last in lifetimes[1:]:
        if following > end:
            return (0, 0)
        end = max(end, last)
    return begin, end


def _uneven_pairs(units: Sequence[Unit], lives: Sequence[Lifetime]) -> Iterator[tuple[int, int]]:
    """Pairs of units that may conflict by the lifetimes of members, though one of the units has no life as a whole."""
    if not any(life == (0, 0) and _timed(unit) for unit, life in zip(units, lives, strict=True)):
        return
    spans = []
    for unit in units:
        timed = [lifetime for _, _, lifetime in _timed(unit)]
        spans.append((min(begin for begin, _ in timed), max(end for _, end in timed)) if timed else (0, 0))
    begins, ends = np.array([span[0] for span in spans], np.int64), np.array([span[1] for span in spans], np.int64)
    for u, (begin, end) in enumerate(spans):
        if lives[u] != (0, 0) or begin >= end:
            continue
        for v in np.flatnonzero((begins < end) & (ends > begin) & (begins < ends)).tolist():
            if v != u and not set(units[u].pools).isdisjoint(units[v].pools):
                yield min(u, v), max(u, v)


def _zones_of_lives(one: Unit, other: Unit) -> Iterator[Zone]:
    """Zones of offset(one) - offset(other) for members that are alive at one time, unless a trail speaks of them."""
    for item, distance, (begin, end) in _timed(one):
        for neighbour, shift, (first, last) in _timed(other):
            if begin < last and first < end and not _trail(item, neighbour):
                low, high = _disjoint(item.size_bytes, neighbour.size_bytes)
                yield low + shift - distance, high + shift - distance


def _trail(item: Item, other: Item) -> bool:
    """Whether one of two items trails the other."""
    return any(trail.other == other.name for trail in item.trails) or any(
        trail.other == item.name for trail in other.trails
    )


def _check_fixed(model: Model) -> None:
    for unit in model.units:
        if unit.fixed is None:
            continue
        for other, zones in model.zones[unit.index].items():
            neighbour = model.units[other]
            if neighbour.fixed is None or neighbour.pools[0] != unit.pools[0]:
                continue
            if any(low < unit.fixed - neighbour.fixed < high for low, high in zones):
                raise does_not_fit("fixed-offset", f"the fixed buffers '{unit.name}' and '{neighbour.name}' overlap")


def _index(items: Sequence[Item], pools: Sequence[PoolLimit]) -> dict[str, Item]:
    by_name = {item.name: item for item in items}
    if len(by_name) != len(items):
        raise bad_input("placement-problem", "two buffers have the same name")
    known = {pool.name for pool in pools}
    for item in items:
        if item.size_bytes < 0 or item.align_bytes < 1:
            raise bad_input("placement-problem", f"buffer '{item.name}' has a negative size or no alignment")
        if item.by_lifetime and item.lifetime is None:
            raise bad_input("placement-problem", f"buffer '{item.name}' conflicts by a lifetime that it does not have")
        views = [item.at_offset[0]] if item.at_offset else []
        others = [*item.conflicts, *(trail.other for trail in item.trails), *views]
        for other in others:
            if other not in by_name:
                raise bad_input("placement-problem", f"buffer '{item.name}' refers to an unknown buffer '{other}'")
        for pool in item.pools:
            if pool not in known:
                raise bad_input("placement-problem", f"buffer '{item.name}' names an unknown pool '{pool}'")
    return by_name


def _clusters(items: Sequence[Item], by_name: Mapping[str, Item]) -> list[list[tuple[Item, int]]]:
    """Clusters of items joined by ``at_offset``, each item with its distance from the cluster's lowest item."""
    if all(item.at_offset is None for item in items):
        return [[(item, 0)] for item in items]
    roots: dict[str, tuple[str, int]] = {}
    for item in items:
        path: list[str] = []
        name, distance = item.name, 0
        while (step := by_name[name].at_offset) is not None:
            path.append(name)
            if len(path) > len(items):
                raise bad_input("placement-problem", f"views form a circle: {' -> '.join(path[:8])}")
            distance += step[1]
            name = step[0]
        roots[item.name] = (name, distance)
    clusters: dict[str, list[tuple[Item, int]]] = {}
    for item in items:
        root, distance = roots[item.name]
        clusters.setdefault(root, []).append((item, distance))
    answer = []
    for root, members in clusters.items():
        lowest = min(distance for _, distance in members)
        members.sort(key=lambda member: member[0].name != root)
        answer.append([(item, distance - lowest) for item, distance in members])
    return answer


def _unit(index: int, members: list[tuple[Item, int]], pools: Sequence[PoolLimit], aligned: AlignedPools) -> Unit:
    root = members[0][0]
    if len(members) == 1 and root.fixed_offset is None:
        candidates = _candidates(members, aligned)
        place = (root.size_bytes, root.align_bytes, 0, candidates, None)
        return Unit(index, root.name, tuple(members), *place, root.accesses, root.lifetime)
    modulus, residue = 1, 0
    for item, distance in members:
        modulus, residue = _congruence(root.name, modulus, residue, item.align_bytes, -distance)
    candidates = _candidates(members, aligned)
    size = max(distance + item.size_bytes for item, distance in members)
    fixed = _fixed(root.name, members)
    if fixed is not None:
        candidates = candidates[:1]
        limit = pools[candidates[0]].size_bytes
        if fixed < 0 or fixed % modulus != residue or (limit is not None and fixed + size > limit):
            pool = pools[candidates[0]].name
            raise does_not_fit("fixed-offset", f"buffer '{root.name}' cannot be at offset {fixed:,} of pool '{pool}'")
    lifetimes = [item.lifetime for item, _ in members if item.lifetime is not None]
    lifetime = None
    if len(lifetimes) == len(members):
        lifetime = (min(first for first, _ in lifetimes), max(last for _, last in lifetimes))
    accesses = sum(item.accesses for item, _ in members)
    return Unit(index, root.name, tuple(members), size, modulus, residue, candidates, fixed, accesses, lifetime)


def _candidates(members: list[tuple[Item, int]], aligned: AlignedPools) -> tuple[int, ...]:
    """Numbers of the pools that all members may lie in and whose base is aligned for each of them."""
    root = members[0][0]
    shared = tuple(name for name in dict.fromkeys(root.pools) if all(name in item.pools for item, _ in members))
    if not shared:
        raise bad_input("placement-problem", f"buffer '{root.name}' and its views have no pool in common")
    align = max(item.align_bytes for item, _ in members)
    found = aligned(shared, align)
    if not found:
        raise does_not_fit(
            "pool-alignment",
            f"buffer '{root.name}' needs an alignment of {align}, which none of its pools has: {', '.join(shared)}",
            help=f"give one of these pools align_bytes = {align}",
        )
    return found


def _aligned_pools(pools: Sequence[PoolLimit], names: Sequence[str], align_bytes: int) -> tuple[int, ...]:
    """Numbers of the pools with these names whose base is a multiple of ``align_bytes``, in the order of names."""
    number = {pool.name: position for position, pool in enumerate(pools)}
    return tuple(number[name] for name in names if pools[number[name]].align_bytes % align_bytes == 0)


def _fixed(name: str, members: list[tuple[Item, int]]) -> int | None:
    offsets = {item.fixed_offset - distance for item, distance in members if item.fixed_offset is not None}
    if len(offsets) > 1:
        raise bad_input("placement-problem", f"fixed offsets of '{name}' and its views contradict each other")
    return min(offsets) if offsets else None


def _congruence(name: str, modulus: int, residue: int, other_modulus: int, other_residue: int) -> tuple[int, int]:
    """Modulus and residue of the offsets that satisfy both congruences (Chinese remainder theorem)."""
    divisor = gcd(modulus, other_modulus)
    if (other_residue - residue) % divisor:
        raise bad_input("placement-problem", f"the alignments of '{name}' and its views contradict each other")
    step = other_modulus // divisor
    factor = (other_residue - residue) // divisor * pow(modulus // divisor, -1, step) % step if step > 1 else 0
    joint = modulus * step
    return joint, (residue + modulus * factor) % joint


def _pair_zones(items: Sequence[Item], by_name: Mapping[str, Item]) -> Iterator[tuple[str, str, int, int]]:
    """Pairs of items (a, b) with the interval that address(a) - address(b) must avoid."""
    trailing = {(item.name, trail.other) for item in items for trail in item.trails}
    trailing |= {(other, name) for name, other in trailing}
    done: set[str] = set()
    for item in items:
        size = item.size_bytes
        for other in item.conflicts:
            # A pair that both of its items list is yielded once, for the item that comes first.
            listed = other in done and item.name in by_name[other].conflicts
            if other != item.name and not listed and (item.name, other) not in trailing:
                yield (item.name, other, *_disjoint(size, by_name[other].size_bytes))
        done.add(item.name)
    for item in items:
        for trail in item.trails:
            low, high = _disjoint(item.size_bytes, by_name[trail.other].size_bytes)
            above = high if trail.above is None else min(trail.above, high)
            yield item.name, trail.other, max(-trail.least, low), above
            if trail.most is not None:
                yield item.name, trail.other, low, min(-trail.most, high)


def _disjoint(size: int, other_size: int) -> Zone:
    return (-size, other_size) if size and other_size else (0, 0)


def _merge(zones: Iterable[Zone]) -> tuple[Zone, ...]:
    """Union of open intervals; (0, 4) and (4, 8) stay apart, because the difference 4 is allowed."""
    merged: list[Zone] = []
    for low, high in sorted(zones):
        if merged and low < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)
