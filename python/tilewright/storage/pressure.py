"""The most bytes of a pool that are alive at one time: no placement with these pools and this order needs less.

Bytes that buffers share because their distance is given (views and parts) count once. So do the bytes
that an output shares at most with the inputs over which it may lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Interval = tuple[int, int]
"""Half-open [begin, end), of bytes or of ticks."""


def pressure_bytes(
    spans: Mapping[str, Interval], alive: Mapping[str, Interval], over: Mapping[str, Mapping[str, int]]
) -> int:
    """Most bytes in the union of the spans (bytes) of buffers that are alive (ticks) together.

    ``over`` gives buffers on whose bytes a buffer may lie though both are alive, and how many bytes it can share.
    """
    marks = [(alive[name][0], True, name) for name in spans if alive[name][0] < alive[name][1]]
    marks += [(alive[name][1], False, name) for name in spans if alive[name][0] < alive[name][1]]
    # Intervals are half-open: at one tick, buffers that end go before buffers that begin.
    marks.sort(key=lambda mark: (mark[0], mark[1]))
    now: dict[str, Interval] = {}
    most, grown = 0, False
    for _, begins, name in marks:
        if begins:
            now[name] = spans[name]
        else:
            # A peak can only be where the buffer before this one began.
            most = max(most, union_bytes(now.values()) - _shared_bytes(now, over)) if grown else most
            del now[name]
        grown = begins
    return most


def _shared_bytes(now: Mapping[str, Interval], over: Mapping[str, Mapping[str, int]]) -> int:
    """Most bytes that outputs share with inputs, be it with several at once."""
    return sum(
        min(now[name][1] - now[name][0], sum(shared for other, shared in others.items() if other in now))
        for name, others in over.items()
        if name in now
    )


def union_bytes(spans: Iterable[Interval]) -> int:
    """Bytes that lie in at least one span."""
    total, reached = 0, None
    for begin, end in sorted(spans):
        first = begin if reached is None else max(begin, reached)
        total += max(0, end - first)
        reached = end if reached is None else max(reached, end)
    return total
