"""Multipliers, clamps and tables of quantised operators, as TensorFlow Lite Micro's reference kernels compute them.

Scales are float32 in the file. Some kernels multiply them in float32, some in float64: the last bits of a
multiplier decide ties, so that each function here says which it follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tilewright.graph import Array, RequantizeShift, RequantizeTwice
from tilewright.importers.construction import Unsupported
from tilewright.importers.tflite.records import TensorRecord
from tilewright.operators.fixed_point import halved_multiplier, quantized_multiplier

_REAL_BOUNDS = {"NONE": (None, None), "RELU": (0.0, None), "RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0)}
"""Bounds of activations; None: the type's own."""


def real_bounds(activation: str) -> tuple[float, float]:
    """The clamp of a float operator's activation; Unsupported for one that is no clamp."""
    low, high = _bounds(activation)
    return (float("-inf") if low is None else low, float("inf") if high is None else high)


def stored_bounds(activation: str, output: TensorRecord) -> tuple[int, int]:
    """The clamp of a quantised operator's activation, in stored units."""
    low, high = _bounds(activation)
    limits = np.iinfo(output.type)
    smallest, largest = int(limits.min), int(limits.max)
    if low is not None:
        smallest = max(smallest, _stored(low, output))
    if high is not None:
        largest = min(largest, _stored(high, output))
    return smallest, largest


def _bounds(activation: str) -> tuple[float | None, float | None]:
    if activation not in _REAL_BOUNDS:
        raise Unsupported(f"activation {activation}", "use RELU, RELU6, RELU_N1_TO_1 or none")
    return _REAL_BOUNDS[activation]


def _stored(real: float, output: TensorRecord) -> int:
    """round(real / scale) + zero point in float32, halves away from zero."""
    return away(np.float32(real) / output.unit) + output.zero


def away(real: np.floating) -> int:
    """The nearest integer, halves away from zero."""
    return int(np.trunc(np.float64(real) + np.copysign(0.5, np.float64(real))))


def twice(reals: Sequence[float], output: TensorRecord, activation: str = "NONE") -> RequantizeTwice:
    """The epilogue that multiplies sums by real numbers, one or one for each channel."""
    pairs = [quantized_multiplier(float(real)) for real in reals]
    if len(set(pairs)) == 1:
        pairs = pairs[:1]
    multipliers, shifts = zip(*pairs, strict=True)
    return RequantizeTwice(multipliers, shifts, output.zero, *stored_bounds(activation, output))


def once(reals: Sequence[float], output: TensorRecord, activation: str = "NONE") -> RequantizeShift:
    """The epilogue of sums of 64 bits: one rounding half up, with 15 bits of each multiplier.

    Channels get a shift in common.
    """
    pairs = [quantized_multiplier(real) for real in reals]
    halved = [(halved_multiplier(q), 15 - shift) for q, shift in pairs]
    largest = max(shift for _, shift in halved)
    if min(shift for _, shift in halved) < 1 or largest > 62:
        raise Unsupported(f"scales of inputs and of '{output.name}' that are too far from each other")
    multipliers = tuple(q << (largest - shift) for q, shift in halved)
    return RequantizeShift(multipliers, (0,), largest, *stored_bounds(activation, output))


def quotient(x: TensorRecord, y: TensorRecord, factor: float = 1.0) -> float:
    """x scale * factor / y scale of an activation: in float64; of uint8, which LiteRT computes, in float32."""
    if x.type == "uint8":
        return float(x.unit * np.float32(factor) / y.unit)
    return float(x.unit) * float(np.float32(factor)) / float(y.unit)


def channel_multipliers(x: TensorRecord, w: TensorRecord, y: TensorRecord) -> list[float]:
    """x scale * w scale / y scale in float64: convolutions, and fully connected layers with several scales."""
    return [float(x.unit) * scale / float(y.unit) for scale in w.scale]


def tensor_multiplier(x: TensorRecord, w: TensorRecord, y: TensorRecord) -> list[float]:
    """As ``channel_multipliers`` for one scale, with the product in float32: fully connected layers."""
    return [float(x.unit * w.unit) / float(y.unit)]


def table(x: TensorRecord, y: TensorRecord, function: Callable[[Array], Array]) -> Array:
    """The elements of y's type for the 256 values of an 8-bit x, in order.

    Args:
        function: from stored integers, int64[256], to stored integers before they are clipped to y's type.
    """
    values = np.arange(np.iinfo(x.type).min, np.iinfo(x.type).max + 1, dtype=np.int64)
    limits = np.iinfo(y.type)
    return np.clip(function(values), limits.min, limits.max).astype(y.type)
