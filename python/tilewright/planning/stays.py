"""Which intermediate tensors may stay near the core: those that travel and are small enough."""

from __future__ import annotations

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import BufferKind
from tilewright.planning.prepare import Prepared
from tilewright.planning.spill import travelling
from tilewright.platform import Platform
from tilewright.storage.homes import near_home
from tilewright.tiling.operand import TILE_ALIGN_BYTES

Roots = frozenset[str]
"""Tensors that stay, each by the tensor that owns its bytes."""


@dataclass(frozen=True, slots=True)
class Stay:
    """A tensor that may stay near the core while layers ``first`` to ``last`` run, both included."""

    root: str
    size_bytes: int
    first: int
    last: int


def near_tensors(prepared: Prepared, platform: Platform) -> list[Stay]:
    """The intermediate tensors that travel, and are small enough to stay near the core."""
    pool = near_home(platform)
    if pool is None:
        return []
    have = platform.pool(pool).usable_bytes
    cut = _given(prepared)
    found = []
    for item in travelling(prepared):
        size = -(-item.size_bytes // TILE_ALIGN_BYTES) * TILE_ALIGN_BYTES
        is_free = prepared.homes.kinds[item.root] is BufferKind.INTERMEDIATE and item.root not in cut
        is_free = is_free and pool in prepared.homes.given.get(item.root, (pool,))
        if is_free and (have is None or size <= have):
            found.append(Stay(item.root, size, item.first, item.last))
    return found


def _given(prepared: Prepared) -> Roots:
    """Tensors of layers whose tiles, slots or level the user gives: they travel, so that there are such tiles."""
    return frozenset(
        prepared.homes.roots[operand.tensor]
        for ways in prepared.problems
        for way in ways
        if way.has_given_tiles or way.level
        for operand in way.operands
        if operand.tensor is not None
    )
