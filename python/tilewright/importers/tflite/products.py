"""Convolutions and fully connected layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.graph import Array, DType, Epilogue, RequantizeShift, RequantizeTwice
from tilewright.importers.construction import Unsupported
from tilewright.importers.tflite.context import LiteCall, one_type, per_tensor
from tilewright.importers.tflite.hybrid import hybrid_convolution, hybrid_product, is_hybrid
from tilewright.importers.tflite.hybrid_more import hybrid_image
from tilewright.importers.tflite.images import FIRST, last, windows_of
from tilewright.importers.tflite.multipliers import channel_multipliers, once, tensor_multiplier, twice
from tilewright.importers.tflite.pooled import average_pool, l2_pool, max_pool
from tilewright.importers.tflite.records import TensorRecord

_EIGHT_BIT = ("int8", "uint8")
_SUPPORTED = "int8, uint8, float32, and int16 or float32 with int8 weights are supported"


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
    windows, outputs = windows_of(call, (x.shape[1], x.shape[2]), kernel)
    shape = (x.shape[0], channels, *outputs)
    if is_hybrid(call):
        hybrid_convolution(call, weights, windows, group, shape, _bias(call, channels))
        return
    given = {
        "kernel": windows.kernel,
        "strides": windows.strides,
        "dilations": windows.dilations,
        "pads": windows.pads,
        "group": group,
    }
    _emit_convolution(call, "Conv", weights, given, shape)


def transpose_conv(call: LiteCall) -> None:
    """Float32, int8, uint8 and int16 with constant weights; an output shape computed at run time must be the file's."""
    if len(call.node.inputs) < 3:
        raise Unsupported("fewer than three inputs", "convert the model again")
    call.expect(0, np.asarray(call.output().shape, np.int32), "the output's shape")
    inner = call.rearranged(2, 1, 3)
    w = inner.constant(1, "the weights")
    _require_image(inner, w)
    channels, height, width, depth = w.shape
    x, y = inner.record(0), inner.output()
    if x.shape[3] != depth or len(y.shape) != 4 or (y.shape[0], y.shape[3]) != (x.shape[0], channels):
        raise Unsupported(f"weights {list(w.shape)} and output {list(y.shape)} do not fit input {list(x.shape)}")
    windows, _ = windows_of(inner, (y.shape[1], y.shape[2]), (height, width))
    given = {
        "kernel": windows.kernel,
        "strides": windows.strides,
        "dilations": windows.dilations,
        "pads": windows.pads,
        "group": 1,
    }
    operator = "ConvTranspose" if x.type == "float32" else "ConvTransposeInteger"
    shape = (y.shape[0], channels, y.shape[1], y.shape[2])
    if is_hybrid(inner):
        _hybrid_transposed(inner, given, shape)
        return
    _emit_convolution(inner, operator, np.transpose(w, (3, 0, 1, 2)), given, shape)


def _hybrid_transposed(call: LiteCall, given: dict[str, Any], shape: tuple[int, ...]) -> None:
    image, weights = hybrid_image(call, call.record(1).scale)
    first = call.transposed(image, FIRST, "first")
    turned = call.literal(np.ascontiguousarray(np.transpose(weights, (3, 0, 1, 2))), "weights")
    inputs = [first, turned, *_bias(call, shape[1])]
    call.activated(
        lambda part: last(call, call.emit("ConvTranspose", inputs, shape, given, part="conv"), part),
        call.text("activation"),
    )


