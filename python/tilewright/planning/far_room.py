"""Room in a pool of homes that is too small for all tensors at once: tensors near the core, or in rings, take none.

Before:  l2 of 400 KB; a (400 KB) and b (1,200 KB) both alive while layer 1 runs
After:   layer 1 alone lacks 1,200 KB; layers 0 to 2 as a group, with rings of a and of b, lack nothing
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tilewright.base.lazy_dataclass import dataclass
from tilewright.planning.decide import Decider
from tilewright.planning.spill import Travelling, travelling


@dataclass(frozen=True, slots=True)
class FarRoom:
    """Homes in one pool, and the bytes that they may take together.

    Attributes:
        pool: where the homes are.
        size_bytes: of the pool.
        homes: the tensors that live there.
    """

    pool: str
    size_bytes: int
    homes: Sequence[Travelling]

    def left(self, first: int, end: int, elsewhere: Collection[str]) -> int:
        """Bytes left beside homes alive while layers [first, end) run, without those of the tensors ``elsewhere``.

        Layers that run as a group are one layer to the homes: each is alive as long as the group runs. Negative where
        the pool is too small.
        """
        alive = (item for item in self.homes if item.first < end and first <= item.last)
        return self.size_bytes - sum(item.size_bytes for item in alive if item.root not in elsewhere)


def far_room(decider: Decider, pool: str) -> FarRoom | None:
    """The room in a pool of homes; None for a pool without limit."""
    size = decider.capacities[pool]
    if size is None:
        return None
    pools = decider.prepared.homes.pools
    homes = [item for item in travelling(decider.prepared) if pools[item.root] == (pool,)]
    return FarRoom(pool, size, homes)
