"""Operators that move elements without computing: Concat, Slice, Pad, Repeat, Transpose, Copy, Reshape."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators import elementwise
from tilewright.operators.attributes import AxisAttributes
from tilewright.operators.elementwise import dimensions_of, identity_maps
from tilewright.operators.epilogue import finish
from tilewright.operators.nest import AxisMap, Iteration, Nest, along, whole
from tilewright.operators.operator import Arrays, Joins, Operator, operand


@dataclass(frozen=True, slots=True)
class SliceAttributes(Attributes):
    """For every axis, the first position of x and the distance to the next one, which may be negative."""

    starts: tuple[int, ...]
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PadAttributes(Attributes):
    """Number of elements in front of every axis, then behind every axis (not negative); their value in stored units."""

    pads: tuple[int, ...]
    value: float


@dataclass(frozen=True, slots=True)
class RepeatAttributes(Attributes):
    """For every axis, how often each element stands in turn; 2 makes 0 0 1 1 2 2 of 0 1 2."""

    times: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TransposeAttributes(Attributes):
    """For every axis of the output, the number of the input's axis."""

    perm: tuple[int, ...]


def concat_nest(node: Node, graph: Graph) -> Nest:
    """The axis of concatenation is whole, so that each tile reads all of every input on it."""
    shape = graph.tensor(node.outputs[0]).shape
    axis = node.given(AxisAttributes).axis
    dimensions = tuple(
        replace(dimension, iteration=Iteration.WHOLE) if position == axis else dimension
        for position, dimension in enumerate(dimensions_of(shape))
    )
    maps = identity_maps(shape)
    reads = tuple((*maps[:axis], whole(graph.tensor(name).shape[axis]), *maps[axis + 1 :]) for name in node.inputs)
    return Nest(dimensions, reads, (maps,))


