"""Convolutions, fully connected layers and pooling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType

import numpy as np

from tilewright.graph import Array, DType, RequantizeShift, RoundAway
from tilewright.importers.onnx.context import Unsupported
from tilewright.importers.tflite.context import LiteCall, one_type, per_tensor
from tilewright.importers.tflite.multipliers import channel_multipliers, stored_bounds, tensor_multiplier, twice
from tilewright.importers.tflite.records import TensorRecord
from tilewright.operators.fixed_point import halved_multiplier, quantized_multiplier
from tilewright.operators.pooling import AveragePoolAttributes
from tilewright.operators.spatial import Windows

FIRST = (0, 3, 1, 2)
"""From channels last, as the file has them, to channels first, as the graph has them."""
LAST = (0, 2, 3, 1)
_EIGHT_BIT = ("int8", "uint8")


def windows_of(call: LiteCall, extents: tuple[int, int], kernel: tuple[int, int]) -> tuple[Windows, tuple[int, ...]]:
    """Geometry of a node over [h, w], and the extents of its output."""
    strides = (call.integer("stride_h"), call.integer("stride_w"))
    dilations = (1, 1)
    if "dilation_h" in call.node.options:
        dilations = (call.integer("dilation_h"), call.integer("dilation_w"))
    if min(*strides, *dilations, *kernel) < 1 or max(*strides, *dilations, *kernel) > 1 << 30:
        raise Unsupported(f"kernel {list(kernel)}, strides {list(strides)}, dilations {list(dilations)}")
    outputs, begins, ends = [], [], []
    for extent, taps, stride, dilation in zip(extents, kernel, strides, dilations, strict=True):
        reach = (taps - 1) * dilation + 1
        same = call.text("padding") == "SAME"
        count = -(-extent // stride) if same else (extent - reach) // stride + 1
        if count < 1:
            raise Unsupported(f"a window of {reach} positions over {extent}")
        total = max((count - 1) * stride + reach - extent, 0) if same else 0
        outputs.append(count)
        begins.append(total // 2)
        ends.append(total - total // 2)
    return Windows(kernel, strides, dilations, (*begins, *ends)), tuple(outputs)


def conv(call: LiteCall) -> None:
    """Constant weights [output channels, h, w, input channels of a group]; float32, int8, uint8; int16 in one group."""
    w = call.constant(1, "the weights")
    _require_image(call, w)
    channels, height, width, depth = w.shape
    x = call.record(0)
    if depth == 0 or x.shape[3] % depth:
        raise Unsupported(f"weights {list(w.shape)} do not fit input {list(x.shape)}")
    _convolve(call, np.moveaxis(w, 3, 1), (height, width), x.shape[3] // depth, channels)


def depthwise(call: LiteCall) -> None:
    """Convolution of each channel: float32, int8 or uint8 with constant weights, [1, h, w, channels * multiplier]."""
    w = call.constant(1, "the weights")
    _require_image(call, w)
    one, height, width, channels = w.shape
    depth = call.record(0).shape[3]
    if one != 1 or channels % depth:
        raise Unsupported(f"weights {list(w.shape)} do not fit input {list(call.record(0).shape)}")
    _convolve(call, np.moveaxis(w, 3, 0), (height, width), depth, channels)


def _require_image(call: LiteCall, w: Array) -> None:
    if len(call.record(0).shape) != 4 or w.ndim != 4:
        raise Unsupported(f"input {list(call.record(0).shape)} and weights {list(w.shape)}", "four axes are supported")


def _convolve(call: LiteCall, weights: Array, kernel: tuple[int, int], group: int, channels: int) -> None:
    """Conv between two transpositions; ``weights`` [channels, channels of a group, h, w]."""
    x = call.record(0)
    if channels % group:
        raise Unsupported(f"{channels} output channels in {group} groups")
    if (x.type == "float32") != (call.record(1).type == "float32"):
        raise Unsupported(f"input {x.type}, weights {call.record(1).type}", "quantise activations too, or neither")
    windows, outputs = windows_of(call, (x.shape[1], x.shape[2]), kernel)
    first = call.transposed(call.input(0).name, FIRST, "first")
    inputs = [first, call.literal(np.ascontiguousarray(weights), "weights"), *_bias(call, channels)]
    shape = (x.shape[0], channels, *outputs)
    given = {
        "kernel": windows.kernel,
        "strides": windows.strides,
        "dilations": windows.dilations,
        "pads": windows.pads,
        "group": group,
    }
    if x.type == "float32":
        call.activated(
            lambda part: _last(call, call.emit("Conv", inputs, shape, given, part="conv"), part),
            call.text("activation"),
        )
        return
    if x.type == "int16":
        if group != 1:
            raise Unsupported(f"int16 in {group} groups", "int8 and float32 are supported")
        shifted = _halves_epilogue(call, channels)
        _last(call, call.emit("Conv", inputs, shape, given, part="conv", epilogue=shifted), "")
        return
    reals = _quantized_reals(call, channels)
    epilogue = twice(reals, call.output(), call.text("activation"))
    given |= {"x_zero_point": x.zero, "w_zero_point": _weights_zero(call)}
    dtype = DType(call.output().type)
    _last(call, call.emit("Conv", inputs, shape, given, dtype=dtype, part="conv", epilogue=epilogue), "")


def _last(call: LiteCall, name: str, part: str) -> str:
    """The tensor with channels last, as the file has it."""
    return call.transposed(name, LAST, part)


def _quantized_reals(call: LiteCall, channels: int) -> list[float]:
    """The real factor of each channel's sum, or one for all; uint8 multiplies the scales in float32."""
    kind = one_type(call, 0)
    w, x, y = call.record(1), call.record(0), call.output()
    if kind not in _EIGHT_BIT or w.type != kind:
        raise Unsupported(f"input {x.type}, weights {w.type}", "int8, uint8 and float32 are supported")
    per_tensor(x)
    per_tensor(y)
    if len(w.scale) not in (1, channels):
        raise Unsupported(f"{len(w.scale)} scales for {channels} channels", "convert the model again")
    return tensor_multiplier(x, w, y) if kind == "uint8" else channel_multipliers(x, w, y)


