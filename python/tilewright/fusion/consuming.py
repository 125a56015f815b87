"""How near the output of a group may lie to an input whose rows the group has read: at what distance it trails.

Before:  a = conv 3x3 x, y = conv 3x3 a, all of 6 rows of 8 bytes, one row at a time; y works an iteration behind a
After:   y begins 0 bytes below x or more: when row t of y is written, rows of x from t + 1 on may still be read
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.fusion.streams import block_bounds
from tilewright.fusion.timing import Timed, still_read
from tilewright.storage.clearance import SAME_PLACE, Clearance


@dataclass(frozen=True, slots=True)
class HomeShape:
    """Where the elements of a tensor lie: strides by axis, the axis that is outermost in memory, bytes of all rows."""

    strides_bytes: tuple[int, ...]
    outermost: int
    size_bytes: int


def group_clearance(stages: Sequence[Timed], name: str, given: HomeShape, made: HomeShape) -> Clearance | None:
    """How near the output of a group may lie to an input; None where a stage may read the whole input at any time.

    A row along an axis that is not outermost in memory has a piece in each plane. Bytes of the input that are still to
    be read then lie behind the row's piece in the first plane. Of the output only the first plane counts, if the input
    is no larger than that plane and both begin at one address.
    """
    last = stages[-1].stream
    axes = {read.axis for timed in stages for read in timed.stream.reads if read.tensor == name}
    if len(axes) != 1:
        return None
    (axis,) = axes
    by = trailing_bytes(stages, name, given.strides_bytes[axis], made.strides_bytes[last.axis])
    if by is None or last.axis == made.outermost:
        return None if by is None else Clearance(by, None)
    fits = by <= 0 and given.size_bytes <= made.strides_bytes[made.outermost]
    return SAME_PLACE if fits else None


def trailing_bytes(stages: Sequence[Timed], tensor: str, row_bytes: int, written_row_bytes: int) -> int | None:
    """The least bytes below the start of an input at which the output of the last stage may begin.

    No stage then reads a row of the input once a row of the output lies there. None where a stage may read all rows
    of the input with every block.

    Args:
        tensor: the input.
        row_bytes: bytes from row to row of the input.
        written_row_bytes: bytes from row to row of the output.
    """
    last = stages[-1]
    if last.stream.is_sink or any(tensor in timed.stream.held for timed in stages):
        return None
    written = last.made
    times = last.first + last.every * np.arange(last.count)
    most: int | None = None
    for timed in stages:
        for read in (read for read in timed.stream.reads if read.tensor == tensor):
            # The last stage may read its rows again while it writes.
            unread = times if timed is last else times + 1
            lower, upper = block_bounds(read.rows, timed.blocks)
            lowest = still_read(lower, upper, read.rows.extent, timed, unread)
            lag = int((written * written_row_bytes - lowest * row_bytes)[lowest < read.rows.extent].max(initial=_FREE))
            most = lag if most is None else max(most, lag)
    return most


_FREE = -(1 << 60)
"""The distance where nothing is read any more once the first row is written: any."""
