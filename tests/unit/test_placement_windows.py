"""Problems of tens of thousands of buffers, which the exact search improves window by window."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from tilewright.placement import Item, PoolLimit
from tilewright.placement.native import extension
from tilewright.placement.options import Options
from tilewright.placement.place import place_with

pytestmark = pytest.mark.skipif(extension() is None, reason="the exact search was not built")
COUNT = 21_000
POOL = "pool"


def buffers(seed: int, align_bytes: int = 1) -> list[Item]:
    """Buffers of similar sizes that live for up to 40 of 21,000 ticks: about 20 live at one time."""
    random = Random(seed)
    found = []
    for number in range(COUNT):
        begin = random.randrange(COUNT)
        life = (begin, begin + 1 + random.randrange(40))
        size = random.randrange(1000, 2000)
        found.append(Item(f"b{number}", size, align_bytes, (POOL,), lifetime=life, by_lifetime=True))
    return found


def used_bytes(items: list[Item], nodes: int, limit: int | None = None, minimise: bool = True) -> int:
    """Bytes of the pool; ``place_with`` itself verifies the placement."""
    pools = [PoolLimit(POOL, limit, align_bytes=64)]
    return place_with(items, pools, "exact", Options(nodes, seed=0, minimise=minimise)).used[POOL]


def bytes_at_once(items: list[Item]) -> int:
    """The most bytes that live at one tick."""
    changes = [0] * (COUNT + 50)
    for item in items:
        assert item.lifetime is not None
        changes[item.lifetime[0]] += item.size_bytes
        changes[item.lifetime[1]] -= item.size_bytes
    alive = most = 0
    for change in changes:
        alive += change
        most = max(most, alive)
    return most


def test_windows_reach_the_bound_where_first_fit_does_not() -> None:
    items = buffers(seed=1)
    bound, first = bytes_at_once(items), used_bytes(items, nodes=0)
    assert first > bound
    assert used_bytes(items, nodes=1_000_000) == bound
    between = (bound + first) // 2
    assert bound < used_bytes(items, nodes=1_000_000, limit=between, minimise=False) <= between


def test_making_a_window_takes_nodes() -> None:
    """Some 200 units of the first window, and as many around them, have pairs that take more nodes than one may."""
    native = extension()
    assert native is not None
    random = Random(4)
    count = 6_000
    begins = [random.randrange(count) for _ in range(count)]
    ends = [begin + 1 + random.randrange(200) for begin in begins]
    sizes = [random.randrange(1000, 2000) for _ in range(count)]
    unaligned = [1] * count, [0] * count, [-1] * count
    answer = native.solve_alive(sizes, *unaligned, begins, ends, [], [], [], -1, True, 1, 0, None)
    assert answer[2] > answer[3], "first fit does not reach the bound"
    assert answer[4] > 500


def test_fixed_aligned_and_listed_buffers_keep_their_rules() -> None:
    items = buffers(seed=2, align_bytes=8)
    for number in range(0, COUNT, 1000):
        fixed, listed = items[number], items[number + 500]
        items[number] = replace(fixed, size_bytes=64, fixed_offset=0, lifetime=(number, number + 10))
        items[number + 500] = replace(listed, conflicts=frozenset({items[number + 507].name}))
    assert used_bytes(items, nodes=300_000) < used_bytes(items, nodes=0)
