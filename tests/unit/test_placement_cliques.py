"""Bounds by cliques: lifetimes alone give the same bound as the listed pairs that they stand for."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tilewright.placement import Item, PoolLimit
from tilewright.placement.algorithms import find_algorithm
from tilewright.placement.cliques import clique_bound
from tilewright.placement.model import Model, build_model
from tilewright.placement.options import Options

POOLS = [PoolLimit("pool", None, align_bytes=16)]


def buffers(random: Random, count: int) -> list[Item]:
    lives = [(begin, begin + random.randrange(1, 9)) for begin in (random.randrange(20) for _ in range(count))]
    return [
        Item(f"b{n}", random.randrange(1, 99), random.choice([1, 4, 16]), ("pool",), lifetime=life, by_lifetime=True)
        for n, life in enumerate(lives)
    ]


def listed(items: list[Item]) -> list[Item]:
    """The same problem with every conflict listed as a pair."""
    found = []
    for item in items:
        others = [other for other in items if other is not item and _meet(item, other)]
        found.append(replace(item, by_lifetime=False, conflicts=frozenset(other.name for other in others)))
    return found


def _meet(one: Item, other: Item) -> bool:
    assert one.lifetime is not None
    assert other.lifetime is not None
    return one.lifetime[0] < other.lifetime[1] and other.lifetime[0] < one.lifetime[1]


def bound(model: Model) -> int:
    return clique_bound(model, range(len(model.units)))


def test_lifetimes_and_listed_pairs_give_the_same_bound() -> None:
    random = Random(5)
    for _ in range(60):
        items = buffers(random, random.randrange(1, 30))
        assert bound(build_model(items, POOLS)) == bound(build_model(listed(items), POOLS))


def test_neighbours_are_those_that_live_at_one_time() -> None:
    random = Random(6)
    for _ in range(40):
        items = buffers(random, random.randrange(1, 40))
        by_life, by_pairs = build_model(items, POOLS), build_model(listed(items), POOLS)
        for unit in range(len(items)):
            assert by_life.zones[unit] == by_pairs.zones[unit]


def test_hill_climbing_ends_without_nodes() -> None:
    model = build_model(buffers(Random(7), 400), POOLS)
    climbed, first = (find_algorithm("hill_climb")(model, Options(nodes, seed=0)).spots for nodes in (10_000, 0))
    peaks = [
        max(spot[1] + unit.size for unit, spot in zip(model.units, spots, strict=True) if spot)
        for spots in (climbed, first)
    ]
    assert bound(model) <= peaks[0] < peaks[1]
