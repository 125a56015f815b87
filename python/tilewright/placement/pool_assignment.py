"""Which unit lives in which pool, where units have several candidates.

A master problem (CP-SAT) chooses the cheapest pools for which every clique of every pool fits;
the exact search tries the offsets of each pool. The master then forbids each set of units that does
not fit, and chooses again (logic-based Benders decomposition).
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.base.solver import bring_solver
from tilewright.placement import greedy, local_search
from tilewright.placement.model import Model
from tilewright.placement.native import Verdict, search_pool
from tilewright.placement.objective import cost, pool_cost, preferred
from tilewright.placement.options import Options
from tilewright.placement.spots import Spot

Homes = dict[int, list[int]]

# A trial gets 1/TRIAL_SHARE of the nodes of a final search, because there may be many trials.
TRIAL_SHARE = 20
MOST_ROUNDS = 200
MASTER_MAX_UNITS = 2000


def cheapest_homes(model: Model) -> Homes:
    """Pool to units, each unit in its cheapest candidate as if pools had no limits."""
    return _group(model, [preferred(model, unit)[0] for unit in model.units])


def choose_homes(model: Model, options: Options) -> tuple[Homes | None, bool]:
    """(Pool to units, False), or (None, whether it is proved that no homes fit).

    The homes are the cheapest that were found, and never dearer than those of any heuristic in this package.
    """
    best = _best_heuristic(model, options)
    refined, proved = _refine(model, options, best)
    if refined is not None:
        return refined, False
    return (_homes_of(model, best) if best is not None else None), proved


def _group(model: Model, pools: Sequence[int]) -> Homes:
    homes: Homes = {}
    for unit, pool in zip(model.units, pools, strict=True):
        homes.setdefault(pool, []).append(unit.index)
    return dict(sorted(homes.items()))


def _homes_of(model: Model, spots: Sequence[Spot | None]) -> Homes:
    return _group(model, [spot[0] for spot in spots if spot is not None])


def _best_heuristic(model: Model, options: Options) -> list[Spot | None] | None:
    found = [
        greedy.greedy_by_size(model),
        greedy.greedy_by_conflicts(model),
        greedy.first_fit(model, greedy.by_size(model)),
        local_search.hill_climb(model, 0, options.nodes, options.seed),
        local_search.tetris_random(model, options.seed),
        local_search.tetris_co_opt(model, 0, options.nodes, options.seed),
        _by_benefit(model, options),
    ]
    best = min(found, key=lambda spots: cost(model, spots))
    return None if cost(model, best)[0] else best


def _by_benefit(model: Model, options: Options) -> list[Spot | None]:
    """Greedy by benefit: the unit that saves most per byte chooses first among the pools that still take it.

    A unit saves the difference between its dearest and its cheapest pool. Whether a pool still takes the
    unit is a short exact search over all units in the pool.
    """
    spots: list[Spot | None] = [None] * len(model.units)
    homes: dict[int, list[int]] = {pool: [] for pool in range(len(model.pools))}

    def urgency(index: int) -> tuple[float, int, int]:
        unit = model.units[index]
        costs = [pool_cost(model, unit, pool)[0] for pool in unit.pools]
        benefit = (max(costs) - min(costs)) / max(unit.size, 1)
        return (-benefit if unit.fixed is None else float("-inf"), len(unit.pools), -unit.size)

    for index in sorted(range(len(model.units)), key=lambda u: (*urgency(u), u)):
        for pool in preferred(model, model.units[index]):
            found = search_pool(
                model, [*homes[pool], index], model.limit(pool), options.nodes // 200, options.seed, False
            )
            assert found is not None
            if found.verdict is Verdict.FITS:
                homes[pool].append(index)
                for u, offset in found.offsets.items():
                    spots[u] = (pool, offset)
                break
    return spots


def _refine(model: Model, options: Options, best: list[Spot | None] | None) -> tuple[Homes | None, bool]:
    """(The master's cheapest homes that fit, False) if cheaper than ``best``, else (None, whether none can fit)."""
    if len(model.units) > MASTER_MAX_UNITS:
        return None, False
    bring_solver()
    from tilewright.placement.master import Master  # ortools takes long to import and is rarely needed

    ceiling = cost(model, best) if best is not None else None
    master = Master(model, options.seed)
    proved = True
    for _ in range(MOST_ROUNDS):
        pools = master.solve()
        if pools is None:
            return None, proved and master.proved and best is None
        homes = _group(model, pools)
        accesses = sum(pool_cost(model, unit, pool)[0] for unit, pool in zip(model.units, pools, strict=True))
        rank = sum(pool_cost(model, unit, pool)[1] for unit, pool in zip(model.units, pools, strict=True))
        if ceiling is not None and (accesses, rank) >= (ceiling[1], ceiling[2]):
            return None, False
        failed = _blocked_trial(model, homes, options)
        if not failed:
            return homes, False
        for pool, (units, certain) in failed.items():
            proved = proved and certain
            master.forbid(pool, units)
    return None, False


def _blocked_trial(model: Model, homes: Homes, options: Options) -> dict[int, tuple[list[int], bool]]:
    """For each pool whose units do not fit: a small set of them that does not fit, and whether this is proved."""
    failed: dict[int, tuple[list[int], bool]] = {}
    nodes = max(options.nodes // TRIAL_SHARE, 1000)
    for pool, units in homes.items():
        limit = model.limit(pool)
        if limit is None:
            continue
        found = search_pool(model, units, limit, nodes, options.seed, False)
        assert found is not None
        if found.verdict is Verdict.FITS:
            continue
        certain = found.verdict is Verdict.DOES_NOT_FIT
        failed[pool] = (_shrink(model, units, limit, nodes // 10, options.seed) if certain else units, certain)
    return failed


def _shrink(model: Model, units: list[int], limit: int, nodes: int, seed: int) -> list[int]:
    """A subset that is still proved not to fit; without any single unit of it the proof fails."""
    kept = list(units)
    for unit in sorted(units, key=lambda u: (model.units[u].size, u)):
        fewer = [u for u in kept if u != unit]
        found = search_pool(model, fewer, limit, nodes, seed, False)
        if fewer and found is not None and found.verdict is Verdict.DOES_NOT_FIT:
            kept = fewer
    return kept
