"""Kernels of Gather, GatherElements and ScatterElements on elements of any type.

Before:  Gather of 8 rows from a table of 500 rows of 64 floats, the table whole near the core: 128,000 bytes
After:   tiles of some rows of the table, one after the other; each gives the rows of y that the indices select in it
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType, Graph, Node, Tensor
from tilewright.kernels.c_structs import PREFIX, CStruct, Int32, RowFunction
from tilewright.kernels.float_common import CALL_CYCLES, fits_rank, per_point, trailing_operand
from tilewright.kernels.integer import steps_product, words
from tilewright.kernels.kernel import (
    MAX_RANK,
    Declaration,
    Kernel,
    KernelChoice,
    TensorOperand,
    TileSteps,
    scratch_for_parts,
)
from tilewright.kernels.scalar.map import SUFFIX
from tilewright.operators.attributes import AxisAttributes
from tilewright.operators.indexing import (
    GatherAttributes,
    ScatterAttributes,
    gather_elements_nest,
    gather_nest,
    scatter_nest,
)
from tilewright.operators.nest import Dimension, Iteration, Nest, along

_ELEMENT_CYCLES = 25.0
_MOVED_CYCLES = 7.5
"""Cycles of an element that is moved with others beside it."""
_INDEX_TYPES = (DType.INT32, DType.INT64)

IndexBytes = Annotated[Int32, "4 or 8; indices are signed"]


@dataclass(frozen=True, slots=True)
class Gather(CStruct):
    """y at a position is x at that position, but at indices[position] along `axis`. Operands: x, indices, y."""

    element_bytes: Int32
    index_bytes: IndexBytes
    axis: Int32


@dataclass(frozen=True, slots=True)
class GatherParts(CStruct):
    """Gather of which a call has a part of x on `axis`. Operands: x, indices, y. Partial results: the elements of y
    that were found before.
    """

    element_bytes: Int32
    index_bytes: IndexBytes
    axis: Int32
    extent: Annotated[Int32, "of x on the axis"]


@dataclass(frozen=True, slots=True)
class Scatter(CStruct):
    """y = x with the updates applied one by one. Operands: x, indices, updates, y."""

    element_bytes: Int32
    index_bytes: IndexBytes
    axis: Int32
    combine: Annotated[RowFunction, "y = combine(y, update) of one element; NULL replaces it"]


def gather(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Gather; in x's view, the gathered axis stands where y has the indices' first axis."""
    if not _applies(node, graph):
        return ()
    nest = gather_nest(node, graph)
    x, indices = (graph.tensor(name) for name in node.inputs)
    given = node.given(GatherAttributes)
    axis, batch = given.axis, given.batch_dims
    added = len(indices.shape) - batch
    lead = MAX_RANK - len(graph.tensor(node.outputs[0]).shape)
    at = lead + axis if added else 0
    x_view = [-1] * MAX_RANK
    for position in range(len(x.shape)):
        if position != axis:
            x_view[lead + position + (added - 1 if position > axis else 0)] = position
    x_view[at] = axis
    index_view = [-1] * MAX_RANK
    for position in range(len(indices.shape)):
        index_view[lead + (position if position < batch else axis + position - batch)] = position
    reads = (
        TensorOperand(x.name, nest.reads[0], tuple(x_view)),
        TensorOperand(indices.name, nest.reads[1], tuple(index_view)),
    )
    kernel = _GATHER_ROWS if _moves_rows(graph.tensor(node.outputs[0]), range(axis, axis + added)) else _GATHER
    whole = _choice(node, graph, nest, kernel, reads, Gather(*_bytes(node, graph), axis=at))
    return whole, _in_parts(whole, axis, x.shape[axis])


def _moves_rows(y: Tensor, indexed: range) -> bool:
    """Whether what one index takes lies side by side in the output."""
    long = [axis for axis in y.order if y.shape[axis] > 1]
    return bool(long) and long[-1] not in indexed