def _emit_convolution(
    call: LiteCall, operator: str, weights: Array, given: dict[str, Any], shape: tuple[int, ...]
) -> None:
    """A convolution of any type but hybrid, between two transpositions; ``shape`` with channels first."""
    x, channels = call.record(0), shape[1]
    first = call.transposed(call.input(0).name, FIRST, "first")
    inputs = [first, call.literal(np.ascontiguousarray(weights), "weights"), *_bias(call, channels)]
    if x.type == "float32" and call.record(1).type == "float32":
        call.activated(
            lambda part: last(call, call.emit(operator, inputs, shape, given, part="conv"), part),
            call.text("activation"),
        )
        return
    epilogue: Epilogue
    if x.type == "int16":
        epilogue = _halves_epilogue(call, channels)
    else:
        epilogue = twice(_quantized_reals(call, channels), call.output(), call.text("activation"))
        given = {**given, "x_zero_point": x.zero, "w_zero_point": _weights_zero(call)}
    dtype = DType(call.output().type)
    last(call, call.emit(operator, inputs, shape, given, dtype=dtype, part="conv", epilogue=epilogue), "")


def _quantized_reals(call: LiteCall, channels: int) -> list[float]:
    """The real factor of each channel's sum, or one for all; uint8 multiplies the scales in float32."""
    kind = one_type(call, 0)
    w, x, y = call.record(1), call.record(0), call.output()
    if kind not in _EIGHT_BIT or not _fits_weights(kind, w):
        raise Unsupported(f"input {x.type}, weights {w.type}", _SUPPORTED)
    per_tensor(x)
    per_tensor(y)
    if len(w.scale) not in (1, channels):
        raise Unsupported(f"{len(w.scale)} scales for {channels} channels", "convert the model again")
    return tensor_multiplier(x, w, y) if kind == "uint8" else channel_multipliers(x, w, y)


def _fits_weights(kind: str, w: TensorRecord) -> bool:
    """Whether weights go with activations of an integer type; int8 ones may be stored in four bits."""
    return w.type == kind or (kind in ("int8", "int16") and w.type in ("int8", "int4"))


def _require_settled(call: LiteCall) -> None:
    """Unsupported for weights of four bits whose product is rounded differently, or not at all, by each runtime."""
    x, w = call.record(0), call.record(1)
    if w.type != "int4":
        return
    operator = call.node.operator
    if operator == "FULLY_CONNECTED" and len(w.scale) > 1:
        raise Unsupported("int4 weights with a scale for each channel", "quantise them with one scale, or to int8")
    narrow = call.has(2) and call.record(2).type != "int64"
    if x.type == "int16" and (operator != "CONV_2D" or narrow):
        raise Unsupported("int4 weights beside int16", "quantise the weights to int8")


def _halves_epilogue(call: LiteCall, channels: int) -> RequantizeShift | RequantizeTwice:
    """The epilogue for int16 activations; a fully connected layer with one scale has a factor computed in float32."""
    one_type(call, 0)
    _require_settled(call)
    x, w, y = call.record(0), call.record(1), call.output()
    per_tensor(x)
    per_tensor(y)
    if not _fits_weights("int16", w) or (x.zero, y.zero) != (0, 0) or len(w.scale) not in (1, channels):
        raise Unsupported(f"int16 with weights {w.type}, or with zero points", _SUPPORTED)
    dense = call.node.operator == "FULLY_CONNECTED" and len(w.scale) == 1
    reals = tensor_multiplier(x, w, y) if dense else channel_multipliers(x, w, y)
    if call.has(2) and call.record(2).type == "int32":
        return twice(reals, y, call.text("activation"))
    return once(reals, y, call.text("activation"))


def _weights_zero(call: LiteCall) -> tuple[int, ...]:
    """Kernels of int8 take the zero point of weights as 0, whatever the file says."""
    w = call.record(1)
    return (w.zero,) if w.type == "uint8" else (0,)


_BIASES = {"float32": ("float32",), "int16": ("int64", "int32"), "int8": ("int32",), "uint8": ("int32",)}


