"""Elementwise functions of one float32 tensor (Clip: of integers too); alpha and beta as in ONNX."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators import elementwise
from tilewright.operators.epilogue import clamped, finish
from tilewright.operators.operator import Arrays, Operator, operand

_Function = Callable[[Node, Array], Array]


@dataclass(frozen=True, slots=True)
class ClipAttributes(Attributes):
    """Bounds of the result; infinite where the model gives none."""

    minimum: float
    maximum: float


@dataclass(frozen=True, slots=True)
class AlphaAttributes(Attributes):
    """``alpha`` as ONNX has it."""

    alpha: float


@dataclass(frozen=True, slots=True)
class HardSigmoidAttributes(AlphaAttributes):
    """``alpha`` and ``beta`` as ONNX has them."""

    beta: float


def _clip(node: Node, x: Array) -> Array:
    given = node.given(ClipAttributes)
    return clamped(x, given.minimum, given.maximum)


def _leaky_relu(node: Node, x: Array) -> Array:
    return np.where(x < 0, x * node.given(AlphaAttributes).alpha, x)


def _hard_sigmoid(node: Node, x: Array) -> Array:
    given = node.given(HardSigmoidAttributes)
    line: Array = x * given.alpha + given.beta
    return np.clip(line, 0.0, 1.0)


def _sigmoid(node: Node, x: Array) -> Array:
    quotient: Array = 1.0 / (1.0 + np.exp(-x))
    return quotient


def _tanh(node: Node, x: Array) -> Array:
    result: Array = np.tanh(x)
    return result


def _hard_swish(node: Node, x: Array) -> Array:
    product: Array = x * np.clip(x / 6.0 + 0.5, 0.0, 1.0)
    return product


def _swish(node: Node, x: Array) -> Array:
    quotient: Array = x / (1.0 + np.exp(-node.given(AlphaAttributes).alpha * x))
    return quotient


def _operator(name: str, function: _Function, attributes: type[Attributes] = Attributes) -> Operator:
    def reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
        """The function in float64, rounded once to float32."""
        x = operand(arrays, 0)
        with np.errstate(over="ignore", invalid="ignore"):
            return finish(node, graph, function(node, x.astype(np.float64) if x.dtype.kind == "f" else x))

    return Operator(name, elementwise.nest, reference, attributes, function, is_alike=True)


OPERATORS = (
    _operator("Clip", _clip, ClipAttributes),
    _operator("LeakyRelu", _leaky_relu, AlphaAttributes),
    _operator("HardSigmoid", _hard_sigmoid, HardSigmoidAttributes),
    _operator("Sigmoid", _sigmoid),
    _operator("Tanh", _tanh),
    _operator("HardSwish", _hard_swish),
    _operator("Swish", _swish, AlphaAttributes),
)
