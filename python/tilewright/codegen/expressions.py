"""C expressions for tile bounds, clipped only where some tile needs it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from tilewright.plan import AxisRange, Group, Index, Phase, When


@dataclass(frozen=True, slots=True)
class AxisBounds:
    """C expressions of the first element and of the end of an axis of a tile."""

    lower: str
    upper: str


def tile_number(when: When) -> str:
    """The tile that a step works on, in terms of the loop variable t."""
    if not when.ahead:
        return "t"
    return f"t {'+' if when.ahead > 0 else '-'} {abs(when.ahead)}"


def condition(when: When, tiles: int, lead: int, trail: int) -> str:
    """When the step runs; empty if always."""
    number = tile_number(when)
    if when.period == tiles > 1:
        return f"{number} == {0 if when.phase is Phase.FIRST else tiles - 1}"
    tests = []
    if when.ahead - lead < 0:
        tests.append(f"{number} >= 0")
    if when.ahead + trail > 0:
        tests.append(f"{number} < {tiles}")
    if when.period > 1:
        operand = number if when.ahead == 0 else f"({number})"
        remainder = 0 if when.phase is Phase.FIRST else when.period - 1
        tests.append(f"{operand} % {when.period} == {remainder}")
    return " && ".join(tests)


def slot(when: When, period: int, copies: int) -> str:
    """The slot of a tile buffer that holds the step's tile; empty for a single slot."""
    if copies == 1:
        return ""
    number = tile_number(when)
    operand = number if when.ahead == 0 else f"({number})"
    return f"{operand} % {copies}" if period == 1 else f"{operand} / {period} % {copies}"


def index_lines(indices: tuple[Index, ...], used: set[str], groups: tuple[Group, ...] = ()) -> list[str]:
    """Declarations of the lower and upper bounds of the indices and groups that are used."""
    lines = []
    inner = 1
    for position in reversed(range(len(indices))):
        index = indices[position]
        outermost = not any(outer.count > 1 for outer in indices[:position])
        if index.name in used and index.count > 1:
            lines += _bounds_lines(index, inner, outermost)
        for group in groups:
            if group.of == index.name and group.name in used:
                lines += _bounds_lines(grouped(index, group), inner * group.tiles, outermost)
        inner *= index.count
    return lines


def grouped(index: Index, group: Group) -> Index:
    """The coarser index that a group stands for."""
    return Index(group.name, index.extent, index.step * group.tiles)


def _bounds_lines(index: Index, inner: int, outermost: bool) -> list[str]:
    """Bounds of an index that moves every ``inner`` tiles."""
    coordinate = "tile" if inner == 1 else f"tile / {inner}"
    if not outermost:
        coordinate = f"{coordinate} % {index.count}"
    scaled = coordinate if index.step == 1 else f"{coordinate} * {index.step}"
    upper = f"{index.name}_lower + {index.step}"
    if index.extent % index.step:
        upper = f"tilewright_minimum({upper}, {index.extent})"
    return [f"const int32_t {index.name}_lower = {scaled};", f"const int32_t {index.name}_upper = {upper};"]


def axis_bounds(axis: AxisRange, indices: Mapping[str, Index]) -> AxisBounds:
    """Expressions of an axis range (semantics of plan.AxisRange)."""
    firsts, ends = _corners(axis, indices)
    lower = _sum(axis, low=True)
    upper = _sum(axis, low=False)
    if min(firsts) < 0:
        lower = f"tilewright_maximum({lower}, 0)"
    if max(firsts) > axis.extent:
        lower = f"tilewright_minimum({lower}, {axis.extent})"
    if max(ends) > axis.extent:
        upper = f"tilewright_minimum({upper}, {axis.extent})"
    if min(ends) < 0 or any(end < first for first, end in zip(firsts, ends, strict=True)):
        upper = f"tilewright_maximum({upper}, {lower})"
    return AxisBounds(lower, upper)


def constant_extent(axis: AxisRange, indices: Mapping[str, Index]) -> int | None:
    """Elements of the axis in every tile; None if tiles differ."""
    extents = {
        max(0, min(max(end, 0), axis.extent) - min(max(first, 0), axis.extent))
        for first, end in zip(*_corners(axis, indices), strict=True)
    }
    return extents.pop() if len(extents) == 1 else None


def is_never_empty(axis: AxisRange, indices: Mapping[str, Index]) -> bool:
    """Whether every tile has an element of the axis."""
    return all(min(end, axis.extent) > max(first, 0) for first, end in zip(*_corners(axis, indices), strict=True))


def fresh_lower(axis: AxisRange, kept: str, indices: Mapping[str, Index]) -> str:
    """The first element that the tile before along index ``kept`` lacks; in its first tile that of the tile."""
    bounds = axis_bounds(axis, indices)
    before = re.sub(rf"\b{re.escape(kept)}_upper\b", f"{kept}_lower", _sum(axis, low=False))
    index = indices[kept]
    tiles = [lower for lower in range(0, index.extent, index.step) if lower]
    ends = _corners(axis, {**indices, kept: Index(kept, tiles[-1], index.step)})[1] if tiles else []
    window = axis.last_offset - axis.first_offset + 1
    overlaps = axis.divisor == 1 and all(stride <= window for name, stride in axis.terms if name == kept)
    if not overlaps or any(not 0 <= end <= axis.extent for end in ends):
        before = f"tilewright_minimum(tilewright_maximum({before}, {bounds.lower}), {bounds.upper})"
    return f"{kept}_lower == 0 ? {bounds.lower} : {before}"


def _corners(axis: AxisRange, indices: Mapping[str, Index]) -> tuple[list[int], list[int]]:
    """First and end, unclipped, of the axis in every tile."""
    names = [name for name, _ in axis.terms]
    spans = []
    for name in names:
        index = indices[name]
        spans.append([(low, min(low + index.step, index.extent)) for low in range(0, index.extent, index.step)])
    firsts, ends = [], []
    for bounds in product(*spans):
        first, last = axis.first_offset, axis.last_offset
        for (_, stride), (lower, upper) in zip(axis.terms, bounds, strict=True):
            first += stride * (lower if stride > 0 else upper - 1)
            last += stride * (upper - 1 if stride > 0 else lower)
        firsts.append(first // axis.divisor)
        ends.append(last // axis.divisor + 1)
    return firsts, ends


def _sum(axis: AxisRange, *, low: bool) -> str:
    """The sum behind the first element (low) or behind the end, divided."""
    text = ""
    offset = axis.first_offset if low else axis.last_offset
    for name, stride in axis.terms:
        takes_lower = (stride > 0) == low
        variable = f"{name}_lower" if takes_lower else f"{name}_upper"
        if not takes_lower:
            offset -= stride
        product_ = variable if abs(stride) == 1 else f"{abs(stride)} * {variable}"
        sign = "-" if stride < 0 else "+"
        text = f"{text} {sign} {product_}" if text else (f"-{product_}" if stride < 0 else product_)
    if axis.divisor == 1:
        return _plus(text, offset + (0 if low else 1))
    quotient = f"tilewright_floor({_plus(text, offset)}, {axis.divisor})"
    return quotient if low else f"{quotient} + 1"


def _plus(text: str, offset: int) -> str:
    if not text:
        return str(offset)
    if not offset:
        return text
    return f"{text} {'+' if offset > 0 else '-'} {abs(offset)}"
