"""ONNX QuantizeLinear and DequantizeLinear, and RequantShift of the Deeploy dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.graph import Array, DType, RequantizeShift, Tensor
from tilewright.importers.context import Call, Unsupported, dtype_named
from tilewright.plan import Quantization

_STORED = frozenset({DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT32})


def quantize(call: Call) -> None:
    """QuantizeLinear, per tensor or per axis."""
    x = call.real(0)
    scale = call.constant(1, "the scale")
    zero_point = call.known(2)
    if call.has(2) and zero_point is None:
        raise Unsupported("the zero point is computed at run time", "make it a constant")
    dtype = DType.UINT8 if zero_point is None else dtype_named(zero_point.dtype.name)
    if zero_point is None and call.attribute("output_dtype", 0) not in (0, 2):
        raise Unsupported("output_dtype without a zero point", "give the zero point in that type")
    attributes = _parameters(call, x, dtype, scale, zero_point)
    output = call.emit("Quantize", [x.name], x.shape, attributes, dtype=dtype)
    _remember(call, output, attributes)


def dequantize(call: Call) -> None:
    """DequantizeLinear, per tensor or per axis. It stays a node even if its input is constant."""
    x = call.input(0)
    zero_point = call.known(2)
    if call.has(2) and zero_point is None:
        raise Unsupported("the zero point is computed at run time", "make it a constant")
    attributes = _parameters(call, x, x.dtype, call.constant(1, "the scale"), zero_point)
    call.emit("Dequantize", [x.name], x.shape, attributes, dtype=DType.FLOAT32)
    _remember(call, x.name, attributes)


def _parameters(call: Call, x: Tensor, dtype: DType, scale: Array, zero_point: Array | None) -> dict[str, Any]:
    if dtype not in _STORED:
        raise Unsupported(f"quantised type {dtype.value}", "int8 and uint8 are supported")
    if call.attribute("block_size", 0):
        raise Unsupported("blocks of quantised values", "quantise per tensor or per channel")
    if scale.dtype != np.float32:
        raise Unsupported(f"scale of type {scale.dtype.name}", "float32 scales are supported")
    if zero_point is not None and zero_point.size not in (1, scale.size):
        raise Unsupported("scale and zero point differ in shape")
    axis = None
    if scale.size > 1:
        axis = call.axis(int(call.attribute("axis", 1)), len(x.shape))
        if scale.size != x.shape[axis]:
            raise Unsupported(f"{scale.size} scales for extent {x.shape[axis]}")
    points = (0,) if zero_point is None else tuple(int(value) for value in zero_point.reshape(-1))
    return {
        "scale": tuple(float(value) for value in scale.reshape(-1)),
        "zero_point": points if len(points) == scale.size else points * scale.size,
        "axis": axis,
    }


def _remember(call: Call, name: str, attributes: Mapping[str, Any]) -> None:
    """Note the meaning of the integers at their tensor, for headers and reports."""
    tensor = call.build.tensors[name]
    meaning = Quantization(attributes["scale"], attributes["zero_point"], attributes["axis"])
    call.build.tensors[name] = replace(tensor, quantization=meaning)


def requant_shift(call: Call) -> None:
    """RequantShift: clip((x * mul + add + half) >> log2(div)); int8 if signed, else uint8."""
    x = call.input(0)
    shift = _exponent(_scalar(call, "div"))
    levels = int(_scalar(call, "n_levels_out" if call.attribute("n_levels_out") is not None else "n_levels"))
    signed = bool(_scalar(call, "signed"))
    if not 2 <= levels <= 256:
        raise Unsupported(f"{levels} levels", "2 to 256 levels are supported")
    mul_axis, multiplier = _channels(call, 1, "mul", x.shape)
    add_axis, addend = _channels(call, 2, "add", x.shape)
    if None not in (mul_axis, add_axis) and mul_axis != add_axis:
        raise Unsupported("mul and add follow different axes")
    axis = mul_axis if mul_axis is not None else add_axis
    minimum = -(levels // 2) if signed else 0
    epilogue = RequantizeShift(multiplier, addend, shift, minimum, minimum + levels - 1)
    axis = min(1, len(x.shape) - 1) if axis is None else axis
    dtype = DType.INT8 if signed else DType.UINT8
    attributes = {"channel_axis": axis, "x_zero_point": 0}
    call.emit("Requantize", [x.name], x.shape, attributes, dtype=dtype, epilogue=epilogue)


def _scalar(call: Call, name: str) -> float:
    value = call.attribute(name)
    if value is None:
        raise Unsupported(f"attribute '{name}' is missing")
    return float(np.asarray(value).reshape(-1)[0])


def _exponent(div: float) -> int:
    if div < 1 or div != int(div) or int(div) & (int(div) - 1):
        raise Unsupported(f"div {div:g} is not a power of two")
    return int(div).bit_length() - 1


def _channels(call: Call, index: int, what: str, shape: tuple[int, ...]) -> tuple[int | None, tuple[int, ...]]:
    """The axis of x that the values follow (None for one value), and the values."""
    array = call.constant(index, what)
    values = tuple(int(value) for value in array.reshape(-1))
    if any(int(value) != value for value in array.reshape(-1)):
        raise Unsupported(f"{what} holds values that are not integers")
    if len(values) == 1:
        return None, values
    long = [axis for axis, extent in enumerate(array.shape) if extent > 1]
    rank = len(shape)
    if len(long) != 1 or array.ndim > rank:
        raise Unsupported(f"{what} of shape {list(array.shape)} for {list(shape)}", "one axis may be longer than 1")
    axis = rank - array.ndim + long[0]
    vector = array.ndim == 1 and rank > 2
    if rank > 1 and shape[1] == len(values) and (vector or shape[axis] != len(values)):
        # The dialect reads a vector on more than two axes as channels, and [C, 1, 1] on [N, C, L] too.
        axis = 1
    if shape[axis] != len(values):
        raise Unsupported(f"{what} of shape {list(array.shape)} for {list(shape)}")
    return axis, values


QUANTIZATION: Mapping[str, Callable[[Call], None]] = MappingProxyType(
    {"QuantizeLinear": quantize, "DequantizeLinear": dequantize, "RequantShift": requant_shift}
)
