"""Add, Sub, Mul and Div with NumPy broadcasting."""

from __future__ import annotations

import numpy as np

from tilewright.graph import Array, Graph, Node, Requantize, Rescale
from tilewright.operators import elementwise
from tilewright.operators.epilogue import finish
from tilewright.operators.exact import offset_removed
from tilewright.operators.operator import Arrays, Operator, operand, refuse


def _operands(node: Node, arrays: Arrays) -> tuple[Array, Array]:
    """Both operands, zero points removed; real numbers where the node gives each its own multiplier."""
    a = offset_removed(operand(arrays, 0), node.attributes.get("a_zero_point", 0))
    b = offset_removed(operand(arrays, 1), node.attributes.get("b_zero_point", 0))
    if a.dtype.kind == "f" or not isinstance(node.epilogue, (Requantize, Rescale)):
        return a, b
    scaled_a: Array = a * np.float64(node.attributes.get("a_multiplier", 1.0))
    scaled_b: Array = b * np.float64(node.attributes.get("b_multiplier", 1.0))
    return scaled_a, scaled_b


def add(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """Exact integers, float32, or (a - za) * ma + (b - zb) * mb in float64 before Requantize."""
    a, b = _operands(node, arrays)
    return finish(node, graph, a + b)


def subtract(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """As ``add``."""
    a, b = _operands(node, arrays)
    return finish(node, graph, a - b)


def multiply(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """Exact integers, or float32."""
    a = offset_removed(operand(arrays, 0), node.attributes.get("a_zero_point", 0))
    b = offset_removed(operand(arrays, 1), node.attributes.get("b_zero_point", 0))
    return finish(node, graph, a * b)


def divide(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """Float32 quotients; division by zero gives infinities and NaN.

    Raises:
        TilewrightError (not supported): integer operands.
    """
    a, b = operand(arrays, 0), operand(arrays, 1)
    if a.dtype.kind != "f":
        raise refuse(node, "integer-division", "of integers is not supported", help="divide float32 tensors")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return finish(node, graph, a / b)


BINARY = (
    Operator("Add", elementwise.nest, add),
    Operator("Sub", elementwise.nest, subtract),
    Operator("Mul", elementwise.nest, multiply),
    Operator("Div", elementwise.nest, divide),
)
