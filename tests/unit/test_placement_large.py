"""Problems of thousands of buffers: units that are put in again, and units that are joined."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from itertools import combinations
from random import Random

import pytest
from support.alive_bytes import bytes_at_once
from tilewright.base.errors import TilewrightError
from tilewright.placement import Item, PoolLimit
from tilewright.placement.items import Trail
from tilewright.placement.model import build_model
from tilewright.placement.native import extension
from tilewright.placement.options import Options
from tilewright.placement.place import place_with
from tilewright.placement.verify import verify_spots

pytestmark = pytest.mark.skipif(extension() is None, reason="the exact search was not built")
COUNT = 21_000
POOL = "pool"
WHOLE = 1 << 22


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


def units(seed: int, longest: int) -> tuple[list[int], list[int], list[int]]:
    """Begins, ends and sizes of 6,000 units that live for up to ``longest`` of as many ticks."""
    random, count = Random(seed), 6_000
    begins = [random.randrange(count) for _ in range(count)]
    ends = [begin + 1 + random.randrange(longest) for begin in begins]
    return begins, ends, [random.randrange(1000, 2000) for _ in range(count)]


def used_bytes(items: list[Item], nodes: int, limit: int | None = None, minimise: bool = True) -> int:
    """Bytes of the pool; ``place_with`` itself verifies the placement."""
    pools = [PoolLimit(POOL, limit, align_bytes=64)]
    return place_with(items, pools, "exact", Options(nodes, seed=0, minimise=minimise)).used[POOL]


def test_reinsertion_reaches_the_bound_where_first_fit_does_not() -> None:
    items = buffers(seed=1)
    bound, first = bytes_at_once(items), used_bytes(items, nodes=0)
    assert first > bound
    assert used_bytes(items, nodes=1_000_000) == bound
    between = (bound + first) // 2
    assert bound < used_bytes(items, nodes=1_000_000, limit=between, minimise=False) <= between


def test_reinsertion_of_a_single_unit_takes_nodes() -> None:
    """The first layout below the target lists the neighbours of all units, for which one node is not enough.

    A listed pair keeps the problem whole."""
    native = extension()
    assert native is not None
    begins, ends, sizes = units(seed=4, longest=200)
    count = len(sizes)
    unaligned, free = ([1] * count, [0] * count), [-1] * count
    zones = [0, 1, -sizes[0], sizes[1]]
    answer = native.solve_alive(sizes, *unaligned, begins, ends, [], zones, [], free, -1, True, 1, 0, None)
    assert answer[2] > answer[3], "first fit does not reach the bound"
    assert 1 <= answer[4] <= 3


def test_fixed_aligned_and_listed_buffers_keep_their_rules() -> None:
    items = buffers(seed=2, align_bytes=8)
    for number in range(0, COUNT, 1000):
        fixed, listed = items[number], items[number + 500]
        items[number] = replace(fixed, size_bytes=64, fixed_offset=0, lifetime=(number, number + 10))
        items[number + 500] = replace(listed, conflicts=frozenset({items[number + 507].name}))
    assert used_bytes(items, nodes=300_000) < used_bytes(items, nodes=0)


def test_units_that_may_share_bytes_keep_their_distances() -> None:
    """Each 500th buffer may overlap the buffer behind it, which lives with it, if it begins up to 100 bytes below."""
    items = buffers(seed=3)
    for number in range(0, COUNT - 1, 500):
        items[number] = replace(items[number], lifetime=items[number + 1].lifetime)
        items[number] = replace(items[number], trails=(Trail(items[number + 1].name, 0, 100),))
    assert used_bytes(items, nodes=300_000) < used_bytes(items, nodes=0)


def test_reinsertion_keeps_listed_zones_and_alignments() -> None:
    """Each tenth unit may not begin within 3,000 bytes of the one beside it; others are apart while they live."""
    native = extension()
    assert native is not None
    begins, ends, sizes = units(seed=7, longest=60)
    count = len(sizes)
    moduli = [16 if unit % 10 == 0 else 1 for unit in range(count)]
    zones = [part for unit in range(0, count - 1, 10) for part in (unit, unit + 1, -3_000, 3_000)]
    residues, free = [0] * count, [-1] * count
    first, after = (
        native.solve_alive(sizes, moduli, residues, begins, ends, [], zones, [], free, -1, True, nodes, 0, None)
        for nodes in (0, 300_000)
    )
    assert after[2] < first[2]
    offsets = after[1]
    assert all(abs(offsets[unit] - offsets[unit + 1]) >= 3_000 for unit in range(0, count - 1, 10))
    assert all(offset % modulus == 0 for offset, modulus in zip(offsets, moduli, strict=True))
    alive: list[int] = []
    for unit in sorted(range(count), key=lambda u: begins[u]):
        alive = [other for other in alive if ends[other] > begins[unit]]
        for other in alive:
            apart = offsets[unit] + sizes[unit] <= offsets[other] or offsets[other] + sizes[other] <= offsets[unit]
            assert apart or {unit, other} == {unit // 10 * 10, unit // 10 * 10 + 1}
        alive.append(unit)


def first_fit_by_size(begins: list[int], ends: list[int], sizes: list[int], moduli: list[int]) -> int:
    """The peak where each unit in turn, the largest first, lies at the lowest offset that is free."""
    placed: list[tuple[int, int, int, int]] = []
    for unit in sorted(range(len(sizes)), key=lambda u: -sizes[u]):
        offset = 0
        for low, high, begin, end in sorted(placed):
            if begins[unit] < end and begin < ends[unit] and low < offset + sizes[unit] and offset < high:
                offset = -(-high // moduli[unit]) * moduli[unit]
        placed.append((offset, offset + sizes[unit], begins[unit], ends[unit]))
    return max(high for _, high, _, _ in placed)


@pytest.mark.parametrize("seed", range(3))
def test_an_answer_without_nodes_is_as_low_as_first_fit_by_size(seed: int) -> None:
    """Half of 2,000 units live at one time: too many pairs for a search that lists them."""
    native = extension()
    assert native is not None
    begins, ends, sizes = (values[:2_000] for values in units(seed, longest=6_000))
    moduli = [16 if seed and unit % 3 == 0 else 1 for unit in range(len(sizes))]
    residues, free = [0] * len(sizes), [-1] * len(sizes)
    peak = native.solve_alive(sizes, moduli, residues, begins, ends, [], [], [], free, -1, True, 0, 0, None)[2]
    assert peak <= first_fit_by_size(begins, ends, sizes, moduli)


def test_a_placement_of_random_offsets_is_wrong_where_two_buffers_meet() -> None:
    found = Counter(is_wrong_as_expected(Random(seed)) for seed in range(200))
    assert min(found[True], found[False]) > 20


def is_wrong_as_expected(random: Random) -> bool:
    """Whether some of a few buffers at random offsets meet; ``verify_spots`` must say the same."""
    items, offsets = [], [random.randrange(400) for _ in range(6)]
    for number in range(len(offsets)):
        begin = random.randrange(10)
        life = (begin, begin + random.randrange(1, 6))
        items.append(Item(f"b{number}", random.randrange(1, 60), 1, (POOL,), lifetime=life, by_lifetime=True))
    boxes = [
        (*item.lifetime, at, at + item.size_bytes) for item, at in zip(items, offsets, strict=True) if item.lifetime
    ]
    meet = any(
        one[0] < two[1] and two[0] < one[1] and one[2] < two[3] and two[2] < one[3]
        for one, two in combinations(boxes, 2)
    )
    model = build_model(items, [PoolLimit(POOL, None)])
    with pytest.raises(TilewrightError, match="overlaps") if meet else nullcontext():
        verify_spots(model, [(0, offset) for offset in offsets], "drawn")
    return meet


def cut(count: int, random: Random, ticks: int, size_bytes: int) -> list[tuple[int, int, int]]:
    """A rectangle of ticks and bytes, the largest part of which is cut again and again: begin, end, bytes of each."""
    parts = [(0, ticks, size_bytes)]
    while len(parts) < count:
        begin, end, size = parts.pop(max(range(len(parts)), key=lambda i: (parts[i][1] - parts[i][0]) * parts[i][2]))
        if random.random() < 0.5:
            tick = random.randint(begin + (end - begin) // 4, end - (end - begin) // 4)
            parts += [(begin, tick, size), (tick, end, size)]
        else:
            low = 4 * random.randint(size // 16, size // 4 - size // 16)
            parts += [(begin, end, low), (begin, end, size - low)]
    return parts


def parts(seed: int, align_bytes: int = 1) -> list[Item]:
    """The 1,500 parts of a rectangle of WHOLE bytes."""
    return [
        Item(f"b{number}", size, align_bytes, (POOL,), lifetime=(begin, end), by_lifetime=True)
        for number, (begin, end, size) in enumerate(cut(1_500, Random(seed), 100_000, WHOLE))
    ]


@pytest.mark.parametrize("align_bytes", [1, 4])
def test_a_rectangle_that_was_cut_is_joined_again(align_bytes: int) -> None:
    items = parts(5, align_bytes)
    assert used_bytes(items, nodes=0) == WHOLE
    assert used_bytes(items, nodes=0, limit=WHOLE, minimise=False) == WHOLE


def test_what_may_not_be_joined_stays_by_itself() -> None:
    """One part of a rectangle is fixed where a layout of the whole has another, and two have a conflict listed:
    ``place_with`` verifies both."""
    items = parts(6)
    first = min(items, key=lambda item: (item.lifetime or (0, 0))[0])
    last = max(items, key=lambda item: (item.lifetime or (0, 0))[1])
    place = items.index(first)
    items[place] = replace(first, conflicts=frozenset({last.name}))
    items[700] = replace(items[700], fixed_offset=0)
    assert used_bytes(items, nodes=20_000) >= WHOLE
