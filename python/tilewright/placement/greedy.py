"""Greedy placement in a fixed order, by the names of TVM's USMP (unified static memory planner).

A unit goes above all its placed neighbours in the first pool of its list that has room; where
only a hole between neighbours has room, the unit goes into the hole before the next pool is tried.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.placement.model import Model, Unit
from tilewright.placement.native import placed_in_first_pools
from tilewright.placement.spots import Layout, Spot


def greedy_by_size(model: Model) -> list[Spot | None]:
    """Largest first; ties by number of conflicts, then by name, both descending."""
    return place_above(model, by_size(model))


def greedy_by_conflicts(model: Model) -> list[Spot | None]:
    """Most conflicts first; ties by size, then by name, both descending."""
    return place_above(model, by_conflicts(model))


def by_size(model: Model) -> list[Unit]:
    """Units, largest first."""
    degrees = model.zones.degrees()
    return sorted(model.units, key=lambda u: (u.size, degrees[u.index], u.name), reverse=True)


def by_conflicts(model: Model) -> list[Unit]:
    """Units, most conflicts first."""
    degrees = model.zones.degrees()
    return sorted(model.units, key=lambda u: (degrees[u.index], u.size, u.name), reverse=True)


def place_above(model: Model, order: Sequence[Unit]) -> list[Spot | None]:
    """Place each unit in turn above its neighbours; a unit without room keeps the spot None."""
    return _placed(model, order, above=True)


def first_fit(model: Model, order: Sequence[Unit]) -> list[Spot | None]:
    """Place each unit in turn at the lowest free offset, holes included; a unit without room keeps the spot None."""
    return _placed(model, order, above=False)


def _placed(model: Model, order: Sequence[Unit], *, above: bool) -> list[Spot | None]:
    found = placed_in_first_pools(model, [unit.index for unit in order], above=above)
    return list(found) if found is not None else place_one_by_one(model, order, above=above)


def place_one_by_one(model: Model, order: Sequence[Unit], *, above: bool) -> list[Spot | None]:
    """Place each unit in turn, with fixed units and with pools that are full."""
    layout = Layout(model)
    for unit in order:
        if unit.fixed is not None:
            continue
        for pool in unit.pools:
            offset = layout.above(unit, pool) if above else None
            if offset is None:
                offset = layout.lowest(unit, pool)
            if offset is not None:
                layout.spots[unit.index] = (pool, offset)
                break
    return layout.spots
