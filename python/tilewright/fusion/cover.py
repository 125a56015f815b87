"""Which layers form groups: intervals of the order that cover it, within the fewest bytes or cycles.

The bytes that an interval keeps alive do not depend on how the layers before and behind it are grouped, so the best
cover is a shortest path from the first layer to the end, over intervals of at most so many bytes.

Before:  layers 0 ... 9; alone 16,000 bytes at 600,000 cycles; [0, 9) as a group 5,000 bytes at 640,000 cycles, ...
After:   of all covers that take at most 3 % longer than the fastest, the one of the fewest bytes: [0, 3), [3, 9), 9
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.base.lazy_dataclass import dataclass
from tilewright.fusion.intervals import Interval

NEARLY_AS_FAST = 1.03
"""A cover that needs fewer bytes may take this multiple of the cycles of the fastest cover."""


@dataclass(frozen=True, slots=True)
class Cover:
    """Intervals that follow each other from the first layer to the last."""

    intervals: tuple[Interval, ...]

    @property
    def size_bytes(self) -> int:
        """The most bytes that an interval keeps alive."""
        return max((interval.size_bytes for interval in self.intervals), default=0)

    @property
    def cycles(self) -> float:
        """Predicted cycles of all layers."""
        return sum(interval.cycles for interval in self.intervals)


def fastest_cover(found: Sequence[Interval], count: int, most_bytes: int) -> Cover | None:
    """The cover of ``count`` layers with the fewest cycles, of intervals of at most so many bytes; None without one."""
    by_end: dict[int, list[Interval]] = {}
    for interval in found:
        if interval.size_bytes <= most_bytes:
            by_end.setdefault(interval.end, []).append(interval)
    best: list[tuple[float, int, Interval | None] | None] = [(0.0, 0, None)]
    for end in range(1, count + 1):
        ways = [
            (before[0] + interval.cycles, before[1] + 1, interval)
            for interval in by_end.get(end, ())
            if (before := best[interval.first]) is not None
        ]
        # Of equal ways the first: layers alone stand before groups.
        best.append(min(ways, key=lambda way: way[0], default=None))
    path: list[Interval] = []
    end = count
    while end:
        way = best[end]
        if way is None or way[2] is None:
            return None
        path.append(way[2])
        end = way[2].first
    return Cover(tuple(reversed(path)))


def front(found: Sequence[Interval], count: int) -> list[Cover]:
    """Covers from the fastest to the one of the fewest bytes; each takes fewer bytes than the one before."""
    covers: list[Cover] = []
    cover = fastest_cover(found, count, max((interval.size_bytes for interval in found), default=0))
    while cover is not None:
        covers.append(cover)
        cover = fastest_cover(found, count, cover.size_bytes - 1)
    return covers


def chosen_cover(covers: Sequence[Cover], most_bytes: int | None, *, least: bool) -> Cover:
    """The cover to take of a front: the one of the fewest bytes among those that are nearly as fast as the fastest.

    Args:
        covers: a front, not empty.
        most_bytes: what the pool has; None for no limit. Where no cover needs less, the one of the fewest bytes.
        least: whether the fewest bytes are wanted whatever they cost.
    """
    fitting = [cover for cover in covers if most_bytes is None or cover.size_bytes <= most_bytes]
    if least or not fitting:
        return covers[-1]
    return [cover for cover in fitting if cover.cycles <= NEARLY_AS_FAST * fitting[0].cycles][-1]
