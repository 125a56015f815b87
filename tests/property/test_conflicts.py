"""Conflicts that follow from lifetimes against the same conflicts as pairs: the same problem, the same placements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.with_extension import needs_extension
from tilewright.base.errors import TilewrightError
from tilewright.placement import Item, PoolLimit, Trail, model, place
from tilewright.placement.greedy import place_one_by_one
from tilewright.placement.native import extension, placed_in_first_pools
from tilewright.placement.verify import verify_spots

EFFORT = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
POOLS = [PoolLimit("near", 60, 4), PoolLimit("far", None, 4)]
ALGORITHMS = ("exact", "greedy_by_size", "greedy_by_conflicts", "hill_climb")


@st.composite
def problems(draw: st.DrawFn) -> list[Item]:
    """Items with lifetimes, some empty; views at distances, items that trail others, one fixed, two pools."""
    count = draw(st.integers(1, 9))
    items: list[Item] = []
    for number in range(count):
        begin = draw(st.integers(0, 12))
        pools = draw(st.sampled_from([("far",), ("far",), ("near", "far")]))
        size = draw(st.integers(0, 9))
        lifetime = (begin, begin + draw(st.integers(0, 6)))
        item = Item(f"i{number}", size, 1, pools, lifetime=lifetime, by_lifetime=True)
        if items and draw(st.integers(0, 4)) == 0:
            whole = draw(st.sampled_from(items))
            item = replace(item, at_offset=(whole.name, draw(st.integers(-3, 6))), pools=whole.pools)
        elif items and draw(st.integers(0, 4)) == 0:
            item = replace(
                item, trails=(Trail(draw(st.sampled_from(items)).name, 0, draw(st.sampled_from([0, None]))),)
            )
        items.append(item)
    if draw(st.booleans()):
        items[0] = replace(items[0], fixed_offset=0)
    return items


def listed(items: Sequence[Item]) -> list[Item]:
    """The same problem with a listed conflict for every two items that are alive at one time."""

    def meet(one: Item, other: Item) -> bool:
        assert one.lifetime is not None
        assert other.lifetime is not None
        (begin, end), (first, last) = one.lifetime, other.lifetime
        return begin < end and first < last and begin < last and first < end

    return [
        replace(
            item,
            by_lifetime=False,
            conflicts=frozenset(other.name for other in items if other is not item and meet(item, other)),
        )
        for item in items
    ]


def neighbours(items: Sequence[Item]) -> list[dict[int, tuple[tuple[int, int], ...]]]:
    """The zones of all pairs that share a pool; asserts that both ways to ask for zones agree."""
    found = model.build_model(items, POOLS)
    for u, around in enumerate(found.zones):
        assert all(found.zones.between(u, v) == around.get(v, ()) for v in range(len(found.units)) if v != u)
    pools = [set(unit.pools) for unit in found.units]
    return [{v: zones for v, zones in found.zones[u].items() if pools[u] & pools[v]} for u in range(len(pools))]


def outcome(items: Sequence[Item], algorithm: str) -> object:
    try:
        return place(items, POOLS, algorithm, "fast")
    except TilewrightError as error:
        return str(error)


@EFFORT
@given(problems())
def test_lifetimes_say_what_pairs_say(items: list[Item]) -> None:
    try:
        expected = neighbours(listed(items))
    except TilewrightError:
        with pytest.raises(TilewrightError):
            neighbours(items)
        return
    assert neighbours(items) == expected


@EFFORT
@given(problems(), st.sampled_from(ALGORITHMS))
def test_placements_are_the_same(items: list[Item], algorithm: str) -> None:
    assert outcome(items, algorithm) == outcome(listed(items), algorithm)


@needs_extension
@pytest.mark.parametrize("align_bytes", [1, 4])
def test_longer_searches_are_the_same(align_bytes: int) -> None:
    """Lifetimes give the search cliques in time, which pairs do not: it meets the same nodes in either form."""
    random, better = Random(5), 0
    for _ in range(6):
        items = []
        for number in range(120):
            begin = random.randrange(120)
            life = (begin, begin + random.randint(1, 30))
            size = random.randint(100, 200)
            items.append(Item(f"i{number}", size, align_bytes, ("far",), lifetime=life, by_lifetime=True))
        places = [outcome(form, "exact") for form in (items, listed(items))]
        assert places[0] == places[1]
        better += place(items, POOLS, "exact").used != place(items, POOLS, "greedy_by_size").used
    assert better > 0


@needs_extension
def test_units_are_placed_in_order_as_one_by_one() -> None:
    """The C++ extension and Python, above neighbours and at the lowest offset: the same spots, where both answer."""
    placed = 0

    @EFFORT
    @given(problems(), st.booleans(), st.booleans(), st.randoms(use_true_random=False))
    def compare(items: list[Item], by_pairs: bool, above: bool, random: Random) -> None:
        nonlocal placed
        try:
            problem = model.build_model(listed(items) if by_pairs else items, POOLS)
        except TilewrightError:
            return
        assert problem.zones.degrees() == [len(neighbours) for neighbours in problem.zones]
        order = random.sample(problem.units, len(problem.units))
        found = placed_in_first_pools(problem, [unit.index for unit in order], above=above)
        if found is None:
            return
        placed += len(found) > 2
        assert found == place_one_by_one(problem, order, above=above)

    compare()
    assert placed > 40


@needs_extension
def test_an_order_that_lacks_a_unit_is_refused() -> None:
    native = extension()
    assert native is not None
    with pytest.raises(ValueError, match="each unit once"):
        native.place_alive([4, 4], [1, 1], [0, 0], [0, 0], [1, 1], [], [], [], [0, 0], False)


def overlaps(problem: model.Model, spots: Sequence[tuple[int, int]]) -> bool:
    """Whether two units of one pool are at a distance that a zone forbids, pair by pair."""
    return any(
        spots[u][0] == spots[v][0] and any(low < spots[u][1] - spots[v][1] < high for low, high in zones)
        for u, around in enumerate(problem.zones)
        for v, zones in around.items()
    )


@EFFORT
@given(problems(), st.data())
def test_overlaps_are_found_whichever_way_the_sweep_goes(items: list[Item], data: st.DataObject) -> None:
    try:
        problem = model.build_model(
            [replace(item, fixed_offset=None, pools=("far",)) for item in items], [PoolLimit("far", None, 4)]
        )
    except TilewrightError:
        return
    step = data.draw(st.sampled_from([0, 2, 9]))
    spots = [(0, number * step + data.draw(st.integers(0, 3))) for number in range(len(problem.units))]
    if not overlaps(problem, spots):
        verify_spots(problem, spots, "drawn")
        return
    with pytest.raises(TilewrightError, match="overlaps"):
        verify_spots(problem, spots, "drawn")


def test_a_view_that_is_taken_for_its_whole_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [
        Item("whole", 8, 1, ("far",), lifetime=(0, 2), by_lifetime=True),
        Item("part", 4, 1, ("far",), at_offset=("whole", 4), lifetime=(2, 6), by_lifetime=True),
        Item("other", 4, 1, ("far",), lifetime=(3, 5), by_lifetime=True),
    ]
    assert place(items, POOLS).used["far"] == 8
    assert neighbours(items) == neighbours(listed(items))
    monkeypatch.setattr(model, "_life", lambda unit: unit.lifetime)
    assert neighbours(items) != neighbours(listed(items))


def test_a_pool_of_many_buffers_needs_no_pairs() -> None:
    """Five thousand constants would be twelve million pairs."""
    items = [Item(f"c{n}", 4 + n % 7, 4, ("far",), lifetime=(0, 9), by_lifetime=True) for n in range(5000)]
    found = place(items, POOLS)
    assert found.optimal["far"]
    assert not any(model.build_model(items, POOLS).zones.listed)