def _halves_epilogue(call: LiteCall, channels: int) -> RequantizeShift:
    """Of int16: one rounding half up, with 15 bits of each multiplier. Channels get a shift in common."""
    one_type(call, 0)
    x, w, y = call.record(0), call.record(1), call.output()
    per_tensor(x)
    per_tensor(y)
    if w.type != "int8" or not call.has(2) or (x.zero, y.zero) != (0, 0) or len(w.scale) not in (1, channels):
        raise Unsupported("int16 without int8 weights and a bias of int64, or with zero points")
    pairs = [quantized_multiplier(real) for real in channel_multipliers(x, w, y)]
    halved = [(halved_multiplier(q), 15 - shift) for q, shift in pairs]
    last = max(shift for _, shift in halved)
    if min(shift for _, shift in halved) < 1 or last > 62:
        raise Unsupported("scales of input, weights and output that are too far from each other")
    multipliers = tuple(q << (last - shift) for q, shift in halved)
    return RequantizeShift(multipliers, (0,), last, *stored_bounds(call.text("activation"), y))


def _weights_zero(call: LiteCall) -> tuple[int, ...]:
    """Kernels of int8 take the zero point of weights as 0, whatever the file says."""
    w = call.record(1)
    return (w.zero,) if w.type == "uint8" else (0,)


def _bias(call: LiteCall, channels: int) -> list[str]:
    """The name of the bias, in units of the accumulator; none if the operator has no bias."""
    if not call.has(2):
        return []
    bias = call.constant(2, "the bias")
    wanted = {"float32": "float32", "int16": "int64"}.get(call.record(0).type, "int32")
    if bias.shape != (channels,) or call.record(2).type != wanted:
        raise Unsupported(f"a bias of {call.record(2).type}{list(bias.shape)} for {channels} channels")
    return [call.input(2).name]


def fully_connected(call: LiteCall) -> None:
    """Product with weights [outputs, inputs], constant ones for int8 and uint8; float32 takes any."""
    x, w = call.record(0), call.record(1)
    if len(w.shape) != 2 or w.shape[1] == 0 or prod(x.shape) % w.shape[1]:
        raise Unsupported(f"weights {list(w.shape)} do not fit input {list(x.shape)}")
    if call.text("weights_format") != "DEFAULT":
        raise Unsupported("shuffled weights", "convert the model again")
    channels, depth = w.shape
    rows = prod(x.shape) // depth
    inputs = [call.reshaped(call.input(0).name, (rows, depth), "rows"), call.input(1).name, *_bias(call, channels)]
    shape = (rows, channels)
    if x.type == "float32" and w.type == "float32":
        given = {"transpose_b": True}
        call.activated(
            lambda part: _shaped(call, call.emit("MatMul", inputs, shape, given, part="product"), part),
            call.text("activation"),
        )
        return
    kind = one_type(call, 0)
    if kind not in _EIGHT_BIT or w.type != kind or w.data is None:
        raise Unsupported(
            f"input {x.type}, weights {w.type}", "int8, uint8 and float32 with constant weights are supported"
        )
    per_tensor(x)
    per_tensor(call.output())
    reals = _fully_connected_reals(x, w, call.output(), channels)
    quantized = {"transpose_b": True, "a_zero_point": x.zero, "b_zero_point": (w.zero,) if len(w.scale) == 1 else (0,)}
    epilogue = twice(reals, call.output(), call.text("activation"))
    _shaped(
        call, call.emit("MatMul", inputs, shape, quantized, dtype=DType(kind), part="product", epilogue=epilogue), ""
    )


