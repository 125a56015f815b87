"""Functions and softmax of int16 tensors by tables, with the arithmetic of LiteRT's reference kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators import elementwise
from tilewright.operators.fixed_point import multiplied
from tilewright.operators.integer_norm import last_axis_nest
from tilewright.operators.operator import Arrays, Operator, operand
from tilewright.operators.quantization import lookup_nest
from tilewright.operators.sigmoid_table import logistic_halves, tanh_halves

_STEPS = 512
_RANGE = np.float32(65535)
_UNIT = np.float32(2) / _RANGE
"""Scale of the results of the softmax's functions."""


@dataclass(frozen=True, slots=True)
class SigmoidHalvesAttributes(Attributes):
    """The function is logistic, or tanh with ``is_tanh``; its argument is x * multiplier / 2^shift / 3, as Q3.12."""

    multiplier: int
    shift: int
    is_tanh: bool


@dataclass(frozen=True, slots=True)
class SoftmaxHalvesAttributes(Attributes):
    """A difference d of two stored integers stands for d * multiplier / 2^31 * 2^shift steps of 10 / 65535.

    The product is rounded twice, as by ``RequantizeTwice``.
    """

    multiplier: int
    shift: int


def _sigmoid(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    given = node.given(SigmoidHalvesAttributes)
    function = tanh_halves if given.is_tanh else logistic_halves
    return [function(operand(arrays, 0).astype(np.int64), given.multiplier, given.shift).astype(np.int16)]


def powers_table() -> Array:
    """exp on [-10, 0] as Q0.15, int16[513]."""
    return interpolated_table(np.float32(10.0) / _RANGE, 32767, _UNIT, np.exp)


def reciprocal_table() -> Array:
    """1 / (1 + x) on [0, 1] as Q0.15, int16[513]."""
    return interpolated_table(np.float32(1.0) / _RANGE, -32768, _UNIT, lambda x: 1 / (1 + x))


def interpolated_table(
    scale: np.floating, zero: int, y_scale: np.floating, function: Callable[[Array], Array]
) -> Array:
    """int16[513]: values at 513 places, each corrected by half the error of interpolation in the middle of its step.

    All steps are computed in float32 and rounded half away from zero.

    Args:
        scale, zero: of the argument; y_scale: of the value, whose zero point is 0.
        function: of float64, whose results are rounded to float32.
    """
    low, high = np.float32(scale * (-32768 - zero)), np.float32(scale * (32767 - zero))
    step = np.float32((high - low) / _STEPS)
    unit = np.float32(65536) / np.float32(np.float32(y_scale * 32767) - np.float32(y_scale * -32768))
    at = np.arange(_STEPS + 1, dtype=np.float32)

    def value(x: Array) -> Array:
        real: Array = function(x.astype(np.float64)).astype(np.float32)
        scaled: Array = real * unit
        return scaled

    first = value(low + at[:-1] * step)
    middle = _rounded(value(low + at[:-1] * step + step / 2))
    between = _rounded((value(low + at[1:] * step) + _rounded(first)) / 2)
    entries = _rounded(first) - _rounded((between - middle) / 2)
    last = _rounded(value(np.asarray([high])))
    limited: Array = np.clip(np.concatenate([entries, last]), -32768, 32767).astype(np.int16)
    return limited


def _rounded(x: Array) -> Array:
    nearest: Array = np.trunc(x + np.copysign(np.float32(0.5), x))
    return nearest


def _between(values: Array, table: Array) -> Array:
    """Linear interpolation in a table of 513 entries over all int16; ``values`` are int64 that hold int16."""
    entries, at = table.astype(np.int64), 256 + (values >> 7)
    base: Array = entries[at]
    result: Array = base + (((entries[at + 1] - base) * (values & 0x7F) + 64) >> 7)
    return result


def _interpolated(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """The table's function of x, between entry x >> 7 and the next one; the difference of both wraps to 16 bits."""
    values, entries = operand(arrays, 0).astype(np.int64), operand(arrays, 1)
    at = 256 + (values >> 7)
    slope = np.diff(entries.astype(np.int64)).astype(np.int16).astype(np.int64)[at]
    return [(entries[at] + ((slope * (values & 0x7F) + 64) >> 7)).astype(np.int16)]


def _softmax(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """Softmax over the last axis, in steps of 1 / 32768; the largest result is 32767."""
    given, x = node.given(SoftmaxHalvesAttributes), operand(arrays, 0).astype(np.int64)
    scaled = multiplied(x - x.max(axis=-1, keepdims=True), given.multiplier, given.shift)
    power = _between(np.clip(scaled + 32767, -32768, 32767), powers_table())
    total = power.sum(axis=-1, keepdims=True)
    leading = 32 - np.frexp(total.astype(np.float64))[1].astype(np.int64)
    fraction = ((total << (leading - 1)) + (1 << 13)) >> 14
    share = _between(np.clip(fraction - 98304, -32768, 32767), reciprocal_table())
    right = 31 - leading
    result = (power * share + (np.int64(1) << (right - 1))) >> right
    return [np.clip(result, 0, 32767).astype(np.int16)]


OPERATORS = (
    Operator("InterpolatedHalves", lookup_nest, _interpolated),
    Operator("SigmoidHalves", elementwise.nest, _sigmoid, SigmoidHalvesAttributes),
    Operator("SoftmaxHalves", last_axis_nest, _softmax, SoftmaxHalvesAttributes),
)
