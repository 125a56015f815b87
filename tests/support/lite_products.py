"""Cases of .tflite: convolutions, fully connected layers and poolings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from support.lite_made import RUNS, WINDOW, LiteCase, Made
from support.lite_models import Step, Value, lite_model


def _convolution(name: str, activation: str, padding: str, channels: int) -> LiteCase:
    made = Made(name)
    x = made.value(1, 7, 6, 3)
    w = made.weights((channels, 3, 2, 3), 0, channels)
    extents = (7, 3) if padding == "SAME" else (5, 3)
    y = made.value(1, *extents, channels, scale=made.scale(0.02, 0.4))
    options = {**WINDOW, "padding": padding, "activation": activation}
    return made.case([x, w, made.bias(x, w, channels), y], Step("CONV_2D", (0, 1, 2), (3,), options))


def _halves(name: str) -> LiteCase:
    """CONV_2D of int16 whose bias and sums need 64 bits."""
    made = Made(name, "int16")
    x, w = made.value(1, 6, 5, 24, scale=(0.0009,)), made.weights((5, 3, 3, 24), 0, 5)
    bias = made.rng.integers(-(1 << 24), 1 << 24, 5)
    b = Value((5,), "int64", tuple(float(np.float32(0.0009 * scale)) for scale in w.scale), (0,) * 5, bias)
    y = made.value(1, 6, 3, 5, scale=(0.03,))
    return made.case([x, w, b, y], Step("CONV_2D", (0, 1, 2), (3,), {**WINDOW, "activation": "NONE"}))


def _halves_of(name: str, operator: str, *, narrow: bool = False) -> LiteCase:
    """Convolutions and products of int16: ``narrow`` ones have a bias of int32, and sums of 32 bits."""
    made = Made(name, "int16")
    x = made.value(1, 6, 5, 4, scale=(0.0009,))
    shapes = {
        "CONV_2D": ((3, 2, 3, 4), (1, 6, 3, 3), 0),
        "DEPTHWISE_CONV_2D": ((1, 3, 2, 8), (1, 6, 3, 8), 3),
        "FULLY_CONNECTED": ((3, 20), (6, 3), 0),
        "TRANSPOSE_CONV": ((3, 2, 3, 4), (1, 6, 10, 3), 0),
    }
    shape, y_shape, axis = shapes[operator]
    channels = shape[axis]
    w = made.weights(shape, axis, 1 if operator == "FULLY_CONNECTED" else channels)
    bias = made.rng.integers(-(1 << 14), 1 << 14, channels).astype(np.int32 if narrow else np.int64)
    units = tuple(float(np.float32(0.0009 * scale)) for scale in w.scale)
    b = Value((channels,), bias.dtype.name, units, (0,) * len(units), bias)
    y = made.value(*y_shape, scale=(0.002,))
    options = {} if operator == "FULLY_CONNECTED" else {**WINDOW, "activation": "RELU"}
    if operator == "DEPTHWISE_CONV_2D":
        options["multiplier"] = 2
    if operator == "TRANSPOSE_CONV":
        size = Value((4,), "int32", data=np.asarray(y_shape, np.int32))
        return made.case([x, w, b, y, size], Step(operator, (4, 1, 0, 2), (3,), options))
    return made.case([x, w, b, y], Step(operator, (0, 1, 2), (3,), options))


def _transposed(name: str, kind: str, padding: str) -> LiteCase:
    """TRANSPOSE_CONV; the output's shape is an input of the int8 model and a constant of others."""
    made = Made(name, kind)
    shape = (2, 6, 10, 3) if padding == "SAME" else (2, 8, 11, 3)
    x, w = made.value(2, 6, 5, 4), made.weights((3, 3, 3, 4), 0, 3)
    y, bias = made.value(*shape, scale=made.scale(0.02, 0.4)), made.bias(x, w, 3)
    given = made.inputs(x)
    if kind == "float32":
        drawn = made.rng.normal(0, 1, w.shape).astype(np.float32)
        w = Value(w.shape, "float32", data=drawn)
        bias = Value((3,), "float32", data=np.array([1, -2, 0.5], np.float32))
    size = Value((4,), "int32", data=None if kind == "int8" else np.asarray(shape, np.int32))
    step = Step("TRANSPOSE_CONV", (4, 1, 0, 2), (3,), {**WINDOW, "padding": padding, "activation": "NONE"})
    inputs = (4, 0) if kind == "int8" else (0,)
    sizes = np.broadcast_to(np.asarray(shape, np.int32), (RUNS, 4)).copy()
    drawn_inputs = (sizes, given) if kind == "int8" else (given,)
    return LiteCase(lite_model([x, w, bias, y, size], [step], inputs, (3,)), drawn_inputs)


def _hybrid(name: str, operator: str, channels: int, *, asymmetric: bool = False) -> LiteCase:
    """Float32 activations with int8 weights of one scale, or one for each channel."""
    made = Made(name, "float32")
    x = made.value(2, 5, 6, 4)
    shapes = {
        "CONV_2D": ((5, 3, 2, 4), (2, 5, 3, 5), 0),
        "DEPTHWISE_CONV_2D": ((1, 3, 2, 8), (2, 5, 3, 8), 3),
        "FULLY_CONNECTED": ((7, 30), (8, 7), 0),
    }
    shape, y_shape, axis = shapes[operator]
    w, y = made.weights(shape, axis, channels), Value(y_shape, "float32")
    bias = Value((shape[axis],), "float32", data=made.rng.normal(0, 1, shape[axis]).astype(np.float32))
    options: dict[str, object] = {**WINDOW, "activation": "RELU6"}
    if operator == "DEPTHWISE_CONV_2D":
        options["multiplier"] = 2
    if operator == "FULLY_CONNECTED":
        options = {"activation": "NONE", "asymmetric": asymmetric}
    return made.case([x, w, bias, y], Step(operator, (0, 1, 2), (3,), options), judge="litert")


