"""From decisions to a plan: the program that they make, its lifetimes, and an address for every buffer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Union

from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.progress import progress
from tilewright.kernels.kernel import KernelChoice
from tilewright.options import CompileOptions
from tilewright.options.home_text import given_offsets
from tilewright.placement import Item, PoolLimit, Result, Trail, place
from tilewright.plan import Guards, Placement, PoolUse, Relation, RelationKind, TilingProof
from tilewright.plan.lifetimes import lifetimes
from tilewright.planning.callers import callers_of
from tilewright.planning.decisions import Decisions
from tilewright.planning.guard_room import enclosing_trails, guards_for, place_with_room, through_layers
from tilewright.planning.prepare import Prepared
from tilewright.platform import Platform
from tilewright.schedule.backward import backward, is_above, overlapping
from tilewright.schedule.building import Schedule, build_schedule
from tilewright.schedule.tile_loops import ScheduledLayer
from tilewright.storage.clearance import Clearance
from tilewright.storage.overlaps import Overlap
from tilewright.storage.pressure import pressure_bytes

Lifetimes = Mapping[str, tuple[int, int]]
"""Buffer to its half-open ticks."""

Placer = Callable[[Sequence[Item], Sequence[PoolLimit], Union[Guards, None]], Result]
"""Gives every buffer a pool and an offset. Raises DoesNotFit."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A placed schedule, and the decisions from which it follows.

    ``relations`` are those of the schedule, with one for each output that lies over an input. ``guards`` is the room
    for canaries.
    """

    decisions: Decisions
    schedule: Schedule
    lifetimes: Lifetimes
    relations: tuple[Relation, ...]
    placements: tuple[Placement, ...]
    pool_use: tuple[PoolUse, ...]
    guards: Guards | None = None

    @property
    def layers(self) -> tuple[ScheduledLayer, ...]:
        """The layers in the order in which they run."""
        return self.decisions.layers

    @property
    def tiling(self) -> TilingProof | None:
        """What the tiles cost together, and the least that any tiles cost."""
        return self.decisions.tiling

    @property
    def kernels(self) -> tuple[KernelChoice, ...]:
        """The kernel of each layer."""
        return tuple(layer.problem.kernel for layer in self.layers)


def schedule_of(prepared: Prepared, decisions: Decisions, platform: Platform, options: CompileOptions) -> Schedule:
    """The program that decisions make, with its buffers."""
    return build_schedule(
        prepared.graph,
        decisions.layers,
        prepared.homes,
        platform,
        prepared.arrays,
        groups=decisions.groups,
        profiled=options.profile,
        handed_over=decisions.hand_over,
        guarded=options.guards,
    )


def realise(
    schedule: Schedule, decisions: Decisions, platform: Platform, options: CompileOptions, placer: Placer | None = None
) -> Planned:
    """Addresses for all buffers of a schedule, by the algorithm of ``options`` unless a ``placer`` gives them.

    Raises DoesNotFit where there are none.
    """
    alive = lifetimes(schedule.program)
    items = placement_items(schedule, alive, options)
    guards = guards_for(schedule, items, platform)
    limits = [
        PoolLimit(
            pool.name, pool.usable_bytes, pool.align_bytes, pool.granule_bytes, platform.access_cycles(pool.name) or 0
        )
        for pool in platform.pools
    ]
    if placer is None:
        progress("Placing buffers", 0, len(items))
        result = place_with_room(items, limits, guards, lambda some, pools: _search(some, pools, options))
    else:
        result = placer(items, limits, guards)
    placements = tuple(Placement(item.name, *result.placements[item.name]) for item in items)
    use = _pool_use(schedule, items, alive, platform, result, guards)
    relations = (*_relations(schedule, result), *_over_states(schedule, alive))
    turned = backward(schedule, decisions.layers, result.placements)
    return Planned(decisions, turned, alive, relations, placements, use, guards)


def _search(items: Sequence[Item], limits: Sequence[PoolLimit], options: CompileOptions) -> Result:
    return place(items, limits, options.algorithm, options.effort.value, options.search_seed)


def placement_items(schedule: Schedule, alive: Lifetimes, options: CompileOptions) -> list[Item]:
    """Everything that the plan places; the caller's buffers and views of them are not."""
    views = _views(schedule)
    trails = _trails(schedule.overlaps)
    if options.guards:
        trails = enclosing_trails(schedule, trails)
        alive = through_layers(schedule.program, alive)
    callers = callers_of(options)
    placed = [buffer for buffer in schedule.buffers if buffer.kind not in callers]
    fixed = given_offsets(dict(options.homes))
    return [
        Item(
            name=buffer.name,
            size_bytes=buffer.size_bytes,
            align_bytes=buffer.align_bytes,
            pools=buffer.pools,
            at_offset=views.get(buffer.name),
            trails=trails.get(buffer.name, ()),
            accesses=buffer.accessed_bytes,
            fixed_offset=fixed.get(buffer.name),
            lifetime=alive[buffer.name],
            by_lifetime=True,
        )
        for buffer in placed
    ]


