"""Random .tflite models of one operator: shapes, scales, zero points, weights and activations follow from a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from support.lite_made import LiteCase, Made
from support.lite_models import Step, Value

_ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
_FIXED = {
    ("LOGISTIC", "int8"): (2.0**-8, -128),
    ("LOGISTIC", "int16"): (2.0**-15, 0),
    ("TANH", "int8"): (2.0**-7, 0),
    ("TANH", "int16"): (2.0**-15, 0),
    ("SOFTMAX", "int8"): (2.0**-8, -128),
    ("SOFTMAX", "int16"): (2.0**-15, 0),
}
"""Scales and zero points of results that the operator fixes."""


def random_case(number: int) -> LiteCase:
    """A model with random inputs for three runs; consecutive numbers take the kinds of operators in turn."""
    kind = ("int8", "int16")[number // len(_KINDS) % 2]
    make = tuple(_KINDS.values())[number % len(_KINDS)]
    return make(Made(f"random {number}", kind))


def random_name(number: int) -> str:
    """A C prefix that says the kind of operator."""
    return f"{tuple(_KINDS)[number % len(_KINDS)]}{number}"


def _range(made: Made) -> tuple[float, float]:
    return (1e-5, 1e-3) if made.kind == "int16" else (0.002, 0.2)


def _image(made: Made) -> Value:
    height, width, channels = (int(made.rng.integers(1, 9)) for _ in range(3))
    return made.value(1, height, width, channels, scale=made.scale(*_range(made)))


def _ratio(made: Made, x: Value, y: tuple[int, ...], factor: float = 1.0) -> Value:
    """An output whose scale is 0.4 to 2.5 times ``factor`` times the input's."""
    unit = float(np.float32(x.scale[0] * factor * made.rng.uniform(0.4, 2.5)))
    return made.value(*y, scale=(unit,))


def _activation(made: Made) -> str:
    return str(made.rng.choice(_ACTIVATIONS))


def _pair(made: Made) -> LiteCase:
    operator = str(made.rng.choice(["ADD", "SUB", "MUL"]))
    a = _image(made)
    shape = tuple(int(extent) if made.rng.random() < 0.7 else 1 for extent in a.shape)
    b = made.value(*shape, scale=made.scale(*_range(made)))
    factor = b.scale[0] * (20000 if made.kind == "int16" else 100) if operator == "MUL" else 1.0
    wider = a if operator == "MUL" or a.scale[0] >= b.scale[0] else b
    y = _ratio(made, replace(a, scale=wider.scale), a.shape, factor)
    return made.case([a, b, y], Step(operator, (0, 1), (2,), {"activation": _activation(made)}), (0, 1))


def _function(made: Made) -> LiteCase:
    operator = str(made.rng.choice(["RELU", "LEAKY_RELU", "ABS", "LOGISTIC", "TANH", "SOFTMAX"]))
    x = _image(made)
    fixed = _FIXED.get((operator, made.kind))
    y = Value(x.shape, made.kind, (fixed[0],), (fixed[1],)) if fixed else _ratio(made, x, x.shape)
    options = {"LEAKY_RELU": {"alpha": float(made.rng.uniform(0.01, 0.9))}, "SOFTMAX": {"beta": 1.0}}
    return made.case([x, y], Step(operator, (0,), (1,), options.get(operator, {})))


def _convolution(made: Made) -> LiteCase:
    x, depthwise = _image(made), bool(made.rng.integers(0, 2))
    kernel = [int(made.rng.integers(1, 4)) for _ in range(2)]
    inputs = x.shape[3]
    channels = inputs * int(made.rng.integers(1, 3)) if depthwise else int(made.rng.integers(1, 9))
    w = made.weights((1, *kernel, channels) if depthwise else (channels, *kernel, inputs), 3 * depthwise, channels)
    steps = [int(made.rng.integers(1, 3)) for _ in range(2)]
    extents = [-(-extent // step) for extent, step in zip(x.shape[1:3], steps, strict=True)]
    y = _ratio(made, x, (1, *extents, channels), 0.02 * float(np.prod(kernel)) ** 0.5)
    options: dict[str, object] = {"padding": "SAME", "stride_h": steps[0], "stride_w": steps[1]}
    options |= {"activation": _activation(made), **({"multiplier": channels // inputs} if depthwise else {})}
    operator = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    return made.case([x, w, _bias(made, x, w, channels), y], Step(operator, (0, 1, 2), (3,), options))


def _bias(made: Made, x: Value, w: Value, count: int) -> Value:
    bias = made.bias(x, w, count)
    if made.kind == "int8" or bias.data is None:
        return bias
    return replace(bias, type="int64", data=bias.data.astype(np.int64) << 12)


def _dense(made: Made) -> LiteCase:
    rows, inputs, outputs = (int(made.rng.integers(1, 20)) for _ in range(3))
    x, w = made.value(rows, inputs, scale=made.scale(*_range(made))), made.weights((outputs, inputs), 0, 1)
    y = _ratio(made, x, (rows, outputs), 0.3)
    step = Step("FULLY_CONNECTED", (0, 1, 2), (3,), {"activation": _activation(made)})
    return made.case([x, w, _bias(made, x, w, outputs), y], step)


def _reduced(made: Made) -> LiteCase:
    x = _image(made)
    axes = Value((2,), "int32", data=np.asarray((1, 2), np.int32))
    operator = str(made.rng.choice(["MEAN", "SUM"]))
    y = _ratio(made, x, (1, x.shape[3]), 4.0 if operator == "SUM" else 1.0)
    return made.case([x, axes, y], Step(operator, (0, 1), (2,), {"keep_dims": False}))


def _pooled(made: Made) -> LiteCase:
    x = _image(made)
    extents = [-(-extent // 2) for extent in x.shape[1:3]]
    window = {name: int(made.rng.integers(1, 5)) for name in ("filter_w", "filter_h")}
    options = {"padding": "SAME", "stride_w": 2, "stride_h": 2, "activation": _activation(made), **window}
    operator = str(made.rng.choice(["AVERAGE_POOL_2D", "MAX_POOL_2D"]))
    return made.case([x, replace(x, shape=(1, *extents, x.shape[3]))], Step(operator, (0,), (1,), options))


def _rescaled(made: Made) -> LiteCase:
    x, kind = _image(made), str(made.rng.choice(["int8", "int16"]))
    factor = {("int8", "int16"): 1 / 256, ("int16", "int8"): 256.0}.get((made.kind, kind), 1.0)
    unit = float(np.float32(x.scale[0] * factor * made.rng.uniform(0.4, 2.5)))
    y = Value(x.shape, kind, (unit,), (int(made.rng.integers(-128, 128)) if kind == "int8" else 0,))
    return made.case([x, y], Step("QUANTIZE", (0,), (1,)))


_KINDS: Mapping[str, Callable[[Made], LiteCase]] = MappingProxyType(
    {
        "pair": _pair,
        "function": _function,
        "convolution": _convolution,
        "dense": _dense,
        "reduced": _reduced,
        "pooled": _pooled,
        "rescaled": _rescaled,
    }
)
