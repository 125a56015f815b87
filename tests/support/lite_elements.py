"""Cases of .tflite: sums, products, means, softmax, functions of one element, and conversions between types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from support.lite_made import RUNS, LiteCase, Made
from support.lite_models import Step, Value, lite_model


def _sum(name: str, operator: str, kind: str, shape: tuple[int, ...] = (1, 4, 3, 5)) -> LiteCase:
    made = Made(name, kind)
    low, high = (1e-4, 1e-3) if kind == "int16" else (0.002, 0.2)
    a, b = made.value(1, 4, 3, 5, scale=made.scale(low, high)), made.value(*shape, scale=made.scale(low, high))
    unit = a.scale[0] * b.scale[0] * 100 if operator == "MUL" else max(a.scale[0], b.scale[0]) * 1.7
    y = made.value(1, 4, 3, 5, scale=(unit,))
    return made.case([a, b, y], Step(operator, (0, 1), (2,), {"activation": "NONE"}), (0, 1))


def _mean(name: str, operator: str, axes: tuple[int, ...]) -> LiteCase:
    made = Made(name)
    x = made.value(1, 5, 7, 3)
    shape = tuple(extent for axis, extent in enumerate(x.shape) if axis not in axes)
    y = made.value(*shape, scale=(x.scale[0] * 0.6,))
    listed = Value((len(axes),), "int32", data=np.asarray(axes, np.int32))
    return made.case([x, listed, y], Step(operator, (0, 1), (2,), {"keep_dims": False}))


def _softmax(name: str, scale: float, kind: str = "int8") -> LiteCase:
    made = Made(name)
    x = made.value(3, 11, scale=(scale,))
    y = Value(x.shape, kind, (1 / 256,), (-128,)) if kind == "int8" else Value(x.shape, kind, (2.0**-16,), (-32768,))
    return made.case([x, y], Step("SOFTMAX", (0,), (1,), {"beta": 1.0}))


def _function(name: str, operator: str, scale: float, y_scale: float, y_zero: int, **options: object) -> LiteCase:
    """A function of one element; every run has all 256 values of x."""
    made = Made(name)
    x = made.value(1, 256, scale=(scale,))
    if operator == "RELU6":
        y_scale, y_zero = x.scale[0], x.zero_point[0]
    content = lite_model(
        [x, Value(x.shape, "int8", (y_scale,), (y_zero,))], [Step(operator, (0,), (1,), options)], (0,), (1,)
    )
    every = np.arange(-128, 128, dtype=np.int8)
    return LiteCase(content, (np.broadcast_to(every, (RUNS, 1, 256)).copy(),))


def _between(name: str, operator: str, x_type: str, y_type: str, ratio: float, **options: object) -> LiteCase:
    """A conversion from x_type to y_type, and to a scale ``ratio`` times as large."""
    made = Made(name)
    zeros = {kind: made.zero() if kind == "int8" else (0,) for kind in (x_type, y_type)}
    x = Value((1, 3, 40), x_type, made.scale(1e-4, 1e-3), zeros[x_type])
    y = Value(x.shape, y_type, (float(np.float32(x.scale[0] * ratio)),), zeros[y_type])
    return made.case([x, y], Step(operator, (0,), (1,), options))


def _quantize(name: str) -> LiteCase:
    """QUANTIZE of numbers whose quotients by the scale are halves (0.5, 1.5, ...) or next to halves."""
    made = Made(name)
    y = Value((1, 400), "int8", (0.25,), (3,))
    halves = np.arange(-200, 200, dtype=np.float32) * np.float32(0.125)
    spread = np.stack([halves, np.nextafter(halves, np.float32(9e9)), made.rng.normal(0, 20, 400).astype(np.float32)])
    return LiteCase(
        lite_model([Value(y.shape, "float32"), y], [Step("QUANTIZE", (0,), (1,))], (0,), (1,)), (spread[:, None],)
    )


ELEMENTS: Mapping[str, Callable[[str], LiteCase]] = MappingProxyType(
    {
        "softmax_int16": lambda name: _softmax(name, 0.11, "int16"),
        "add": lambda name: _sum(name, "ADD", "int8"),
        "add_line": lambda name: _sum(name, "ADD", "int8", (5,)),
        "add_int16": lambda name: _sum(name, "ADD", "int16"),
        "sub": lambda name: _sum(name, "SUB", "int8"),
        "sub_int16": lambda name: _sum(name, "SUB", "int16", (5,)),
        "mul": lambda name: _sum(name, "MUL", "int8"),
        "mul_int16": lambda name: _sum(name, "MUL", "int16"),
        "leaky_int16": lambda name: _between(name, "LEAKY_RELU", "int16", "int16", 1.3, alpha=0.3),
        "requantize_8_16": lambda name: _between(name, "QUANTIZE", "int8", "int16", 0.006),
        "requantize_16_8": lambda name: _between(name, "QUANTIZE", "int16", "int8", 180.0),
        "requantize_16_16": lambda name: _between(name, "QUANTIZE", "int16", "int16", 0.7),
        "requantize_16_32": lambda name: _between(name, "QUANTIZE", "int16", "int32", 0.00031),
        "requantize_32_16": lambda name: _between(name, "QUANTIZE", "int32", "int16", 70000.0),
        "mean": lambda name: _mean(name, "MEAN", (1, 2)),
        "mean_rows": lambda name: _mean(name, "MEAN", (2,)),
        "sum": lambda name: _mean(name, "SUM", (1, 2)),
        "softmax": lambda name: _softmax(name, 0.11),
        "softmax_sharp": lambda name: _softmax(name, 2.3),
        "softmax_flat": lambda name: _softmax(name, 0.0021),
        "logistic": lambda name: _function(name, "LOGISTIC", 0.043, 1 / 256, -128),
        "logistic_wide": lambda name: _function(name, "LOGISTIC", 0.31, 1 / 256, -128),
        "tanh": lambda name: _function(name, "TANH", 0.027, 1 / 128, 0),
        "hard_swish": lambda name: _function(name, "HARD_SWISH", 0.06, 0.05, -100),
        "relu": lambda name: _function(name, "RELU", 0.06, 0.041, -128),
        "relu6": lambda name: _function(name, "RELU6", 0.06, 0.0, 0),
        "leaky": lambda name: _function(name, "LEAKY_RELU", 0.06, 0.055, 7, alpha=0.13),
        "requantize": lambda name: _function(name, "QUANTIZE", 0.06, 0.0413, -9),
        "quantize": _quantize,
    }
)
