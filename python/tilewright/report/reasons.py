"""Sentences that say why a buffer lies at its address, computed from the plan alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import Buffer, Plan, Pool, RelationKind
from tilewright.report.alive import Living

_ORDINALS = ("first", "second", "third", "fourth")


@dataclass(frozen=True, slots=True)
class Reasons:
    """The facts about one pool from which ``of`` forms sentences about its buffers.

    Attributes:
        found: the buffers of the pool.
        views: buffer to the buffer in which it lies and its offset there in bytes.
        over: buffer to the input that it overlaps.
        at_peak: the buffers alive at the pool's peak.
        peak_bytes: the bytes alive there.
    """

    found: Living
    views: Mapping[str, tuple[str, int]]
    over: Mapping[str, str]
    at_peak: frozenset[str]
    peak_bytes: int

    def of(self, name: str) -> list[str]:
        """Sentences about a buffer: why this pool, why this address, and its share of the pool's peak."""
        buffer = self.found.buffers[name]
        return [_pool_reason(buffer, self.found.pool), *self._address_reasons(name), *self._peak_reasons(name)]

    def _address_reasons(self, name: str) -> list[str]:
        sentences = []
        if name in self.over:
            sentences.append(f"Written over {self.over[name]}, which dies with that layer.")
        if name in self.views:
            root, offset = self.views[name]
            where = f"{offset:,} bytes into" if offset else "at the start of"
            return [*sentences, f"Lies {where} {root}, whose bytes it shares."]
        return [*sentences, self._support(name)]

    def _support(self, name: str) -> str:
        """A sentence about the nearest buffer below that is alive at the same time."""
        first, _ = self.found.spans[name]
        if first == 0:
            return "At the start of the pool."
        below = [(self.found.spans[other][1], other) for other in self._together(name)]
        top, other = max(((end, other) for end, other in below if end <= first), default=(0, ""))
        if not other:
            return f"Nothing that lives at the same time lies below; what ended or comes later left {first:,} bytes."
        if top == first:
            return f"Directly above {other}, which is alive at the same time."
        return f"{first - top:,} bytes above {other}, the nearest below that is alive at the same time."

    def _together(self, name: str) -> Sequence[str]:
        begin, end = self.found.lives[name]
        return [
            other
            for other, (first, last) in self.found.lives.items()
            if other != name and first < end and begin < last and other not in self.views
        ]

    def _peak_reasons(self, name: str) -> list[str]:
        if name not in self.at_peak:
            return []
        size = self.found.buffers[name].size_bytes
        return [f"Alive at the pool's peak: {size:,} of {self.peak_bytes:,} bytes."]


def reasons(plan: Plan, found: Living) -> Reasons:
    """The facts about the pool whose buffers are ``found``."""
    tick = found.peak_tick()
    related = [item for item in plan.relations if item.first in found.spans]
    return Reasons(
        found,
        {item.first: (item.second, item.offset_bytes) for item in related if item.kind is RelationKind.AT_OFFSET},
        found.over,
        frozenset(found.at(tick)) if tick is not None else frozenset(),
        found.bytes_at(tick) if tick is not None else 0,
    )


def _pool_reason(buffer: Buffer, pool: Pool) -> str:
    kind = buffer.kind.value
    if len(buffer.pools) <= 1 or pool.name not in buffer.pools:
        return f"{pool.name} is the pool for this {kind}."
    number = buffer.pools.index(pool.name)
    choice = _ORDINALS[number] if number < len(_ORDINALS) else f"{number + 1}th"
    return f"{pool.name} is the {choice} choice for this {kind} among {', '.join(buffer.pools)}."
