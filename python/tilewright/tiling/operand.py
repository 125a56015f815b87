"""An operand of a kernel as the tiler sees it: its axes, its home, and the links over which its tiles travel."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tilewright.graph import Array
from tilewright.kernels.kernel import Packing
from tilewright.operators.nest import AxisMap
from tilewright.plan import Link


@dataclass(frozen=True, slots=True)
class TileOperand:
    """An operand of a kernel with its home and the link over which tiles travel.

    ``axes`` and ``extents`` are per axis of the stored array, ``order`` its memory order.
    ``link`` is None where the core addresses the home pool: the kernel works there directly.
    ``near`` is the pool of the tiles. Where no link joins home and ``near``, tiles come through a pool
    between them: ``far_link`` brings larger tiles to that pool, the source of ``link``.
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
    far_link: Link | None = None
    dtype: str = ""
    tensor: str | None = None
    data: Array | Packing | None = None
    home_strides: tuple[int, ...] | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole array."""
        return prod(self.extents) * self.element_bytes

    @property
    def needs_words(self) -> bool:
        """Whether tiles may begin or end within a word of the link (``Link.align_bytes``)."""
        return self.link is not None and self.element_bytes % self.link.align_bytes != 0

    @property
    def dimensions(self) -> frozenset[str]:
        """Iteration dimensions that the operand depends on."""
        return frozenset(name for axis in self.axes for name, _ in axis.terms)
