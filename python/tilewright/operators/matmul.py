"""Matrix product with broadcast batch axes: y[b..., m, n] += a[b..., m, k] * b[b..., k, n]."""

from __future__ import annotations

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators.epilogue import along_axis, finish
from tilewright.operators.exact import exact_operands, offset_removed
from tilewright.operators.nest import AxisMap, Dimension, Iteration, Nest, along, whole
from tilewright.operators.operator import Arrays, Integers, Multipliers, OnIntegers, Operator, operand, optional_operand


@dataclass(frozen=True, slots=True)
class MatMulAttributes(Attributes):
    """How the operands are stored.

    Attributes:
        transpose_a, transpose_b: whether the last two axes of the stored tensor change places.
        a_zero_point: stored integer of a that stands for 0.
        b_zero_point: stored integer of b that stands for 0; one value, or one for each column of b.
    """

    transpose_a: bool = False
    transpose_b: bool = False
    a_zero_point: int = 0
    b_zero_point: tuple[int, ...] = (0,)


CHANNEL_AXIS = -1
"""Columns of b are the channels of the output."""


def nest(node: Node, graph: Graph) -> Nest:
    """Dimensions b0, b1, ... (batch axes of the output), m, n, k."""
    shape = graph.tensor(node.outputs[0]).shape
    a, b = (graph.tensor(name).shape for name in node.inputs[:2])
    given = node.given(MatMulAttributes)
    depth = a[-2] if given.transpose_a else a[-1]
    a_axes, b_axes = ("m", "k"), ("k", "n")
    if given.transpose_a:
        a_axes = ("k", "m")
    if given.transpose_b:
        b_axes = ("n", "k")
    batch = tuple(Dimension(f"b{axis}", extent) for axis, extent in enumerate(shape[:-2]))
    reads = (
        _operand_maps(a, batch, a_axes),
        _operand_maps(b, batch, b_axes),
        *((along("n"),) if name else () for name in node.inputs[2:]),
    )
    write = tuple(along(name) for name in (*(dimension.name for dimension in batch), "m", "n"))
    dimensions = (
        *batch,
        Dimension("m", shape[-2]),
        Dimension("n", shape[-1]),
        Dimension("k", depth, Iteration.REDUCTION),
    )
    return Nest(dimensions, reads, (write,), macs_per_point=1)


def reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """acc = bias + sum (a - a_zero_point) * (b - b_zero_point). Float32 accumulates in float64."""
    given = node.given(MatMulAttributes)
    a, b = operand(arrays, 0), operand(arrays, 1)
    if given.transpose_a:
        a = a.swapaxes(-1, -2)
    if given.transpose_b:
        b = b.swapaxes(-1, -2)
    b_zero_point = along_axis(given.b_zero_point, np.int64, b.ndim, b.ndim - 1)
    a = offset_removed(a, given.a_zero_point)
    b = offset_removed(b, b_zero_point)
    integer = a.dtype.kind != "f"
    a, b = exact_operands(a, b, a.shape[-1])
    accumulator = a @ b
    if integer:
        accumulator = accumulator.astype(np.int64)
    bias = optional_operand(arrays, 2)
    return finish(node, graph, accumulator if bias is None else accumulator + bias, CHANNEL_AXIS)


def _operand_maps(shape: tuple[int, ...], batch: tuple[Dimension, ...], last: tuple[str, str]) -> tuple[AxisMap, ...]:
    own = batch[len(batch) - (len(shape) - 2) :]
    maps = (
        whole(1) if extent == 1 else along(dimension.name) for dimension, extent in zip(own, shape[:-2], strict=True)
    )
    return (*maps, *(along(name) for name in last))


OPERATORS = (
    Operator(
        "MatMul",
        nest,
        reference,
        MatMulAttributes,
        channel_axis=CHANNEL_AXIS,
        takes_clamp=True,
        multipliers=Multipliers.EACH,
        on_integers=OnIntegers(Integers.MATRICES),
        weights_axis=lambda node: -2 if node.given(MatMulAttributes).transpose_b else -1,
    ),
)