def concat(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """The inputs one after the other along ``axis``."""
    parts = [operand(arrays, index) for index in range(len(arrays))]
    return finish(node, graph, np.concatenate(parts, axis=node.given(AxisAttributes).axis))


def slice_nest(node: Node, graph: Graph) -> Nest:
    """Output position d reads start + step * d; steps may be negative."""
    shape = graph.tensor(node.outputs[0]).shape
    given = node.given(SliceAttributes)
    starts, steps = given.starts, given.steps
    read = tuple(along(f"d{axis}", steps[axis], starts[axis]) for axis in range(len(shape)))
    return Nest(dimensions_of(shape), (read,), (identity_maps(shape),))


def slice_elements(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """x[start], x[start + step], ... on every axis, as many as the output has."""
    x = operand(arrays, 0)
    shape = graph.tensor(node.outputs[0]).shape
    given = node.given(SliceAttributes)
    starts, steps = given.starts, given.steps
    positions = [start + step * np.arange(extent) for start, step, extent in zip(starts, steps, shape, strict=True)]
    return finish(node, graph, x[np.ix_(*positions)] if positions else x)


def pad_nest(node: Node, graph: Graph) -> Nest:
    """Output position d reads d - pad_begin; positions outside the input are padding."""
    shape = graph.tensor(node.outputs[0]).shape
    pads = node.given(PadAttributes).pads
    read = tuple(along(f"d{axis}", 1, -pads[axis]) for axis in range(len(shape)))
    return Nest(dimensions_of(shape), (read,), (identity_maps(shape),))


def pad(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """The input with ``value``, in stored units, around it."""
    x = operand(arrays, 0)
    pads = node.given(PadAttributes).pads
    widths = list(zip(pads[: x.ndim], pads[x.ndim :], strict=True))
    value = x.dtype.type(node.given(PadAttributes).value)
    return finish(node, graph, np.pad(x, widths, constant_values=value) if widths else x)


def repeat_nest(node: Node, graph: Graph) -> Nest:
    """Output position d reads d / times, rounded down."""
    shape = graph.tensor(node.outputs[0]).shape
    times = node.given(RepeatAttributes).times
    read = tuple(AxisMap(((f"d{axis}", 1),), 0, 0, times[axis]) for axis in range(len(shape)))
    return Nest(dimensions_of(shape), (read,), (identity_maps(shape),))


def repeat(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """Each element ``times`` times in turn along every axis: nearest Resize by whole factors."""
    x = operand(arrays, 0)
    for axis, count in enumerate(node.given(RepeatAttributes).times):
        x = np.repeat(x, count, axis)
    return finish(node, graph, x)


def repetitions(indices: Array, extent: int) -> int:
    """How often indices take each element of an axis in turn, as 0 0 1 1 2 2 does twice; 0 for others."""
    if indices.ndim != 1 or not indices.size or indices.size % extent:
        return 0
    times = indices.size // extent
    return times if np.array_equal(indices, np.repeat(np.arange(extent), times)) else 0


def transpose_nest(node: Node, graph: Graph) -> Nest:
    """Output axis i is input axis perm[i]."""
    shape = graph.tensor(node.outputs[0]).shape
    perm = node.given(TransposeAttributes).perm
    read = tuple(along(f"d{perm.index(axis)}") for axis in range(len(shape)))
    return Nest(dimensions_of(shape), (read,), (identity_maps(shape),))


def transpose(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """Output axis i is input axis perm[i]."""
    return finish(node, graph, np.transpose(operand(arrays, 0), node.given(TransposeAttributes).perm))


def copy(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """The elements of x; only their order in memory may differ."""
    return finish(node, graph, operand(arrays, 0))


def bit_cast(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """The bytes of x as elements of the output's type, which has as many bytes."""
    bits = np.ascontiguousarray(operand(arrays, 0)).view(graph.tensor(node.outputs[0]).dtype.numpy)
    return [bits.reshape(graph.tensor(node.outputs[0]).shape)]


def reshape_nest(node: Node, graph: Graph) -> Nest:
    """Axes of input and output are matched in runs of equal size, so that unchanged axes keep an exact map.

    Within a run the outermost input axis follows the row-major index of the output's axes;
    the run's other input axes are read whole. Example: [2, 6, 4] and [2, 3, 8] have the runs
    2 | 2 and 6, 4 | 3, 8.
    """
    before = graph.tensor(node.inputs[0]).shape
    after = graph.tensor(node.outputs[0]).shape
    read: list[AxisMap] = []
    for ins, outs in _runs(before, after):
        read += _run_maps(before[ins], range(outs.start, outs.stop), after)
    return Nest(dimensions_of(after), (tuple(read),), (identity_maps(after),))


def reshape(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """The row-major elements of x in the output's shape."""
    return finish(node, graph, operand(arrays, 0).reshape(graph.tensor(node.outputs[0]).shape))


def _runs(before: tuple[int, ...], after: tuple[int, ...]) -> list[tuple[slice, slice]]:
    """Shortest runs of axes on both sides with equal products; axes left over at the end have extent 1."""
    runs = []
    i = j = 0
    while i < len(before) and j < len(after):
        begin_i, begin_j = i, j
        left, right = before[i], after[j]
        i, j = i + 1, j + 1
        while left != right:
            if left < right:
                left, i = left * before[i], i + 1
            else:
                right, j = right * after[j], j + 1
        runs.append((slice(begin_i, i), slice(begin_j, j)))
    if i < len(before) or j < len(after):
        runs.append((slice(i, len(before)), slice(j, len(after))))
    return runs


def _run_maps(extents: tuple[int, ...], axes: range, after: tuple[int, ...]) -> list[AxisMap]:
    terms: list[tuple[str, int]] = []
    step = 1
    for axis in reversed(axes):
        terms.insert(0, (f"d{axis}", step))
        step *= after[axis]
    inner = int(np.prod(extents[1:], dtype=np.int64))
    outermost = [AxisMap(tuple(terms), 0, 0, inner)] if extents else []
    return outermost + [whole(extent) for extent in extents[1:]]


OPERATORS = (
    Operator("Concat", concat_nest, concat, AxisAttributes, keeps_values=True, joins=Joins.PARTS, is_alike=True),
    Operator("Slice", slice_nest, slice_elements, SliceAttributes, keeps_values=True, joins=Joins.PART, is_alike=True),
    Operator("Pad", pad_nest, pad, PadAttributes, keeps_values=True, is_alike=True),
    Operator("Repeat", repeat_nest, repeat, RepeatAttributes, keeps_values=True),
    Operator(
        "Transpose", transpose_nest, transpose, TransposeAttributes, keeps_values=True, is_view=True, is_alike=True
    ),
    Operator("Copy", elementwise.nest, copy, keeps_values=True, is_alike=True),
    Operator("BitCast", elementwise.nest, bit_cast),
    Operator("Reshape", reshape_nest, reshape, keeps_values=True, is_view=True),
)