def _fully_connected_reals(x: TensorRecord, w: TensorRecord, y: TensorRecord, channels: int) -> list[float]:
    if len(w.scale) not in (1, channels):
        raise Unsupported(f"{len(w.scale)} scales for {channels} channels", "convert the model again")
    return tensor_multiplier(x, w, y) if len(w.scale) == 1 else channel_multipliers(x, w, y)


def _shaped(call: LiteCall, name: str, part: str) -> str:
    """The product under the output's shape."""
    return call.emit("Reshape", [name], _same_elements(call, name), part=part)


def _same_elements(call: LiteCall, name: str) -> tuple[int, ...]:
    shape = call.output().shape
    if prod(shape) != call.build.tensor(name).elements:
        raise Unsupported(f"computes {call.build.tensor(name).elements} elements, the file says {list(shape)}")
    return shape


def _pool(call: LiteCall) -> tuple[str, Windows, tuple[int, ...]]:
    """Input with channels first, geometry and output shape of a pooling."""
    x = call.record(0)
    if len(x.shape) != 4:
        raise Unsupported(f"input {list(x.shape)}", "four axes are supported")
    kernel = (call.integer("filter_h"), call.integer("filter_w"))
    windows, outputs = windows_of(call, (x.shape[1], x.shape[2]), kernel)
    return call.transposed(call.input(0).name, FIRST, "first"), windows, (x.shape[0], x.shape[3], *outputs)


def average_pool(call: LiteCall) -> None:
    """Averages of float32, int8 or uint8; taps in the padding do not count."""
    first, windows, shape = _pool(call)
    given = AveragePoolAttributes(windows.kernel, windows.strides, windows.dilations, windows.pads)
    if one_type(call, 0) == "float32":
        call.activated(
            lambda part: _last(call, call.emit("AveragePool", [first], shape, given, part="pool"), part),
            call.text("activation"),
        )
        return
    epilogue = RoundAway(*_pool_bounds(call))
    _last(call, call.emit("AveragePool", [first], shape, given, part="pool", epilogue=epilogue), "")


def max_pool(call: LiteCall) -> None:
    """Maxima of float32, int8 or uint8."""
    first, windows, shape = _pool(call)
    if one_type(call, 0) == "float32":
        call.activated(
            lambda part: _last(call, call.emit("MaxPool", [first], shape, windows, part="pool"), part),
            call.text("activation"),
        )
        return
    low, high = _pool_bounds(call)
    name = _last(call, call.emit("MaxPool", [first], shape, windows, part="pool"), "largest")
    limits = np.iinfo(call.output().type)
    if (low, high) == (limits.min, limits.max):
        call.emit("Reshape", [name], call.build.tensor(name).shape)
        return
    table = np.clip(np.arange(limits.min, limits.max + 1), low, high).astype(call.output().type)
    call.emit("Lookup", [name, call.literal(table, "table")], call.build.tensor(name).shape)


def _pool_bounds(call: LiteCall) -> tuple[int, int]:
    kind = one_type(call, 0)
    if kind not in _EIGHT_BIT:
        raise Unsupported(f"elements of type {kind}", "int8, uint8 and float32 are supported")
    per_tensor(call.record(0))
    per_tensor(call.output())
    return stored_bounds(call.text("activation"), call.output())


PRODUCTS: Mapping[str, Callable[[LiteCall], None]] = MappingProxyType(
    {
        "CONV_2D": conv,
        "DEPTHWISE_CONV_2D": depthwise,
        "FULLY_CONNECTED": fully_connected,
        "AVERAGE_POOL_2D": average_pool,
        "MAX_POOL_2D": max_pool,
    }
)
