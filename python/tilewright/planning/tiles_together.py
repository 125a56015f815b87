"""Tiles of all layers together, for pools that tiles share with homes.

Homes are the buffers of whole tensors. Where each home may lie in one pool only, a layer's tiles
get what the homes that are alive leave of it. Where homes may lie in several pools, a joint
choice (CP-SAT) decides about their pools and the layers' tiles at once.

Before:  tiles of conv1 take 60 of 64 KiB of sram, its input and output in sram 20 KiB: no place
After:   tiles of conv1 take at most 44 KiB
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.options import CompileOptions
from tilewright.plan import Buffer, BufferKind, RelationKind
from tilewright.plan.lifetimes import lifetimes
from tilewright.plan.stages import stage_spans
from tilewright.planning.callers import callers_of
from tilewright.planning.decide import Decider, cost_of
from tilewright.planning.decisions import Decisions
from tilewright.platform import Platform
from tilewright.schedule.building import Schedule
from tilewright.schedule.tile_loops import ScheduledLayer
from tilewright.storage.clearance import SAME_PLACE
from tilewright.tiling.field import Capacities
from tilewright.tiling.joint import Candidate, Resident, choose_jointly
from tilewright.tiling.overflow import TileOverflow

WAYS = 12
"""The most candidates of one layer and pool in the joint choice; each takes fewer bytes than the one before."""

SMALLER = 0.8
"""The share of a candidate's bytes that the next one may take at most."""


def together(schedule: Schedule, decisions: Decisions, decider: Decider) -> Decisions | None:
    """Tiles that leave room for the homes in their pools; None if there are none.

    ``schedule`` is the program of ``decisions``, which did not fit. Also None where no pool is shared,
    so that there is nothing to decide.
    """
    capacities = decider.capacities
    residents = list(_residents(schedule, decider.platform, decider.options))
    tiled = {pool for layer in decisions.layers for pool in layer.choice.near_bytes}
    shared = {pool for resident in residents for pool, _ in resident.pools} & tiled
    if not shared or not decider.by_cost:
        return None
    count = len(decisions.layers)
    try:
        if all(len(resident.pools) == 1 for resident in residents):
            found = [decider.choose(number, _left(number, residents, capacities)) for number in range(count)]
            return decider.decided(found, sum(layer.choice.least_cost for layer in found))
        ways = [list(_ways(number, shared, decider)) for number in range(count)]
    except TileOverflow:
        return None
    return _jointly(ways, residents, decider)


def _jointly(
    ways: Sequence[Sequence[ScheduledLayer]], residents: Sequence[Resident], decider: Decider
) -> Decisions | None:
    """The cheapest way of each layer with a pool for each resident, so that all fit; None if they never do."""
    candidates = [[Candidate(way.choice.near_bytes, way.choice.cost) for way in each] for each in ways]
    joint = choose_jointly(candidates, residents, decider.capacities)
    if joint is None:
        return None
    found = [each[number] for each, number in zip(ways, joint.chosen, strict=True)]
    bound = cost_of(found) - (joint.cost - joint.bound)
    # A candidate may cost a little more than the least, for fewer bytes.
    share = min(
        (way.choice.least_cost / way.choice.cost for each in ways for way in each if way.choice.cost), default=1.0
    )
    return decider.decided(found, int(bound * share))


def _residents(schedule: Schedule, platform: Platform, options: CompileOptions) -> Iterator[Resident]:
    """Homes and constants that the plan places, with the layers during which they live.

    Views, and outputs that may lie in the place of an input, are left out: their bytes are counted with the other
    buffer's.
    """
    alive = lifetimes(schedule.program)
    spans = stage_spans(schedule.program)
    views = {item.first: item.second for item in schedule.relations if item.kind is RelationKind.AT_OFFSET}
    in_place = [item.first for item in schedule.overlaps if item.clearance == SAME_PLACE]
    parts = {*views, *(views.get(name, name) for name in in_place)}
    callers = callers_of(options)
    for buffer in schedule.buffers:
        if buffer.kind in (*callers, BufferKind.TILE, BufferKind.SCRATCH) or buffer.name in parts:
            continue
        begin, end = alive[buffer.name]
        during = [number for number, (first, last) in enumerate(spans) if begin < last and first < end]
        if during:
            size = -(-buffer.size_bytes // buffer.align_bytes) * buffer.align_bytes
            yield Resident(size, _costs(buffer, platform), during[0], during[-1])


def _costs(buffer: Buffer, platform: Platform) -> tuple[tuple[str, int], ...]:
    """Each pool with the cycles that kernels' accesses to the buffer cost there."""
    return tuple((pool, buffer.accessed_bytes * (platform.access_cycles(pool) or 0)) for pool in buffer.pools)


def _left(number: int, residents: Sequence[Resident], capacities: Capacities) -> dict[str, int | None]:
    """Pool to the bytes that homes leave of it while layer ``number`` runs; every resident has one pool."""
    left = dict(capacities)
    for resident in residents:
        ((pool, _),) = resident.pools
        have = left[pool]
        if have is not None and resident.first <= number <= resident.last:
            left[pool] = max(0, have - resident.size_bytes)
    return left


def _ways(number: int, shared: set[str], decider: Decider) -> Iterator[ScheduledLayer]:
    """The best tiles of layer ``number``; then, for each shared pool, the best within ever fewer bytes of that pool."""
    choose, capacities = decider.choose, decider.capacities
    best = choose(number, capacities)
    yield best
    for pool in sorted(shared & set(best.choice.near_bytes)):
        used = best.choice.near_bytes[pool]
        limit = int(used * SMALLER)
        for _ in range(WAYS):
            try:
                way = choose(number, {**capacities, pool: limit})
            except TileOverflow as error:
                limit += error.missing_bytes
                if limit < used:
                    yield choose(number, {**capacities, pool: limit})
                break
            yield way
            used = way.choice.near_bytes.get(pool, 0)
            limit = int(used * SMALLER)
