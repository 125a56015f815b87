"""Greedy placement in a fixed order, by the names of TVM's USMP (unified static memory planner).

A unit goes above all its placed neighbours in the first pool of its list that has room; where
only a hole between neighbours has room, the unit goes into the hole before the next pool is tried.
"""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.placement.model import Model, Unit
from tilewright.placement.spots import Layout, Spot


def greedy_by_size(model: Model) -> list[Spot | None]:
    """Largest first; ties by number of conflicts, then by name, both descending."""
    return place_above(model, by_size(model))


def greedy_by_conflicts(model: Model) -> list[Spot | None]:
    """Most conflicts first; ties by size, then by name, both descending."""
    return place_above(model, by_conflicts(model))


def by_size(model: Model) -> list[Unit]:
    """Units, largest first."""
    return sorted(model.units, key=lambda u: (u.size, len(model.zones[u.index]), u.name), reverse=True)


def by_conflicts(model: Model) -> list[Unit]:
    """Units, most conflicts first."""
    return sorted(model.units, key=lambda u: (len(model.zones[u.index]), u.size, u.name), reverse=True)


def place_above(model: Model, order: Iterable[Unit]) -> list[Spot | None]:
    """Place each unit in turn above its neighbours; a unit without room keeps the spot None."""
    layout = Layout(model)
    for unit in order:
        if unit.fixed is not None:
            continue
        for pool in unit.pools:
            offset = layout.above(unit, pool)
            if offset is None:
                offset = layout.lowest(unit, pool)
            if offset is not None:
                layout.spots[unit.index] = (pool, offset)
                break
    return layout.spots


def first_fit(model: Model, order: Iterable[Unit]) -> list[Spot | None]:
    """Place each unit in turn at the lowest free offset, holes included; a unit without room keeps the spot None."""
    layout = Layout(model)
    for unit in order:
        if unit.fixed is not None:
            continue
        for pool in unit.pools:
            offset = layout.lowest(unit, pool)
            if offset is not None:
                layout.spots[unit.index] = (pool, offset)
                break
    return layout.spots
