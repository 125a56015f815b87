"""Boxes of calls against iteration spaces, and arithmetic on arrays against that on single blocks."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from support.plans import with_nest
from tilewright.check.calls import Calls, touched
from tilewright.check.coverage import check_coverage
from tilewright.check.expand import Digit, Site, rectangle_of
from tilewright.check.rules import Log, Rule
from tilewright.plan import AxisRange, Dimension, Iteration, Kernel

Box = Mapping[str, tuple[int, int]]
SEQUENTIAL = Iteration.SEQUENTIAL


def rules(dimensions: Sequence[Dimension], boxes: Sequence[Box]) -> list[Rule]:
    """What the checker says of one kernel step that is called on these boxes, in this order."""
    kernel = with_nest(Kernel("k", "tw_k", (), (), (), (), ()), *dimensions)
    carried = (item.name for item in dimensions if item.iteration is SEQUENTIAL)
    kernel = replace(kernel, reduction=tuple(carried))
    site = Site(kernel, 0, "layer", 0, frozenset(name for box in boxes for name in box), len(boxes), "")
    digits = [{name: Digit(lower, upper, 0, 2) for name, (lower, upper) in box.items()} for box in boxes]
    log = Log()
    calls = Calls(site, kernel)
    for item in digits:
        calls.add(item)
    check_coverage([calls], log)
    return [violation.rule for violation in log.violations]


def rows(*bounds: tuple[int, int]) -> list[Box]:
    return [{"r": pair} for pair in bounds]


R = (Dimension("r", 10),)
BRICKS = [{"r": (0, 4), "c": (0, 6)}, {"r": (4, 10), "c": (0, 2)}, {"r": (4, 10), "c": (2, 6)}]
BOTH = (*R, Dimension("c", 6))


@pytest.mark.parametrize(
    ("dimensions", "boxes", "expected"),
    [
        (R, rows((0, 4), (4, 8), (8, 10)), []),
        (R, rows((8, 10), (0, 4), (4, 8)), []),
        (R, rows((0, 4), (4, 8)), [Rule.COVERAGE]),
        (R, rows((0, 4), (5, 8), (8, 10)), [Rule.COVERAGE]),
        (R, rows((0, 4), (3, 8), (8, 10)), [Rule.COVERAGE]),
        (R, rows((0, 4), (4, 10), (0, 4)), [Rule.COVERAGE]),
        (R, rows((0, 4), (4, 12)), [Rule.BOX]),
        (R, rows((0, 4), (4, 4), (4, 10)), [Rule.BOX]),
        ((Dimension("r", 10, multiple=4),), rows((0, 4), (4, 8), (8, 10)), []),
        ((Dimension("r", 10, multiple=4),), rows((0, 6), (6, 10)), [Rule.BOX]),
        ((Dimension("r", 10, Iteration.WHOLE),), rows((0, 4), (4, 10)), [Rule.BOX]),
        ((Dimension("r", 10, SEQUENTIAL),), rows((0, 4), (4, 10)), []),
        ((Dimension("r", 10, SEQUENTIAL),), rows((4, 10), (0, 4)), [Rule.COVERAGE]),
        (BOTH, BRICKS, []),
        (BOTH, BRICKS[:2], [Rule.COVERAGE]),
        (BOTH, [*BRICKS, {"r": (5, 6), "c": (1, 3)}], [Rule.COVERAGE]),
    ],
)
def test_boxes_cover_each_point_once(
    dimensions: Sequence[Dimension], boxes: Sequence[Box], expected: Sequence[Rule]
) -> None:
    assert rules(dimensions, boxes) == expected


def test_a_dimension_without_an_index_is_whole() -> None:
    assert rules(BOTH, rows((0, 5), (5, 10))) == []


def test_tiles_of_a_sequential_dimension_follow_each_other() -> None:
    dimensions = (Dimension("r", 10, SEQUENTIAL), Dimension("c", 6))
    turns = [{"c": c, "r": r} for c in ((0, 3), (3, 6)) for r in ((0, 5), (5, 10))]
    assert rules(dimensions, turns) == []
    assert rules(dimensions, turns[::-1]) == [Rule.COVERAGE]
    taking_turns = [{"r": r, "c": c} for r in ((0, 5), (5, 10)) for c in ((0, 3), (3, 6))]
    assert rules(dimensions, taking_turns) == [Rule.BOX]


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ([((0, 1), (0, 3)), ((0, 1), (3, 6)), ((1, 2), (0, 3)), ((1, 2), (3, 6))], []),
        ([((0, 2), (0, 6))], []),
        ([((0, 1), (0, 6)), ((1, 2), (0, 6))], []),
        ([((0, 2), (0, 3)), ((0, 2), (3, 6))], [Rule.COVERAGE]),
        ([((0, 1), (0, 3)), ((1, 2), (0, 3)), ((0, 1), (3, 6)), ((1, 2), (3, 6))], [Rule.COVERAGE]),
    ],
)
def test_points_of_sequential_dimensions_come_in_lexicographic_order(
    bounds: Sequence[tuple[tuple[int, int], tuple[int, int]]], expected: Sequence[Rule]
) -> None:
    dimensions = (Dimension("s", 2, SEQUENTIAL), Dimension("h", 6, SEQUENTIAL))
    assert rules(dimensions, [{"s": s, "h": h} for s, h in bounds]) == expected


def test_arrays_and_single_blocks_touch_the_same() -> None:
    chance = random.Random(4)
    compared = 0
    for _ in range(300):
        terms = tuple((name, chance.randint(-3, 3)) for name in ("a", "b"))
        axis = AxisRange(
            terms, chance.randint(-9, 9), chance.randint(-9, 9), chance.randint(1, 4), chance.randint(0, 12)
        )
        blocks = [
            {name: Digit(low := chance.randint(0, 6), low + chance.randint(1, 4), 0, 1) for name in "ab"}
            for _ in range(3)
        ]
        bounds = {
            name: (np.array([block[name].lower for block in blocks]), np.array([block[name].upper for block in blocks]))
            for name in "ab"
        }
        begin, end = touched(axis, bounds)
        assert [(int(first), int(last)) for first, last in zip(begin, end, strict=True)] == [
            rectangle_of((axis,), block)[0] for block in blocks
        ]
        compared += 1
    assert compared == 300
