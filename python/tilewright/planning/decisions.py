"""Everything that planning decides about a prepared graph before bytes get addresses."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.fusion.group import Group
from tilewright.plan import TilingProof, Tradeoff
from tilewright.schedule.tile_loops import ScheduledLayer


@dataclass(frozen=True, slots=True)
class Decisions:
    """A search or a lock gives them; the program follows from them.

    Attributes:
        layers: kernel, tiles, loop order and slots of each layer, in the order in which they run.
        hand_over: whether layers leave their last store to the next one where that can be.
        groups: layers that follow each other and run together block by block, in order.
        front: what groups would cost, from the fastest to those of the fewest bytes; empty where there are none.
        tiling: what the tiles cost together and the least that any tiles cost; None where
            nothing was minimised.
    """

    layers: tuple[ScheduledLayer, ...]
    hand_over: bool = False
    tiling: TilingProof | None = None
    groups: tuple[Group, ...] = ()
    front: tuple[Tradeoff, ...] = ()
