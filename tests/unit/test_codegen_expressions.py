"""Tile bounds in C equal the interval arithmetic that they come from."""

from __future__ import annotations

from itertools import product
from math import fmod, prod

from hypothesis import assume, given
from hypothesis import strategies as st
from support.c_expressions import declared, evaluated
from tilewright.codegen.expressions import axis_bounds, condition, index_lines, not_kept_lower, slot, tile_number
from tilewright.operators.nest import clipped, index_bounds
from tilewright.plan import AxisRange, Index, Loop, Runs


@st.composite
def _ranges(draw: st.DrawFn) -> tuple[tuple[Index, ...], AxisRange]:
    indices = tuple(
        Index(f"d{n}", extent, draw(st.integers(1, extent)))
        for n, extent in enumerate(draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    )
    terms = tuple((index.name, draw(st.sampled_from([-2, -1, 1, 2, 3]))) for index in indices if draw(st.booleans()))
    first = draw(st.integers(-6, 6))
    axis = AxisRange(
        terms, first, first + draw(st.integers(0, 5)), draw(st.sampled_from([1, 1, 2, 4])), draw(st.integers(1, 20))
    )
    return indices, axis


@given(_ranges())
def test_bounds_match_the_nest(case: tuple[tuple[Index, ...], AxisRange]) -> None:
    indices, axis = case
    bounds = axis_bounds(axis, {index.name: index for index in indices})
    tiles = prod(index.count for index in indices)
    every = Runs(0, 1, tiles, tuple(index.name for index in indices))
    lines = index_lines(Loop(indices, ()), every, {name for name, _ in axis.terms})
    for tile in range(tiles):
        values = declared(lines, tile)
        for name, (lower, upper) in index_bounds(indices, tile).items():
            values.setdefault(f"{name}_lower", lower)
            values.setdefault(f"{name}_upper", upper)
        lower, upper = evaluated(bounds.lower, values), evaluated(bounds.upper, values)
        expected = clipped(axis, index_bounds(indices, tile))
        assert max(upper - lower, 0) == expected[1] - expected[0]
        assert expected[0] == expected[1] or lower == expected[0]


@given(_ranges())
def test_what_a_ring_lacks_is_behind_the_tile_before(case: tuple[tuple[Index, ...], AxisRange]) -> None:
    indices, axis = case
    steps = {index.name: index for index in indices}
    kept = next((name for name, stride in axis.terms if stride > 0 and steps[name].count > 1), None)
    assume(kept is not None)
    assert kept is not None
    text = not_kept_lower(axis, kept, steps)
    for tile in range(prod(index.count for index in indices)):
        box = dict(index_bounds(indices, tile))
        begin, end = clipped(axis, box)
        values = {
            f"{name}_{side}": value
            for name, both in box.items()
            for side, value in zip(("lower", "upper"), both, strict=True)
        }
        before = {**box, kept: (box[kept][0] - steps[kept].step, box[kept][0])}
        moved = box[kept][0] > 0
        expected = min(max(begin, clipped(axis, before)[1]), end) if moved else begin
        found = evaluated(text, values)
        assert max(end - found, 0) == end - expected
        assert expected == end or found == expected


def test_guards_hold_exactly_when_a_step_has_a_block() -> None:
    for first, every, count in product(range(-4, 9), (1, 2, 3, 6), (1, 2, 3, 6)):
        runs = Runs(first, every, count)
        iterations = range(min(first, -2), max(runs.iterations[-1], 7) + 1)
        text = condition(runs, iterations)
        found = [t for t in iterations if truth(text, t)]
        assert found == list(runs.iterations), (runs, text)


def test_slots_and_indices_follow_the_number_of_the_block() -> None:
    loop = Loop((Index("a", 8, 2), Index("b", 9, 3)), ())
    for first, every, count in product(range(-4, 9), (1, 2, 3, 6), (1, 2, 6, 12)):
        runs = Runs(first, every, count, ("a", "b"))
        lines = index_lines(loop, runs, {"a", "b"})
        for block, t in enumerate(runs.iterations):
            number = eval(tile_number(runs), {"t": t})
            values = declared(lines, number)
            assert (values["a_lower"], values["b_lower"]) == (2 * (block // 3), 3 * (block % 3))
            assert (values["a_upper"], values["b_upper"]) == (values["a_lower"] + 2, values["b_lower"] + 3)
            for period, copies in ((1, 2), (2, 2), (4, 3)):
                text = slot(runs, period, copies).replace("/", "//")
                assert eval(text, {"t": t}) == block // period % copies


def truth(text: str, t: int) -> bool:
    """The value of a condition in C, whose % keeps the sign of the dividend."""

    class Number(int):
        def __mod__(self, divisor: int) -> int:
            return int(fmod(self, divisor))

        def __add__(self, other: int) -> Number:
            return Number(int(self) + other)

        def __sub__(self, other: int) -> Number:
            return Number(int(self) - other)

    return bool(eval(text.replace("&&", "and") or "True", {"t": Number(t)}))


def test_slots_rotate_with_the_period() -> None:
    assert slot(Runs(), 1, 1) == ""
    assert slot(Runs(-1, 1, 8), 1, 2) == "(t + 1) % 2"
    assert slot(Runs(0, 1, 8), 4, 2) == "t / 4 % 2"
    assert slot(Runs(3, 4, 2), 1, 2) == "t / 4 % 2"
