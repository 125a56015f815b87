"""Algorithms that search orders of units: hill_climb has its name from TVM, tetris_* from Deeploy."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tilewright.placement.greedy import by_size, first_fit, place_above
from tilewright.placement.model import Model, Unit
from tilewright.placement.objective import Cost
from tilewright.placement.spots import Layout, Spot

Decoder = Callable[[Model, list[Unit]], list[Spot | None]]

HILL_CLIMB_ROUNDS = 500
CO_OPT_ROUNDS = 1000
VISITS_PER_NODE = 10
"""Neighbours that a search of orders looks at for one node of its budget: either takes some microseconds."""


def hill_climb(model: Model, goal: int, nodes: int, seed: int) -> list[Spot | None]:
    """The best placement found by first fit with holes while units at a peak move forward in the order.

    The search ends where the bytes of all pools together reach ``goal``, a lower bound, or without ``nodes``.
    """
    return _climb(model, first_fit, goal, min(HILL_CLIMB_ROUNDS, _rounds(model, nodes)), Random(seed))


def tetris_random(model: Model, seed: int) -> list[Spot | None]:
    """Place units in random order, each above all its neighbours that are placed already."""
    order = list(model.units)
    Random(seed).shuffle(order)
    return place_above(model, order)


def tetris_co_opt(model: Model, goal: int, nodes: int, seed: int) -> list[Spot | None]:
    """The best placement found by ``place_above`` over small changes of the order; ends as ``hill_climb`` does."""
    return _climb(model, place_above, goal, min(CO_OPT_ROUNDS, _rounds(model, nodes)), Random(seed))


def _rounds(model: Model, nodes: int) -> int:
    """How many orders a budget lasts for: placing each unit once looks at all neighbours of all units."""
    return VISITS_PER_NODE * nodes // max(sum(model.zones.degrees()), 1)


def _climb(model: Model, decode: Decoder, goal: int, rounds: int, random: Random) -> list[Spot | None]:
    order = by_size(model)
    current = decode(model, order)
    current_cost = _bytes_cost(model, current)
    best, best_cost = current, current_cost
    for _ in range(rounds):
        if best_cost[0] == 0 and best_cost[3] <= goal:
            break
        changed = _change(model, order, current, random)
        found = decode(model, changed)
        found_cost = _bytes_cost(model, found)
        excess = (found_cost[3] - current_cost[3]) / max(current_cost[3], 1)
        if found_cost <= current_cost or (found_cost[0] <= current_cost[0] and random.random() < 0.2 - 4 * excess):
            order, current, current_cost = changed, found, found_cost
        if found_cost < best_cost:
            best, best_cost = found, found_cost
    return best


def _bytes_cost(model: Model, spots: list[Spot | None]) -> Cost:
    """Units without a spot, then bytes: for these searches a byte costs the same in every pool."""
    layout = Layout(model)
    layout.spots = spots
    return sum(spot is None for spot in spots), 0, 0, sum(layout.peaks())


def _change(model: Model, order: list[Unit], spots: list[Spot | None], random: Random) -> list[Unit]:
    """The order with one random change: a unit at a peak, or without a spot, moves before an earlier neighbour."""
    layout = Layout(model)
    layout.spots = spots
    peaks = layout.peaks()
    position = {unit.index: number for number, unit in enumerate(order)}
    high = []
    for unit in order:
        spot = spots[unit.index]
        if spot is None or spot[1] + unit.size == peaks[spot[0]]:
            high.append(unit)
    mover = random.choice(high)
    around = list(model.zones[mover.index])
    if around and random.random() < 0.25:
        mover = model.units[random.choice(around)]
        around = list(model.zones[mover.index])
    before = [position[v] for v in around if position[v] < position[mover.index]]
    target = random.choice(before) if before else random.randrange(len(order))
    changed = [unit for unit in order if unit is not mover]
    changed.insert(target, mover)
    return changed
