"""Predicted cycles of transfers for many tile shapes at once.

A transfer of a rectangle costs set-up cycles for each command of the link, cycles for each line
and its bytes over the link's width. A line is the longest run of the rectangle that is contiguous
in the home; a home that is a part of another tensor has gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Union, overload

import numpy as np
import numpy.typing as npt

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import packed_strides_bytes
from tilewright.operators.nest import AxisMap, axis_range, clipped
from tilewright.plan import Link
from tilewright.plan.copies import line_cycles, link_commands
from tilewright.platform.costs import Costs
from tilewright.tiling.footprint import Counts, Flags, Steps, slot_bytes, tile_shape
from tilewright.tiling.kept import axis_totals, ring_axis
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem

Cycles = npt.NDArray[np.float64]

OneOrAll = Union[float, Cycles]
"""Cycles of one candidate, or of all candidates in an array."""

Gaps = tuple[tuple[int, bool], ...]
"""What ``gaps_at_home`` says of an operand."""


def distinct_bytes(
    operand: TileOperand,
    steps: Steps,
    counts: Mapping[str, Counts],
    extents: Mapping[str, int],
    kept: str = "",
) -> Counts:
    """Bytes of all distinct tiles of the operand together, for each candidate.

    Rows that the previous tile along dimension ``kept`` has too are counted once, where no other
    dimension of their axis is cut.
    The number is exact, halos and edges included, if no cut dimension moves two axes and each axis
    depends on one cut dimension (or on several, without padding and divisor); else it is an estimate.
    """
    elements: Counts = np.asarray(1, dtype=np.int64)
    for axis, extent in zip(operand.axes, operand.extents, strict=True):
        elements = elements * _axis_total(axis, extent, steps, counts, extents, kept)
    # The tiles of a dimension that moves two axes are counted in both totals, so they are divided out once.
    shared: Counts = np.asarray(1, dtype=np.int64)
    for name in sorted(operand.dimensions & set(counts)):
        uses = sum(any(term == name for term, _ in axis.terms) for axis in operand.axes)
        shared = shared * counts[name] ** (uses - 1)
    return -(-elements * operand.element_bytes // shared)


def load_cycles(operand: TileOperand, steps: Steps) -> Cycles:
    """Cycles of set-up and lines of one transfer of the largest tile, for each candidate; its bytes come on top."""
    starts, besides = start_and_line_cycles(operand, steps)
    return starts + besides


def start_and_line_cycles(operand: TileOperand, steps: Steps) -> tuple[Cycles, Cycles]:
    """The two parts of ``load_cycles``: what the core spends on starting the transfer, and what lines take.

    No kernel can run while the core starts a transfer.
    """
    assert operand.link is not None
    shape = tile_shape(operand, steps)
    lines, commands = rectangle_shape(operand, operand.link, shape)
    starts = np.asarray(commands * operand.link.setup_cycles, dtype=np.float64)
    size_bytes = slot_bytes(operand, shape)
    return starts, line_cycles(operand.link, lines, size_bytes, size_bytes < operand.size_bytes)


def rings_pay(problem: TilingProblem) -> bool:
    """Whether kept rows may save more cycles than the ring costs: one more command of the link for each tile."""
    operand = problem.operands[0]
    if operand.link is None:
        return False
    extents = problem.extents
    for name in problem.cuttable:
        number = ring_axis(problem, operand, name)
        if number is None:
            continue
        axis = operand.axes[number]
        others = {other: extents[other] for other, _ in axis.terms if other != name}
        ranged = axis_range(axis, operand.extents[number], others)
        rows = ranged.last_offset - ranged.first_offset + 1 - dict(ranged.terms)[name]
        saved_bytes = rows * operand.size_bytes / operand.extents[number]
        if saved_bytes / operand.link.bytes_per_cycle > operand.link.setup_cycles:
            return True
    return False


@overload
def layer_cycles(costs: Costs, spent: Spent, tiles: int) -> float: ...


@overload
def layer_cycles(costs: Costs, spent: Spent, tiles: Counts) -> Cycles: ...


def layer_cycles(costs: Costs, spent: Spent, tiles: int | Counts) -> OneOrAll:
    """Predicted cycles of a layer of ``tiles`` tiles, for one candidate or for all.

    Copies of operands with two slots (``spent.hidden`` and ``spent.far_hidden``) run while the core is busy. Such
    copies cost the cycles by which they exceed the core's busy cycles, and at least the cycles of one tile's copies:
    nothing runs beside the first copy in, or the last copy out. Copies of a tile run while the core begins the layer.
    """
    # NumPy takes ten times as long as Python for one candidate.
    larger: Callable[[Any, Any], Any] = max if isinstance(tiles, int) else np.maximum
    busy = spent.kernel + spent.starts + tiles * costs.tile_cycles
    behind = larger(spent.hidden + spent.far_hidden - busy, spent.hidden / tiles + spent.far_ends)
    begin = larger(costs.layer_cycles - (spent.plain / tiles if spent.runs_beside else 0.0), 0.0)
    cycles: OneOrAll = begin + busy + spent.plain + behind
    return cycles


@dataclass(frozen=True, slots=True)
class Spent:
    """Cycles of one layer, by who spends them; for one candidate, or in arrays for all.

    Attributes:
        kernel: cycles of all kernel calls.
        starts: cycles that the core spends on starting copies.
        plain: cycles of copies for which the core waits.
        hidden: cycles of copies that may run beside kernels.
        runs_beside: whether copies for which the core waits go on while it does something else.
        far_hidden: cycles of larger tiles on far links that may run beside kernels.
        far_ends: those of them beside which nothing runs: of the first larger tile in, and of the last one out.
    """

    kernel: float
    starts: OneOrAll
    plain: OneOrAll
    hidden: OneOrAll
    runs_beside: bool
    far_hidden: float = 0.0
    far_ends: float = 0.0

    @classmethod
    def of(cls, kernel: float, cycles: OneOrAll, starts: OneOrAll, hidden: OneOrAll, runs_beside: bool) -> Spent:
        """With ``cycles`` for all copies, ``starts`` and ``hidden`` among them; near the core alone."""
        return cls(kernel, starts, cycles - starts - hidden, hidden, runs_beside)


def _axis_total(
    axis: AxisMap,
    extent: int,
    steps: Steps,
    counts: Mapping[str, Counts],
    extents: Mapping[str, int],
    kept: str,
) -> Counts:
    """Elements of one axis summed over the tiles of the dimensions that it depends on."""
    cut = [name for name, _ in axis.terms if name in counts]
    ranged = axis_range(axis, extent, {name: extents[name] for name, _ in axis.terms if name not in cut})
    if not cut:
        lower, upper = clipped(ranged, {})
        return np.asarray(upper - lower, dtype=np.int64)
    if len(cut) == 1:
        return axis_totals(axis, extent, cut[0], steps[cut[0]], extents, kept=cut[0] == kept)
    tiles: Counts = np.asarray(1, dtype=np.int64)
    reach: Counts = np.asarray(ranged.last_offset - ranged.first_offset, dtype=np.int64)
    for name, stride in ranged.terms:
        tiles = tiles * counts[name]
        reach = reach + abs(stride) * (steps[name] - 1)
    most = tiles * np.minimum(reach // ranged.divisor + 1, extent)
    if ranged.divisor != 1:
        return most
    # Edge tiles are shorter: a dimension's lengths add up to its extent.
    total = tiles * (ranged.last_offset - ranged.first_offset + 1)
    for name, stride in ranged.terms:
        total = total + abs(stride) * (tiles // counts[name]) * (extents[name] - counts[name])
    return np.minimum(total, most)


def rectangle_counts(operand: TileOperand, link: Link, shape: Sequence[int]) -> tuple[int, int]:
    """As ``rectangle_shape``, for one rectangle."""
    gaps, layout = tuple(gaps_at_home(operand)), (operand.extents, operand.element_bytes)
    return _rectangle_counts(gaps, *layout, link.dimensions, link.max_bytes, tuple(shape))


@lru_cache(maxsize=4096)
def _rectangle_counts(
    gaps: Gaps, extents: tuple[int, ...], element_bytes: int, dimensions: int, max_bytes: int, shape: tuple[int, ...]
) -> tuple[int, int]:
    """Layers that are alike ask for the same rectangles."""
    arrays = [np.asarray(extent, dtype=np.int64) for extent in shape]
    lines, commands = _rectangle_shape(gaps, extents, element_bytes, dimensions, max_bytes, arrays)
    return int(lines), int(commands)


def rectangle_shape(operand: TileOperand, link: Link, shape: Sequence[Counts]) -> tuple[Counts, Counts]:
    """Lines of rectangles of ``shape``, and commands of the link for each, as ``tilewright.plan.copies`` cuts them."""
    layout = (operand.extents, operand.element_bytes, link.dimensions, link.max_bytes)
    return _rectangle_shape(gaps_at_home(operand), *layout, shape)


def _rectangle_shape(
    gaps: Iterable[tuple[int, bool]],
    extents: tuple[int, ...],
    element_bytes: int,
    dimensions: int,
    max_bytes: int,
    shape: Sequence[Counts],
) -> tuple[Counts, Counts]:
    lines: Counts = np.asarray(1, dtype=np.int64)
    longest: Counts = np.asarray(1, dtype=np.int64)
    run: Counts = np.asarray(1, dtype=np.int64)
    elements: Counts = np.asarray(1, dtype=np.int64)
    in_line: Flags = np.asarray(True)
    for axis, starts, still_in_line in axes_of_lines(gaps, extents, shape):
        longest = np.where(starts & ~in_line, np.maximum(longest, run), longest)
        run = np.where(starts, shape[axis], run * shape[axis])
        in_line = still_in_line
        elements = elements * shape[axis]
        lines = lines * np.where(in_line, 1, shape[axis])
    longest = np.where(in_line, 1, np.maximum(longest, run))
    line_bytes = elements * element_bytes // np.maximum(lines, 1)
    return lines, link_commands(dimensions, max_bytes, lines // longest, longest, line_bytes)


def axes_of_lines(
    gaps: Iterable[tuple[int, bool]], extents: Sequence[int], shape: Sequence[Counts]
) -> Iterator[tuple[int, Flags, Flags]]:
    """Each axis of rectangles of ``shape``, innermost first: whether a run of elements ends before it, and whether the
    axis is a part of the line.

    Neighbouring axes merge into one run where all axes inside them are whole; the innermost run is the line.
    """
    whole: Flags = np.asarray(True)
    in_line: Flags = np.asarray(True)
    for axis, gap in gaps:
        starts: Flags = (~whole | gap) & (shape[axis] > 1)
        in_line = in_line & ~starts
        yield axis, starts, in_line
        whole = np.where(shape[axis] > 1, shape[axis] == extents[axis], whole & (extents[axis] == 1))


def gaps_at_home(operand: TileOperand) -> list[tuple[int, bool]]:
    """The axes from the innermost to the outermost, each with whether the home has a gap before its next element."""
    packed = packed_strides_bytes(operand.extents, operand.order, operand.element_bytes)
    strides = packed if operand.home_strides is None else operand.home_strides
    gaps = []
    reach = operand.element_bytes
    for axis in reversed(operand.order):
        long = operand.extents[axis] > 1
        gaps.append((axis, long and strides[axis] != reach))
        reach = strides[axis] * operand.extents[axis] if long else reach
    return gaps
