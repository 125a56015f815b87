"""Fixed-point arithmetic of LiteRT's reference kernels, on int64 arrays that hold 32-bit values.

Qi.f is an integer that stands for itself / 2^f, with i bits in front of the binary point. The functions follow, bit
for bit, gemmlowp's fixedpoint/fixedpoint.h and tensorflow/lite/kernels/internal/common.h.
"""

from __future__ import annotations

from math import frexp

import numpy as np

from tilewright.graph import Array

_ONE = 1 << 31
_INT32_MIN, _INT32_MAX = -_ONE, _ONE - 1


def quantized_multiplier(real: float) -> tuple[int, int]:
    """(q, s) with q / 2^31 * 2^s nearest to a real number that is not negative; (0, 0) below 2^-32."""
    if real == 0.0:
        return 0, 0
    fraction, shift = frexp(real)
    q = int(fraction * _ONE + 0.5)
    if q == _ONE:
        q, shift = q // 2, shift + 1
    return (0, 0) if shift < -31 else (q, shift)


def halved_multiplier(q: int) -> int:
    """A multiplier of 31 bits rounded to one of 15 bits."""
    return 32767 if q >= 0x7FFF0000 else (q + (1 << 15)) >> 16


def multiplied(x: Array, q: Array | int, shift: Array | int) -> Array:
    """x * 2^shift * q / 2^31, rounded half up; a negative shift rounds once more, half away from zero."""
    left, right = np.maximum(shift, 0), np.maximum(-np.asarray(shift), 0)
    return divided_by_power(high_product(x << left, q), right)


def high_product(a: Array, b: Array | int) -> Array:
    """a * b / 2^31, rounded half up; the largest int32 for a = b = -2^31."""
    product: Array = (np.asarray(a, np.int64) * b + (1 << 30)) >> 31
    limited: Array = np.minimum(product, _INT32_MAX)
    return limited


def divided_by_power(x: Array, exponent: Array | int) -> Array:
    """x / 2^exponent, rounded half away from zero."""
    mask = (np.int64(1) << np.asarray(exponent, np.int64)) - 1
    quotient: Array = (x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0))
    return quotient


def multiplied_by_power(x: Array, exponent: Array | int) -> Array:
    """x * 2^exponent, clipped to 32 bits."""
    limited: Array = np.clip(x << exponent, _INT32_MIN, _INT32_MAX)
    return limited


def exp_on_negative(x: Array, integer_bits: int) -> Array:
    """exp of Q<integer_bits> numbers that are not positive, as Q0.31."""
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    rest = (x & (quarter - 1)) - quarter
    result = _exp_near_zero(multiplied_by_power(rest, integer_bits))
    whole = rest - x
    for exponent, factor in _EXP_FACTORS:
        if integer_bits > exponent:
            bit = 1 << (fraction_bits + exponent)
            result = np.where(whole & bit, high_product(result, factor), result)
    if integer_bits > 5:
        result = np.where(x < -(1 << (fraction_bits + 5)), 0, result)
    return np.where(x == 0, _INT32_MAX, result)


_EXP_FACTORS = (
    (-2, 1672461947),
    (-1, 1302514674),
    (0, 790015084),
    (1, 290630308),
    (2, 39332535),
    (3, 720401),
    (4, 242),
)
"""exp(-2^e) as Q0.31."""


def _exp_near_zero(a: Array) -> Array:
    """exp of Q0.31 numbers from -1/4 to 0: a Taylor polynomial around -1/8."""
    constant, third = 1895147668, 715827883
    x = a + (1 << 28)
    x2 = high_product(x, x)
    x3, x4 = high_product(x2, x), high_product(x2, x2)
    x4_quarter = divided_by_power(x4, 2)
    tail = divided_by_power(high_product(x4_quarter + x3, third) + x2, 1)
    return constant + high_product(np.asarray(constant), x + tail)


def one_over_one_plus(a: Array) -> Array:
    """1 / (1 + a) of Q0.31 numbers from 0 to 1, as Q0.31."""
    return multiplied_by_power(_reciprocal(a), 1)


