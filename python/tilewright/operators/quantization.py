"""Quantize, Dequantize, Requantize and Lookup."""

from __future__ import annotations

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators import elementwise
from tilewright.operators.elementwise import dimensions_of, identity_maps
from tilewright.operators.epilogue import along_axis, finish
from tilewright.operators.exact import offset_removed
from tilewright.operators.nest import Nest, whole
from tilewright.operators.operator import Arrays, Operator, operand


@dataclass(frozen=True, slots=True)
class QuantizationAttributes(Attributes):
    """Real values are (stored integer - zero point) * scale.

    Attributes:
        scale, zero_point: one value for the tensor, or one for each index of ``axis``.
        axis: axis that per-channel values follow; None where ``scale`` has one value.
        half_away: whether Quantize rounds halves away from zero, not to the even neighbour.
    """

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int | None = None
    half_away: bool = False


@dataclass(frozen=True, slots=True)
class RequantizeAttributes(Attributes):
    """Attributes of Requantize beside the node's epilogue.

    Attributes:
        channel_axis: output axis that per-channel values of the epilogue follow.
        x_zero_point: the stored integer that stands for 0.
        largest: bound of |x - x_zero_point|; 0 if only x's type bounds it.
    """

    channel_axis: int = 1
    x_zero_point: int = 0
    largest: int = 0


def quantize(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """clip(round_half_even(x / scale) + zero_point); the quotient in float32, as ONNX QuantizeLinear has it.

    With ``half_away`` halves are rounded away from zero. NaN becomes the zero point.
    """
    x = operand(arrays, 0)
    scale, zero_point = _parameters(node, x.ndim)
    wanted = graph.tensor(node.outputs[0]).dtype.numpy
    limits = np.iinfo(wanted)
    with np.errstate(over="ignore"):
        real = (x / scale).astype(np.float64)
        away = np.trunc(real + np.copysign(0.5, real))
        steps = away if node.given(QuantizationAttributes).half_away else np.rint(real)
        steps = np.nan_to_num(steps, nan=0.0, posinf=np.inf, neginf=-np.inf)
    return [np.clip(steps + zero_point, limits.min, limits.max).astype(wanted)]


def dequantize(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """(x - zero_point) * scale in float32."""
    x = operand(arrays, 0)
    scale, zero_point = _parameters(node, x.ndim)
    return finish(node, graph, offset_removed(x, zero_point).astype(np.float32) * scale)


def requantize(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """The node's epilogue, applied to x - x_zero_point."""
    given = node.given(RequantizeAttributes)
    return finish(node, graph, offset_removed(operand(arrays, 0), given.x_zero_point), given.channel_axis)


def lookup_nest(node: Node, graph: Graph) -> Nest:
    """Dimensions d0, d1, ... over x's axes; the table is read whole."""
    shape = graph.tensor(node.outputs[0]).shape
    table = tuple(whole(extent) for extent in graph.tensor(node.inputs[1]).shape)
    return Nest(dimensions_of(shape), (identity_maps(shape), table), (identity_maps(shape),))


def lookup(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """table[x - smallest x] for 8-bit x."""
    x, table = operand(arrays, 0), operand(arrays, 1)
    return finish(node, graph, table[x.astype(np.int64) - np.iinfo(x.dtype).min])


def _parameters(node: Node, rank: int) -> tuple[Array, Array]:
    given = node.given(QuantizationAttributes)
    position = 0 if given.axis is None else given.axis
    scale = along_axis(given.scale, np.float32, rank, position)
    return scale, along_axis(given.zero_point, np.int64, rank, position)


OPERATORS = (
    Operator("Quantize", elementwise.nest, quantize, QuantizationAttributes, is_alike=True),
    Operator("Dequantize", elementwise.nest, dequantize, QuantizationAttributes, is_alike=True),
    Operator("Requantize", elementwise.nest, requantize, RequantizeAttributes, is_alike=True),
    Operator("Lookup", lookup_nest, lookup, is_alike=True),
)
