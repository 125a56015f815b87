"""Copies whose rectangle is lines of equal length in every tile, as one call of ``tilewright_copy_block``.

Such a copy needs no ``struct tilewright_shape``, and the runtime need not sort its axes.

Before:  rows [4 t, 4 t + 4) of 25 x 5 x 64 bytes, packed on both sides
After:   1 line of (oh_upper - oh_lower) * 320 bytes, from 320 * oh_lower on; where the home is a larger tile in another
         pool, from 320 * (oh_lower - oh_0_lower) on
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.expressions import all_indices, axis_bounds, constant_extent, index_lines
from tilewright.plan import AxisRange, Index, Loop, Runs

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class BlockText:
    """C text of a copy of lines; offsets, strides and sizes are bytes.

    Attributes:
        lines: declarations of the variables in the expressions below.
        home_offset: expression of the offset of the first line in the home; empty for 0.
        line_count: expression of the number of lines.
        line_bytes: expression of the bytes of a line.
        tile_stride: distance of two lines in the tile.
        home_stride: distance of two lines in the home.
    """

    lines: tuple[str, ...]
    home_offset: str
    line_count: str
    line_bytes: str
    tile_stride: int
    home_stride: int


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of ``factor`` elements, times the C expression ``varying`` unless that is empty; strides in bytes."""

    factor: int
    varying: str
    tile_stride: int
    home_stride: int

    def text(self, factor: int = 1) -> str:
        """C expression of the number of elements times ``factor``."""
        constant = self.factor * factor
        if not self.varying:
            return str(constant)
        return self.varying if constant == 1 else f"{self.varying} * {constant}"


def block_text(
    rectangle: Sequence[AxisRange],
    tile_strides: Sequence[int],
    home_strides: Sequence[int],
    element_bytes: int,
    loop: Loop | None,
    runs: Runs,
    within: Sequence[AxisRange] = (),
) -> BlockText | None:
    """The copy of a rectangle (strides in bytes) in the blocks of ``runs``; None if the copy needs several commands.

    The home holds the rectangle ``within``, or the tensor if that is empty.
    """
    indices = all_indices(loop) if loop is not None else {}
    if any(name not in indices for axis in (*rectangle, *within) for name, _ in axis.terms):
        return None
    strides = list(zip(tile_strides, home_strides, strict=True))
    found = line_axes(rectangle, strides, element_bytes, indices, within)
    if found is None:
        return None
    outer = found.outer
    used = {name for axis in (*rectangle, *within) for name, _ in axis.terms}
    offset, line_count, line_bytes = " + ".join(found.offsets), outer.text(), found.line.text(element_bytes)
    declared = index_lines(loop, runs, used) if loop is not None else []
    return BlockText(
        lines=tuple(needed_lines(declared, f"{offset} {line_count} {line_bytes}")),
        home_offset=offset,
        line_count=line_count,
        line_bytes=line_bytes,
        tile_stride=outer.tile_stride,
        home_stride=outer.home_stride,
    )


@dataclass(frozen=True, slots=True)
class LineAxes:
    """A rectangle as ``outer`` times one line of ``line`` elements.

    ``offsets`` are the terms of its offset in the home, C expressions of bytes.
    """

    offsets: tuple[str, ...]
    outer: Axis
    line: Axis


def line_axes(
    rectangle: Sequence[AxisRange],
    strides: Sequence[tuple[int, int]],
    element_bytes: int,
    indices: Mapping[str, Index],
    within: Sequence[AxisRange] = (),
) -> LineAxes | None:
    """The lines of a rectangle whose axes have these strides in tile and home; None if their distances differ.

    The home holds the rectangle ``within``, or the tensor if that is empty.
    """
    offsets, axes = _axes(rectangle, strides, indices, within)
    axes = _joined(axes)
    line = Axis(1, "", element_bytes, element_bytes)
    if axes and axes[-1].tile_stride == axes[-1].home_stride == element_bytes:
        line = axes.pop()
    if len(axes) > 1 or any(axis.factor <= 0 for axis in (*axes, line)):
        return None
    return LineAxes(tuple(offsets), axes[0] if axes else Axis(1, "", 0, 0), line)


def needed_lines(declarations: Sequence[str], text: str) -> list[str]:
    """The declarations of all variables in ``text``, and of the variables in those declarations."""
    kept: list[str] = []
    for line in reversed(declarations):
        name = line.split(" = ")[0].split()[-1]
        if name in _WORD.findall(f"{text} {' '.join(kept)}"):
            kept.insert(0, line)
    return kept


def _axes(
    rectangle: Sequence[AxisRange],
    strides: Sequence[tuple[int, int]],
    indices: Mapping[str, Index],
    within: Sequence[AxisRange],
) -> tuple[list[str], list[Axis]]:
    """Terms of the offset in the home, and the axes of more than one element, from the tile's largest stride down."""
    offsets: list[str] = []
    axes: list[Axis] = []
    for number, (axis, (tile_stride, home_stride)) in enumerate(zip(rectangle, strides, strict=True)):
        bounds = axis_bounds(axis, indices)
        extent = constant_extent(axis, indices)
        begin = _begin(within[number], indices) if within else "0"
        if offset := _offset(_begin(axis, indices), begin, home_stride):
            offsets.append(offset)
        if extent is None:
            axes.append(Axis(1, f"(({bounds.upper}) - ({bounds.lower}))", tile_stride, home_stride))
        elif extent != 1:
            axes.append(Axis(extent, "", tile_stride, home_stride))
    return offsets, sorted(axes, key=lambda item: (-item.tile_stride, -item.home_stride))


def _begin(axis: AxisRange, indices: Mapping[str, Index]) -> str:
    """C expression of the first element of an axis in a tile; a number if it is the same in all tiles."""
    if axis.terms:
        return axis_bounds(axis, indices).lower
    return str(min(max(axis.first_offset // axis.divisor, 0), axis.extent))


def _offset(lower: str, begin: str, stride: int) -> str:
    """C expression of the bytes from element ``begin`` of an axis to element ``lower``; empty for 0."""
    if lower == begin:
        return ""
    if lower.isdigit() and begin.isdigit():
        return str((int(lower) - int(begin)) * stride)
    elements = lower if begin == "0" else f"{lower} - {begin if begin.isidentifier() else f'({begin})'}"
    if stride == 1 and begin == "0" and lower.isidentifier():
        return lower
    factor = elements if elements.isidentifier() else f"({elements})"
    return factor if stride == 1 else f"{factor} * {stride}"


def _joined(axes: list[Axis]) -> list[Axis]:
    """Join neighbouring axes that lie without gaps in both arrays in every tile: 5 x 64 packed bytes become 320."""
    joined: list[Axis] = []
    for axis in reversed(axes):
        inner = joined[-1] if joined else None
        if (
            inner is not None
            and not inner.varying
            and axis.tile_stride == inner.tile_stride * inner.factor
            and axis.home_stride == inner.home_stride * inner.factor
        ):
            joined[-1] = replace(inner, factor=inner.factor * axis.factor, varying=axis.varying)
        else:
            joined.append(axis)
    return joined[::-1]
