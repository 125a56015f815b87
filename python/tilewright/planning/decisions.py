"""Everything that planning decides about a prepared graph before bytes get addresses."""

from __future__ import annotations

from tilewright.base.lazy_dataclass import dataclass
from tilewright.fusion.group import Group
from tilewright.plan import TilingProof, Tradeoff
from tilewright.rewrites.strips import Strips
from tilewright.schedule.tile_loops import ScheduledLayer


@dataclass(frozen=True, slots=True)
class Decisions:
    """Decisions of a search or a lock, from which the program follows.

    Attributes:
        layers: kernel, tiles, loop order and slots of each layer, in the order in which they run.
        hand_over: whether layers hand their last store over to the next layer, which awaits it, where that is possible.
        groups: layers that follow each other and run together block by block, in order.
        front: bytes and cycles of each choice of groups, from the fastest to the smallest; empty without groups.
        strips: layers of the network that were copied, each copy for some columns.
        tiling: what the tiles cost together and the least that any tiles cost; None where
            nothing was minimised.
    """

    layers: tuple[ScheduledLayer, ...]
    hand_over: bool = False
    tiling: TilingProof | None = None
    groups: tuple[Group, ...] = ()
    front: tuple[Tradeoff, ...] = ()
    strips: tuple[Strips, ...] = ()
