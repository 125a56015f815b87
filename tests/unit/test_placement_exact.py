"""The exact search: proofs, MiniMalloc's and TVM's instances, tilings, alignment."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from random import Random

import pytest
from tilewright.placement import DoesNotFit, Item, PoolLimit, place
from tilewright.placement.native import extension
from tilewright.tools.allocate import Row, allocate, items_of, read_problem

pytestmark = pytest.mark.skipif(extension() is None, reason="the exact search was not built")
CORPUS = os.environ.get("TILEWRIGHT_CORPUS")
needs_corpus = pytest.mark.skipif(CORPUS is None, reason="TILEWRIGHT_CORPUS is not set")
CAPACITY = 1048576


def tiling(count: int, seed: int, width: int = 4096, height: int = 1 << 20) -> list[Row]:
    """A rectangle cut at random into smaller ones: the optimum is its height."""
    random = Random(seed)
    tiles = [(0, width, 0, height)]
    while len(tiles) < count:
        areas = [(right - left) * (top - bottom) * random.random() for left, right, bottom, top in tiles]
        left, right, bottom, top = tiles.pop(areas.index(max(areas)))
        if right - left > 1 and (random.random() < 0.5 or top - bottom < 2):
            middle = random.randint(left + 1, right - 1)
            tiles += [(left, middle, bottom, top), (middle, right, bottom, top)]
        elif top - bottom > 1:
            middle = random.randint(bottom + 1, top - 1)
            tiles += [(left, right, bottom, middle), (left, right, middle, top)]
        else:
            tiles.append((left, right, bottom, top))
    return [Row(str(i), left, right, top - bottom, 1, None) for i, (left, right, bottom, top) in enumerate(tiles)]


@pytest.mark.parametrize("count", [50, 200, 500])
def test_tilings_are_put_together_again(count: int) -> None:
    result = place(items_of(tiling(count, 1)), [PoolLimit("memory", None)])
    assert result.used == {"memory": 1 << 20}
    assert result.optimal == {"memory": True}


def test_a_tiling_in_one_byte_less_is_proved_impossible() -> None:
    with pytest.raises(DoesNotFit) as caught:
        place(items_of(tiling(50, 1)), [PoolLimit("memory", (1 << 20) - 1)])
    assert caught.value.diagnosis.proved
    assert caught.value.diagnosis.missing == 1


def test_a_gap_above_the_pressure_is_proved() -> None:
    """Five buffers on a ring of conflicts: two alive at a time, yet three layers are needed."""
    names = "abcde"
    ring = [Item(name, 10, 1, ("p",), frozenset({names[(i + 1) % 5]})) for i, name in enumerate(names)]
    result = place(ring, [PoolLimit("p", None)])
    assert (result.used, result.lower_bound) == ({"p": 30}, {"p": 30})


def test_sums_above_32_bits() -> None:
    items = [Item(f"b{i}", 3 << 30, 1, ("p",), frozenset(f"b{j}" for j in range(4))) for i in range(4)]
    assert place(items, [PoolLimit("p", None)]).used == {"p": 12 << 30}


def test_the_seed_changes_the_way_and_not_the_size() -> None:
    items = items_of(tiling(60, 2))
    assert {place(items, [PoolLimit("memory", None)], seed=seed).used["memory"] for seed in range(4)} == {1 << 20}


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize("letter", "ABCDEFGHIJK")
def test_minimalloc_instances_fit(letter: str, tmp_path: Path) -> None:
    problem = Path(CORPUS or "") / "allocation" / f"{letter}.{CAPACITY}.csv"
    for seed in range(10):
        text = io.StringIO()
        assert allocate(problem, CAPACITY, seed=seed, output=tmp_path / "out.csv", stream=text) == 0, text.getvalue()
        placed = read_problem(tmp_path / "out.csv")
        assert not any(_overlap(a, b) for i, a in enumerate(placed) for b in placed[:i])
        assert all(row.offset is not None and 0 <= row.offset <= CAPACITY - row.size for row in placed)


def _overlap(a: Row, b: Row) -> bool:
    assert a.offset is not None
    assert b.offset is not None
    return a.lower < b.upper and b.lower < a.upper and a.offset < b.offset + b.size and b.offset < a.offset + a.size


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize("name", ["alloc_max", "deep_speech", "fanout", "five", "linear", "simple"])
def test_tvm_instances(name: str) -> None:
    data = json.loads((Path(CORPUS or "") / "allocation" / "tvm" / f"{name}.json").read_text())
    items = [
        Item(b["name"], b["size_bytes"], b["alignment"], tuple(b["pools"]), frozenset(b["conflicts"]))
        for b in data["buffers"]
    ]
    for algorithm, peak in data["expected"].items():
        used = place(items, [PoolLimit("global", None)], "exact" if algorithm == "optimal" else algorithm).used
        assert used["global"] <= peak if algorithm == "hill_climb" else used["global"] == peak
