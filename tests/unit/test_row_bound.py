"""The fewest bytes in which rows can be computed: minimum cuts against all sets of rows, one by one."""

from __future__ import annotations

import random
import sys
from itertools import combinations
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from row_bound import Row, Rows, bound, fewest_bytes_before


def network(seed: int) -> Rows:
    """Rows of three tensors behind an input of three rows; each needs one to three rows of those before."""
    chance = random.Random(seed)
    size: dict[Row, int] = {("x", number): chance.choice([0, 4]) for number in range(3)}
    needs: dict[Row, frozenset[Row]] = {}
    for name in ("a", "b", "c"):
        before = list(size)
        for number in range(chance.randint(1, 3)):
            size[name, number] = chance.randint(1, 9)
            needs[name, number] = frozenset(chance.sample(before, chance.randint(1, 3)))
    return Rows(size, needs, frozenset(row for row in size if row[0] == "c"))


def alive(rows: Rows, computed: set[Row]) -> int:
    """Bytes of computed rows that some row still needs, or that stay."""
    missing = [row for row in rows.needs if row not in computed]
    needed = {other for row in missing for other in rows.needs[row]} | rows.kept
    return sum(rows.size[row] for row in computed & needed)


def tried_one_by_one(rows: Rows, tensor: str) -> int:
    """The fewest bytes alive of all sets of rows with which a row of the tensor could be the first to be computed."""
    given = {row for row in rows.size if row not in rows.needs}
    others = [row for row in rows.needs if row[0] != tensor]
    sets = ({*given, *some} for count in range(len(others) + 1) for some in combinations(others, count))
    possible = (one for one in sets if all(rows.needs[row] <= one for row in one - given))
    own = [rows.needs[row] for row in rows.needs if row[0] == tensor]
    return min(alive(rows, one) for one in possible if any(needed <= one for needed in own))


@pytest.mark.parametrize("seed", range(12))
def test_the_cut_is_the_least_of_all_sets(seed: int) -> None:
    rows = network(seed)
    found = {name: fewest_bytes_before(rows, name) for name in "abc"}
    assert found == {name: tried_one_by_one(rows, name) for name in "abc"}
    assert bound(rows)[0] == max(found.values())


def test_rows_that_stay_count() -> None:
    rows = Rows(
        {("x", 0): 1, ("a", 0): 7, ("b", 0): 5}, {("a", 0): frozenset([("x", 0)]), ("b", 0): frozenset([("x", 0)])}
    )
    assert fewest_bytes_before(rows, "b") == 1
    assert fewest_bytes_before(Rows(rows.size, rows.needs, frozenset([("a", 0)])), "b") == 1
    both = {**rows.needs, ("b", 0): frozenset([("a", 0)])}
    assert fewest_bytes_before(Rows(rows.size, both), "b") == 7
