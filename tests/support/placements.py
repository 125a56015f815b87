"""Judges placements byte by byte, without any code of the planner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.placement import Item, PoolLimit


def is_sound(items: Sequence[Item], pools: Sequence[PoolLimit], placements: Mapping[str, tuple[str, int]]) -> bool:
    """Whether a placement obeys every rule, with items as sets of byte addresses. No view is a view of a view."""
    limits = {pool.name: pool.size_bytes for pool in pools}
    roots = {item.name: item.at_offset[0] if item.at_offset else item.name for item in items}
    return all(_alone(item, limits, placements) for item in items) and all(
        roots[first.name] == roots[second.name] or _pair(first, second, placements)
        for number, first in enumerate(items)
        for second in items[:number]
    )


def _alone(item: Item, limits: Mapping[str, int | None], placements: Mapping[str, tuple[str, int]]) -> bool:
    pool, offset = placements[item.name]
    limit = limits[pool]
    if pool not in item.pools or offset < 0 or offset % item.align_bytes:
        return False
    if limit is not None and any(end > limit for end in range(offset, offset + item.size_bytes + 1)):
        return False
    if item.at_offset is not None:
        other_pool, other_offset = placements[item.at_offset[0]]
        if (other_pool, other_offset + item.at_offset[1]) != (pool, offset):
            return False
    # Who gives an offset means the first candidate.
    return item.fixed_offset is None or (item.pools[0], item.fixed_offset) == (pool, offset)


def _pair(first: Item, second: Item, placements: Mapping[str, tuple[str, int]]) -> bool:
    (pool, a), (other_pool, b) = placements[first.name], placements[second.name]
    bytes_a = set(range(a, a + first.size_bytes))
    bytes_b = set(range(b, b + second.size_bytes))
    if pool != other_pool or not bytes_a & bytes_b:
        return True
    for item, other, below in ((first, second, b - a), (second, first, a - b)):
        for trail in item.trails:
            if trail.other == other.name:
                return trail.least <= below and (trail.most is None or below <= trail.most)
    return second.name not in first.conflicts and first.name not in second.conflicts
