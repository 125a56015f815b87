"""What a placement algorithm is given, and what it answers.

Sizes, alignments and offsets are bytes; lifetimes are half-open ticks.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.base.errors import TilewrightError


@dataclass(frozen=True, slots=True)
class Trail:
    """An item may overlap ``other`` where it begins ``least`` to ``most`` bytes below it; ``most`` None: or further.

    Negative bytes are above it. Over an input that is read element by element in any order, an
    output begins 0 to 0 bytes below; behind one that is read from the first byte to the last, 0 or more.
    """

    other: str
    least: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """A buffer to place.

    Attributes:
        name: unique among the items of a problem.
        size_bytes: at least 0; an item without bytes conflicts with nothing.
        align_bytes: its offset is a multiple of this.
        pools: candidates in order of preference; an empty tuple is an error.
        conflicts: items whose bytes must be disjoint from this one's. Closed symmetrically.
        fixed_offset: the offset, when it is given from outside. The first candidate is its pool.
        at_offset: (other, n): this item begins n bytes behind the start of other, in the same
            pool (a view). Items joined like this have no conflict with each other.
        trails: items that this one may overlap, and where. Takes the place of the pair's conflict.
        accesses: bytes read and written over a run; with ``PoolLimit.access_cost`` the benefit
            of a fast pool.
        lifetime: [first, behind the last) tick of a life without holes; for bounds and messages.
    """

    name: str
    size_bytes: int
    align_bytes: int
    pools: tuple[str, ...]
    conflicts: frozenset[str] = frozenset()
    fixed_offset: int | None = None
    at_offset: tuple[str, int] | None = None
    trails: tuple[Trail, ...] = ()
    accesses: int = 0
    lifetime: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class PoolLimit:
    """A pool as placement sees it: ``size_bytes`` is None when unlimited.

    The pool's base is a multiple of ``align_bytes``, so no item of a greater alignment can be
    there. Totals round up to ``granule_bytes``. ``access_cost`` is the cost of one accessed byte.
    """

    name: str
    size_bytes: int | None
    align_bytes: int = 1
    granule_bytes: int = 1
    access_cost: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """A sound placement.

    Attributes:
        placements: item to (pool, offset).
        used: pool to the highest end of its items, rounded up to the granule.
        lower_bound: pool to proven bytes that the items placed there need at least.
        optimal: pool to whether ``used`` is proven smallest for the items placed there.
    """

    placements: dict[str, tuple[str, int]]
    used: dict[str, int]
    lower_bound: dict[str, int]
    optimal: dict[str, bool]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why nothing fits.

    Attributes:
        pool: the pool that is too small.
        needed: smallest size of that pool found to work with the other pools as they are.
        available: its size; ``missing`` is the difference.
        step: tick at which most bytes of that pool are alive, None if lifetimes are unknown.
        items: (name, size) of what lives in the pool at that step, largest first.
        proved: whether no placement exists; otherwise the search ended without one.
        smallest_proved: whether no size below ``needed`` works.
        together: pools that must all grow, with the sizes that work; empty if ``pool`` alone will do.
    """

    pool: str
    needed: int
    available: int
    missing: int
    step: int | None
    items: tuple[tuple[str, int], ...]
    proved: bool
    smallest_proved: bool
    together: tuple[tuple[str, int], ...] = ()


class DoesNotFit(TilewrightError):
    """A problem without a placement (exit status 3). ``diagnosis`` says why."""

    diagnosis: Diagnosis
