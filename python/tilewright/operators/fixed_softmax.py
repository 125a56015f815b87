"""Softmax and LogSoftmax of 8-bit integers in the fixed-point arithmetic of LiteRT's SOFTMAX and LOG_SOFTMAX."""

from __future__ import annotations

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators.fixed_point import (
    divided_by_power,
    exp_on_negative,
    high_product,
    log_of_sum,
    multiplied,
    one_over_one_plus,
)
from tilewright.operators.integer_norm import last_axis_nest
from tilewright.operators.operator import Arrays, Operator, operand

_INPUT_BITS = 5
"""Bits in front of the binary point of a scaled difference."""
_SUM_BITS = 12
_RESULT_BITS = 4
"""Bits in front of the binary point of a logarithm of a probability."""


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


@dataclass(frozen=True, slots=True)
class FixedLogSoftmaxAttributes(FixedSoftmaxAttributes):
    """From a Q5.26 number back to a difference of stored integers: times divisor / 2^31 / 2^right.

    Attributes:
        divisor: from 2^30 to 2^31 - 1.
    """

    divisor: int
    right: int


def powers(node: Node) -> Array:
    """exp(-d) as Q0.31 for every difference d of two 8-bit integers, int64[256]."""
    given = node.given(FixedSoftmaxAttributes)
    counted = -np.arange(256, dtype=np.int64) >= given.lowest
    return np.where(counted, exp_on_negative(np.where(counted, scaled_differences(node), 0), _INPUT_BITS), 0)


def scaled_differences(node: Node) -> Array:
    """-d as Q5.26 for every difference d of two 8-bit integers, int64[256]; entries beyond 32 bits are not used."""
    given = node.given(FixedSoftmaxAttributes)
    return high_product(-np.arange(256, dtype=np.int64) << given.left, given.multiplier)


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


def log_reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """16 * (d - log sum of powers) + the largest integer of y's type over the last axis, where d is x - its maximum.

    Differences that are too low for Q5.26 give the smallest integer.
    """
    given, x = node.given(FixedLogSoftmaxAttributes), operand(arrays, 0).astype(np.int64)
    difference = x.max(axis=-1, keepdims=True) - x
    total = divided_by_power(powers(node)[difference], _SUM_BITS).sum(axis=-1, keepdims=True)
    logarithm = log_of_sum(total, _SUM_BITS, _INPUT_BITS)
    least = multiplied(logarithm - (1 << 31), given.divisor, -given.right)
    lowest = np.maximum(given.lowest - 1, least)
    counted = -difference > lowest
    scaled = np.where(counted, scaled_differences(node)[difference], 0)
    limits = np.iinfo(graph.tensor(node.outputs[0]).dtype.numpy)
    levels = divided_by_power(scaled - logarithm, 31 - _INPUT_BITS - _RESULT_BITS) + limits.max
    return [np.where(counted, np.clip(levels, limits.min, limits.max), limits.min).astype(limits.dtype)]


OPERATORS = (
    Operator("FixedSoftmax", last_axis_nest, reference, FixedSoftmaxAttributes),
    Operator("FixedLogSoftmax", last_axis_nest, log_reference, FixedLogSoftmaxAttributes),
)
