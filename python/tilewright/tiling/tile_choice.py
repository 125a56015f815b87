"""How one operator is cut: the tile shape, the loop order, the slots and the rows that are kept."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.base.lazy_dataclass import dataclass
from tilewright.tiling.staging import Staging


@dataclass(frozen=True, slots=True)
class TileChoice:
    """How one operator is cut.

    Attributes:
        steps: tile step of every iteration dimension.
        order: cut dimensions, outermost first.
        copies: slots of each operand's tile buffer, in the order of the problem's operands;
            0 where the kernel works in the home.
        near_bytes: bytes of tiles and scratch together, by pool.
        predicted_cycles: cycles of the whole operator, transfers included.
        cost: the number that the objective minimises, in cycles or bytes.
        least_cost: the cost of the cheapest tiles; ``cost`` is a little higher where tiles that move
            fewer bytes were preferred.
        stagings: for each operand of the problem its larger tiles in the pools between home and core, from the
            nearest to the core; () where tiles travel straight between home and core, and where all do.
        kept: for each operand of the problem the loop index along which halo rows stay near the core
            (``tiling.kept``), "" where each tile is loaded as a whole; () if no operand keeps rows.
        hinted: whether hardware hints decided between tiles of nearly the same cost.
        shift: elements by which the first tile along the only cut dimension is shorter (``plan.Index``).
    """

    steps: Mapping[str, int]
    order: tuple[str, ...]
    copies: tuple[int, ...]
    near_bytes: Mapping[str, int]
    predicted_cycles: int
    cost: int = 0
    least_cost: int = 0
    stagings: tuple[tuple[Staging, ...], ...] = ()
    kept: tuple[str, ...] = ()
    hinted: bool = False
    shift: int = 0

    def kept_along(self, position: int) -> str:
        """The index along which rows of operand number ``position`` are kept; empty for none."""
        return self.kept[position] if self.kept else ""

    def staging(self, position: int) -> tuple[Staging, ...]:
        """The stagings of operand number ``position``."""
        return self.stagings[position] if self.stagings else ()
