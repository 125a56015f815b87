"""Room for canaries: every buffer is placed as if it were larger on both sides.

Before:  a [0, 100) and b [100, 160) are alive together
After:   canaries [0, 32), a [32, 132), canaries [132, 160), b [160, 220), canaries [220, 228)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tilewright.placement import Item, PoolLimit, Result, Trail
from tilewright.plan import Access, BufferKind, Guards, Layer, Step
from tilewright.plan.lifetimes import Lifetime, tick_count
from tilewright.platform import Platform
from tilewright.schedule.building import Schedule

BEHIND_BYTES = 4
"""Canaries behind a buffer; below it there are as many as the largest alignment, so that alignments hold."""

_Place = Callable[[Sequence[Item], Sequence[PoolLimit]], Result]


def guards_for(schedule: Schedule, items: Sequence[Item], platform: Platform) -> Guards | None:
    """The room that buffers get; None for a program without canaries."""
    if schedule.guard_record is None:
        return None
    below = max(BEHIND_BYTES, *(item.align_bytes for item in items))
    pools = tuple(pool.name for pool in platform.pools if _is_in_reach(pool.name, platform))
    return Guards(below, BEHIND_BYTES, schedule.guard_record, pools)


def _is_in_reach(name: str, platform: Platform) -> bool:
    """Whether the code beside the kernels can write canaries to a pool and read them."""
    pool = platform.pool(name)
    if pool.access is Access.READ_ONLY:
        return False
    if name == platform.io_pool or BufferKind.STATE in pool.holds or platform.access_cycles(name) is not None:
        return True
    return all(link.issuer != "controller" for link in platform.links if name in (link.source, link.target))


def place_with_room(items: Sequence[Item], limits: Sequence[PoolLimit], guards: Guards | None, place: _Place) -> Result:
    """The result of ``place`` for items that are enlarged by their room, in pools that are reduced by theirs.

    Offsets are those of the items without their room. Raises what ``place`` raises.
    """
    if guards is None:
        return place(items, limits)
    around = guards.below_bytes + guards.behind_bytes
    larger = [_larger(item, around, guards) for item in items]
    found = place(larger, [_smaller(pool, around) if pool.name in guards.pools else pool for pool in limits])
    grown = {item.name for item, mine in zip(larger, items, strict=True) if item != mine}
    placements = {}
    for name, (pool, offset) in found.placements.items():
        shifts = (name in grown) + (pool in guards.pools and found.used[pool] > 0)
        placements[name] = (pool, offset + shifts * guards.below_bytes)
    used, bounds = (
        {pool.name: _whole(size, pool, guards) for pool in limits} for size in (found.used, found.lower_bound)
    )
    return Result(placements, used, bounds, {name: used[name] == bounds[name] for name in used})


def _whole(sizes: Mapping[str, int], pool: PoolLimit, guards: Guards) -> int:
    """The bytes used of a pool, from the bytes ``sizes`` that its enlarged items use."""
    size = sizes[pool.name]
    own = guards.below_bytes - guards.behind_bytes if size and pool.name in guards.pools else 0
    return used_bytes(size + own, pool, guards)


def used_bytes(end: int, pool: PoolLimit, guards: Guards | None) -> int:
    """The bytes used of a pool whose last buffer ends at ``end``.

    Canaries behind that buffer and at the pool's end are included; the sum is rounded up to granules.
    """
    if guards is not None and end and pool.name in guards.pools:
        end += 2 * guards.behind_bytes
    return -(-end // pool.granule_bytes) * pool.granule_bytes


def _larger(item: Item, around: int, guards: Guards) -> Item:
    if not item.size_bytes or not set(item.pools) & set(guards.pools):
        return item
    return replace(item, size_bytes=item.size_bytes + around)


def _smaller(pool: PoolLimit, around: int) -> PoolLimit:
    """A pool without the room at its ends, and without granules: these are counted behind the search."""
    size = None if pool.size_bytes is None else max(0, pool.size_bytes - around)
    return replace(pool, size_bytes=size, granule_bytes=1)


def enclosing_trails(schedule: Schedule, trails: Mapping[str, tuple[Trail, ...]]) -> dict[str, tuple[Trail, ...]]:
    """The trails with which an output covers its input whole; with others its canaries would lie in the input."""
    sizes = {buffer.name: buffer.size_bytes for buffer in schedule.buffers}
    found = {}
    for name, permissions in trails.items():
        kept = []
        for trail in permissions:
            most = sizes[name] - sizes[trail.other]
            most = most if trail.most is None else min(most, trail.most)
            least = max(0, trail.least)
            if least <= most:
                kept.append(replace(trail, least=least, most=most, above=None))
        found[name] = tuple(kept)
    return found


def through_layers(program: Sequence[Step], alive: Mapping[str, Lifetime]) -> dict[str, Lifetime]:
    """Lifetimes widened to whole layers: canaries stay in place while a layer runs."""
    spans: list[Lifetime] = []
    at = 0
    for step in program:
        size = tick_count((step,))
        if isinstance(step, Layer):
            spans.append((at, at + size))
        at += size
    longer = {}
    for name, (begin, end) in alive.items():
        around = [span for span in spans if span[0] < end and begin < span[1]]
        longer[name] = (min([begin, *(span[0] for span in around)]), max([end, *(span[1] for span in around)]))
    return longer
