"""Sums of products without rounding error for integers."""

from __future__ import annotations

import numpy as np

from tilewright.graph import Array

_FLOAT64_EXACT = 1 << 53


def exact_operands(a: Array, b: Array, depth: int) -> tuple[Array, Array]:
    """Both operands in a dtype in which sums of ``depth`` products are exact for integers.

    float64 holds integers below 2**53 exactly and is many times faster than int64 in NumPy's
    matrix product, so float64 is taken where no partial sum can reach 2**53. Floats accumulate in float64.
    """
    if a.dtype.kind == "f" or b.dtype.kind == "f":
        return a.astype(np.float64), b.astype(np.float64)
    if depth * _largest(a) * _largest(b) < _FLOAT64_EXACT:
        return a.astype(np.float64), b.astype(np.float64)
    return a.astype(np.int64), b.astype(np.int64)


def offset_removed(x: Array, zero_point: int | Array) -> Array:
    """x - zero_point: int64 for integers, x itself for floats."""
    return x if x.dtype.kind == "f" else x.astype(np.int64) - zero_point


def truncated_quotient(dividend: Array, divisor: Array | np.int64) -> Array:
    """dividend / divisor rounded towards zero, as C divides."""
    quotient: Array = np.sign(dividend) * np.sign(divisor) * (np.abs(dividend) // np.abs(divisor))
    return quotient


def rounded_quotient(dividend: Array, divisor: Array | np.int64) -> Array:
    """dividend / divisor to the nearest integer, halves away from zero, for positive divisors.

    For negative divisors, half the divisor is rounded down first, as Deeploy's IntegerDiv does.
    """
    half = divisor >> 1
    return truncated_quotient(dividend + np.where(dividend < 0, -half, half), divisor)


def _largest(x: Array) -> int:
    return 0 if x.size == 0 else max(abs(int(x.min())), abs(int(x.max())))
