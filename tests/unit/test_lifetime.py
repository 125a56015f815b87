"""Lifetimes from marks, and pairs from lifetimes, against a brute-force count of ticks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import plans
from tilewright.plan import Begin, End, Index, Layer, Loop, Step, Wait
from tilewright.plan.lifetimes import disjoint_pairs, layer_at, lifetimes, tick_count

NOTHING = Wait("t")


def loop(*body: Step) -> Loop:
    return Loop((Index("i", 4, 1),), body)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ((Begin("a"), NOTHING, End("a")), (0, 2)),
        ((Begin("a"), loop(NOTHING, NOTHING), End("a")), (0, 4)),
        # Both marks in one body: dead between two iterations.
        ((NOTHING, loop(Begin("a"), NOTHING, End("a"), NOTHING)), (2, 4)),
        # One mark in the loop: alive throughout the loop, which takes ticks [1, 4).
        ((Begin("a"), loop(NOTHING, End("a"))), (0, 4)),
        ((NOTHING, loop(Begin("a"), NOTHING), NOTHING, End("a")), (1, 5)),
        # The inner loop is left by the mark, the outer is not.
        ((NOTHING, loop(loop(Begin("a")), NOTHING, End("a"))), (2, 5)),
        ((NOTHING, Begin("a"), NOTHING), (1, 3)),
        ((NOTHING, End("a"), NOTHING), (0, 1)),
        ((Begin("a"), End("a"), NOTHING, Begin("a"), End("a")), (0, 4)),
        ((Begin("a"), Layer("l", (), (NOTHING, End("a")))), (0, 3)),
    ],
)
def test_marks_give_half_open_ticks(program: tuple[Step, ...], expected: tuple[int, int]) -> None:
    assert lifetimes(program) == {"a": expected}


def test_hand_made_plan() -> None:
    program = plans.two_layers().program
    alive = lifetimes(program)
    assert alive["m"] == (0, tick_count(program) - 1)
    assert alive["conv.x"][1] <= alive["relu.x"][0]
    pairs = disjoint_pairs(alive)
    assert "relu.x" not in pairs["conv.x"]
    assert {"m", "v", "conv.w", "conv.y", "conv.scratch"} == pairs["conv.x"]


def test_layer_at_names_the_layer_whose_buffers_begin() -> None:
    program = (Begin("a"), Layer("first", (), (NOTHING,)), End("a"), Layer("second", (), (loop(NOTHING),)), NOTHING)
    assert [layer_at(program, tick) for tick in range(8)] == [*["first"] * 3, *["second"] * 4, None]


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(st.integers(0, 9), st.integers(0, 9))))
def test_pairs_are_those_that_share_a_tick(alive: dict[str, tuple[int, int]]) -> None:
    pairs = disjoint_pairs(alive)
    assert pairs.keys() == alive.keys()
    for left, right in ((left, right) for left in alive for right in alive if left != right):
        together = bool(set(range(*alive[left])) & set(range(*alive[right])))
        assert (right in pairs[left]) == together
        assert (left in pairs[right]) == together
