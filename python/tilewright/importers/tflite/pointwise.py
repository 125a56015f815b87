"""Functions of one tensor: what they become for float32, and their stored integers for 8 bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import erfc, floor, frexp
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array
from tilewright.importers.construction import Unsupported
from tilewright.importers.tflite.context import LiteCall
from tilewright.importers.tflite.multipliers import away, quotient
from tilewright.importers.tflite.records import TensorRecord
from tilewright.operators.fixed_point import (
    divided_by_power,
    halved_multiplier,
    logistic,
    multiplied,
    quantized_multiplier,
    tanh,
)

Stored = Callable[[Array], Array]
_INPUT_BITS = 4
"""Bits in front of the binary point of the arguments of logistic and tanh."""
_INFINITE = float("inf")
_FAR = np.float32(1e6)
"""Beyond all stored integers of 8 bits."""


@dataclass(frozen=True, slots=True)
class Function:
    """An operator on one tensor.

    Attributes:
        real: the graph's operator for float32, and its attributes.
        stored: from an 8-bit input's and output's scales to the function on stored integers.
    """

    real: Callable[[LiteCall], tuple[str, dict[str, Any]]]
    stored: Callable[[LiteCall, TensorRecord, TensorRecord], Stored]


def _clip(low: float, high: float) -> Callable[[LiteCall], tuple[str, dict[str, Any]]]:
    return lambda call: ("Clip", {"minimum": low, "maximum": high})


def _relu(call: LiteCall, x: TensorRecord, y: TensorRecord) -> Stored:
    """A clamp behind the quotient of the scales."""
    q, shift = quantized_multiplier(quotient(x, y))
    return lambda stored: np.maximum(multiplied(stored - x.zero, q, shift) + y.zero, y.zero)


def _relu6(call: LiteCall, x: TensorRecord, y: TensorRecord) -> Stored:
    """A clamp of the stored integers; the output has the input's scale."""
    if (x.scale, x.zero_point) != (y.scale, y.zero_point):
        raise Unsupported("the scales of input and output differ", "convert the model again")
    six = x.zero + away(np.float32(6.0) / x.unit)
    return lambda stored: np.clip(stored, x.zero, six)


def _leaky(call: LiteCall, x: TensorRecord, y: TensorRecord) -> Stored:
    """A factor for either side of 0; of a negative alpha, the product's sign changes."""
    alpha = quotient(x, y, call.real("alpha"))
    q, shift = quantized_multiplier(abs(alpha))
    q_identity, shift_identity = quantized_multiplier(quotient(x, y))

    def stored(values: Array) -> Array:
        offset = values - x.zero
        negative = multiplied(offset, q, shift) * (-1 if alpha < 0 else 1)
        return np.where(offset >= 0, multiplied(offset, q_identity, shift_identity), negative) + y.zero

    return stored


def gelu_by_tanh(real: Array) -> Array:
    """GELU's approximation, each step in float32 as LiteRT has it."""
    x = real.astype(np.float32)
    argument = _SQRT_2_BY_PI * (x + np.float32(0.044715) * x * x * x)
    return np.asarray(np.float32(0.5) * x * (1 + np.tanh(argument.astype(np.float64)).astype(np.float32)))


def gelu_by_erf(real: Array) -> Array:
    """GELU itself, each step in float32 as LiteRT has it."""
    x = real.astype(np.float32)
    factor = np.vectorize(erfc, otypes=[np.float64])(x * np.float32(-np.sqrt(0.5))).astype(np.float32)
    return np.asarray(np.float32(0.5) * x * factor)


_SQRT_2_BY_PI = np.float32(0.7978845608028654)


def _gelu(call: LiteCall, x: TensorRecord, y: TensorRecord) -> Stored:
    """By tanh, or by the error function."""
    function = gelu_by_tanh if call.integer("approximate") else gelu_by_erf
    return _real_function(function)(call, x, y)


def _curve(function: Callable[[Array, int], Array], bits: int, offset: int) -> Callable[..., Stored]:
    """Logistic or tanh of Q4.27: the output has ``bits`` bits behind the binary point, and a fixed zero point."""

    def of(call: LiteCall, x: TensorRecord, y: TensorRecord) -> Stored:
        if x.type == "uint8":
            return _real_function(_UNSIGNED[bits])(call, x, y)
        if y.scale != (2.0**-bits,) or y.zero != offset:
            raise Unsupported(f"an output with scale {y.scale} and zero point {y.zero_point}")
        fraction, shift = frexp(float(x.unit) * (1 << (31 - _INPUT_BITS)))
        multiplier = floor(fraction * (1 << 31) + 0.5)
        radius = floor(((1 << _INPUT_BITS) - 1) * 2.0 ** (31 - _INPUT_BITS - shift))

        def stored(values: Array) -> Array:
            inner = values - x.zero
            near = np.abs(inner) < radius
            argument = multiplied(np.where(near, inner, 0), multiplier, shift)
            result = divided_by_power(function(argument, _INPUT_BITS), 31 - bits) + offset
            return np.where(near, result, np.where(inner < 0, -128, 127))

        return stored

    return of


_UNSIGNED: Mapping[int, Callable[[Array], Array]] = MappingProxyType(
    {8: lambda x: 1 / (1 + np.exp(-x)), 7: lambda x: np.asarray(np.tanh(x))}
)
"""Logistic and tanh of uint8, in float32, by the bits of their results."""