def _long_hybrid(name: str) -> LiteCase:
    """FULLY_CONNECTED of float32 with so many int8 weights that sums over all values of int16 would exceed 32 bits."""
    made = Made(name, "float32")
    x, w, y = made.value(2, 1800), made.weights((5, 1800), 0, 5), Value((2, 5), "float32")
    bias = Value((5,), "float32", data=made.rng.normal(0, 1, 5).astype(np.float32))
    options = {"activation": "NONE", "asymmetric": True}
    return made.case([x, w, bias, y], Step("FULLY_CONNECTED", (0, 1, 2), (3,), options), judge="litert")


def _nibbles(name: str, operator: str) -> LiteCase:
    """An operator of int8 whose weights have four bits."""
    made = Made(name)
    x, w = made.value(2, 15), made.weights((5, 15), 0, 1)
    y, options = made.value(2, 5, scale=made.scale(0.02, 0.4)), {"activation": "NONE"}
    if operator == "CONV_2D":
        x, w = made.value(1, 6, 5, 3), made.weights((5, 3, 3, 3), 0, 5)
        y, options = made.value(1, 6, 3, 5, scale=made.scale(0.02, 0.4)), {**WINDOW, "activation": "NONE"}
    drawn = made.rng.integers(-7, 7, w.shape, np.int8, endpoint=True)
    w = Value(w.shape, "int4", w.scale, w.zero_point, drawn, w.axis)
    return made.case([x, w, made.bias(x, w, 5), y], Step(operator, (0, 1, 2), (3,), options))


def _depthwise(name: str) -> LiteCase:
    made = Made(name)
    x, w = made.value(1, 6, 5, 4), made.weights((1, 3, 3, 8), 3, 8)
    y = made.value(1, 6, 3, 8, scale=made.scale(0.02, 0.4))
    options = {**WINDOW, "multiplier": 2, "activation": "RELU"}
    return made.case([x, w, made.bias(x, w, 8), y], Step("DEPTHWISE_CONV_2D", (0, 1, 2), (3,), options))


def _dense(name: str, channels: int) -> LiteCase:
    made = Made(name)
    x, w = made.value(2, 19), made.weights((7, 19), 0, channels)
    y = made.value(2, 7, scale=made.scale(0.02, 0.4))
    options = {"activation": "RELU6" if channels == 1 else "NONE"}
    return made.case([x, w, made.bias(x, w, 7), y], Step("FULLY_CONNECTED", (0, 1, 2), (3,), options))


def _large(name: str) -> LiteCase:
    """FULLY_CONNECTED whose factors lie above 1 (sums are shifted left) or between 1/2 and 1 (sums are not shifted)."""
    made = Made(name)
    x, w = made.value(1, 5, scale=(0.9,)), made.weights((4, 5), 0, 4)
    w = Value(w.shape, "int8", (0.6, 0.011, 0.9, 0.0007), w.zero_point, w.data)
    return made.case([x, w, Value((1, 4), "int8", (0.7,), (11,))], Step("FULLY_CONNECTED", (0, 1, -1), (2,)))


def _pool(name: str, operator: str) -> LiteCase:
    made = Made(name)
    x = made.value(1, 6, 5, 3)
    y = Value((1, 6, 3, 3), "int8", x.scale, x.zero_point)
    options = {
        **WINDOW,
        "filter_w": 3,
        "filter_h": 2,
        "activation": "RELU" if operator == "AVERAGE_POOL_2D" else "NONE",
    }
    return made.case([x, y], Step(operator, (0,), (1,), options))


PRODUCTS: Mapping[str, Callable[[str], LiteCase]] = MappingProxyType(
    {
        "conv": lambda name: _convolution(name, "NONE", "SAME", 6),
        "conv_relu6": lambda name: _convolution(name, "RELU6", "VALID", 5),
        "conv_int16": _halves,
        "conv_int16_narrow": lambda name: _halves_of(name, "CONV_2D", narrow=True),
        "depthwise_int16": lambda name: _halves_of(name, "DEPTHWISE_CONV_2D"),
        "dense_int16": lambda name: _halves_of(name, "FULLY_CONNECTED"),
        "dense_int16_narrow": lambda name: _halves_of(name, "FULLY_CONNECTED", narrow=True),
        "transposed_int16": lambda name: _halves_of(name, "TRANSPOSE_CONV"),
        "transposed": lambda name: _transposed(name, "int8", "SAME"),
        "transposed_float": lambda name: _transposed(name, "float32", "VALID"),
        "conv_hybrid": lambda name: _hybrid(name, "CONV_2D", 5),
        "conv_hybrid_one_scale": lambda name: _hybrid(name, "CONV_2D", 1),
        "depthwise_hybrid": lambda name: _hybrid(name, "DEPTHWISE_CONV_2D", 8),
        "dense_hybrid": lambda name: _hybrid(name, "FULLY_CONNECTED", 1),
        "dense_hybrid_long": _long_hybrid,
        "dense_hybrid_asymmetric": lambda name: _hybrid(name, "FULLY_CONNECTED", 1, asymmetric=True),
        "conv_int4": lambda name: _nibbles(name, "CONV_2D"),
        "dense_int4": lambda name: _nibbles(name, "FULLY_CONNECTED"),
        "depthwise": _depthwise,
        "dense": lambda name: _dense(name, 1),
        "dense_channels": lambda name: _dense(name, 7),
        "dense_large": _large,
        "average": lambda name: _pool(name, "AVERAGE_POOL_2D"),
        "largest": lambda name: _pool(name, "MAX_POOL_2D"),
    }
)
