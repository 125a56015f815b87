"""Products of float32 activations with int8 weights ("dynamic range"), as LiteRT's reference kernels compute them.

Before:  x float32, w int8 with scales
After:   q, s = QuantizeLine(x), a scale for each row; float(sum of q * w) * (s * scale of w) + bias

Scales are multiplied in LiteRT's order, so that float32 results agree in every bit but those of the additions.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tilewright.graph import Array, DType, Rescale
from tilewright.importers.construction import Unsupported
from tilewright.importers.tflite.context import LiteCall
from tilewright.importers.tflite.images import last
from tilewright.operators.spatial import Windows

LARGEST = 1 << 31


def is_hybrid(call: LiteCall) -> bool:
    """Whether an operator has float32 activations and int8 weights, which may be stored in four bits."""
    w, narrow = call.record(1), call.node.operator != "DEPTHWISE_CONV_2D"
    kinds = ("int8", "int4") if narrow else ("int8",)
    return call.record(0).type == "float32" and w.type in kinds and w.is_quantized


def hybrid_product(call: LiteCall, rows: str, shape: tuple[int, int], bias: Sequence[str]) -> None:
    """A fully connected layer; ``rows`` [rows, inputs], ``shape`` that of the product."""
    w = call.constant(1, "the weights")
    scales = _scales(call, shape[1]).reshape(1, -1)
    asymmetric = bool(call.integer("asymmetric"))
    stored, scale = quantized_rows(call, rows, asymmetric=asymmetric)
    if asymmetric:
        pixels = call.reshaped(stored, (shape[0], w.shape[1], 1, 1), "pixels")
        weights = call.literal(np.ascontiguousarray(w[:, :, None, None]), "weights")
        _require_sums(w)
        sums = call.emit(
            "Conv", [pixels, weights], (*shape, 1, 1), _ONE_PIXEL, dtype=DType.FLOAT32, part="sums", epilogue=_REAL
        )
        real = call.reshaped(sums, shape, "real")
    else:
        given = {"transpose_b": True, "a_zero_point": 0, "b_zero_point": (0,)}
        sums = call.emit("MatMul", [stored, call.input(1).name], shape, given, dtype=DType.INT32, part="sums")
        real = call.emit("Cast", [sums], shape, dtype=DType.FLOAT32, part="real")
    factor_shape = (shape[0], scales.shape[1])
    factors = call.emit("Mul", [scale, call.literal(scales, "weight_scales")], factor_shape, part="factors")
    product = call.emit("Mul", [real, factors], shape, part="product")
    total = call.emit("Add", [product, *bias], shape, part="total") if bias else product
    call.activated(lambda part: call.emit("Reshape", [total], call.output().shape, part=part), call.text("activation"))


_LARGEST_DIFFERENCE = 255
"""Rows and images that are quantised asymmetrically become differences of two int8."""
_ONE_PIXEL = {
    "kernel": (1, 1),
    "strides": (1, 1),
    "dilations": (1, 1),
    "pads": (0, 0, 0, 0),
    "group": 1,
    "x_zero_point": 0,
    "w_zero_point": (0,),
    "x_largest": _LARGEST_DIFFERENCE,
}
_REAL = Rescale((1.0,))


def hybrid_convolution(
    call: LiteCall, weights: Array, windows: Windows, group: int, shape: Sequence[int], bias: Sequence[str]
) -> None:
    """A convolution; ``weights`` [channels, channels of a group, h, w], ``shape`` of the sums, channels first.

    With a scale for each channel, images take their whole range of int8; with one scale, a symmetric one.
    """
    x, channels = call.record(0), weights.shape[0]
    scales = _scales(call, channels)
    each = scales.size == channels and _is_per_channel(call)
    flat = call.reshaped(call.input(0).name, (x.shape[0], prod(x.shape[1:])), "rows")
    stored, scale = quantized_rows(call, flat, asymmetric=each)
    image = call.reshaped(stored, x.shape, "image")
    first = call.transposed(image, (0, 3, 1, 2), "first")
    given = {
        "kernel": windows.kernel,
        "strides": windows.strides,
        "dilations": windows.dilations,
        "pads": windows.pads,
        "group": group,
        "x_zero_point": 0,
        "w_zero_point": (0,),
    }
    inputs = [first, call.literal(np.ascontiguousarray(weights), "weights")]
    factor = call.reshaped(scale, (x.shape[0], 1, 1, 1), "factor")
    if each:
        _require_sums(weights.reshape(channels, -1))
        epilogue = Rescale(tuple(float(value) for value in scales))
        given["x_largest"] = _LARGEST_DIFFERENCE
        real = call.emit("Conv", inputs, shape, given, dtype=DType.FLOAT32, part="real", epilogue=epilogue)
    else:
        sums = call.emit("Conv", inputs, shape, given, dtype=DType.INT32, part="sums")
        real = call.emit("Cast", [sums], shape, dtype=DType.FLOAT32, part="real")
        unit = call.literal(scales[:1].reshape(1, 1, 1, 1), "weight_scale")
        factor = call.emit("Mul", [factor, unit], (x.shape[0], 1, 1, 1), part="factors")
    total = call.emit("Mul", [real, factor], shape, part="product")
    for name in bias:
        column = call.reshaped(name, (1, channels, 1, 1), "bias")
        total = call.emit("Add", [total, column], shape, part="total")
    call.activated(lambda part: last(call, total, part), call.text("activation"))


def quantized_rows(call: LiteCall, rows: str, *, asymmetric: bool) -> tuple[str, str]:
    """Stored integers of ``rows`` [rows, inputs], and the scales [rows, 1]."""
    shape = call.build.tensor(rows).shape
    kind = DType.INT16 if asymmetric else DType.INT8
    outputs = ((shape, kind, "stored"), ((shape[0], 1), DType.FLOAT32, "scale"))
    stored, scale = call.emit_parts("QuantizeLine", [rows], outputs, {"axis": 1})
    return stored, scale


def _is_per_channel(call: LiteCall) -> bool:
    """Whether the weights have a scale for each channel: LiteRT compares both numbers, so one channel has, too."""
    w = call.record(1)
    return len(w.scale) == w.shape[w.axis]


def _scales(call: LiteCall, channels: int) -> Array:
    """The scales of the weights, float32: one, or one for each channel."""
    w = call.record(1)
    if len(w.scale) not in (1, channels):
        raise Unsupported(f"{len(w.scale)} scales for {channels} channels", "convert the model again")
    return np.asarray(w.scale, np.float32)


def _require_sums(weights: Array) -> None:
    """Unsupported where a sum of 255 times the weights, [channels, ...], does not fit 32 bits."""
    if _LARGEST_DIFFERENCE * int(np.abs(weights.astype(np.int64)).sum(axis=1).max()) >= LARGEST:
        raise Unsupported("sums beyond 32 bits", "quantise the whole model to int8")
