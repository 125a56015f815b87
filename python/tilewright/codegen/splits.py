"""Split calls: the C expressions by which one core cuts the operands to its part.

Before:  rows oh of x (a halo of 1) and y, chunks of 2, 8 cores, 480 bytes of scratch each
After:   cut x to [max(oh_lower - 1, 0), min(oh_upper + 1, 16)), y to [oh_lower, oh_upper);
         the scratch begins 480 * core bytes higher
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.blocks import needed_lines
from tilewright.codegen.expressions import axis_bounds, index_lines, tile_number
from tilewright.codegen.kernel_calls import SplitText
from tilewright.plan import AxisRange, Index, Kernel, Loop

_IDENTIFIER = re.compile(r"\w+")
_CALL = "call"


@dataclass(frozen=True, slots=True)
class SplitOperand:
    """An operand of a split call: strides of its buffer in bytes, the axes that the kernel sees, and ``is_packed``.

    A packed operand is passed without a shape.
    """

    strides_bytes: tuple[int, ...]
    view: tuple[int, ...]
    is_packed: bool


def split_text(name: str, step: Kernel, operands: Sequence[SplitOperand], views: str, loop: Loop | None) -> SplitText:
    """The function ``name`` of one core's part of a kernel call with a split, and the call's arguments.

    ``views`` is the address of the cores' views.
    """
    split = step.split
    assert split is not None
    dimension = split.dimension
    points = {dimension: Index(dimension, split.extent, 1), _CALL: Index(_CALL, split.extent, 1)}
    cuts, moves = [], []
    for axis in split.axes:
        operand = operands[axis.operand]
        bounds = axis_bounds(axis.range, points)
        if operand.is_packed:
            begin = axis_bounds(_renamed(axis.range), points).lower
            distance = f"({_bracketed(bounds.lower)} - {_bracketed(begin)})"
            moves.append((axis.operand, f"{distance} * {operand.strides_bytes[axis.axis]}"))
        else:
            cuts.append((axis.operand, operand.view.index(axis.axis), bounds.lower, bounds.upper))
    declared = [
        f"const int32_t {variable}_{end} = part->{member}{end};"
        for variable, member in ((dimension, ""), (_CALL, "call_"))
        for end in ("lower", "upper")
    ]
    used = " ".join([*(f"{low} {high}" for _, _, low, high in cuts), *(text for _, text in moves)])
    index = next((item for item in loop.indices if item.name == dimension), None) if loop is not None else None
    lines: tuple[str, ...] = ()
    if index is not None and loop is not None:
        lines = (
            f"const int32_t tile = {tile_number(step.runs)};",
            *index_lines(loop, step.runs, {dimension}),
        )
    return SplitText(
        name=name,
        bounds=tuple(needed_lines(declared, used)),
        cuts=tuple(cuts),
        moves=tuple(moves),
        scratch=tuple((len(operands) + number, size) for number, size in enumerate(split.scratch_bytes) if size),
        operands=len(operands) + len(step.scratch),
        chunk=split.chunk,
        cores=split.cores,
        views=views,
        views_bytes=split.views_bytes,
        lines=lines,
        lower=f"{dimension}_lower" if index is not None else "0",
        upper=f"{dimension}_upper" if index is not None else str(split.extent),
    )


def _renamed(axis: AxisRange) -> AxisRange:
    """The axis range with the bounds of the whole call in the place of those of the core's part."""
    return replace(axis, terms=tuple((_CALL, stride) for _, stride in axis.terms))


def _bracketed(text: str) -> str:
    return text if _IDENTIFIER.fullmatch(text) else f"({text})"