def _bias(call: LiteCall, channels: int) -> list[str]:
    """The name of the bias, in units of the accumulator; none if the operator has no bias."""
    if not call.has(2):
        return []
    bias, kind = call.constant(2, "the bias"), call.record(2).type
    if call.record(0).type == "int16" and call.node.operator == "TRANSPOSE_CONV" and kind == "int16":
        return [call.literal(bias.astype(np.int64).reshape(-1), "bias")]
    narrow = call.node.operator in ("DEPTHWISE_CONV_2D", "TRANSPOSE_CONV") and kind == "int32"
    if bias.size != channels or kind not in _BIASES.get(call.record(0).type, ()):
        raise Unsupported(f"a bias of {kind}{list(bias.shape)} for {channels} channels")
    if narrow and call.record(0).type == "int16":
        raise Unsupported("a bias of int32 beside int16", "convert the model with biases of int64")
    return [call.reshaped(call.input(2).name, (channels,), "bias")]


def fully_connected(call: LiteCall) -> None:
    """Product with weights [outputs, inputs], constant ones but for float32 and int8. Int16 with int8 weights."""
    x, w = call.record(0), call.record(1)
    if len(w.shape) != 2 or w.shape[1] == 0 or prod(x.shape) % w.shape[1]:
        raise Unsupported(f"weights {list(w.shape)} do not fit input {list(x.shape)}")
    if call.text("weights_format") != "DEFAULT":
        raise Unsupported("shuffled weights", "convert the model again")
    channels, depth = w.shape
    shape = (prod(x.shape) // depth, channels)
    rows = call.reshaped(call.input(0).name, (shape[0], depth), "rows")
    if is_hybrid(call):
        hybrid_product(call, rows, shape, _bias(call, channels))
        return
    if x.type == "float32" and w.type == "float32":
        inputs = [rows, call.input(1).name, *_bias(call, channels)]
        call.activated(
            lambda part: _shaped(call, call.emit("MatMul", inputs, shape, _FLOAT_PRODUCT, part="product"), part),
            call.text("activation"),
        )
        return
    kind = one_type(call, 0)
    computed = w.data is None and kind != "int8"
    if kind not in _BIASES or not _fits_weights(kind, w) or computed:
        raise Unsupported(f"input {x.type}, weights {w.type}", _SUPPORTED)
    _require_settled(call)
    per_tensor(x)
    per_tensor(call.output())
    if kind == "int16":
        _halves_product(call, rows, shape)
        return
    inputs = [rows, call.input(1).name, *_bias(call, channels)]
    reals = _fully_connected_reals(x, w, call.output(), channels)
    quantized = {"transpose_b": True, "a_zero_point": x.zero, "b_zero_point": (w.zero,) if len(w.scale) == 1 else (0,)}
    epilogue = twice(reals, call.output(), call.text("activation"))
    _shaped(
        call, call.emit("MatMul", inputs, shape, quantized, dtype=DType(kind), part="product", epilogue=epilogue), ""
    )


_FLOAT_PRODUCT = {"transpose_b": True}


def _halves_product(call: LiteCall, rows: str, shape: tuple[int, int]) -> None:
    """A product of int16 is a convolution of single pixels, whose kernel has sums of 64 bits."""
    w = call.constant(1, "the weights")
    if call.record(1).zero:
        raise Unsupported(
            f"int16 with the zero point {call.record(1).zero} of weights", "quantise weights symmetrically"
        )
    pixels = call.reshaped(rows, (shape[0], w.shape[1], 1, 1), "pixels")
    inputs = [pixels, call.literal(np.ascontiguousarray(w[:, :, None, None]), "weights"), *_bias(call, shape[1])]
    given = {"kernel": (1, 1), "strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0), "group": 1}
    epilogue = _halves_epilogue(call, shape[1])
    _shaped(call, call.emit("Conv", inputs, (*shape, 1, 1), given, part="product", epilogue=epilogue), "")


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


PRODUCTS: Mapping[str, Callable[[LiteCall], None]] = MappingProxyType(
    {
        "CONV_2D": conv,
        "DEPTHWISE_CONV_2D": depthwise,
        "FULLY_CONNECTED": fully_connected,
        "TRANSPOSE_CONV": transpose_conv,
        "AVERAGE_POOL_2D": average_pool,
        "MAX_POOL_2D": max_pool,
        "L2_POOL_2D": l2_pool,
    }
)
