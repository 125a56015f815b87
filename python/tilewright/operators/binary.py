"""Add, Sub, Mul and Div with NumPy broadcasting."""

from __future__ import annotations

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node, Requantize, Rescale
from tilewright.operators import elementwise
from tilewright.operators.epilogue import finish
from tilewright.operators.exact import offset_removed
from tilewright.operators.operator import (
    Affine,
    Arrays,
    Function,
    Integers,
    Multipliers,
    OnIntegers,
    Operator,
    Reference,
    operand,
    refuse,
)


@dataclass(frozen=True, slots=True)
class BinaryAttributes(Attributes):
    """Zero points and scales of both operands' stored integers; float operands have the defaults.

    Attributes:
        a_zero_point, b_zero_point: stored integers that stand for 0.
        a_multiplier, b_multiplier: real value of one stored unit of each operand; for Add and Sub with
            Requantize or Rescale.
        channel_axis: output axis that per-channel values of the epilogue follow.
    """

    a_zero_point: int = 0
    b_zero_point: int = 0
    a_multiplier: float = 1.0
    b_multiplier: float = 1.0
    channel_axis: int = 1


def _operands(node: Node, arrays: Arrays) -> tuple[Array, Array]:
    """Both operands, zero points removed; float operands as they are."""
    given = node.given(BinaryAttributes)
    a, b = operand(arrays, 0), operand(arrays, 1)
    return offset_removed(a, given.a_zero_point), offset_removed(b, given.b_zero_point)


def _scaled(node: Node, arrays: Arrays) -> tuple[Array, Array]:
    """Both operands, zero points removed; in float64, times their multipliers, before Requantize and Rescale."""
    given = node.given(BinaryAttributes)
    a, b = _operands(node, arrays)
    if a.dtype.kind == "f" or not isinstance(node.epilogue, (Requantize, Rescale)):
        return a, b
    scaled_a: Array = a * np.float64(given.a_multiplier)
    scaled_b: Array = b * np.float64(given.b_multiplier)
    return scaled_a, scaled_b


def _finish(node: Node, graph: Graph, result: Array) -> list[Array]:
    return finish(node, graph, result, node.given(BinaryAttributes).channel_axis)


def add(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """a + b in exact integers or float32; (a - za) * ma + (b - zb) * mb in float64 before Requantize and Rescale."""
    a, b = _scaled(node, arrays)
    return _finish(node, graph, a + b)


def subtract(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """a - b in exact integers or float32; (a - za) * ma - (b - zb) * mb in float64 before Requantize and Rescale."""
    a, b = _scaled(node, arrays)
    return _finish(node, graph, a - b)


def multiply(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """a * b in float32, or (a - za) * (b - zb) in exact integers."""
    a, b = _operands(node, arrays)
    return _finish(node, graph, a * b)


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


def _sum_like(name: str, reference: Reference, function: Function, affine: Affine, integers: Integers) -> Operator:
    """Add, Sub or Mul, whose integer results are finished by one multiplier for all channels."""
    return Operator(
        name,
        elementwise.nest,
        reference,
        BinaryAttributes,
        function,
        takes_clamp=True,
        multipliers=Multipliers.ONE,
        affine=affine,
        on_integers=OnIntegers(integers),
        is_alike=True,
    )


OPERATORS = (
    _sum_like("Add", add, lambda node, a, b: a + b, Affine.SUM, Integers.SUM),
    _sum_like("Sub", subtract, lambda node, a, b: a - b, Affine.DIFFERENCE, Integers.DIFFERENCE),
    _sum_like("Mul", multiply, lambda node, a, b: a * b, Affine.FACTOR, Integers.PRODUCT),
    Operator("Div", elementwise.nest, divide, function=lambda node, a, b: a / b, is_alike=True),
)