def gather_elements(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for GatherElements: Gather's C function on operands with the same axes."""
    if not _applies(node, graph):
        return ()
    nest = gather_elements_nest(node, graph)
    axis = node.given(AxisAttributes).axis
    attributes = Gather(*_bytes(node, graph), axis=MAX_RANK - len(graph.tensor(node.outputs[0]).shape) + axis)
    whole = _choice(node, graph, nest, _GATHER, _aligned(node, graph, nest), attributes)
    return whole, _in_parts(whole, axis, graph.tensor(node.inputs[0]).shape[axis])


def _in_parts(whole: KernelChoice, axis: int, extent: int) -> KernelChoice:
    """The kernel that takes the gathered axis of x part by part."""
    x, *others = whole.reads
    assert isinstance(x, TensorOperand)
    parts = replace(x, axes=(*x.axes[:axis], along(_PARTS), *x.axes[axis + 1 :]))
    dimension = Dimension(_PARTS, extent, Iteration.REDUCTION)
    given = whole.given(Gather)

    def partial_bytes(steps: TileSteps) -> int:
        return words(given.element_bytes * _results(whole.nest, steps))

    return replace(
        whole,
        kernel=_GATHER_PARTS,
        sources=("gather_parts.c", *whole.sources[1:]),
        # Nothing is computed, however often an index is looked at.
        nest=replace(whole.nest, dimensions=(*whole.nest.dimensions, dimension), operations_per_point=0),
        reads=(parts, *others),
        attributes=GatherParts(given.element_bytes, given.index_bytes, given.axis, extent),
        partial_bytes=partial_bytes,
        called=_GATHER.symbol,
    )


def _results(nest: Nest, steps: TileSteps) -> int:
    return steps_product(nest, steps, *(dimension.name for dimension in nest.dimensions if dimension.name != _PARTS))


def _parts_cycles(choice: KernelChoice, steps: TileSteps) -> float:
    return CALL_CYCLES + _ELEMENT_CYCLES * _results(choice.nest, steps)


def scatter_elements(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel that copies x and then applies the updates one by one."""
    if not _applies(node, graph):
        return ()
    output = graph.tensor(node.outputs[0])
    given = node.given(ScatterAttributes)
    reduction = given.reduction
    if reduction != "none" and output.dtype is DType.BOOL:
        return ()
    nest = scatter_nest(node, graph)
    combine = "NULL"
    rows: tuple[str, ...] = ()
    if reduction != "none":
        combine, rows = f"tilewright_map_{reduction}_{SUFFIX[output.dtype]}", (f"map_{reduction}.c",)
    at = MAX_RANK - len(output.shape) + given.axis
    attributes = Scatter(*_bytes(node, graph), axis=at, combine=combine)
    return (_choice(node, graph, nest, _SCATTER, _aligned(node, graph, nest), attributes, rows),)


def _applies(node: Node, graph: Graph) -> bool:
    names = (*node.inputs, *node.outputs)
    return graph.tensor(node.inputs[1]).dtype in _INDEX_TYPES and fits_rank(graph, names)


def _bytes(node: Node, graph: Graph) -> tuple[int, int]:
    """Bytes of an element of x, and bytes of an index."""
    return graph.tensor(node.outputs[0]).dtype.size_bytes, graph.tensor(node.inputs[1]).dtype.size_bytes


def _aligned(node: Node, graph: Graph, nest: Nest) -> tuple[TensorOperand, ...]:
    return tuple(trailing_operand(graph, name, axes) for name, axes in zip(node.inputs, nest.reads, strict=True))


def _choice(
    node: Node,
    graph: Graph,
    nest: Nest,
    kernel: Kernel,
    reads: tuple[TensorOperand, ...],
    attributes: CStruct,
    rows: tuple[str, ...] = (),
) -> KernelChoice:
    return KernelChoice(
        kernel=kernel,
        sources=(f"{kernel.symbol.removeprefix(PREFIX)}.c", *rows, "move_row.c", "walk.c"),
        nest=nest,
        reads=reads,
        writes=(trailing_operand(graph, node.outputs[0], nest.writes[0]),),
        attributes=attributes,
    )


_PARTS = "part"
"""The dimension of the gathered axis of x."""

_GATHER_PARTS = Kernel("tilewright_gather_parts", GatherParts, _parts_cycles, scratch=scratch_for_parts)
_GATHER = Kernel("tilewright_gather", Gather, per_point(_ELEMENT_CYCLES))
_GATHER_ROWS = replace(_GATHER, cycles=per_point(_MOVED_CYCLES))
_SCATTER = Kernel("tilewright_scatter", Scatter, per_point(_ELEMENT_CYCLES))

DECLARATION = Declaration(
    operators={"Gather": gather, "GatherElements": gather_elements, "ScatterElements": scatter_elements},
    kernels=(_GATHER, _GATHER_PARTS, _SCATTER),
    stack_bytes={"gather_parts": 544},
)
