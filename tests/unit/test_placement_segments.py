"""Long problems whose buffers conflict by their lifetimes alone: they are cut into segments of time."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from support.alive_bytes import bytes_at_once
from support.with_extension import needs_extension
from tilewright.placement import Item, PoolLimit
from tilewright.placement.options import Options
from tilewright.placement.place import place_with

pytestmark = needs_extension
COUNT = 5_500
POOL = "pool"


def flat(seed: int, align_bytes: int = 1) -> list[Item]:
    """Buffers of one to two kilobytes that live for up to 200 of as many ticks as there are buffers."""
    random = Random(seed)
    found = []
    for number in range(COUNT):
        begin = random.randrange(COUNT)
        life = (begin, begin + random.randint(1, 200))
        size = random.randint(1024, 2048)
        found.append(Item(f"b{number}", size, align_bytes, (POOL,), lifetime=life, by_lifetime=True))
    return found


def used_bytes(items: list[Item], nodes: int, limit: int | None = None, minimise: bool = True) -> int:
    """Bytes of the pool; ``place_with`` itself verifies the placement."""
    options = Options(nodes, seed=0, minimise=minimise)
    return place_with(items, [PoolLimit(POOL, limit, align_bytes=16)], "exact", options).used[POOL]


@pytest.mark.parametrize("seed", [3, 4, 8])
def test_flat_buffers_come_close_to_the_bound(seed: int) -> None:
    items = flat(seed)
    bound = bytes_at_once(items)
    assert used_bytes(items, nodes=0) > 1.03 * bound
    assert used_bytes(items, nodes=200_000) <= 1.01 * bound


def test_a_limit_between_the_bound_and_first_fit_is_kept() -> None:
    items = flat(seed=4)
    limit = bytes_at_once(items) * 102 // 100
    assert used_bytes(items, nodes=200_000, limit=limit, minimise=False) <= limit


@pytest.mark.parametrize(("align_bytes", "every"), [(1, 500), (16, 2_000)])
def test_fixed_and_aligned_buffers_keep_their_rules(align_bytes: int, every: int) -> None:
    """Some buffers lie at 0 or at 8,192: ``place_with`` verifies them and all alignments."""
    items = flat(seed=3, align_bytes=align_bytes)
    for number in range(0, COUNT, every):
        place = (number // every % 2) * 8_192
        items[number] = replace(items[number], fixed_offset=place, lifetime=(number, number + 90))
    assert used_bytes(items, nodes=300_000) < used_bytes(items, nodes=0)


def test_a_listed_conflict_goes_to_the_other_search() -> None:
    """Two buffers that never live at one time share no byte either: ``place_with`` verifies it."""
    items = flat(seed=4)
    first, last = items[0], items[1]
    items[0] = replace(first, lifetime=(0, 50), conflicts=frozenset({last.name}))
    items[1] = replace(last, lifetime=(COUNT - 50, COUNT))
    assert used_bytes(items, nodes=300_000) < used_bytes(items, nodes=0)
