"""Placed buffers with random lifetimes: the checker agrees with a map of every byte at every tick."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st
from support import plans
from tilewright.check import Rule, check
from tilewright.plan import Begin, BufferKind, Core, End, Placement, Plan, PoolUse, Relation, RelationKind, Step

POOL_BYTES = 24


@dataclass(frozen=True)
class Block:
    """A buffer: its bytes [offset, offset + size) and its ticks [begin, end)."""

    offset: int
    size: int
    begin: int
    end: int


def blocks() -> st.SearchStrategy[list[Block]]:
    def make(offset: int, size: int, begin: int, length: int) -> Block:
        return Block(offset, size, begin, begin + length)

    one = st.builds(make, st.integers(0, 18), st.integers(1, 6), st.integers(0, 6), st.integers(1, 4))
    return st.lists(one, min_size=1, max_size=5)


def plan_of(items: list[Block], relation: Relation | None) -> Plan:
    """A program of marks only, in the order of the blocks' ticks; ends go before begins."""
    names = [f"b{number}" for number in range(len(items))]
    marks: list[tuple[int, int, Step]] = []
    for name, item in zip(names, items, strict=True):
        marks += [(item.begin, 1, Begin(name)), (item.end, 0, End(name))]
    marks.sort(key=lambda mark: mark[:2])
    top = max(item.offset + item.size for item in items)
    base = plans.two_layers()
    buffers = [
        plans.buffer(name, BufferKind.SCRATCH, (item.size,), "l1") for name, item in zip(names, items, strict=True)
    ]
    return replace(
        base,
        pools=(replace(base.pools[0], size_bytes=POOL_BYTES), *base.pools[1:]),
        core=Core(1, (("l1", 1),)),
        inputs=(),
        outputs=(),
        buffers=tuple(replace(item, align_bytes=1) for item in buffers),
        relations=(relation,) if relation else (),
        placements=tuple(Placement(name, "l1", item.offset) for name, item in zip(names, items, strict=True)),
        program=tuple(step for _, _, step in marks),
        layers=(),
        pool_use=(PoolUse("l1", top, 0, False),),
    )


def collides(items: list[Block], excused: set[tuple[int, int]]) -> bool:
    """Whether two blocks hold one byte at one tick, looked up byte by byte."""
    cells = [
        (number, tick, byte)
        for number, item in enumerate(items)
        for tick in range(item.begin, item.end)
        for byte in range(item.offset, item.offset + item.size)
    ]
    holders: dict[tuple[int, int], set[int]] = {}
    for number, tick, byte in cells:
        holders.setdefault((tick, byte), set()).add(number)
    pairs = {(low, high) for group in holders.values() for low in group for high in group if low < high}
    return bool(pairs - excused)


def test_overlap_verdicts_equal_those_of_a_byte_map() -> None:
    verdicts: Counter[bool] = Counter()

    @settings(max_examples=300, derandomize=True, deadline=None, database=None)
    @given(blocks())
    def compare(items: list[Block]) -> None:
        violations = check(plan_of(items, None))
        expected = collides(items, set())
        assert {violation.rule for violation in violations} == ({Rule.OVERLAP} if expected else set())
        verdicts[expected] += 1

    compare()
    assert verdicts[True] > 20
    assert verdicts[False] > 20


def test_trails_verdicts_equal_those_of_a_byte_map() -> None:
    verdicts: Counter[bool] = Counter()

    @settings(max_examples=300, derandomize=True, deadline=None, database=None)
    @given(blocks().filter(lambda items: len(items) > 1), st.integers(0, 4))
    def compare(items: list[Block], distance: int) -> None:
        """Block 0 may overlap block 1 as long as it begins at least ``distance`` below."""
        violations = check(plan_of(items, Relation(RelationKind.TRAILS, "b0", "b1", distance)))
        excused = {(0, 1)} if items[0].offset + distance <= items[1].offset else set()
        expected = collides(items, excused)
        assert bool(violations) == expected
        verdicts[expected] += 1

    compare()
    assert verdicts[True] > 20
    assert verdicts[False] > 20
