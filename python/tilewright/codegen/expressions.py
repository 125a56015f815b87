"""C expressions of a tile's bounds, with a minimum or maximum only where some tile needs it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import product

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import AxisRange, CoarseIndex, Index, Loop, Runs


@dataclass(frozen=True, slots=True)
class AxisBounds:
    """C expressions of the first element of an axis in a tile, and of the element behind the last."""

    lower: str
    upper: str


def _behind(runs: Runs) -> int:
    """The difference of the loop variable t and the step's tile number.

    Tile numbers u * every to u * every + every - 1 belong to block u. A step that runs late in its first block
    (a store, for example) has the loop variable itself as its tile number.
    """
    return 0 if 0 < runs.first < runs.every else runs.first


def tile_number(runs: Runs) -> str:
    """C expression of a step's tile number from the loop variable t; the step's block is number / every."""
    behind = _behind(runs)
    if not behind:
        return "t"
    return f"t {'-' if behind > 0 else '+'} {abs(behind)}"


def condition(runs: Runs, iterations: range) -> str:
    """C condition of the loop's iterations at which a step runs; empty if the step runs at all iterations."""
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
    """C expression of an operand's slot among ``copies`` slots in a step's block; empty for a single slot.

    The operand moves to its next slot every ``period`` blocks. ``ahead`` asks for the slot that many blocks later.
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
    """Declarations of <index>_lower and <index>_upper for the indices ``used``, from the C variable ``tile``.

    ``tile`` is the step's tile number. Only indices over which the step runs are declared, coarse indices included.
    """
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
    """Indices of a loop by name; a coarse index is the index that it groups, with a step of all its tiles."""
    indices = {index.name: index for index in loop.indices}
    for coarse in loop.coarse:
        indices[coarse.name] = _enlarged(indices[coarse.of], coarse)
    return indices


def _enlarged(index: Index, coarse: CoarseIndex) -> Index:
    return Index(coarse.name, index.extent, index.step * coarse.tiles)


def _bounds_lines(index: Index, inner: int, outermost: bool) -> list[str]:
    """Declarations of the bounds of an index that moves every ``inner`` tile numbers."""
    coordinate = "tile" if inner == 1 else f"tile / {inner}"
    if not outermost:
        coordinate = f"{coordinate} % {index.count}"
    scaled = coordinate if index.step == 1 else f"{coordinate} * {index.step}"
    lower, upper = scaled, f"{index.name}_lower + {index.step}"
    if index.shift:
        lower, upper = f"tilewright_maximum({scaled} - {index.shift}, 0)", f"{scaled} + {index.step - index.shift}"
    if (index.extent + index.shift) % index.step:
        upper = f"tilewright_minimum({upper}, {index.extent})"
    return [f"const int32_t {index.name}_lower = {lower};", f"const int32_t {index.name}_upper = {upper};"]


def axis_bounds(axis: AxisRange, indices: Mapping[str, Index]) -> AxisBounds:
    """C expressions of an axis range in a tile; ``plan.AxisRange`` has the formula."""
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
    """The number of elements of the axis in each tile; None if tiles have different numbers."""
    extents = {
        max(0, min(max(end, 0), axis.extent) - min(max(first, 0), axis.extent))
        for first, end in zip(*_corners(axis, indices), strict=True)
    }
    return extents.pop() if len(extents) == 1 else None


def is_never_empty(axis: AxisRange, indices: Mapping[str, Index]) -> bool:
    """Whether every tile has at least one element of the axis."""
    return all(min(end, axis.extent) > max(first, 0) for first, end in zip(*_corners(axis, indices), strict=True))


def not_kept_lower(axis: AxisRange, kept: str, indices: Mapping[str, Index]) -> str:
    """C expression of the tile's first element that the previous tile along index ``kept`` does not have.

    In the first tile along that index, the expression gives the tile's first element.
    """
    bounds = axis_bounds(axis, indices)
    before = re.sub(rf"\b{re.escape(kept)}_upper\b", f"{kept}_lower", _sum(axis, low=False))
    index = indices[kept]
    starts = [lower for lower, _ in index.tiles if lower]
    ends = _corners(axis, {**indices, kept: replace(index, extent=starts[-1])})[1] if starts else []
    window = axis.last_offset - axis.first_offset + 1
    overlaps = axis.divisor == 1 and all(stride <= window for name, stride in axis.terms if name == kept)
    if not overlaps or any(not 0 <= end <= axis.extent for end in ends):
        before = f"tilewright_minimum(tilewright_maximum({before}, {bounds.lower}), {bounds.upper})"
    return f"{kept}_lower == 0 ? {bounds.lower} : {before}"


def _corners(axis: AxisRange, indices: Mapping[str, Index]) -> tuple[list[int], list[int]]:
    """For every tile the first element and the end of the axis, not clipped to the tensor."""
    names = [name for name, _ in axis.terms]
    spans = [indices[name].tiles for name in names]
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
    """C expression of the first element (low) or of the end of an axis, not clipped to the tensor."""
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
