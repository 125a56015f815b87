"""Float normalisations over the last axis: LayerNormalization and RMSNormalization."""

from __future__ import annotations

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators.integer_norm import last_axis_nest
from tilewright.operators.operator import Arrays, Operator, operand, optional_operand


@dataclass(frozen=True, slots=True)
class NormAttributes(Attributes):
    """``epsilon`` is added to the variance, or to the mean of squares, before the square root."""

    epsilon: float


def layer_norm(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias in float64, rounded once."""
    x = operand(arrays, 0).astype(np.float64)
    centred = x - x.mean(axis=-1, keepdims=True)
    bias = optional_operand(arrays, 2)
    normal = _over_deviation(centred, node) * operand(arrays, 1).astype(np.float64)
    return [(normal if bias is None else normal + bias).astype(np.float32)]


def rms_norm(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """x / sqrt(mean of squares + epsilon) * scale in float64, rounded once."""
    x = operand(arrays, 0).astype(np.float64)
    return [(_over_deviation(x, node) * operand(arrays, 1).astype(np.float64)).astype(np.float32)]


def _over_deviation(x: Array, node: Node) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + node.given(NormAttributes).epsilon))


OPERATORS = (
    Operator("LayerNormalization", last_axis_nest, layer_norm, NormAttributes),
    Operator("RMSNormalization", last_axis_nest, rms_norm, NormAttributes),
)
