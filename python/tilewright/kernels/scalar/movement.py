"""Kernels that move elements of 1, 2, 4 or 8 bytes: Copy, Transpose, Slice, Concat, Pad, Repeat, Reshape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32, Int32x6, UInt32x2
from tilewright.kernels.float_common import fits_rank, leading, per_point
from tilewright.kernels.kernel import MAX_RANK, Declaration, Kernel, KernelChoice, TensorOperand
from tilewright.kernels.scalar.elementwise_float import elementwise
from tilewright.kernels.scalar.moved_rows import in_rows, joined_axes
from tilewright.operators.attributes import AxisAttributes
from tilewright.operators.elementwise import nest as elementwise_nest
from tilewright.operators.movement import (
    PadAttributes,
    RepeatAttributes,
    SliceAttributes,
    TransposeAttributes,
    concat_nest,
    pad_nest,
    repeat_nest,
    reshape_nest,
    slice_nest,
    transpose_nest,
)
from tilewright.operators.operator import NestOf

ElementBytes = Annotated[Int32, "1, 2, 4 or 8"]


@dataclass(frozen=True, slots=True)
class Copy(CStruct):
    """Element i of the output along an axis is element starts + steps * i of the input. Operands: x, y."""

    element_bytes: ElementBytes
    starts: Int32x6
    steps: Int32x6


@dataclass(frozen=True, slots=True)
class Concat(CStruct):
    """Operands: the inputs, y."""

    element_bytes: ElementBytes
    inputs: Int32
    axis: Annotated[Int32, "of the views; whole in every tile"]


@dataclass(frozen=True, slots=True)
class Pad(CStruct):
    """Operands: x, y."""

    element_bytes: ElementBytes
    pads: Annotated[Int32x6, "elements in front of the input"]
    value: Annotated[UInt32x2, "the padding's bits: bits 0 to 31 and, for 8 bytes, 32 to 63"]


@dataclass(frozen=True, slots=True)
class Repeat(CStruct):
    """Element i of the output along an axis is element i / times of the input. Operands: x, y."""

    element_bytes: ElementBytes
    times: Int32x6


@dataclass(frozen=True, slots=True)
class Reshape(CStruct):
    """Extents of the whole tensors, not of their tiles. Operands: x, y."""

    element_bytes: ElementBytes
    x_extents: Int32x6
    y_extents: Int32x6


def copy(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Copy."""
    return _copy(node, graph, elementwise_nest)


