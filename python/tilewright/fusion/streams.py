"""A layer as a stream of rows: which rows of its inputs a block of rows of its result needs.

Before:  y[oc, oh] += w[oc, ic, kh] * x[ic, 2*oh + kh - 1], 25 rows of y, channels last
After:   the stream advances along oh; rows [4, 8) of y need rows [7, 16) of x
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tilewright.base.lazy_dataclass import dataclass
from tilewright.operators.nest import axis_range
from tilewright.plan import AxisRange, Index, WriteOrder
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowRead:
    """Rows of one tensor that a stream reads; ``rows`` maps the stream's dimension to the tensor's ``axis``.

    ``may_be_ring`` says whether the kernel finds row r at r modulo a ring's rows, and whether a row is one piece.
    """

    tensor: str
    axis: int
    rows: AxisRange
    may_be_ring: bool

    @property
    def rate(self) -> Fraction:
        """Rows of the tensor for each row of the stream's result."""
        ((_, stride),) = self.rows.terms
        return _fraction(stride, self.rows.divisor)


@dataclass(frozen=True, slots=True)
class Stream:
    """A layer whose result can be computed some rows at a time, from the first to the last.

    A *sink* adds up the rows of its input instead, a block of them at a time: its rows are those of the sum, and
    there is a result behind the last one only.

    Attributes:
        dimension: the iteration dimension that rows of the result follow, one row for each value.
        extent: values of the dimension: the rows of the result, and ``late``.
        multiple: rows of a block are a multiple of it.
        written: the result.
        axis: the result's axis of rows.
        may_be_ring: whether the kernel can write the result into a ring of rows.
        reads: inputs of which a block needs some rows; an input may occur more than once.
        held: inputs of which every block may need everything.
        is_sink: whether the rows are those of a sum.
        row_bytes: bytes of a row of the result.
        late: row r of the result is made with value r + ``late`` of the dimension, which has so many values more
            than there are rows.
        keeps: whether the kernel gets each row of its input once, and keeps those that later blocks need too, as
            partial results.
    """

    dimension: str
    extent: int
    multiple: int
    written: str
    axis: int
    may_be_ring: bool
    reads: tuple[RowRead, ...]
    held: frozenset[str]
    is_sink: bool = False
    row_bytes: int = 1
    late: int = 0
    keeps: bool = False

    @property
    def rows(self) -> int:
        """Rows of the result."""
        return self.extent - self.late

    @property
    def has_memory(self) -> bool:
        """Whether the kernel's scratch holds something from block to block."""
        return self.is_sink or self.keeps


_fraction = lru_cache(maxsize=1024)(Fraction)


def stream_of(problem: TilingProblem, *, may_add: bool = True) -> Stream | None:
    """The layer as a stream of rows; None where its kernel cannot compute the result by rows.

    With ``may_add`` False it is no sum over rows where it can make rows.

    Rows lie along the outermost axis in memory, so that a block of rows is one piece, of the result or of an input:
    images come and go channels first, while the layers between them have the channels last.
    """
    written = [operand for operand in problem.operands if operand.write]
    if len(written) != 1:
        return None
    (result,) = written
    inputs = [item for item in problem.operands if not item.write and item.tensor is not None and item.data is None]
    axis = rows_axis(result)
    dimension = None if axis is None else _dimension(problem, result, axis)
    ways = [way for way in _ways(problem, result, inputs) if way[2]]
    sink = (
        None
        if any(_is_outer(inputs, read) for _, _, reads in ways for read in reads)
        else _sink(problem, result, inputs)
    )
    axis, dimension, reads = next(iter(ways), (axis, dimension, []))
    has_rows = axis is not None and dimension is not None
    if sink is not None and (may_add or not has_rows):
        return sink
    if axis is None or dimension is None:
        return None
    found = {read.tensor for read in reads}
    return Stream(
        dimension=dimension,
        extent=problem.extents[dimension],
        multiple=problem.kernel.multiples.get(dimension, 1),
        written=result.tensor or result.name,
        axis=axis,
        may_be_ring=_may_be_ring(problem, result, axis),
        reads=tuple(reads),
        held=frozenset(item.tensor for item in inputs if item.tensor is not None and item.tensor not in found),
        row_bytes=result.size_bytes // result.extents[axis],
        late=-result.axes[axis].first_offset,
        keeps=dimension in _sequential(problem),
    )


