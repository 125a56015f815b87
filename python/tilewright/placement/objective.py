"""Which of two placements is better."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.placement.model import Model, Unit
from tilewright.placement.spots import Layout, Spot

Cost = tuple[int, int, int, int]


def pool_cost(model: Model, unit: Unit, pool: int) -> tuple[int, int]:
    """What a unit costs in a pool: its accesses times their cost there, and its bytes times the pool's rank.

    The rank is the position in ``unit.pools``, 0 for the preferred pool.
    """
    return unit.accesses * model.pools[pool].access_cost, unit.pools.index(pool) * unit.size


def cost(model: Model, spots: Sequence[Spot | None]) -> Cost:
    """(Units without a spot, cost of accesses, rank of pools, bytes used), compared in this order; less is better."""
    layout = Layout(model)
    layout.spots = list(spots)
    accesses = rank = missing = 0
    for unit in model.units:
        spot = spots[unit.index]
        if spot is None:
            missing += 1
            continue
        own = pool_cost(model, unit, spot[0])
        accesses += own[0]
        rank += own[1]
    return missing, accesses, rank, sum(layout.peaks())


def preferred(model: Model, unit: Unit) -> tuple[int, ...]:
    """The unit's candidate pools, cheapest first; equal costs keep the order of ``unit.pools``."""
    return tuple(sorted(unit.pools, key=lambda pool: pool_cost(model, unit, pool)))
