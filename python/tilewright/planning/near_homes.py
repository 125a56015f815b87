"""A plan in which intermediate tensors stay near the core, where that costs less than the plan in which they travel.

Which tensors stay is predicted (``near_stays``); placement says whether they and the tiles find a place. Where they
do not, the layer at the peak is to leave free what is missing, and the tensors are chosen again.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.options import Objective
from tilewright.placement import DoesNotFit
from tilewright.plan.lifetimes import layer_at
from tilewright.planning.decide import Decider
from tilewright.planning.decisions import Decisions
from tilewright.planning.near_stays import NearSearch, NearTensors, near_tensors
from tilewright.planning.realise import Planned, realise, schedule_of
from tilewright.planning.spill import with_homes

ROUNDS = 12
"""How often tensors are chosen at most."""


def with_near_tensors(decider: Decider, most: int | None = None) -> Planned | None:
    """A plan in which tensors stay near the core and that costs at most ``most``; None if there is none.

    Without ``most``, where tensors that all travel find no place, any cost will do. Nothing stays where the user asks
    for the fewest bytes of pools, or chooses tiles by another strategy than predicted cost.
    """
    stays = near_tensors(decider.prepared, decider.platform) if _may_stay(decider) else []
    if not stays:
        return None
    search = NearSearch(decider, stays)
    reserved: dict[int, int] = {}
    for _ in range(ROUNDS):
        near = search.cheapest(reserved)
        if near is None or (most is not None and near.cost[0] > most):
            return None
        found = _realised(near, search.pool, decider)
        if isinstance(found, Planned):
            return found
        if found is None:
            return None
        number, missing = found
        reserved[number] = reserved.get(number, 0) + missing
    return None


def _may_stay(decider: Decider) -> bool:
    options = decider.options
    return decider.tiler is None and decider.by_cost and options.objective is not Objective.BYTES_USED


def _realised(near: NearTensors, pool: str, decider: Decider) -> Planned | tuple[int, int] | None:
    """The plan in which tensors stay; or the layer that found no place for all, and the bytes that it was short of.

    None where another pool is too small: nothing that leaves more room near the core helps.
    """
    prepared = with_homes(decider.prepared, decider.platform, dict.fromkeys(near.roots, pool))
    bound = sum(layer.choice.least_cost for layer in near.layers)
    decisions = decider.decided(near.layers, bound)
    ways: list[Decisions] = [replace(decisions, hand_over=True)] if decider.hands_over else []
    for way in (*ways, decisions):
        schedule = schedule_of(prepared, way, decider.platform, decider.options)
        try:
            return realise(schedule, way, decider.platform, decider.options)
        except DoesNotFit as overflow:
            diagnosis = overflow.diagnosis
    if diagnosis.pool != pool:
        return None
    where = layer_at(schedule.program, diagnosis.step) if diagnosis.step is not None else None
    names = [layer.problem.node.name for layer in near.layers]
    sizes = [layer.choice.near_bytes.get(pool, 0) for layer in near.layers]
    number = names.index(where) if where in names else sizes.index(max(sizes))
    return number, max(1, diagnosis.missing)
