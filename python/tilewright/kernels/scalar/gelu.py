"""Gelu of float32: the operator, and its kernel (runtime/kernels/gelu_f32.c)."""

from __future__ import annotations

from dataclasses import replace
from math import pi, sqrt

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.kernels.float_common import ClampF32, clamp_attributes, float_clamp
from tilewright.kernels.kernel import Declaration, KernelChoice
from tilewright.kernels.scalar.elementwise_float import elementwise, elementwise_kernel
from tilewright.operators import elementwise as elements
from tilewright.operators.epilogue import finish
from tilewright.operators.map import erf
from tilewright.operators.operator import Arrays, Operator, operand

_BY_ERF = elementwise_kernel("gelu_f32", ClampF32, 26.5)
_BY_TANH = elementwise_kernel("gelu_tanh_f32", ClampF32, 31.0)


@dataclass(frozen=True, slots=True)
class GeluAttributes(Attributes):
    """Whether tanh approximates erf (ONNX's ``approximate``)."""

    by_tanh: bool = False


def function(node: Node, x: Array) -> Array:
    """x / 2 * (1 + erf(x / sqrt(2))), or its approximation by tanh as ONNX defines it."""
    if node.given(GeluAttributes).by_tanh:
        return np.asarray(0.5 * x * (1.0 + np.tanh(sqrt(2.0 / pi) * (x + 0.044715 * x**3))))
    return np.asarray(0.5 * x * (1.0 + erf(x / sqrt(2.0))))


def reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """The function in float64, rounded once to float32."""
    with np.errstate(over="ignore", invalid="ignore"):
        return finish(node, graph, function(node, operand(arrays, 0).astype(np.float64)))


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for a float32 node of at most six axes."""
    clamp = float_clamp(node, graph)
    if clamp is None:
        return ()
    kernel = _BY_TANH if node.given(GeluAttributes).by_tanh else _BY_ERF
    choice = elementwise(node, graph, kernel, clamp_attributes(clamp))
    return (replace(choice, sources=("gelu_f32.c", "walk.c")),)


OPERATORS = (Operator("Gelu", elements.nest, reference, GeluAttributes, function, takes_clamp=True),)

DECLARATION = Declaration(
    operators={"Gelu": choices},
    kernels=(_BY_ERF, _BY_TANH),
)
