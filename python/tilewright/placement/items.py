"""The input of placement (items and pools) and its result.

Sizes, alignments and offsets are bytes; lifetimes are half-open ticks.
"""

from __future__ import annotations

from tilewright.base.errors import TilewrightError
from tilewright.base.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Trail:
    """A permission: the item may overlap ``other`` if the item begins ``least`` to ``most`` bytes below ``other``.

    A negative number of bytes lies above ``other``; ``most`` None sets no upper limit. Examples: the output of
    an operator that reads its input element by element in any order begins at the input's start (0 to 0); an
    operator that reads from the first byte to the last may begin its output there or lower (0 to None). It may
    instead begin ``above`` bytes above ``other`` or higher, unless that is None: so may the output of an operator
    that can read from the last byte to the first as well.
    """

    other: str
    least: int = 0
    most: int | None = None
    above: int | None = None

    @property
    def is_exact(self) -> bool:
        """Whether the permission is for one distance."""
        return self.least == self.most and self.above is None


@dataclass(frozen=True, slots=True)
class Item:
    """A buffer to place.

    Attributes:
        name: unique among the items of a problem.
        size_bytes: at least 0; an item without bytes conflicts with nothing.
        align_bytes: the item's offset is a multiple of ``align_bytes``.
        pools: candidates in order of preference; an empty tuple is an error.
        conflicts: items that share no byte with this item. One of two items need list the conflict.
        fixed_offset: the offset, if the caller decides it; the item then lives in its first candidate.
        at_offset: (other, n): this item begins n bytes behind the start of other, in the same
            pool (a view). Items joined like this have no conflict with each other.
        trails: items that this item may overlap, and where. A trail replaces the conflict of its pair.
        accesses: bytes read and written in one run; times ``PoolLimit.access_cost``, the item's cost in a pool.
        lifetime: half-open ticks of a life without holes; None if unknown. For settling trails and for messages.
        by_lifetime: whether the item also conflicts with all other such items that are alive at one time with it.
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
    by_lifetime: bool = False


@dataclass(frozen=True, slots=True)
class PoolLimit:
    """A pool as placement sees it.

    Attributes:
        name: unique among the pools of a problem.
        size_bytes: bytes that items may use, None if unlimited.
        align_bytes: the pool's base is a multiple of it; an item of a greater alignment has no place there.
        granule_bytes: ``Result.used`` and ``Result.lower_bound`` are rounded up to a multiple of it.
        access_cost: the cost of one accessed byte.
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
        lower_bound: pool to a proved lower bound of ``used`` for the items placed there.
        optimal: pool to whether ``used`` equals ``lower_bound``.
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
        needed: bytes; the smallest size of ``pool`` found to work with the other pools as they are.
        available: bytes; the size that ``pool`` has.
        missing: ``needed`` - ``available``.
        step: tick at which most bytes of ``pool`` are alive, None if lifetimes are unknown.
        items: (name, bytes) of the items alive in the pool at ``step``, largest first.
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
