"""Placement on random problems: every algorithm against a byte map, the exact search against CP-SAT."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.placements import is_sound
from support.with_extension import needs_extension
from tilewright.base.errors import TilewrightError
from tilewright.placement import DoesNotFit, Item, PoolLimit, Result, Trail, place
from tilewright.placement.algorithms import ALGORITHMS
from tilewright.placement.model import build_model
from tilewright.placement.native import Verdict, extension, search_pool
from tilewright.placement.options import Options
from tilewright.placement.oracle import cp_sat
from tilewright.placement.spots import Spot
from tilewright.placement.verify import verify_spots

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def problems(draw: st.DrawFn, *, pools: int = 3, relations: bool = True) -> tuple[list[Item], list[PoolLimit]]:
    """Random conflict graphs over bounded and unbounded pools, with views, trails and fixed offsets."""
    names = [f"b{i}" for i in range(draw(st.integers(1, 7)))]
    limits = [
        PoolLimit(
            f"p{i}", draw(st.none() | st.integers(0, 40)), 4, draw(st.sampled_from([1, 8])), draw(st.integers(0, 9))
        )
        for i in range(pools)
    ]
    items: list[Item] = []
    for i, name in enumerate(names):
        conflicts = draw(st.frozensets(st.sampled_from(names[:i]), max_size=i)) if i else frozenset()
        candidates = draw(st.permutations([limit.name for limit in limits]))[: draw(st.integers(1, pools))]
        item = Item(
            name,
            draw(st.integers(0, 16)),
            draw(st.sampled_from([1, 2, 4])),
            tuple(candidates),
            conflicts,
            accesses=draw(st.integers(0, 20)),
        )
        kind = (
            draw(st.sampled_from(["plain", "plain", "plain", "view", "trail", "fixed"])) if relations and i else "plain"
        )
        if kind == "view":
            item = replace(item, align_bytes=1, pools=items[0].pools, at_offset=("b0", draw(st.integers(0, 5))))
        elif kind == "trail" and conflicts:
            least = draw(st.integers(-4, 6))
            most = draw(st.none() | st.integers(least, 8))
            others = draw(st.lists(st.sampled_from(sorted(conflicts)), min_size=1, max_size=2, unique=True))
            item = replace(item, trails=tuple(Trail(other, least, most) for other in others))
        elif kind == "fixed":
            item = replace(item, align_bytes=1, fixed_offset=draw(st.integers(0, 12)))
        items.append(item)
    return items, limits


def attempt(items: list[Item], pools: list[PoolLimit], algorithm: str) -> Result | None:
    """A result, or None for a problem that does not fit or contradicts itself."""
    try:
        return place(items, pools, algorithm, "fast")
    except TilewrightError as error:
        if error.code in ("pool-overflow", "fixed-offset", "pool-alignment", "placement-problem"):
            return None
        raise


def cost_of(items: list[Item], pools: list[PoolLimit], result: Result) -> int:
    per_byte = {pool.name: pool.access_cost for pool in pools}
    return sum(item.accesses * per_byte[result.placements[item.name][0]] for item in items)


def test_every_algorithm_is_sound() -> None:
    placed = compared = 0

    @QUICK
    @given(problems())
    def draw(problem: tuple[list[Item], list[PoolLimit]]) -> None:
        nonlocal placed, compared
        results = sound_results(*problem)
        placed += len(results)
        if extension() is not None and results:
            compared += 1
            costs = {name: cost_of(*problem, result) for name, result in results.items()}
            assert costs["exact"] == min(costs.values())

    draw()
    assert placed > 0
    assert compared > 0 or extension() is None


def sound_results(items: list[Item], pools: list[PoolLimit]) -> dict[str, Result]:
    """What each algorithm that finds a place answers, after a look at every answer."""
    answers = {name: attempt(items, pools, name) for name in ALGORITHMS}
    results = {name: result for name, result in answers.items() if result is not None}
    for result in results.values():
        assert is_sound(items, pools, result.placements)
        for pool in pools:
            assert result.lower_bound[pool.name] <= result.used[pool.name]
            assert result.optimal[pool.name] == (result.lower_bound[pool.name] == result.used[pool.name])
    return results


@needs_extension
@QUICK
@given(problems(pools=1))
def test_exact_is_never_above_the_others(problem: tuple[list[Item], list[PoolLimit]]) -> None:
    items, _ = problem
    pools = [PoolLimit("p0", None, 4)]
    results = [result for name in ALGORITHMS if (result := attempt(items, pools, name)) is not None]
    exact = attempt(items, pools, "exact")
    if exact is not None:
        assert all(exact.used["p0"] <= result.used["p0"] for result in results)
        if not any(item.at_offset or item.fixed_offset or item.trails for item in items):
            assert exact.used["p0"] <= sum(item.size_bytes + 3 for item in items)


@needs_extension
def test_verdicts_agree_with_cp_sat() -> None:
    """Limits at the optimum and next to it, so that both verdicts occur."""
    verdicts: set[Verdict] = set()

    @QUICK
    @given(problems(pools=1), st.integers(-3, 1))
    def draw(problem: tuple[list[Item], list[PoolLimit]], slack: int) -> None:
        verdicts.update(verdict_compared(problem[0], slack))

    draw()
    assert {Verdict.FITS, Verdict.DOES_NOT_FIT} <= verdicts


def verdict_compared(items: list[Item], slack: int) -> set[Verdict]:
    """The verdict of the search, after a look at it; none for a problem that CP-SAT does not solve."""
    try:
        model = build_model(items, [PoolLimit("p0", None, 4)])
    except TilewrightError:
        return set()
    spots = cp_sat(model, Options(1_000_000, 0)).spots
    if None in spots:
        return set()
    best = max(spot[1] + unit.size for spot, unit in zip(spots, model.units, strict=True) if spot is not None)
    units = range(len(model.units))
    smallest = search_pool(model, units, None, 100_000, 0, minimise=True)
    assert smallest is not None
    assert smallest.peak == best
    assert smallest.bound <= best
    limited = search_pool(model, units, max(best + slack, 0), 100_000, 0, minimise=False)
    assert limited is not None
    fits = max(best + slack, 0) >= best
    assert limited.verdict in ((Verdict.FITS,) if fits else (Verdict.DOES_NOT_FIT, Verdict.BUDGET))
    return {limited.verdict}


def test_verifier_agrees_with_the_byte_map_on_spoilt_plans() -> None:
    seen: set[bool] = set()

    @QUICK
    @given(problems(), st.data())
    def spoil(problem: tuple[list[Item], list[PoolLimit]], data: st.DataObject) -> None:
        items, pools = problem
        result = attempt(items, pools, "greedy_by_size")
        if result is None:
            return
        model = build_model(items, pools)
        number = {pool.name: i for i, pool in enumerate(pools)}
        spots: list[Spot | None] = []
        for unit in model.units:
            pool, offset = result.placements[unit.members[0][0].name]
            spots.append((number[pool], offset - unit.members[0][1]))
        moved = data.draw(st.sampled_from(model.units))
        home, offset = spots[moved.index] or (0, 0)
        home = data.draw(st.sampled_from([home, (home + 1) % len(pools)]))
        spots[moved.index] = (home, offset + data.draw(st.integers(-4, 4)))
        placements = {
            item.name: (pools[where[0]].name, where[1] + distance)
            for unit, where in zip(model.units, spots, strict=True)
            if where is not None
            for item, distance in unit.members
        }
        sound = is_sound(items, pools, placements)
        seen.add(sound)
        assert sound == _verified(model, spots)

    spoil()
    assert seen == {True, False}


def test_an_offset_that_is_given_means_the_first_candidate() -> None:
    items = [Item("b0", 8, 1, ("p0", "p1"), fixed_offset=4)]
    pools = [PoolLimit("p0", None, 4), PoolLimit("p1", None, 4)]
    model = build_model(items, pools)
    for number, pool in enumerate(pools):
        assert is_sound(items, pools, {"b0": (pool.name, 4)}) is (number == 0)
        assert _verified(model, [(number, 4)]) is (number == 0)


def _verified(model: object, spots: list[Spot | None]) -> bool:
    try:
        verify_spots(model, spots, "spoilt")  # type: ignore[arg-type]
    except TilewrightError:
        return False
    return True


@needs_extension
def test_the_size_that_an_error_names_works() -> None:
    tried = 0

    # Others that are drawn may all fit.
    @settings(QUICK, derandomize=True)
    @given(problems())
    def draw(problem: tuple[list[Item], list[PoolLimit]]) -> None:
        nonlocal tried
        tried += size_tried(*problem)

    draw()
    assert tried > 0


def size_tried(items: list[Item], pools: list[PoolLimit]) -> bool:
    """Whether the problem did not fit, after a try with the sizes that the error names."""
    try:
        place(items, pools, "exact", "fast")
    except DoesNotFit as error:
        found = error.diagnosis
        sizes = dict(found.together) or {found.pool: found.needed}
        enough = [replace(pool, size_bytes=sizes.get(pool.name, pool.size_bytes)) for pool in pools]
        assert place(items, enough, "exact", "fast").used[found.pool] <= -(-found.needed // 8) * 8
        return True
    except TilewrightError:
        return False
    return False
