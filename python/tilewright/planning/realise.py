"""From decisions to a plan: the program that they make, its lifetimes, and an address for every buffer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tilewright.base.progress import progress
from tilewright.kernels.kernel import KernelChoice
from tilewright.options import CompileOptions
from tilewright.placement import Item, PoolLimit, Result, place
from tilewright.plan import BufferKind, Placement, PoolUse, RelationKind, TilingProof
from tilewright.plan.lifetimes import disjoint_pairs, lifetimes
from tilewright.planning.decisions import Decisions
from tilewright.planning.prepare import Prepared
from tilewright.platform import Platform
from tilewright.schedule.building import Schedule, build_schedule
from tilewright.schedule.tile_loops import ScheduledLayer
from tilewright.storage.pressure import pressure_bytes

Lifetimes = Mapping[str, tuple[int, int]]
"""Buffer to its half-open ticks."""

Placer = Callable[[Sequence[Item], Sequence[PoolLimit]], Result]
"""Gives every buffer a pool and an offset. Raises DoesNotFit."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A placed schedule, and the decisions that it follows from."""

    decisions: Decisions
    schedule: Schedule
    lifetimes: Lifetimes
    placements: tuple[Placement, ...]
    pool_use: tuple[PoolUse, ...]

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
        profiled=options.profile,
        handed_over=decisions.hand_over,
    )


def realise(
    schedule: Schedule, decisions: Decisions, platform: Platform, options: CompileOptions, placer: Placer | None = None
) -> Planned:
    """Addresses for all buffers of a schedule, by the algorithm of ``options`` unless a ``placer`` gives them.

    Raises DoesNotFit where there are none.
    """
    alive = lifetimes(schedule.program)
    items = placement_items(schedule, alive, io_in_pools=options.io_in_pools)
    limits = [
        PoolLimit(
            pool.name, pool.size_bytes, pool.align_bytes, pool.granule_bytes, platform.access_cycles(pool.name) or 0
        )
        for pool in platform.pools
    ]
    if placer is None:
        progress("Placing buffers", 0, len(items))
        result = place(items, limits, options.algorithm, options.effort.value)
    else:
        result = placer(items, limits)
    placements = tuple(Placement(item.name, *result.placements[item.name]) for item in items)
    return Planned(decisions, schedule, alive, placements, _pool_use(items, alive, platform, result))


def placement_items(schedule: Schedule, alive: Lifetimes, *, io_in_pools: bool) -> list[Item]:
    """Everything that the plan places; the caller's buffers and views of them are not."""
    views = {
        relation.first: (relation.second, relation.offset_bytes)
        for relation in schedule.relations
        if relation.kind is RelationKind.AT_OFFSET
    }
    parents = {**views, **schedule.fixed}
    relatives = _relatives(schedule, parents)
    external = () if io_in_pools else (BufferKind.INPUT, BufferKind.OUTPUT)
    placed = [buffer for buffer in schedule.buffers if buffer.kind not in external]
    names = {buffer.name for buffer in placed}
    conflicts = disjoint_pairs({name: alive[name] for name in alive if name in names})
    return [
        Item(
            name=buffer.name,
            size_bytes=buffer.size_bytes,
            align_bytes=buffer.align_bytes,
            pools=buffer.pools,
            conflicts=frozenset(conflicts[buffer.name]) - relatives[buffer.name],
            at_offset=parents.get(buffer.name),
            accesses=buffer.accessed_bytes,
            lifetime=alive[buffer.name],
        )
        for buffer in placed
    ]


def _relatives(schedule: Schedule, parents: Mapping[str, tuple[str, int]]) -> dict[str, frozenset[str]]:
    """For each buffer all whose distance from it is given, itself among them."""
    ends = {}
    for buffer in schedule.buffers:
        at = buffer.name
        while at in parents:
            at = parents[at][0]
        ends[buffer.name] = at
    joined: dict[str, set[str]] = {}
    for name, end in ends.items():
        joined.setdefault(end, set()).add(name)
    sets = {end: frozenset(names) for end, names in joined.items()}
    return {name: sets[end] for name, end in ends.items()}


def _pool_use(items: Sequence[Item], alive: Lifetimes, platform: Platform, result: Result) -> tuple[PoolUse, ...]:
    """Bytes used of each pool and their bound; what is alive together is a bound too, and sees the lives of parts."""
    uses = []
    for pool in platform.pools:
        spots = {item: offset for item, (name, offset) in result.placements.items() if name == pool.name}
        inside = [item for item in items if item.name in spots]
        spans = {item.name: (spots[item.name], spots[item.name] + item.size_bytes) for item in inside}
        pressure = -(-pressure_bytes(spans, alive) // pool.granule_bytes) * pool.granule_bytes
        bound = max(result.lower_bound[pool.name], pressure)
        uses.append(PoolUse(pool.name, result.used[pool.name], bound, result.used[pool.name] == bound))
    return tuple(uses)
