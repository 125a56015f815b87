"""Kernels that move elements of 1, 2, 4 or 8 bytes: Copy, Transpose, Slice, Concat, Pad, Reshape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tilewright.graph import Array, Graph, Node
from tilewright.kernels.float_common import MAX_RANK, fits_rank, leading
from tilewright.kernels.kernel import KernelChoice, TensorOperand
from tilewright.kernels.scalar.elementwise_float import elementwise
from tilewright.operators.attributes import AxisAttributes
from tilewright.operators.movement import PadAttributes, SliceAttributes, TransposeAttributes
from tilewright.plan import UNKNOWN_STORES, AttributeValue

_COPY_CYCLES = 6.0
_PAD_CYCLES = 8.0
_RESHAPE_CYCLES = 12.0

_Fields = Sequence[tuple[str, AttributeValue]]


def copy(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Copy."""
    return _copy(node, graph, (), ())


def transpose(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Transpose: a copy whose input's axes stand in the output's order."""
    permutation = node.given(TransposeAttributes).perm
    view = (-1,) * (MAX_RANK - len(permutation)) + permutation
    return tuple(
        replace(choice, reads=(replace(_tensor(choice.reads[0]), view=view),)) for choice in _copy(node, graph, (), ())
    )


def slice_elements(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Slice; steps may be negative."""
    given = node.given(SliceAttributes)
    return _copy(node, graph, given.starts, given.steps)


def concat(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Concat; the axis is whole in every tile."""
    if not _moves(node, graph):
        return ()
    axis = node.given(AxisAttributes).axis
    rank = len(graph.tensor(node.outputs[0]).shape)
    fields = (_element_bytes(node, graph), ("inputs", len(node.inputs)), ("axis", MAX_RANK - rank + axis))
    choice = _mover(node, graph, "concat", fields, _COPY_CYCLES)
    return (replace(choice, uncut=frozenset({f"d{axis}"})),)


def pad(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Pad with a constant."""
    if not _moves(node, graph):
        return ()
    tensor = graph.tensor(node.outputs[0])
    given = node.given(PadAttributes)
    value: Array = np.asarray(given.value).astype(tensor.dtype.numpy)
    bits = int.from_bytes(value.tobytes() if value.dtype.byteorder != ">" else value.byteswap().tobytes(), "little")
    fields = (
        _element_bytes(node, graph),
        ("pads", leading(given.pads[: len(tensor.shape)], 0)),
        ("value", (bits & 0xFFFFFFFF, bits >> 32)),
    )
    return (_mover(node, graph, "pad", fields, _PAD_CYCLES),)


def reshape(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for a Reshape that is not a view."""
    if not _moves(node, graph):
        return ()
    fields = (
        _element_bytes(node, graph),
        ("x_extents", leading(graph.tensor(node.inputs[0]).shape, 1)),
        ("y_extents", leading(graph.tensor(node.outputs[0]).shape, 1)),
    )
    return (_mover(node, graph, "reshape", fields, _RESHAPE_CYCLES),)


def _copy(node: Node, graph: Graph, starts: Sequence[int], steps: Sequence[int]) -> tuple[KernelChoice, ...]:
    if not _moves(node, graph):
        return ()
    fields = (_element_bytes(node, graph), ("starts", leading(starts, 0)), ("steps", leading(steps, 1)))
    return (_mover(node, graph, "copy", fields, _COPY_CYCLES),)


def _mover(node: Node, graph: Graph, stem: str, fields: _Fields, cycles: float) -> KernelChoice:
    choice = elementwise(node, graph, stem, fields, cycles)
    walk = () if stem == "reshape" else ("walk.c",)
    return replace(choice, sources=(f"{stem}.c", "move_row.c", *walk), stores=UNKNOWN_STORES)


def _moves(node: Node, graph: Graph) -> bool:
    """Whether the node only moves elements of one type, within six axes."""
    names = tuple(name for name in (*node.inputs, *node.outputs) if name)
    types = {graph.tensor(name).dtype for name in names}
    return node.epilogue is None and len(types) == 1 and fits_rank(graph, names)


def _element_bytes(node: Node, graph: Graph) -> tuple[str, int]:
    return ("element_bytes", graph.tensor(node.outputs[0]).dtype.size_bytes)


def _tensor(operand: object) -> TensorOperand:
    assert isinstance(operand, TensorOperand)
    return operand