def _hard_swish(call: LiteCall, x: TensorRecord, y: TensorRecord) -> Stored:
    """Products of 16 bits; the scales in float32."""
    fine = np.float32(1.0 / 128.0) * x.unit
    out, out_shift = quantized_multiplier(float(fine / y.unit))
    relu, relu_shift = quantized_multiplier(float(fine / np.float32(3.0 / 32768.0)))
    if out_shift > 0:
        raise Unsupported(f"an output scale of {float(y.unit)}, so small that results would be shifted left")
    out, relu = halved_multiplier(out), halved_multiplier(relu)

    def stored(values: Array) -> Array:
        fine_value = (values - x.zero) * 128
        on_output = _high_half(fine_value, out)
        ramp = fine_value
        if relu_shift > 0:
            ramp = _int16(ramp << (relu_shift - 1))
        ramp = _high_half(ramp, relu)
        if relu_shift > 0:
            ramp = _int16(ramp << 1)
        if relu_shift < 0:
            ramp = divided_by_power(ramp, -relu_shift)
        ramp = (ramp + (1 << 15)) >> 1
        product = ramp * on_output
        shifted = np.sign(product) * (np.abs(product) >> 15)
        return divided_by_power(shifted, -out_shift) + y.zero

    return stored


def _real_function(function: Callable[[Array], Array]) -> Callable[..., Stored]:
    """A function of real numbers in float32, whose results are rounded half away from zero."""

    def of(call: LiteCall, x: TensorRecord, y: TensorRecord) -> Stored:
        def stored(values: Array) -> Array:
            real = (x.unit * (values - x.zero).astype(np.float32)).astype(np.float32)
            with np.errstate(divide="ignore", invalid="ignore"):
                scaled = np.nan_to_num(
                    function(real) * (np.float32(1.0) / y.unit), nan=-_FAR, posinf=_FAR, neginf=-_FAR
                )
            scaled = np.clip(scaled, -_FAR, _FAR)
            nearest: Array = np.trunc(scaled + np.copysign(np.float32(0.5), scaled)).astype(np.int64)
            return nearest + y.zero

        return stored

    return of


def _abs(call: LiteCall, x: TensorRecord, y: TensorRecord) -> Stored:
    """Times the quotient of the scales, where they differ."""
    q, shift = quantized_multiplier(quotient(x, y))
    same = x.scale == y.scale
    return lambda stored: np.abs(stored - x.zero if same else multiplied(np.abs(stored - x.zero), q, shift)) + y.zero


def _sqrt(call: LiteCall, x: TensorRecord, y: TensorRecord) -> Stored:
    """The square root in float32, rounded towards 0; arguments below 0 count as 0."""

    def stored(values: Array) -> Array:
        real = np.maximum(x.unit * (values - x.zero).astype(np.float32), np.float32(0))
        steps: Array = (np.sqrt(real) / y.unit).astype(np.int64)
        return steps + y.zero

    return stored


def _clamped(low: float, high: float) -> Callable[..., Stored]:
    """A clamp between two real numbers, behind the quotient of the scales in float32."""

    def of(call: LiteCall, x: TensorRecord, y: TensorRecord) -> Stored:
        q, shift = quantized_multiplier(float(x.unit / y.unit))
        lowest, highest = (y.zero + away(np.float32(bound) / y.unit) for bound in (low, high))
        return lambda stored: np.clip(multiplied(stored - x.zero, q, shift) + y.zero, lowest, highest)

    return of


def _high_half(a: Array, b: int) -> Array:
    """a * b / 2^15, rounded to the nearest integer, halves away from zero towards the truncated quotient."""
    product = a * b
    nudged = product + np.where(product >= 0, 1 << 14, 1 - (1 << 14))
    return _int16(np.sign(nudged) * (np.abs(nudged) >> 15))


def _int16(values: Array) -> Array:
    return np.clip(values, -32768, 32767)


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "RELU": Function(_clip(0.0, _INFINITE), _relu),
        "RELU6": Function(_clip(0.0, 6.0), _relu6),
        "RELU_N1_TO_1": Function(_clip(-1.0, 1.0), _clamped(-1.0, 1.0)),
        "RELU_0_TO_1": Function(_clip(0.0, 1.0), _clamped(0.0, 1.0)),
        "EXP": Function(lambda call: ("Exp", {}), _real_function(np.exp)),
        "ELU": Function(
            lambda call: ("Elu", {"alpha": 1.0}), _real_function(lambda x: np.where(x < 0, np.expm1(x), x))
        ),
        "ABS": Function(lambda call: ("Abs", {}), _abs),
        "LEAKY_RELU": Function(lambda call: ("LeakyRelu", {"alpha": call.real("alpha")}), _leaky),
        "LOGISTIC": Function(lambda call: ("Sigmoid", {}), _curve(logistic, 8, -128)),
        "TANH": Function(lambda call: ("Tanh", {}), _curve(tanh, 7, 0)),
        "LOG": Function(lambda call: ("Log", {}), _real_function(np.log)),
        "SQRT": Function(lambda call: ("Sqrt", {}), _sqrt),
        "GELU": Function(lambda call: ("Gelu", {"by_tanh": bool(call.integer("approximate"))}), _gelu),
        "HARD_SWISH": Function(lambda call: ("HardSwish", {}), _hard_swish),
    }
)
