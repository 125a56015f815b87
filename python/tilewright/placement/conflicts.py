"""Which units conflict, by their lifetimes, and by lists of single pairs.

Before:  a alive [0, 4), b [2, 6), c [4, 8); listed: a and b may share bytes
After:   conflicts of c: b; of a: none
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

Zone = tuple[int, int]
"""An open interval (low, high) that the difference of two offsets must avoid."""

Neighbours = Mapping[int, tuple[Zone, ...]]
"""Unit to the zones of its offset and that of another unit."""

Lifetime = tuple[int, int]
"""Half-open ticks; empty (begin = end) for a unit whose lifetime says nothing."""

_KEPT_UNITS = 2_000
"""With more units, the neighbours found for one unit are not kept: all pairs together would fill the memory."""


class Conflicts:
    """For each unit its neighbours, with sorted zones: offset(u) - offset(v) lies in none of ``self[u][v]``.

    Attributes:
        lives: for each unit the ticks at which it conflicts with every other unit that has some of them
            and a pool in common.
        listed: for each unit the neighbours of which ``listed`` says all; no zones: the pair may share any bytes.
    """

    __slots__ = ("_begins", "_by_begin", "_ends", "_kept", "_latest_ends", "_pools", "_sizes", "listed", "lives")

    def __init__(
        self,
        sizes: Sequence[int],
        pools: Sequence[tuple[int, ...]],
        lives: Sequence[Lifetime],
        listed: Sequence[Neighbours],
    ) -> None:
        self.lives = tuple(lives)
        self.listed = tuple(listed)
        self._sizes = tuple(sizes)
        alive = [number for number, (begin, end) in enumerate(lives) if begin < end]
        self._by_begin = np.array(sorted(alive, key=lambda number: lives[number]), np.int64)
        self._begins = np.array([lives[number][0] for number in self._by_begin], np.int64)
        self._ends = np.array([lives[number][1] for number in self._by_begin], np.int64)
        self._latest_ends = np.maximum.accumulate(self._ends) if alive else self._ends
        self._pools = tuple(map(frozenset, pools))
        self._kept: dict[int, dict[int, tuple[Zone, ...]]] = {}

    def __len__(self) -> int:
        return len(self.lives)

    def __iter__(self) -> Iterator[Neighbours]:
        return (self[unit] for unit in range(len(self)))

    def __getitem__(self, unit: int) -> Neighbours:
        """The neighbours of a unit in ascending order."""
        known = self._kept.get(unit)
        if known is not None:
            return known
        listed, size = self.listed[unit], self._sizes[unit]
        found = {other: zones for other, zones in listed.items() if zones}
        for other in self._alive_with(unit):
            if other not in listed and other != unit and self._pools[unit] & self._pools[other]:
                found[other] = ((-size, self._sizes[other]),)
        found = dict(sorted(found.items()))
        if len(self) <= _KEPT_UNITS:
            self._kept[unit] = found
        return found

    def degrees(self) -> list[int]:
        """For each unit the number of its neighbours; all at once where no list of neighbours is needed for that."""
        if any(self.listed) or len(set(self._pools)) > 1:
            return [len(neighbours) for neighbours in self]
        begins, ends = np.array(self.lives, np.int64).reshape(-1, 2).T
        begun = np.searchsorted(self._begins, ends, "left")
        ended = np.searchsorted(np.sort(self._ends), begins, "right")
        found: list[int] = np.where(begins < ends, begun - ended - 1, 0).tolist()
        return found

    def between(self, unit: int, other: int) -> tuple[Zone, ...]:
        """The zones of one pair; empty if the units may share bytes."""
        if other in self.listed[unit]:
            return self.listed[unit][other]
        begin, end = self.lives[unit]
        other_begin, other_end = self.lives[other]
        alive = begin < end and other_begin < other_end and begin < other_end and other_begin < end
        if unit == other or not alive or not self._pools[unit] & self._pools[other]:
            return ()
        return ((-self._sizes[unit], self._sizes[other]),)

    def _alive_with(self, unit: int) -> list[int]:
        begin, end = self.lives[unit]
        if begin >= end:
            return []
        # Units before ``first`` end too early, units from ``behind`` on begin too late.
        first = np.searchsorted(self._latest_ends, begin, "right")
        behind = np.searchsorted(self._begins, end, "left")
        found: list[int] = self._by_begin[first:behind][self._ends[first:behind] > begin].tolist()
        return found
