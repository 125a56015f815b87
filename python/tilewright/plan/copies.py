"""How runtime/copy.c cuts a rectangle into copies, and ports cut those into commands of a link.

Cost model and counters ask here.

Before:  3 x 4 x 5 elements of 1 byte, from strides (100, 10, 1) to strides (20, 5, 1)
After:   3 copies of 4 lines of 5 bytes; 6 commands of a link that takes 10 bytes at a time
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan.memory import Link

Counts = npt.NDArray[np.int64]

MAX_RANK = 8
"""TILEWRIGHT_COPY_MAX_RANK of runtime/include/tilewright/copy.h."""


@dataclass(frozen=True, slots=True)
class _Axis:
    extent: int
    destination_stride: int
    source_stride: int


def copy_commands(
    shape: Sequence[int],
    source_strides: Sequence[int],
    destination_strides: Sequence[int],
    element_bytes: int,
) -> tuple[int, int, int]:
    """Copies, lines of each copy, and bytes of each line of one rectangle.

    ``shape`` counts elements, strides are bytes. An empty rectangle gives (0, 0, 0). The
    product of the three is the rectangle's bytes. Raises ValueError for more than MAX_RANK
    axes or for strides that do not match the shape.
    """
    if not len(shape) == len(source_strides) == len(destination_strides) <= MAX_RANK:
        raise ValueError(f"a rectangle has at most {MAX_RANK} axes, each with two strides")
    if any(extent <= 0 for extent in shape):
        return 0, 0, 0
    axes = [_Axis(*axis) for axis in zip(shape, destination_strides, source_strides, strict=True) if axis[0] > 1]
    axes.sort(key=lambda axis: (-abs(axis.destination_stride), -abs(axis.source_stride)))
    axes = _joined(axes)
    line_bytes = element_bytes
    if axes and axes[-1].destination_stride == axes[-1].source_stride == element_bytes:
        line_bytes *= axes.pop().extent
    extents = [axis.extent for axis in axes]
    lines = max(extents, default=1)
    return prod(extents) // lines, lines, line_bytes


def line_cycles(
    link: Link, lines: Counts, size_bytes: Counts, one_of_many: bool | npt.NDArray[np.bool_] = False
) -> npt.NDArray[np.float64]:
    """Cycles that the lines of copies take besides their bytes: those of each, and the rest of the last beat of each.

    A core that copies moves single bytes where words cannot be copied (``byte_cycles``).

    The lines of a copy are taken to be of one length. ``one_of_many`` says of copies of one line that such lines
    follow each other in one pool, as tiles of one tensor do, and do not lie there alone.

    Example: 100 lines of 4 bytes over a link of 8 bytes a cycle, in beats of 8 bytes, take 50 cycles besides.
    """
    own: npt.NDArray[np.float64] = np.asarray(lines * link.line_cycles, dtype=np.float64)
    if link.byte_cycles:
        own = own + _single_bytes(lines, size_bytes, one_of_many) * link.byte_cycles
    if link.beat_bytes == 1:
        return own
    in_beats = lines * link.beat_bytes
    return own + (-(-size_bytes // in_beats) * in_beats - size_bytes) / link.bytes_per_cycle


def _single_bytes(
    lines: Counts, size_bytes: Counts, one_of_many: bool | npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """Bytes of copies in lines that begin at other bytes of a word in one pool than in the other.

    In one pool lines follow each other, in the other they begin with words, as those of channels in fours do: lines of
    6 bytes begin at bytes 0 and 2 in turn, so half of them are copied by bytes, of 7 bytes three quarters. So do tiles
    of one line each.

    See tilewright/copy_lines.h.
    """
    line_bytes = size_bytes // np.maximum(lines, 1)
    share = np.where(line_bytes % 4 == 0, 0.0, np.where(line_bytes % 2 == 0, 0.5, 0.75))
    return np.where((lines > 1) | one_of_many, share * size_bytes, 0.0)


def link_commands(dimensions: int, max_bytes: int, copies: Counts, lines: Counts, line_bytes: Counts) -> Counts:
    """Commands that a link needs for so many copies; ``lines`` and ``line_bytes`` are of one copy.

    A link of one dimension takes a line at a time, any other as many lines as ``max_bytes`` allow;
    longer lines are cut into pieces of ``max_bytes``. So does tilewright/copy_commands.h.
    """
    pieces = np.maximum(-(-line_bytes // max_bytes), 1) if max_bytes else np.ones_like(line_bytes)
    if dimensions == 1:
        return copies * lines * pieces
    if not max_bytes:
        return copies
    together = np.maximum(max_bytes // np.maximum(line_bytes, 1), 1)
    return copies * np.where(pieces > 1, lines * pieces, -(-lines // together))


def _joined(axes: list[_Axis]) -> list[_Axis]:
    """Neighbours that are one axis in both arrays become one; outermost first."""
    joined: list[_Axis] = []
    for inner in axes:
        if joined and _continues(joined[-1], inner):
            outer = joined.pop()
            inner = _Axis(outer.extent * inner.extent, inner.destination_stride, inner.source_stride)
        joined.append(inner)
    return joined


def _continues(outer: _Axis, inner: _Axis) -> bool:
    return (
        outer.destination_stride == inner.destination_stride * inner.extent
        and outer.source_stride == inner.source_stride * inner.extent
    )
