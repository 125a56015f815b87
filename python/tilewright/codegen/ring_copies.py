"""Copies between a ring and its home whose elements are lines of one distance in every tile.

Such a copy needs no ``struct tilewright_shape``; elements behind the ring's end go on at its begin.

Before:  rows [4 t - 1, 4 t + 5) of 25 x 5 x 64 bytes, into a ring of 6 rows that has two of them already
After:   rows [first, oh_upper + 1), each a line of 320 bytes, from row first % 6 of the ring on; if the ring has 6
         columns, all rows are lines, each of columns [first, ow_upper + 1), from byte 64 * (first % 6) on
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.blocks import Axis, BlockText, LineAxes, line_axes, needed_lines
from tilewright.codegen.expressions import all_indices, axis_bounds, index_lines, not_kept_lower
from tilewright.plan import AxisRange, Loop, Runs


@dataclass(frozen=True, slots=True)
class RingAxis:
    """The axis of a tile on which it is a ring of ``elements``, rows or columns for example.

    Of a copy into the ring, ``kept`` names the index along which the previous tile left elements there; empty if all
    are copied.
    """

    number: int
    elements: int
    kept: str


@dataclass(frozen=True, slots=True)
class RingText:
    """C text of a copy of rows or columns.

    Attributes:
        first: expression of the first element, which ``block`` calls ``first``.
        count: expression of the number of elements, with ``first`` in it.
        elements: rows or columns of the ring.
        is_columns: whether they are columns, which are parts of lines.
        block: the lines of one row, or of one column; its home offset is that of element ``first``.
    """

    first: str
    count: str
    elements: int
    is_columns: bool
    block: BlockText


def ring_text(
    rectangle: Sequence[AxisRange],
    tile_strides: Sequence[int],
    home_strides: Sequence[int],
    element_bytes: int,
    ring: RingAxis,
    loop: Loop,
    runs: Runs,
) -> RingText | None:
    """The copy of a rectangle (strides in bytes) in the tiles of ``runs``; None if it is no lines of one distance."""
    indices = all_indices(loop)
    if any(name not in indices for axis in rectangle for name, _ in axis.terms):
        return None
    others = [number for number in range(len(rectangle)) if number != ring.number]
    strides = [(tile_strides[number], home_strides[number]) for number in others]
    found = line_axes([rectangle[number] for number in others], strides, element_bytes, indices)
    if found is None:
        return None
    element = (tile_strides[ring.number], home_strides[ring.number])
    is_columns = _are_columns(found, element)
    distances = (found.outer.tile_stride, found.outer.home_stride) if is_columns else _of_rows(found.outer, element)
    if distances is None:
        return None
    bounds = axis_bounds(rectangle[ring.number], indices)
    first = not_kept_lower(rectangle[ring.number], ring.kept, indices) if ring.kept else bounds.lower
    count = f"({bounds.upper}) - first"
    offset, lines = " + ".join((*found.offsets, f"first * {element[1]}")), found.outer.text()
    line_bytes = found.line.text(element_bytes)
    used = {name for axis in rectangle for name, _ in axis.terms}
    declared = needed_lines(index_lines(loop, runs, used), f"{offset} {lines} {line_bytes} {first} {count}")
    return RingText(
        first, count, ring.elements, is_columns, BlockText(tuple(declared), offset, lines, line_bytes, *distances)
    )


def _are_columns(found: LineAxes, element: tuple[int, int]) -> bool:
    """Whether neighbours in the ring are neighbours in a line, in the tile and at home; a single line is a row."""
    line = found.line
    is_single = found.outer.factor == 1 and not found.outer.varying
    side_by_side = (line.tile_stride * line.factor, line.home_stride * line.factor)
    return not is_single and not line.varying and element == side_by_side


def _of_rows(outer: Axis, row: tuple[int, int]) -> tuple[int, int] | None:
    """The distance of lines in tile and home, of rows that are ``row`` bytes apart; None if several."""
    if outer.varying:
        return None
    line = row if outer.factor == 1 else (outer.tile_stride, outer.home_stride)
    return line if row == (line[0] * outer.factor, line[1] * outer.factor) else None
