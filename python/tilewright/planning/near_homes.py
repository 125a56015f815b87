"""A plan in which intermediate tensors stay near the core, where that costs less than the plan in which they travel.

They stay as a whole, or some rows at a time between layers that run as a group. Which do is predicted
(``near_stays``); placement says whether they and the tiles find a place. Where they do not, the layer at the peak is to
leave free what is missing, and the tensors are chosen again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright.base.lazy_dataclass import dataclass
from tilewright.fusion.cover import NEARLY_AS_FAST
from tilewright.fusion.group import Group
from tilewright.options import Objective
from tilewright.placement import DoesNotFit
from tilewright.plan.lifetimes import layer_at
from tilewright.planning.decide import Decider, cost_of
from tilewright.planning.decisions import Decisions
from tilewright.planning.far_room import far_room
from tilewright.planning.near_groups import RowGroups, row_groups
from tilewright.planning.near_stays import NearSearch, NearTensors
from tilewright.planning.prepare import Prepared
from tilewright.planning.realise import Planned, realise, schedule_of
from tilewright.planning.row_group import RowGroup
from tilewright.planning.spill import travelling, with_homes
from tilewright.planning.stays import near_tensors
from tilewright.schedule.group_loops import group_name
from tilewright.schedule.tile_loops import ScheduledLayer
from tilewright.storage.homes import near_home

ROUNDS = 12
"""How often tensors are chosen at most."""

NEARLY_AS_FAST_ON_CORES = 1.01
"""``NEARLY_AS_FAST`` where several cores share calls, whose copies run beside kernels."""

PRICES = (128, 16, 4, 1)
"""Quarters of a cycle that a byte moved is worth where groups are chosen; the first that is nearly as fast counts."""


@dataclass(frozen=True, slots=True)
class _Short:
    """What found no place: bytes of a pool that are missing, and the number of the layer at the peak."""

    pool: str
    missing: int
    number: int


def with_near_tensors(decider: Decider, most: int | None = None, crowded: str = "") -> Planned | None:
    """A plan in which tensors stay near the core and that costs at most ``most``; None if there is none.

    Without ``most``, where tensors that all travel find no place, any cost will do. Nothing stays where the user asks
    for the fewest bytes of pools, or chooses tiles by another strategy than predicted cost. With groups the plan may
    take a few per cent more cycles, if it moves fewer bytes. ``crowded`` is a pool that is too small for the tensors
    that live there: so many of them stay, or are rings in groups, that the others have room.
    """
    if not _may_stay(decider):
        return None
    far = far_room(decider, crowded) if crowded else None
    search = NearSearch(decider, near_tensors(decider.prepared, decider.platform), far=far)
    whole = search.cheapest({})
    apart = _first_placed(search, None, most)
    search.far = far
    groups = row_groups(decider, search.room) if _some_travel(whole, decider) else None
    if groups is None or not any(groups.found.values()):
        return apart
    search.groups = groups.found
    least = most if apart is None else cost_of(apart.layers)
    grouped = _first_placed(search, groups, least)
    if grouped is None or (apart is not None and _moved_bytes(grouped) >= _moved_bytes(apart)):
        return apart
    return grouped


def _first_placed(search: NearSearch, groups: RowGroups | None, most: int | None) -> Planned | None:
    """The first plan that finds a place, with groups where there are ``groups``; None if there is none."""
    decider, reserved = search.decider, dict[int, int]()
    limit = None if most is None else most if groups is None else most * _leeway(decider)
    for _ in range(ROUNDS):
        near = search.cheapest(reserved) if groups is None else _nearly_as_fast(search, reserved)
        if near is None or not (near.roots if groups is None else near.has_groups):
            return None
        if limit is not None and near.cost[0] > limit:
            return None
        found = _realised(near, groups, search.pool, decider)
        if isinstance(found, Planned):
            return found
        if found.pool == search.pool:
            reserved[found.number] = reserved.get(found.number, 0) + found.missing
        elif search.far is not None and found.pool == search.far.pool:
            search.far = replace(search.far, size_bytes=search.far.size_bytes - found.missing)
        else:
            # Another pool is too small: nothing that leaves more room in these helps.
            return None
    return None


def _leeway(decider: Decider) -> float:
    """How many times the cycles a plan may take that moves fewer bytes."""
    if decider.options.objective is not Objective.CYCLES:
        return 1.0
    return NEARLY_AS_FAST if decider.platform.core.count == 1 else NEARLY_AS_FAST_ON_CORES


def _nearly_as_fast(search: NearSearch, reserved: Mapping[int, int]) -> NearTensors | None:
    """Of tensors that stay, and groups, that are nearly as fast as the fastest, those that move the fewest bytes."""
    fastest = search.cheapest(reserved)
    if fastest is None or search.decider.options.objective is not Objective.CYCLES:
        return fastest
    others, most = (search.cheapest(reserved, price) for price in PRICES), fastest.cost[0] * _leeway(search.decider)
    return next((item for item in others if item is not None and item.cost[0] <= most), fastest)


def _moved_bytes(planned: Planned) -> int:
    return sum(size for layer in planned.schedule.layers for _, size in layer.link_bytes)


def _may_stay(decider: Decider) -> bool:
    options = decider.options
    by_cost = decider.tiler is None and decider.by_cost and options.objective is not Objective.BYTES_USED
    return by_cost and near_home(decider.platform) is not None


def _some_travel(near: NearTensors | None, decider: Decider) -> bool:
    """Whether intermediate tensors travel, so that groups may save copies."""
    return near is None or any(item.root not in near.roots for item in travelling(decider.prepared))


def _realised(near: NearTensors, groups: RowGroups | None, pool: str, decider: Decider) -> Planned | _Short:
    """The plan in which tensors stay, or the pool in which not all find a place."""
    rings = [root for part in near.parts if isinstance(part, RowGroup) for root in part.rings]
    prepared = with_homes(decider.prepared, decider.platform, dict.fromkeys((*near.roots, *rings), pool))
    decisions = _decisions(near, groups, prepared, decider)
    ways: list[Decisions] = []
    if decider.hands_over:
        ways.append(replace(decisions, hand_over=True))
    for way in (*ways, decisions):
        schedule = schedule_of(prepared, way, decider.platform, decider.options)
        try:
            return realise(schedule, way, decider.platform, decider.options)
        except DoesNotFit as overflow:
            diagnosis = overflow.diagnosis
    where = layer_at(schedule.program, diagnosis.step) if diagnosis.step is not None else None
    names = unit_names(decisions)
    sizes = [layer.choice.near_bytes.get(diagnosis.pool, 0) for layer in decisions.layers]
    number = names.index(where) if where in names else sizes.index(max(sizes))
    return _Short(diagnosis.pool, max(1, diagnosis.missing), number)


def _decisions(near: NearTensors, groups: RowGroups | None, prepared: Prepared, decider: Decider) -> Decisions:
    """The layers beside the tensors that stay, those of groups in their blocks."""
    layers: list[ScheduledLayer] = []
    taken: list[Group] = []
    for part in near.parts:
        if isinstance(part, ScheduledLayer):
            layers.append(part)
            continue
        assert groups is not None
        group, stages = groups.scheduled(part, prepared, decider)
        layers += stages
        taken.append(group)
    decisions = decider.decided(layers, sum(layer.choice.least_cost for layer in layers))
    return replace(decisions, groups=tuple(taken))


def unit_names(decisions: Decisions) -> list[str]:
    """For each layer the name of the program's layer in which it runs: its own, or that of its group."""
    names = [layer.problem.node.name for layer in decisions.layers]
    for group in decisions.groups:
        own = [names[number] for number in group.layers]
        for number in group.layers:
            names[number] = group_name(own)
    return names
