"""An operand of a kernel as the tiler sees it: its axes, its home, and the links over which its tiles travel."""

from __future__ import annotations

from math import prod

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array
from tilewright.kernels.kernel import Packing
from tilewright.operators.nest import AxisMap
from tilewright.plan import Link

TILE_ALIGN_BYTES = 4
"""Tiles, scratch and constants hold up to 32-bit elements that kernels read as words."""


@dataclass(frozen=True, slots=True)
class TileOperand:
    """An operand of a kernel with its home and the link over which tiles travel.

    ``axes`` and ``extents`` are per axis of the stored array, ``order`` its memory order.
    ``link`` is None where the core addresses the home pool: the kernel works there directly.
    ``near`` is the pool of the tiles. Where no link joins home and ``near``, tiles travel through pools
    between them: ``link`` joins ``near`` with the first such pool, and ``far_links``, one behind the other, lead
    from there to the home, each for larger tiles than the one before.
    ``home_strides`` are the strides of the array in its home, in bytes per axis; None if the array is
    packed in ``order``, as tiles are.
    """

    name: str
    write: bool
    axes: tuple[AxisMap, ...]
    extents: tuple[int, ...]
    order: tuple[int, ...]
    view: tuple[int, ...]
    element_bytes: int
    align_bytes: int
    home: str
    link: Link | None
    near: str
    far_links: tuple[Link, ...] = ()
    dtype: str = ""
    tensor: str | None = None
    data: Array | Packing | None = None
    home_strides: tuple[int, ...] | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole array."""
        return prod(self.extents) * self.element_bytes

    @property
    def between(self) -> tuple[str, ...]:
        """The pools between ``near`` and the home, in which larger tiles stay, from the nearest to the core."""
        return tuple(link.source if self.write else link.target for link in self.far_links)

    @property
    def needs_words(self) -> bool:
        """Whether tiles may begin or end within a word of the link (``Link.align_bytes``)."""
        return self.link is not None and self.element_bytes % self.link.align_bytes != 0

    @property
    def dimensions(self) -> frozenset[str]:
        """Iteration dimensions that the operand depends on."""
        return frozenset(name for axis in self.axes for name, _ in axis.terms)
