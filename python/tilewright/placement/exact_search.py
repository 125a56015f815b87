"""The default: pools by benefit, offsets by exact search, bounds with proofs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilewright.placement import greedy, local_search
from tilewright.placement.cliques import clique_bound
from tilewright.placement.model import Model
from tilewright.placement.native import Verdict, extension, search_pool
from tilewright.placement.objective import cost
from tilewright.placement.options import Options, Outcome
from tilewright.placement.pool_assignment import cheapest_homes, choose_homes
from tilewright.placement.spots import Spot

TRAILS_SHARE = 100
"""A search that decides about trails itself gets 1/TRAILS_SHARE of the nodes; each of its nodes takes longer."""


def exact(model: Model, options: Options) -> Outcome:
    """Cheapest pools first, then the smallest peak of each pool.

    With one pool, no other algorithm finds a lower peak for the same units. A unit without room has the spot None.
    """
    if extension() is None:
        return _without_extension(model, options)
    outcome = arrange(model, cheapest_homes(model), options)
    if None not in outcome.spots or all(len(unit.pools) == 1 for unit in model.units):
        return outcome
    homes, proved = choose_homes(model, options)
    if homes is None:
        return Outcome([None] * len(model.units), proved=proved)
    return arrange(model, homes, options)


def arrange(model: Model, homes: Mapping[int, Sequence[int]], options: Options) -> Outcome:
    """Offsets for units whose pools are decided; ``homes`` maps the number of a pool to the numbers of its units."""
    spots: list[Spot | None] = [None] * len(model.units)
    bounds: dict[int, int] = {}
    proved = False
    for pool, units in homes.items():
        found = search_pool(
            model, units, model.limit(pool), options.nodes, options.seed, options.minimise, options.progress
        )
        assert found is not None
        bounds[pool] = found.bound
        proved = proved or found.verdict is Verdict.DOES_NOT_FIT
        if found.verdict is Verdict.FITS:
            for u, offset in found.offsets.items():
                spots[u] = (pool, offset)
    return Outcome(spots, bounds, proved)


def improved(model: Model, outcome: Outcome, options: Options) -> Outcome:
    """The outcome, or a better outcome of a short search that may choose among all distances that trails allow.

    ``outcome`` comes from the model in which trails were settled. If all of its units have a spot, they keep their
    pools, and the bounds answered hold for every distance that trails allow.
    """
    short = replace(options, nodes=options.nodes // TRAILS_SHARE)
    if None in outcome.spots:
        again = outcome if _is_hopeless(model) else exact(model, short)
        return outcome if None in again.spots else again
    spots, bounds = list(outcome.spots), dict(outcome.bounds)
    for pool, units in _homes(model, spots).items():
        if pool in bounds:
            continue
        bounds[pool] = clique_bound(model, units)
        peak = max(spot[1] + model.units[u].size for u in units if (spot := spots[u]) is not None)
        if peak == bounds[pool]:
            continue
        found = search_pool(model, units, peak - 1, short.nodes, short.seed, True, short.progress)
        if found is None:
            continue
        bounds[pool] = max(bounds[pool], min(found.bound, peak))
        if found.verdict is Verdict.FITS:
            for u, offset in found.offsets.items():
                spots[u] = (pool, offset)
    return Outcome(spots, bounds, outcome.proved)


def _homes(model: Model, spots: Sequence[Spot | None]) -> dict[int, list[int]]:
    homes: dict[int, list[int]] = {}
    for unit in model.units:
        spot = spots[unit.index]
        if spot is not None:
            homes.setdefault(spot[0], []).append(unit.index)
    return homes


def _is_hopeless(model: Model) -> bool:
    """Whether the units with a single candidate need more bytes of that pool than it has, at any offsets."""
    homes: dict[int, list[int]] = {}
    for unit in model.units:
        if len(unit.pools) == 1:
            homes.setdefault(unit.pools[0], []).append(unit.index)
    limits = {pool: model.limit(pool) for pool in homes}
    return any(limit is not None and clique_bound(model, homes[pool]) > limit for pool, limit in limits.items())


def _without_extension(model: Model, options: Options) -> Outcome:
    goal = clique_bound(model, range(len(model.units))) if len(model.pools) == 1 else 0
    found = [
        greedy.first_fit(model, greedy.by_size(model)),
        greedy.greedy_by_size(model),
        greedy.greedy_by_conflicts(model),
        local_search.hill_climb(model, goal, options.nodes, options.seed),
    ]
    return Outcome(min(found, key=lambda spots: cost(model, spots)))
