"""Models of one operator each, with random scales, zero points, weights and inputs from a fixed seed.

``scripts/lite_vectors.py`` stores what TensorFlow Lite Micro computes for them, beside the test that reads it, or
what LiteRT's reference kernels compute where TensorFlow Lite Micro does not take the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from zlib import crc32

import numpy as np
from tilewright.graph import Array

from support.lite_models import Step, Value, lite_model

RUNS = 3


@dataclass(frozen=True)
class LiteCase:
    """A model, and the inputs of its runs: arrays with the runs on their first axis.

    Attributes:
        judge: who computes the stored outputs: "tflm", or "litert" for its reference kernels.
        outputs: how many outputs the model has.
    """

    content: bytes
    inputs: tuple[Array, ...]
    judge: str = "tflm"
    outputs: int = 1


class _Made:
    """Random parts of a case, from a seed that is its name."""

    def __init__(self, name: str, kind: str = "int8") -> None:
        self.rng = np.random.default_rng(crc32(name.encode()))
        self.kind = kind

    def scale(self, low: float = 0.002, high: float = 0.2) -> tuple[float, ...]:
        return (float(np.float32(np.exp(self.rng.uniform(np.log(low), np.log(high))))),)

    def scales(self, count: int, low: float = 0.001, high: float = 0.02) -> tuple[float, ...]:
        return tuple(float(np.float32(value)) for value in np.exp(self.rng.uniform(np.log(low), np.log(high), count)))

    def zero(self) -> tuple[int, ...]:
        if self.kind == "float32":
            return ()
        if self.kind == "int16":
            return (0,)
        limits = np.iinfo(self.kind)
        return (int(self.rng.integers(limits.min, limits.max, endpoint=True)),)

    def value(self, *shape: int, scale: tuple[float, ...] | None = None) -> Value:
        if self.kind == "float32":
            return Value(shape, self.kind)
        return Value(shape, self.kind, scale or self.scale(), self.zero())

    def weights(self, shape: tuple[int, ...], axis: int, channels: int) -> Value:
        data = self.rng.integers(-127, 127, shape, np.int8, endpoint=True)
        return Value(shape, "int8", self.scales(channels), (0,) * channels, data, axis)

    def bias(self, x: Value, w: Value, count: int) -> Value:
        data = self.rng.integers(-3000, 3000, count).astype(np.int32)
        scale = tuple(float(np.float32(unit) * np.float32(value)) for unit in x.scale for value in w.scale)
        return Value((count,), "int32", scale, (0,) * len(scale), data)

    def inputs(self, value: Value) -> Array:
        if value.type == "float32":
            return self.rng.normal(0, 2, (RUNS, *value.shape)).astype(np.float32)
        limits = np.iinfo(value.type)
        drawn = self.rng.integers(limits.min, limits.max, (RUNS, *value.shape), np.int64, endpoint=True)
        drawn[1] = np.where(self.rng.random(value.shape) < 0.5, limits.min, limits.max)
        return drawn.astype(value.type)

    def case(self, values: list[Value], step: Step, inputs: tuple[int, ...] = (0,), judge: str = "tflm") -> LiteCase:
        content = lite_model(values, [step], inputs, step.outputs)
        drawn = tuple(self.inputs(values[number]) for number in inputs)
        return LiteCase(content, drawn, judge, len(step.outputs))


_WINDOW = {"padding": "SAME", "stride_w": 2, "stride_h": 1}


def _convolution(name: str, activation: str, padding: str, channels: int) -> LiteCase:
    made = _Made(name)
    x = made.value(1, 7, 6, 3)
    w = made.weights((channels, 3, 2, 3), 0, channels)
    extents = (7, 3) if padding == "SAME" else (5, 3)
    y = made.value(1, *extents, channels, scale=made.scale(0.02, 0.4))
    options = {**_WINDOW, "padding": padding, "activation": activation}
    return made.case([x, w, made.bias(x, w, channels), y], Step("CONV_2D", (0, 1, 2), (3,), options))


def _halves(name: str) -> LiteCase:
    """Sums and biases of 64 bits."""
    made = _Made(name, "int16")
    x, w = made.value(1, 6, 5, 24, scale=(0.0009,)), made.weights((5, 3, 3, 24), 0, 5)
    bias = made.rng.integers(-(1 << 24), 1 << 24, 5)
    b = Value((5,), "int64", tuple(float(np.float32(0.0009 * scale)) for scale in w.scale), (0,) * 5, bias)
    y = made.value(1, 6, 3, 5, scale=(0.03,))
    return made.case([x, w, b, y], Step("CONV_2D", (0, 1, 2), (3,), {**_WINDOW, "activation": "NONE"}))


def _halves_of(name: str, operator: str, *, narrow: bool = False) -> LiteCase:
    """Convolutions and products of int16: ``narrow`` ones have a bias of int32, and sums of 32 bits."""
    made = _Made(name, "int16")
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
    options = {} if operator == "FULLY_CONNECTED" else {**_WINDOW, "activation": "RELU"}
    if operator == "DEPTHWISE_CONV_2D":
        options["multiplier"] = 2
    if operator == "TRANSPOSE_CONV":
        size = Value((4,), "int32", data=np.asarray(y_shape, np.int32))
        return made.case([x, w, b, y, size], Step(operator, (4, 1, 0, 2), (3,), options))
    return made.case([x, w, b, y], Step(operator, (0, 1, 2), (3,), options))


def _transposed(name: str, kind: str, padding: str) -> LiteCase:
    """The output's shape is an input of the model, but for float32."""
    made = _Made(name, kind)
    shape = (2, 6, 10, 3) if padding == "SAME" else (2, 8, 11, 3)
    x, w = made.value(2, 6, 5, 4), made.weights((3, 3, 3, 4), 0, 3)
    y, bias = made.value(*shape, scale=made.scale(0.02, 0.4)), made.bias(x, w, 3)
    given = made.inputs(x)
    if kind == "float32":
        drawn = made.rng.normal(0, 1, w.shape).astype(np.float32)
        w = Value(w.shape, "float32", data=drawn)
        bias = Value((3,), "float32", data=np.array([1, -2, 0.5], np.float32))
    size = Value((4,), "int32", data=None if kind == "int8" else np.asarray(shape, np.int32))
    step = Step("TRANSPOSE_CONV", (4, 1, 0, 2), (3,), {**_WINDOW, "padding": padding, "activation": "NONE"})
    inputs = (4, 0) if kind == "int8" else (0,)
    sizes = np.broadcast_to(np.asarray(shape, np.int32), (RUNS, 4)).copy()
    drawn_inputs = (sizes, given) if kind == "int8" else (given,)
    return LiteCase(lite_model([x, w, bias, y, size], [step], inputs, (3,)), drawn_inputs)