def _ways(
    problem: TilingProblem, result: TileOperand, inputs: list[TileOperand]
) -> Iterator[tuple[int, str, list[RowRead]]]:
    """(Axis, dimension, reads) for each axis of the result along which rows may lie, outermost first."""
    outer = rows_axis(result)
    for axis in (axis for axis in result.order if result.extents[axis] > 1):
        dimension = _dimension(problem, result, axis)
        if dimension is None:
            continue
        reads = list(_reads(problem, inputs, dimension))
        if axis == outer or any(_is_outer(inputs, read) for read in reads):
            yield axis, dimension, reads


def _is_outer(inputs: list[TileOperand], read: RowRead) -> bool:
    """Whether rows are read along the axis of the tensor that is outermost in memory."""
    return any(rows_axis(item) == read.axis for item in inputs if item.tensor == read.tensor)


def _sink(problem: TilingProblem, result: TileOperand, inputs: list[TileOperand]) -> Stream | None:
    """The layer as a sum over the rows of its only input; None if it is none, or its kernel takes all rows at once."""
    for dimension in sorted(problem.reductions - set(problem.sequence)):
        reads = list(_reads(problem, inputs, dimension)) if len(inputs) == 1 else []
        if reads and reads[0].rows.terms == ((dimension, 1),):
            return Stream(
                dimension=dimension,
                extent=problem.extents[dimension],
                multiple=problem.kernel.multiples.get(dimension, 1),
                written=result.tensor or result.name,
                axis=0,
                may_be_ring=False,
                reads=tuple(reads),
                held=frozenset(),
                is_sink=True,
            )
    return None


def rows_axis(operand: TileOperand) -> int | None:
    """The axis of more than one element that is outermost in memory; None for a tensor of one element."""
    return next((axis for axis in operand.order if operand.extents[axis] > 1), None)


def block_bounds(rows: AxisRange, blocks: Index) -> tuple[Counts, Counts]:
    """The rows [lower, upper) that each block of rows of a result needs.

    The formula is that of ``plan.AxisRange``; a block that reads padding alone has an empty interval.
    """
    ((_, stride),) = rows.terms
    start = np.arange(-blocks.shift, blocks.extent, blocks.step, dtype=np.int64)
    begin, last = np.maximum(start, 0), np.minimum(start + blocks.step, blocks.extent) - 1
    lower = np.clip((stride * begin + rows.first_offset) // rows.divisor, 0, rows.extent)
    upper = np.minimum((stride * last + rows.last_offset) // rows.divisor + 1, rows.extent)
    return lower, np.maximum(lower, upper)


def _dimension(problem: TilingProblem, result: TileOperand, axis: int) -> str | None:
    """The dimension that rows of the result follow one by one; None if there is none that can be cut."""
    rows, sequential = result.axes[axis], _sequential(problem)
    if len(rows.terms) != 1 or rows.first_offset != rows.last_offset or rows.divisor != 1:
        return None
    ((name, stride),) = rows.terms
    if rows.first_offset > 0 or (rows.first_offset and name not in sequential):
        return None
    others = {term for number, other in enumerate(result.axes) if number != axis for term, _ in other.terms}
    can_be_cut = name in sequential or (name in problem.cuttable and name not in problem.reductions)
    return name if stride == 1 and name not in others and can_be_cut else None


def _sequential(problem: TilingProblem) -> tuple[str, ...]:
    """The dimensions along which the kernel, which only groups take, keeps rows of its input from block to block."""
    return problem.sequence if problem.kernel.in_groups else ()


def _reads(problem: TilingProblem, inputs: list[TileOperand], dimension: str) -> Iterator[RowRead]:
    """The inputs of which a block needs some rows, each along one axis."""
    uncut = {name: extent for name, extent in problem.extents.items() if name != dimension}
    for operand in inputs:
        moved = [axis for axis, item in enumerate(operand.axes) if dimension in dict(item.terms)]
        if len(moved) != 1 or operand.extents[moved[0]] == 1:
            continue
        rows = axis_range(operand.axes[moved[0]], operand.extents[moved[0]], uncut)
        if rows.terms[0][1] > 0:
            ring = _may_be_ring(problem, operand, moved[0])
            yield RowRead(operand.tensor or operand.name, moved[0], rows, ring)


def _may_be_ring(problem: TilingProblem, operand: TileOperand, axis: int) -> bool:
    """Whether the kernel walks rings on the operand's axis, which is outermost and lies in its view at one place.

    Elementwise kernels walk over the box of their result (runtime/include/tilewright/kernels/walk.h), and the walk
    follows rings of any operand on any axis.
    """
    kernel = problem.kernel
    places = [place for place, item in enumerate(operand.view) if item == axis]
    if axis != rows_axis(operand) or len(places) != 1:
        return False
    return places[0] in kernel.ring_axes_in_groups or kernel.stores.order is WriteOrder.ELEMENTWISE