def _reciprocal(a: Array) -> Array:
    """2 / (1 + a) of Q0.31 numbers from 0 to 1, as Q2.29: three steps of Newton and Raphson from 48/17 - 32/17 x."""
    half_sum = _half_sum(a, np.asarray(_INT32_MAX))
    x = 1515870810 + high_product(half_sum, -1010580540)
    for _ in range(3):
        error = (1 << 29) - high_product(half_sum, x)
        x = x + multiplied_by_power(high_product(x, error), 2)
    return x


def log_of_sum(x: Array, integer_bits: int, result_bits: int) -> Array:
    """log of Q<integer_bits> numbers from 1 on, as Q<result_bits>.

    x is 2^n * r with r near the fourth root of 1/2, by one of two scalings; log r is a quotient of polynomials.
    """
    a_leading = _leading_zeros(x)
    a_rest = multiplied_by_power(high_product(multiplied_by_power(x, a_leading - 1), _ROOT), 1)
    b_leading = _leading_zeros(high_product(x, _ROOT)) - 1
    b_rest = multiplied_by_power(x, b_leading)
    bits = 31 - (result_bits + 1)
    quarter = 1 << (bits - 2)
    a_power = multiplied_by_power(integer_bits - a_leading, bits) + quarter
    b_power = multiplied_by_power(integer_bits - b_leading, bits) - quarter
    rest, power = np.minimum(a_rest, b_rest), np.maximum(a_power, b_power)
    middle = _half_sum(rest, np.asarray(_FOURTH_ROOT))
    q = 2 * (rest - _FOURTH_ROOT)
    square = high_product(q, q)
    numerator = high_product(q, rest) + high_product(high_product(q, square), 117049297)
    denominator = high_product(middle, 1057819769 + q + high_product(square, 127690142)) + high_product(q, 638450708)
    quotient = high_product(divided_by_power(numerator, result_bits + 1), one_over_one_plus(denominator))
    return multiplied_by_power(high_product(power, 1488522236) + quotient, 1)


_ROOT, _FOURTH_ROOT = 1518500250, 1805811301
"""Square root and fourth root of 1/2, as Q0.31."""


def _leading_zeros(x: Array) -> Array:
    """Zero bits above the highest set bit of 32-bit numbers from 1 to 2^31 - 1."""
    return 32 - np.frexp(x.astype(np.float64))[1].astype(np.int64)


def _half_sum(a: Array, b: Array) -> Array:
    """(a + b) / 2, rounded half away from zero."""
    total = a + b
    doubled = total + np.where(total >= 0, 1, -1)
    halved: Array = np.sign(doubled) * (np.abs(doubled) // 2)
    return halved


def inverse_root(x: int) -> tuple[int, int]:
    """(q, n) with q / 2^31 / 2^n next to 1 / sqrt(x), for an integer above 0: five steps of Newton and Raphson."""
    if x <= 1:
        return _INT32_MAX, 0
    shift = 11
    while x >= 1 << 29:
        x, shift = x // 4, shift + 1
    pairs = (31 - x.bit_length()) // 2 - 1
    shift, x = shift - pairs, x << (2 * pairs)
    argument, root = x >> 1, 1 << 28
    half = (argument + 1) >> 1
    for _ in range(5):
        square = _high(root, root)
        cube = _limited(_high(square, root) << 6)
        root = _limited((_high(3 << 27, root) - _high(half, cube)) << 3)
    root = _high(root, 1518500250)
    return (root << -shift, 0) if shift < 0 else (root, shift)


def _high(a: int, b: int) -> int:
    """a * b / 2^31, rounded half up."""
    return (a * b + (1 << 30)) >> 31


def _limited(value: int) -> int:
    return max(min(value, _INT32_MAX), _INT32_MIN)


def logistic(x: Array, integer_bits: int) -> Array:
    """1 / (1 + exp(-x)) of Q<integer_bits> numbers, as Q0.31."""
    positive = one_over_one_plus(exp_on_negative(-np.abs(x), integer_bits))
    return np.where(x == 0, 1 << 30, np.where(x > 0, positive, _INT32_MAX - positive))


def tanh(x: Array, integer_bits: int) -> Array:
    """tanh of Q<integer_bits> numbers, as Q0.31."""
    power = exp_on_negative(-np.abs(x), integer_bits + 1)
    reciprocal = _reciprocal(power)
    positive = multiplied_by_power(reciprocal - (1 << 29), 2)
    return np.where(x == 0, 0, np.where(x > 0, positive, -positive))
