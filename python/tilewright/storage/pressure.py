"""The most bytes of a pool that are alive at one time: no placement with these pools and this order needs less.

Buffers whose distance is given, views and outputs over inputs, count the bytes that they share once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Interval = tuple[int, int]
"""Half-open."""


def pressure_bytes(spans: Mapping[str, Interval], alive: Mapping[str, Interval]) -> int:
    """Most bytes in the union of the spans (bytes) of buffers that are alive (ticks) together."""
    marks = [(alive[name][0], True, name) for name in spans if alive[name][0] < alive[name][1]]
    marks += [(alive[name][1], False, name) for name in spans if alive[name][0] < alive[name][1]]
    # Half-open: at one tick, what ends goes before what begins.
    marks.sort(key=lambda mark: (mark[0], mark[1]))
    now: dict[str, Interval] = {}
    most, grown = 0, False
    for _, begins, name in marks:
        if begins:
            now[name] = spans[name]
        else:
            # Only where nothing more begins can there be a peak.
            most = max(most, union_bytes(now.values())) if grown else most
            del now[name]
        grown = begins
    return most


def union_bytes(spans: Iterable[Interval]) -> int:
    """Bytes that lie in at least one span."""
    total, reached = 0, None
    for begin, end in sorted(spans):
        first = begin if reached is None else max(begin, reached)
        total += max(0, end - first)
        reached = end if reached is None else max(reached, end)
    return total