def _hybrid(name: str, operator: str, channels: int, *, asymmetric: bool = False) -> LiteCase:
    """Float32 activations with int8 weights of one scale, or one for each channel."""
    made = _Made(name, "float32")
    x = made.value(2, 5, 6, 4)
    shapes = {
        "CONV_2D": ((5, 3, 2, 4), (2, 5, 3, 5), 0),
        "DEPTHWISE_CONV_2D": ((1, 3, 2, 8), (2, 5, 3, 8), 3),
        "FULLY_CONNECTED": ((7, 30), (8, 7), 0),
    }
    shape, y_shape, axis = shapes[operator]
    w, y = made.weights(shape, axis, channels), Value(y_shape, "float32")
    bias = Value((shape[axis],), "float32", data=made.rng.normal(0, 1, shape[axis]).astype(np.float32))
    options: dict[str, object] = {**_WINDOW, "activation": "RELU6"}
    if operator == "DEPTHWISE_CONV_2D":
        options["multiplier"] = 2
    if operator == "FULLY_CONNECTED":
        options = {"activation": "NONE", "asymmetric": asymmetric}
    return made.case([x, w, bias, y], Step(operator, (0, 1, 2), (3,), options), judge="litert")


def _nibbles(name: str, operator: str) -> LiteCase:
    """Weights in four bits."""
    made = _Made(name)
    x, w = made.value(2, 15), made.weights((5, 15), 0, 1)
    y, options = made.value(2, 5, scale=made.scale(0.02, 0.4)), {"activation": "NONE"}
    if operator == "CONV_2D":
        x, w = made.value(1, 6, 5, 3), made.weights((5, 3, 3, 3), 0, 5)
        y, options = made.value(1, 6, 3, 5, scale=made.scale(0.02, 0.4)), {**_WINDOW, "activation": "NONE"}
    drawn = made.rng.integers(-7, 7, w.shape, np.int8, endpoint=True)
    w = Value(w.shape, "int4", w.scale, w.zero_point, drawn, w.axis)
    return made.case([x, w, made.bias(x, w, 5), y], Step(operator, (0, 1, 2), (3,), options))


def _depthwise(name: str) -> LiteCase:
    made = _Made(name)
    x, w = made.value(1, 6, 5, 4), made.weights((1, 3, 3, 8), 3, 8)
    y = made.value(1, 6, 3, 8, scale=made.scale(0.02, 0.4))
    options = {**_WINDOW, "multiplier": 2, "activation": "RELU"}
    return made.case([x, w, made.bias(x, w, 8), y], Step("DEPTHWISE_CONV_2D", (0, 1, 2), (3,), options))


def _dense(name: str, channels: int) -> LiteCase:
    made = _Made(name)
    x, w = made.value(2, 19), made.weights((7, 19), 0, channels)
    y = made.value(2, 7, scale=made.scale(0.02, 0.4))
    options = {"activation": "RELU6" if channels == 1 else "NONE"}
    return made.case([x, w, made.bias(x, w, 7), y], Step("FULLY_CONNECTED", (0, 1, 2), (3,), options))


