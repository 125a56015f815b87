"""What lives at one time, counted without the planner."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tilewright.placement import Item


def bytes_at_once(items: Sequence[Item]) -> int:
    """The most bytes of buffers with lifetimes that live at one tick; no placement needs less."""
    changes: dict[int, int] = {}
    for item in items:
        assert item.lifetime is not None
        begin, end = item.lifetime
        changes[begin] = changes.get(begin, 0) + item.size_bytes
        changes[end] = changes.get(end, 0) - item.size_bytes
    return max(accumulate(changes[tick] for tick in sorted(changes)))
