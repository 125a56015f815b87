"""The entry of this package: check the problem, run an algorithm, verify and describe its placement."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.placement.algorithms import find_algorithm
from tilewright.placement.cliques import clique_bound
from tilewright.placement.diagnosis import no_fit
from tilewright.placement.exact_search import exact, improved
from tilewright.placement.items import Item, PoolLimit, Result
from tilewright.placement.model import Model, build_model
from tilewright.placement.options import Options
from tilewright.placement.spots import Layout, Spot
from tilewright.placement.trails import settled, spread
from tilewright.placement.verify import verify_spots


def place(
    items: Sequence[Item],
    pools: Sequence[PoolLimit],
    algorithm: str = "exact",
    effort: str = "normal",
    seed: int = 0,
) -> Result:
    """Give every item a pool and an offset.

    Args:
        items: the buffers to place; their order decides only between equally good placements.
        pools: the pools to place them in; sizes in bytes, None for unlimited.
        algorithm: a name of ``algorithms.ALGORITHMS`` or ``package.module:function``.
        effort: fast, normal or thorough: budgets in search nodes, never in seconds.
        seed: for the algorithms that draw random numbers.

    Raises:
        DoesNotFit: with a ``Diagnosis``, when the algorithm finds no placement.
        TilewrightError: on a contradicting problem, an unknown algorithm, or an algorithm's wrong placement.
    """
    return place_with(items, pools, algorithm, Options.of(effort, seed))


def place_with(items: Sequence[Item], pools: Sequence[PoolLimit], algorithm: str, options: Options) -> Result:
    """``place`` with ``options`` in the place of an effort and a seed; raises the same errors."""
    model = build_model(items, pools)
    chosen = find_algorithm(algorithm)
    close = settled(items, model)
    found = outcome = chosen(close, options)
    if close is not model:
        outcome = spread(found, close, model)
        outcome = improved(model, outcome, options) if chosen is exact else outcome
    if any(spot is None for spot in outcome.spots):
        raise no_fit(close, found, chosen, options)
    verify_spots(model, outcome.spots, algorithm)
    return _result(model, outcome.spots, outcome.bounds)


def _result(model: Model, spots: Sequence[Spot | None], bounds: dict[int, int]) -> Result:
    layout = Layout(model)
    layout.spots = list(spots)
    placements: dict[str, tuple[str, int]] = {}
    inside: list[list[int]] = [[] for _ in model.pools]
    for unit, spot in zip(model.units, spots, strict=True):
        assert spot is not None
        inside[spot[0]].append(unit.index)
        for item, distance in unit.members:
            placements[item.name] = (model.pools[spot[0]].name, spot[1] + distance)
    used: dict[str, int] = {}
    lower: dict[str, int] = {}
    for number, (pool, peak) in enumerate(zip(model.pools, layout.peaks(), strict=True)):
        bound = bounds[number] if number in bounds else clique_bound(model, inside[number])
        used[pool.name] = _round_up(peak, pool.granule_bytes)
        lower[pool.name] = _round_up(bound, pool.granule_bytes)
    optimal = {name: used[name] == lower[name] for name in used}
    return Result(dict(sorted(placements.items())), used, lower, optimal)


def _round_up(value: int, granule: int) -> int:
    return -(-value // granule) * granule