def _views(schedule: Schedule) -> dict[str, tuple[str, int]]:
    """View to (the buffer in which it lies, its distance from that buffer's start in bytes).

    A state as a run leaves it lies at distance 0 in the state as the run finds it.
    """
    views = (item for item in schedule.relations if item.kind is RelationKind.AT_OFFSET)
    inside = {item.first: (schedule.left.get(item.second, item.second), item.offset_bytes) for item in views}
    return {**inside, **{new: (old, 0) for new, old in schedule.left.items()}}


def _trails(overlaps: Iterable[Overlap]) -> dict[str, tuple[Trail, ...]]:
    """Where each output may lie over an input."""
    trails: dict[str, tuple[Trail, ...]] = {}
    for overlap in overlaps:
        for name, begin in (*((name, 0) for name in overlap.firsts), *overlap.slices):
            own = tuple(_trail(other, overlap.clearance, begin) for other in overlap.seconds)
            trails[name] = (*trails.get(name, ()), *own)
    return trails


def _trail(other: str, by: Clearance, begin: int) -> Trail:
    """Where what begins so many bytes behind the start of an output may lie over an input."""
    most = None if by.most_bytes is None else by.most_bytes - begin
    return Trail(other, by.least_bytes - begin, most, None if by.above_bytes is None else by.above_bytes + begin)


def _relations(schedule: Schedule, result: Result) -> tuple[Relation, ...]:
    """Views, and the outputs that were placed over an input, or the inputs below such outputs."""
    found = list(schedule.relations)
    for item in overlapping(schedule, result.placements):
        by = item.clearance
        if is_above(item, result.placements):
            assert by.above_bytes is not None
            found.append(Relation(RelationKind.TRAILS, item.second, item.first, by.above_bytes))
        else:
            found.append(Relation(RelationKind.TRAILS, item.first, item.second, by.least_bytes))
    return tuple(found)


def _over_states(schedule: Schedule, alive: Lifetimes) -> Iterator[Relation]:
    """States that a layer writes element on element over the ones that it reads."""
    for new, old in schedule.left.items():
        if alive[new][0] < alive[old][1]:
            yield Relation(RelationKind.TRAILS, new, old, 0)


def _pool_use(
    schedule: Schedule,
    items: Sequence[Item],
    alive: Lifetimes,
    platform: Platform,
    result: Result,
    guards: Guards | None,
) -> tuple[PoolUse, ...]:
    """Bytes used of each pool, and their bound: the placement's, or the most bytes alive at one time if that is more.

    Bytes alive may be more than the placement's bound, as they count the lifetimes of a buffer's parts one by one.
    """
    if guards is not None:
        # With canaries only the search has a bound: pressure does not count them.
        return tuple(
            PoolUse(pool.name, result.used[pool.name], result.lower_bound[pool.name], result.optimal[pool.name])
            for pool in platform.pools
        )
    sizes = {buffer.name: buffer.size_bytes for buffer in schedule.buffers}
    over: dict[str, dict[str, int]] = {}
    for item in schedule.overlaps:
        shared = item.clearance.shared_bytes(sizes[item.first], sizes[item.second])
        over.setdefault(item.first, {})[item.second] = shared
    spans = _spans_apart(items)
    uses = []
    for pool in platform.pools:
        inside = {item.name: spans[item.name] for item in items if result.placements[item.name][0] == pool.name}
        pressure = -(-pressure_bytes(inside, alive, over) // pool.granule_bytes) * pool.granule_bytes
        bound = max(result.lower_bound[pool.name], pressure)
        uses.append(PoolUse(pool.name, result.used[pool.name], bound, result.used[pool.name] == bound))
    return tuple(uses)


def _spans_apart(items: Sequence[Item]) -> dict[str, tuple[int, int]]:
    """Bytes [begin, end) of items, as if each item with its views had a place of its own."""
    starts: dict[str, int] = {}
    end = 0
    for item in items:
        if item.at_offset is None:
            starts[item.name] = end
            end += item.size_bytes
    spans = {}
    for item in items:
        root, distance = item.at_offset or (item.name, 0)
        spans[item.name] = (starts[root] + distance, starts[root] + distance + item.size_bytes)
    return spans
