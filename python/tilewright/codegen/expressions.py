"""C expressions for tile bounds, clipped only where some tile needs it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from tilewright.plan import AxisRange, CoarseIndex, Index, Loop, Runs


@dataclass(frozen=True, slots=True)
class AxisBounds:
    """C expressions of the first element and of the end of an axis of a tile."""

    lower: str
    upper: str


def _behind(runs: Runs) -> int:
    """Iterations by which the step's tile number is behind the loop variable.

    The tile number counts iterations so that block u has the numbers from u * every on. A step that runs late in
    its first block, as a store does, counts from the loop's own iteration 0.
    """
    return 0 if 0 < runs.first < runs.every else runs.first


def tile_number(runs: Runs) -> str:
    """The tile number of a step's block, in terms of the loop variable t: block u is number / every."""
    behind = _behind(runs)
    if not behind:
        return "t"
    return f"t {'-' if behind > 0 else '+'} {abs(behind)}"


def condition(runs: Runs, iterations: range) -> str:
    """The iterations of the loop at which the step runs; empty if it runs at all of them."""
    number, behind = tile_number(runs), _behind(runs)
    remainder = runs.first - behind
    if runs.count == 1 and runs.every > 1:
        return f"{number} == {remainder}"
    tests = []
    if iterations[0] < behind:
        tests.append(f"{number} >= 0")
    if iterations[-1] - behind >= runs.every * runs.count:
        tests.append(f"{number} < {runs.every * runs.count}")
    if runs.every > 1:
        tests.append(f"{_bracketed(number)} % {runs.every} == {remainder}")
    return " && ".join(tests)


def slot(runs: Runs, period: int, copies: int, ahead: int = 0) -> str:
    """The slot of a tile buffer that an operand of this period has in the step's block; empty for a single slot.

    With ``ahead`` it is the slot of the block so many blocks later.
    """
    if copies == 1:
        return ""
    held, number = runs.every * period, _bracketed(tile_number(runs))
    if ahead:
        number = f"({tile_number(runs)} + {ahead * runs.every})"
    return f"{number} % {copies}" if held == 1 else f"{number} / {held} % {copies}"


def _bracketed(number: str) -> str:
    return number if number == "t" else f"({number})"


def index_lines(loop: Loop, runs: Runs, used: set[str]) -> list[str]:
    """Declarations of the bounds of the used indices that a step enumerates, from the number ``tile`` of its block."""
    lines = []
    indices = all_indices(loop)
    inner = runs.every
    for position in reversed(range(len(runs.over))):
        index = indices[runs.over[position]]
        outermost = not any(indices[name].count > 1 for name in runs.over[:position])
        if index.name in used and index.count > 1:
            lines += _bounds_lines(index, inner, outermost)
        for coarse in loop.coarse:
            if coarse.of == index.name and coarse.name in used:
                lines += _bounds_lines(indices[coarse.name], inner * coarse.tiles, outermost)
        inner *= index.count
    return lines


def all_indices(loop: Loop) -> dict[str, Index]:
    """Indices of a loop by name; a coarse index as the index with the larger step that it stands for."""
    indices = {index.name: index for index in loop.indices}
    return {**indices, **{coarse.name: _enlarged(indices[coarse.of], coarse) for coarse in loop.coarse}}


def _enlarged(index: Index, coarse: CoarseIndex) -> Index:
    return Index(coarse.name, index.extent, index.step * coarse.tiles)


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


def not_kept_lower(axis: AxisRange, kept: str, indices: Mapping[str, Index]) -> str:
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
