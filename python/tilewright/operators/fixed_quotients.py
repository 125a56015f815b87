"""Quotients (DIV), inverse roots (RSQRT) and vectors divided by their length (L2_NORMALIZATION), as LiteRT has them."""

from __future__ import annotations

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
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
class RsqrtHalvesAttributes(Attributes):
    """y = 1 / sqrt(x) * multiplier / 2^31 * 2^shift, where shift is -11 to 30."""

    multiplier: int
    shift: int


@dataclass(frozen=True, slots=True)
class L2FixedAttributes(Attributes):
    """The stored integer of x that stands for 0."""

    x_zero_point: int


def reciprocals() -> Array:
    """``_reciprocals`` of 0 to 255, int64[256]; the entry of 0 is not used."""
    return _reciprocals(np.arange(256, dtype=np.int64))


def _reciprocals(b: Array) -> Array:
    """2^(bits of b) / b as Q0.31, int64; 2^31 - 1 where b is 0."""
    bits = np.frexp(b.astype(np.float64))[1].astype(np.int64)
    return one_over_one_plus(np.where(b > 0, (b << (32 - bits)) - (1 << 31), 0))


def _divide(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """(a - za) / (b - zb) in y's steps; the numerator fills 31 bits before its product with the reciprocal of b - zb.

    Where b - zb is 0, the quotient is 0 before the zero point is added.
    """
    given = node.given(DivFixedAttributes)
    a = operand(arrays, 0).astype(np.int64) - given.a_zero_point
    b = operand(arrays, 1).astype(np.int64) - given.b_zero_point
    a, size = np.broadcast_arrays(np.where(b < 0, -a, a), np.abs(b))
    bits = np.frexp(size.astype(np.float64))[1].astype(np.int64)
    # LiteRT counts the leading sign bits of a; for a negative number they are those of 2 * |a| - 1.
    counted = np.where(a < 0, 2 * np.abs(a) - 1, a)
    headroom = 32 - np.frexp(counted.astype(np.float64))[1].astype(np.int64) - (a >= 0)
    quotient = high_product(a << headroom, _reciprocals(size))
    shift = given.shift - (bits - 1) - headroom
    result = multiplied(quotient, given.multiplier, np.maximum(shift, -31))
    # For 32 bits or more LiteRT shifts by the remainder of 32, and adds 1 unless the product is negative.
    # Dividends of 0 are such cases.
    high = high_product(quotient, given.multiplier)
    result = np.where(shift < -31, (high >> (-shift & 31)) + (high >= 0), result) + given.zero_point
    limited = np.clip(np.where(size == 0, given.zero_point, result), given.minimum, given.maximum)
    return [limited.astype(graph.tensor(node.outputs[0]).dtype.numpy)]


_ROOT_BITS = 20
"""1 / sqrt(x) is rounded to steps of 2^-20 first."""


def _rsqrt(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """1 / sqrt(x) in y's steps; the largest y where x is 0 or below."""
    given = node.given(RsqrtHalvesAttributes)
    values, places = np.unique(operand(arrays, 0), return_inverse=True)
    pairs = np.asarray([inverse_root(int(value)) for value in values], np.int64).reshape(-1, 2)
    root = multiplied(np.asarray(1, np.int64), pairs[:, 0], _ROOT_BITS - pairs[:, 1])
    y = multiplied(root, given.multiplier, given.shift - _ROOT_BITS)
    limited = np.where(values > 0, np.minimum(y, 32767), 32767).astype(np.int16)
    return [limited[places].reshape(operand(arrays, 0).shape)]


def _l2(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """x / (square root of the sum of x^2) over the last axis, in steps of 1/128; for a uint8 y, 128 stands for 0."""
    x = operand(arrays, 0).astype(np.int64) - node.given(L2FixedAttributes).x_zero_point
    sums = (x * x).sum(axis=-1, keepdims=True)
    pairs = np.asarray([inverse_root(int(value)) for value in sums.reshape(-1)], np.int64).reshape(-1, 2)
    inverse, right = (pairs[:, side].reshape(sums.shape) for side in range(2))
    kind = graph.tensor(node.outputs[0]).dtype.numpy
    if kind == np.uint8:
        # A uint8 result is rounded after the factor 128, an int8 result before it.
        return [(np.clip(multiplied(x << 7, inverse, -right), -128, 127) + 128).astype(kind)]
    return [np.clip(multiplied(x, inverse, 7 - right), -128, 127).astype(kind)]


OPERATORS = (
    Operator("DivFixed", elementwise.nest, _divide, DivFixedAttributes),
    Operator("RsqrtHalves", elementwise.nest, _rsqrt, RsqrtHalvesAttributes),
    Operator("L2Fixed", last_axis_nest, _l2, L2FixedAttributes),
)
