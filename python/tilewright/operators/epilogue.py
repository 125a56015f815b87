"""The epilogue of an operator: the steps from an accumulator to the stored output.

Before:  acc = sum of products (int64 here, int32 in C), or a real number (averages, sums of rescaled operands)
After:   y = clip(round(acc * multiplier) + zero_point), in the dtype of the node's output
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.graph import (
    Array,
    Clamp,
    Epilogue,
    Graph,
    Node,
    Requantize,
    RequantizeShift,
    RequantizeTwice,
    Rescale,
    RoundAway,
)
from tilewright.operators.fixed_point import multiplied
from tilewright.operators.operator import refuse


def apply(epilogue: Epilogue | None, accumulator: Array, channel_axis: int) -> Array:
    """The epilogue's values, not yet in the output's dtype.

    Args:
        accumulator: integers (any width) or float64 reals, in the output's shape; float32 for ``Clamp``.
        channel_axis: axis of ``accumulator`` that per-channel values follow; unused with one value.

    Returns:
        float64 integers for ``Requantize`` and ``RoundAway``, int64 for ``RequantizeShift`` and
        ``RequantizeTwice``, float32 for ``Rescale``, the accumulator's dtype for ``Clamp`` and None.

    Raises:
        TypeError: ``RequantizeShift`` or ``RequantizeTwice`` of an accumulator that is not an integer.
    """
    if epilogue is None:
        return accumulator
    if isinstance(epilogue, Clamp):
        return clamped(accumulator, epilogue.minimum, epilogue.maximum)
    if isinstance(epilogue, RequantizeShift):
        return _shifted(epilogue, accumulator, channel_axis)
    if isinstance(epilogue, RequantizeTwice):
        return _rounded_twice(epilogue, accumulator, channel_axis)
    if isinstance(epilogue, RoundAway):
        return _rounded_away(epilogue, accumulator)
    multiplier = _along(np.asarray(epilogue.multiplier, np.float64), accumulator.ndim, channel_axis)
    scaled = accumulator.astype(np.float64) * multiplier
    if isinstance(epilogue, Rescale):
        return clamped(scaled.astype(np.float32), epilogue.minimum, epilogue.maximum)
    rounded: Array = np.rint(scaled) + epilogue.zero_point
    return np.clip(rounded, epilogue.minimum, epilogue.maximum)


def finish(node: Node, graph: Graph, accumulator: Array, channel_axis: int = 1) -> list[Array]:
    """The node's one output: epilogue applied, in the dtype of the output tensor.

    Args:
        channel_axis: output axis that per-channel values of the epilogue follow, negative from the last one.

    Raises:
        TilewrightError (not supported): the accumulator exceeds 32 bits, a value does not fit the
            output's dtype, or a real number would be stored as an integer without rounding rule.
    """
    wanted = graph.tensor(node.outputs[0]).dtype.numpy
    if node.epilogue is None and accumulator.dtype == wanted:
        return [accumulator]
    if isinstance(node.epilogue, (RequantizeShift, RequantizeTwice)) and accumulator.dtype.kind == "f":
        kind = type(node.epilogue).__name__
        raise refuse(node, "epilogue", f"computes real numbers, which {kind} does not take")
    # Kernels of 16 bits have sums of 64.
    if node.epilogue is not None and accumulator.dtype.kind in "iu" and wanted != np.int16:
        _require_range(node, accumulator, np.dtype(np.int32), "accumulator")
    if wanted.kind == "f" and accumulator.dtype.kind == "f" and isinstance(node.epilogue, (Clamp, type(None))):
        accumulator = accumulator.astype(wanted)
    axis = channel_axis % accumulator.ndim if -accumulator.ndim <= channel_axis < accumulator.ndim else 0
    result = apply(node.epilogue, accumulator, axis)
    if wanted.kind in "iu":
        if result.dtype.kind == "f" and not isinstance(node.epilogue, (Requantize, RoundAway)):
            raise refuse(node, "epilogue", f"of real numbers needs a Requantize epilogue to store {wanted}")
        _require_range(node, result, wanted, "result")
    return [result.astype(wanted)]


def clamped(array: Array, minimum: float, maximum: float) -> Array:
    """min(max(array, minimum), maximum) in the array's dtype; NaN stays NaN."""
    if array.dtype.kind == "f":
        return np.clip(array, array.dtype.type(minimum), array.dtype.type(maximum))
    limits = np.iinfo(array.dtype)
    lower = limits.min if minimum <= limits.min else int(np.ceil(minimum))
    upper = limits.max if maximum >= limits.max else int(np.floor(maximum))
    return np.clip(array, lower, upper)


def _shifted(epilogue: RequantizeShift, accumulator: Array, channel_axis: int) -> Array:
    if accumulator.dtype.kind not in "iu":
        raise TypeError("RequantizeShift needs an integer accumulator")
    multiplier = _along(np.asarray(epilogue.multiplier, np.int64), accumulator.ndim, channel_axis)
    addend = _along(np.asarray(epilogue.addend, np.int64), accumulator.ndim, channel_axis)
    half = 1 << (epilogue.shift - 1) if epilogue.shift > 0 else 0
    shifted: Array = (accumulator.astype(np.int64) * multiplier + addend + half) >> epilogue.shift
    return np.clip(shifted, epilogue.minimum, epilogue.maximum)


def _rounded_twice(epilogue: RequantizeTwice, accumulator: Array, channel_axis: int) -> Array:
    if accumulator.dtype.kind not in "iu":
        raise TypeError("RequantizeTwice needs an integer accumulator")
    multiplier = _along(np.asarray(epilogue.multiplier, np.int64), accumulator.ndim, channel_axis)
    shift = _along(np.asarray(epilogue.shift, np.int64), accumulator.ndim, channel_axis)
    stored = multiplied(accumulator.astype(np.int64), multiplier, shift) + epilogue.zero_point
    result: Array = np.clip(stored, epilogue.minimum, epilogue.maximum)
    return result


def _rounded_away(epilogue: RoundAway, accumulator: Array) -> Array:
    nearest = np.trunc(accumulator + np.copysign(0.5, accumulator))
    result: Array = np.clip(nearest, epilogue.minimum, epilogue.maximum)
    return result


def along_axis(values: Sequence[int] | Sequence[float], dtype: type, rank: int, axis: int) -> Array:
    """Per-channel values shaped to broadcast along one axis of an array of that rank."""
    return _along(np.asarray(values, dtype), rank, axis)


def _along(values: Array, rank: int, axis: int) -> Array:
    if values.size == 1:
        return values.reshape(())
    return values.reshape([-1 if position == axis else 1 for position in range(rank)])


def _require_range(node: Node, values: Array, dtype: np.dtype[Any], what: str) -> None:
    if values.size == 0:
        return
    limits = np.iinfo(dtype)
    low, high = values.min(), values.max()
    if low < limits.min or high > limits.max:
        raise refuse(node, "overflow", f"has {what} values from {low} to {high}, which {dtype} does not hold")
