"""Quotients of 8-bit integers, and lines less their lengths, as LiteRT's reference kernels have them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators import elementwise
from tilewright.operators.fixed_point import high_product, inverse_root, multiplied, one_over_one_plus
from tilewright.operators.integer_norm import last_axis_nest
from tilewright.operators.operator import Arrays, Operator, operand


@dataclass(frozen=True, slots=True)
class DivFixedAttributes(Attributes):
    """y = (a - a_zero_point) / (b - b_zero_point) * multiplier / 2^31 * 2^shift + zero_point, clamped."""

    a_zero_point: int
    b_zero_point: int
    multiplier: int
    shift: int
    zero_point: int
    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True)
class L2FixedAttributes(Attributes):
    """The stored integer of x that stands for 0."""

    x_zero_point: int


def reciprocals() -> Array:
    """2^(bits of b) / b as Q0.31 for b from 0 to 255, int64[256]; the entry of 0 is not used."""
    b = np.arange(256, dtype=np.int64)
    bits = np.frexp(b.astype(np.float64))[1].astype(np.int64)
    return one_over_one_plus(np.where(b > 0, (b << (32 - bits)) - (1 << 31), 0))


def _divide(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """The numerator is shifted to 31 bits before its product with the reciprocal; what has divisor 0 is 0."""
    given = node.given(DivFixedAttributes)
    a = operand(arrays, 0).astype(np.int64) - given.a_zero_point
    b = operand(arrays, 1).astype(np.int64) - given.b_zero_point
    a, size = np.broadcast_arrays(np.where(b < 0, -a, a), np.abs(b))
    bits = np.frexp(size.astype(np.float64))[1].astype(np.int64)
    # Of negative numbers the leading bits of 2 * |a| - 1 count.
    counted = np.where(a < 0, 2 * np.abs(a) - 1, a)
    headroom = 32 - np.frexp(counted.astype(np.float64))[1].astype(np.int64) - (a >= 0)
    quotient = high_product(a << headroom, reciprocals()[size])
    shift = given.shift - (bits - 1) - headroom
    result = multiplied(quotient, given.multiplier, np.maximum(shift, -31))
    # LiteRT shifts by 32 bits and more as by their rest of 32, and rounds up what is not negative. Zeros are there.
    high = high_product(quotient, given.multiplier)
    result = np.where(shift < -31, (high >> (-shift & 31)) + (high >= 0), result) + given.zero_point
    limited = np.clip(np.where(size == 0, given.zero_point, result), given.minimum, given.maximum)
    return [limited.astype(graph.tensor(node.outputs[0]).dtype.numpy)]


def _l2(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """Steps of 1/128 over the last axis; a uint8 y has 128 for 0."""
    x = operand(arrays, 0).astype(np.int64) - node.given(L2FixedAttributes).x_zero_point
    sums = (x * x).sum(axis=-1, keepdims=True)
    pairs = np.asarray([inverse_root(int(value)) for value in sums.reshape(-1)], np.int64).reshape(-1, 2)
    inverse, right = (pairs[:, side].reshape(sums.shape) for side in range(2))
    kind = graph.tensor(node.outputs[0]).dtype.numpy
    if kind == np.uint8:
        # Rounded behind the factor 128; int8 before it.
        return [(np.clip(multiplied(x << 7, inverse, -right), -128, 127) + 128).astype(kind)]
    return [np.clip(multiplied(x, inverse, 7 - right), -128, 127).astype(kind)]


OPERATORS = (
    Operator("DivFixed", elementwise.nest, _divide, DivFixedAttributes),
    Operator("L2Fixed", last_axis_nest, _l2, L2FixedAttributes),
)