def _large(name: str) -> LiteCase:
    """Factors above 1 and between 1/2 and 1, which shift sums left or not at all."""
    made = _Made(name)
    x, w = made.value(1, 5, scale=(0.9,)), made.weights((4, 5), 0, 4)
    w = Value(w.shape, "int8", (0.6, 0.011, 0.9, 0.0007), w.zero_point, w.data)
    return made.case([x, w, Value((1, 4), "int8", (0.7,), (11,))], Step("FULLY_CONNECTED", (0, 1, -1), (2,)))


def _pool(name: str, operator: str) -> LiteCase:
    made = _Made(name)
    x = made.value(1, 6, 5, 3)
    y = Value((1, 6, 3, 3), "int8", x.scale, x.zero_point)
    options = {
        **_WINDOW,
        "filter_w": 3,
        "filter_h": 2,
        "activation": "RELU" if operator == "AVERAGE_POOL_2D" else "NONE",
    }
    return made.case([x, y], Step(operator, (0,), (1,), options))


def _sum(name: str, operator: str, kind: str, shape: tuple[int, ...] = (1, 4, 3, 5)) -> LiteCase:
    made = _Made(name, kind)
    low, high = (1e-4, 1e-3) if kind == "int16" else (0.002, 0.2)
    a, b = made.value(1, 4, 3, 5, scale=made.scale(low, high)), made.value(*shape, scale=made.scale(low, high))
    unit = a.scale[0] * b.scale[0] * 100 if operator == "MUL" else max(a.scale[0], b.scale[0]) * 1.7
    y = made.value(1, 4, 3, 5, scale=(unit,))
    return made.case([a, b, y], Step(operator, (0, 1), (2,), {"activation": "NONE"}), (0, 1))


def _mean(name: str, operator: str, axes: tuple[int, ...]) -> LiteCase:
    made = _Made(name)
    x = made.value(1, 5, 7, 3)
    shape = tuple(extent for axis, extent in enumerate(x.shape) if axis not in axes)
    y = made.value(*shape, scale=(x.scale[0] * 0.6,))
    listed = Value((len(axes),), "int32", data=np.asarray(axes, np.int32))
    return made.case([x, listed, y], Step(operator, (0, 1), (2,), {"keep_dims": False}))


def _softmax(name: str, scale: float) -> LiteCase:
    made = _Made(name)
    x = made.value(3, 11, scale=(scale,))
    return made.case([x, Value(x.shape, "int8", (1 / 256,), (-128,))], Step("SOFTMAX", (0,), (1,), {"beta": 1.0}))


def _function(name: str, operator: str, scale: float, y_scale: float, y_zero: int, **options: object) -> LiteCase:
    """All 256 values of x, whatever the runs."""
    made = _Made(name)
    x = made.value(1, 256, scale=(scale,))
    if operator == "RELU6":
        y_scale, y_zero = x.scale[0], x.zero_point[0]
    content = lite_model(
        [x, Value(x.shape, "int8", (y_scale,), (y_zero,))], [Step(operator, (0,), (1,), options)], (0,), (1,)
    )
    every = np.arange(-128, 128, dtype=np.int8)
    return LiteCase(content, (np.broadcast_to(every, (RUNS, 1, 256)).copy(),))


def _between(name: str, operator: str, x_type: str, y_type: str, ratio: float, **options: object) -> LiteCase:
    """From one scale to another, ``ratio`` times as large, and from type to type."""
    made = _Made(name)
    zeros = {kind: made.zero() if kind == "int8" else (0,) for kind in (x_type, y_type)}
    x = Value((1, 3, 40), x_type, made.scale(1e-4, 1e-3), zeros[x_type])
    y = Value(x.shape, y_type, (float(np.float32(x.scale[0] * ratio)),), zeros[y_type])
    return made.case([x, y], Step(operator, (0,), (1,), options))


def _quantize(name: str) -> LiteCase:
    """Quotients at and beside halves."""
    made = _Made(name)
    y = Value((1, 400), "int8", (0.25,), (3,))
    halves = np.arange(-200, 200, dtype=np.float32) * np.float32(0.125)
    spread = np.stack([halves, np.nextafter(halves, np.float32(9e9)), made.rng.normal(0, 20, 400).astype(np.float32)])
    return LiteCase(
        lite_model([Value(y.shape, "float32"), y], [Step("QUANTIZE", (0,), (1,))], (0,), (1,)), (spread[:, None],)
    )


CASES: Mapping[str, Callable[[str], LiteCase]] = MappingProxyType(
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
        "dense_hybrid_asymmetric": lambda name: _hybrid(name, "FULLY_CONNECTED", 1, asymmetric=True),
        "conv_int4": lambda name: _nibbles(name, "CONV_2D"),
        "dense_int4": lambda name: _nibbles(name, "FULLY_CONNECTED"),
        "depthwise": _depthwise,
        "dense": lambda name: _dense(name, 1),
        "dense_channels": lambda name: _dense(name, 7),
        "dense_large": _large,
        "average": lambda name: _pool(name, "AVERAGE_POOL_2D"),
        "largest": lambda name: _pool(name, "MAX_POOL_2D"),
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


def lite_case(name: str) -> LiteCase:
    """The case of that name."""
    return CASES[name](name)