def bit_cast(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for BitCast: Copy, to which types are sizes."""
    tensors = [graph.tensor(name) for name in (node.inputs[0], node.outputs[0])]
    if node.epilogue is not None or tensors[0].dtype.size_bytes != tensors[1].dtype.size_bytes:
        return ()
    if not fits_rank(graph, (node.inputs[0],)):
        return ()
    attributes = Copy(_element_bytes(node, graph), leading((), 0), leading((), 1))
    return (_mover(node, graph, _COPY, attributes, elementwise_nest),)


def transpose(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Transpose: Copy, with a view of the input whose axes stand in the output's order."""
    permutation = node.given(TransposeAttributes).perm
    view = (-1,) * (MAX_RANK - len(permutation)) + permutation
    copies = _copy(node, graph, transpose_nest, axes=permutation)
    return tuple(replace(choice, reads=(replace(_tensor(choice.reads[0]), view=view),)) for choice in copies)


def slice_elements(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Slice; steps may be negative."""
    given = node.given(SliceAttributes)
    return _copy(node, graph, slice_nest, given.starts, given.steps)


def concat(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Concat; the axis is whole in every tile."""
    if not _moves(node, graph):
        return ()
    axis = node.given(AxisAttributes).axis
    rank = len(graph.tensor(node.outputs[0]).shape)
    attributes = Concat(_element_bytes(node, graph), inputs=len(node.inputs), axis=MAX_RANK - rank + axis)
    parts = [graph.tensor(name).shape[axis] for name in node.inputs]
    kernel = in_rows(_CONCAT, joined_axes(node, graph), attributes.element_bytes, parts, axis)
    choice = _mover(node, graph, kernel, attributes, concat_nest)
    return (replace(choice, uncut=frozenset({f"d{axis}"})),)


def pad(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Pad with a constant."""
    if not _moves(node, graph):
        return ()
    tensor = graph.tensor(node.outputs[0])
    given = node.given(PadAttributes)
    value: Array = np.asarray(given.value).astype(tensor.dtype.numpy)
    bits = int.from_bytes(value.tobytes() if value.dtype.byteorder != ">" else value.byteswap().tobytes(), "little")
    pads = leading(given.pads[: len(tensor.shape)], 0)
    attributes = Pad(_element_bytes(node, graph), pads, (bits & 0xFFFFFFFF, bits >> 32))
    return (_mover(node, graph, _PAD, attributes, pad_nest),)


def repeat(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Repeat."""
    if not _moves(node, graph):
        return ()
    attributes = Repeat(_element_bytes(node, graph), leading(node.given(RepeatAttributes).times, 1))
    return (_mover(node, graph, _REPEAT, attributes, repeat_nest),)


def reshape(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for a Reshape that is not a view."""
    if not _moves(node, graph):
        return ()
    extents = (leading(graph.tensor(name).shape, 1) for name in (node.inputs[0], node.outputs[0]))
    return (_mover(node, graph, _RESHAPE, Reshape(_element_bytes(node, graph), *extents), reshape_nest),)


def _copy(
    node: Node,
    graph: Graph,
    nest_of: NestOf,
    starts: Sequence[int] = (),
    steps: Sequence[int] = (),
    axes: Sequence[int] = (),
) -> tuple[KernelChoice, ...]:
    """The kernel; ``axes`` are those of the input by axis of the output, all where they are the same."""
    if not _moves(node, graph):
        return ()
    attributes = Copy(_element_bytes(node, graph), leading(starts, 0), leading(steps, 1))
    kernel = in_rows(_COPY, joined_axes(node, graph, steps, axes), attributes.element_bytes)
    return (_mover(node, graph, kernel, attributes, nest_of),)


def _mover(node: Node, graph: Graph, kernel: Kernel, attributes: CStruct, nest_of: NestOf) -> KernelChoice:
    choice = elementwise(node, graph, kernel, attributes, nest_of)
    walk = () if kernel is _RESHAPE else ("walk.c",)
    return replace(choice, sources=(choice.sources[0], "move_row.c", *walk))


def _moves(node: Node, graph: Graph) -> bool:
    """Whether the node only moves elements of one type, within six axes."""
    names = tuple(name for name in (*node.inputs, *node.outputs) if name)
    types = {graph.tensor(name).dtype for name in names}
    return node.epilogue is None and len(types) == 1 and fits_rank(graph, names)


def _element_bytes(node: Node, graph: Graph) -> int:
    return graph.tensor(node.outputs[0]).dtype.size_bytes


def _tensor(operand: object) -> TensorOperand:
    assert isinstance(operand, TensorOperand)
    return operand


_ANY_AXIS = frozenset(range(MAX_RANK))
"""These kernels walk (runtime/include/tilewright/kernels/walk.h), and the walk follows rings on any axis."""

_COPY = Kernel("tilewright_copy", Copy, per_point(6.0), ring_axes=_ANY_AXIS)
_CONCAT = Kernel("tilewright_concat", Concat, per_point(6.0), ring_axes=_ANY_AXIS)
_PAD = Kernel("tilewright_pad", Pad, per_point(8.0), ring_axes=_ANY_AXIS)
_REPEAT = Kernel("tilewright_repeat", Repeat, per_point(8.0), ring_axes=_ANY_AXIS)
_RESHAPE = Kernel("tilewright_reshape", Reshape, per_point(12.0))

DECLARATION = Declaration(
    operators={
        "Concat": concat,
        "Slice": slice_elements,
        "Pad": pad,
        "Repeat": repeat,
        "Transpose": transpose,
        "Copy": copy,
        "BitCast": bit_cast,
        # Expand is Copy with a view of the input that has axes of extent 1.
        "Expand": copy,
        "Reshape": reshape,
    },
    kernels=(_CONCAT, _PAD, _REPEAT, _COPY, _RESHAPE),
)
