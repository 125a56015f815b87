"""Sums and means of integers over axes, and quotients, as the Deeploy dialect rounds them."""

from __future__ import annotations

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators import elementwise
from tilewright.operators.epilogue import finish
from tilewright.operators.exact import offset_removed, rounded_quotient
from tilewright.operators.nest import AxisMap, Dimension, Iteration, Nest, along, whole
from tilewright.operators.operator import Arrays, Operator, operand
from tilewright.operators.reduction import ReductionAttributes


@dataclass(frozen=True, slots=True)
class IntegerDivAttributes(Attributes):
    """The constants of (numerator * a) / (eta * b + epsilon)."""

    numerator: int
    eta: int
    epsilon: int


def nest(node: Node, graph: Graph) -> Nest:
    """Dimensions d0, d1, ... over x; reduced ones are whole."""
    shape = graph.tensor(node.inputs[0]).shape
    axes = node.given(ReductionAttributes).axes
    dimensions = tuple(
        Dimension(f"d{axis}", extent, Iteration.WHOLE if axis in axes else Iteration.PARALLEL)
        for axis, extent in enumerate(shape)
    )
    write: list[AxisMap] = []
    for axis in range(len(shape)):
        if axis not in axes:
            write.append(along(f"d{axis}"))
        elif node.given(ReductionAttributes).keepdims:
            write.append(whole(1))
    return Nest(dimensions, (tuple(along(f"d{axis}") for axis in range(len(shape))),), (tuple(write),))


def total(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """The int32 sum over ``axes``."""
    return finish(node, graph, _sum(node, arrays))


def mean(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """The mean over ``axes`` to the nearest integer; halves away from zero, but up if the count is a power of two."""
    summed = _sum(node, arrays)
    shape, axes = operand(arrays, 0).shape, node.given(ReductionAttributes).axes
    count = int(np.prod([shape[axis] for axis in axes], dtype=np.int64))
    if count & (count - 1) == 0:
        return finish(node, graph, (summed + count // 2) >> (count.bit_length() - 1))
    return finish(node, graph, rounded_quotient(summed, np.int64(count)))


def divide(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """(numerator * a) / (eta * b + epsilon) to the nearest integer, halves away from zero; 0 where the divisor is 0.

    The int32 result is the low word of a quotient that does not fit.
    """
    given = node.given(IntegerDivAttributes)
    a, b = offset_removed(operand(arrays, 0), 0), offset_removed(operand(arrays, 1), 0)
    divisor = given.eta * b + given.epsilon
    quotient = rounded_quotient(given.numerator * a, np.where(divisor == 0, 1, divisor))
    return [np.where(divisor == 0, 0, quotient).astype(np.int32)]


def _sum(node: Node, arrays: Arrays) -> Array:
    x = offset_removed(operand(arrays, 0), 0)
    summed: Array = x.sum(axis=node.given(ReductionAttributes).axes, keepdims=node.given(ReductionAttributes).keepdims)
    return summed


OPERATORS = (
    Operator("IntegerSum", nest, total, ReductionAttributes),
    Operator("IntegerMean", nest, mean, ReductionAttributes),
    Operator("IntegerDiv", elementwise.nest, divide, IntegerDivAttributes),
)
