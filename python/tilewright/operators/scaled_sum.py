"""Sums of two quantised tensors that are brought to one scale first, in LiteRT's fixed-point arithmetic."""

from __future__ import annotations

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators import elementwise
from tilewright.operators.epilogue import finish
from tilewright.operators.fixed_point import multiplied
from tilewright.operators.operator import Arrays, Operator, operand


@dataclass(frozen=True, slots=True)
class ScaledSumAttributes(Attributes):
    """Zero points and factors of both operands; a factor is multiplier / 2^31 * 2^shift, as in ``RequantizeTwice``.

    Attributes:
        left: operands are multiplied by 2^left first.
        sign: 1 for a + b, -1 for a - b.
    """

    a_zero_point: int
    b_zero_point: int
    a_multiplier: int
    b_multiplier: int
    a_shift: int
    b_shift: int
    left: int
    sign: int


def reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """acc = (a - za) * 2^left * fa + sign * (b - zb) * 2^left * fb; each product is rounded twice."""
    given = node.given(ScaledSumAttributes)
    a, b = (operand(arrays, index).astype(np.int64) for index in range(2))
    scaled_a = multiplied(a - given.a_zero_point << given.left, given.a_multiplier, given.a_shift)
    scaled_b = multiplied(b - given.b_zero_point << given.left, given.b_multiplier, given.b_shift)
    return finish(node, graph, scaled_a + given.sign * scaled_b)


OPERATORS = (Operator("ScaledSum", elementwise.nest, reference, ScaledSumAttributes, is_alike=True),)
