"""Softmax of 8-bit integers in LiteRT's fixed-point arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators.fixed_point import divided_by_power, exp_on_negative, high_product, one_over_one_plus
from tilewright.operators.integer_norm import last_axis_nest
from tilewright.operators.operator import Arrays, Operator, operand

_INPUT_BITS = 5
"""Bits in front of the binary point of a scaled difference."""
_SUM_BITS = 12


@dataclass(frozen=True, slots=True)
class FixedSoftmaxAttributes(Attributes):
    """A difference d of two stored integers stands for d * 2^left * multiplier / 2^31, as Q5.26.

    Attributes:
        multiplier: from 2^30 to 2^31 - 1.
        lowest: the lowest difference that counts; the power of those below is 0.
    """

    multiplier: int
    left: int
    lowest: int


def powers(node: Node) -> Array:
    """exp(-d) as Q0.31 for every difference d of two 8-bit integers, int64[256]."""
    given = node.given(FixedSoftmaxAttributes)
    difference = -np.arange(256, dtype=np.int64)
    counted = difference >= given.lowest
    scaled = high_product(np.where(counted, difference, 0) << given.left, given.multiplier)
    return np.where(counted, exp_on_negative(scaled, _INPUT_BITS), 0)


def reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """round(levels * power / sum of powers) over the last axis, + the smallest integer of y's type.

    An 8-bit y has 256 levels, of which the last cannot be stored, one of int16 65,536.
    """
    x = operand(arrays, 0).astype(np.int64)
    power = powers(node)[x.max(axis=-1, keepdims=True) - x]
    total = divided_by_power(power, _SUM_BITS).sum(axis=-1, keepdims=True)
    leading = 32 - np.frexp(total.astype(np.float64))[1].astype(np.int64)
    scale = one_over_one_plus((total << leading) - (1 << 31))
    wanted = graph.tensor(node.outputs[0]).dtype.numpy
    bits = 8 * wanted.itemsize
    levels = divided_by_power(high_product(scale, power), _SUM_BITS - leading + 31 - bits)
    return [(np.minimum(levels, (1 << bits) - 1) + np.iinfo(wanted).min).astype(wanted)]


OPERATORS = (Operator("FixedSoftmax", last_axis_nest, reference, FixedSoftmaxAttributes),)
