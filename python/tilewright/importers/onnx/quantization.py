"""ONNX QuantizeLinear and DequantizeLinear, and RequantShift of the Deeploy dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.graph import Array, DType, RequantizeShift, Tensor
from tilewright.importers.construction import Unsupported, dtype_named
from tilewright.importers.onnx.context import Call
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
    if not np.isfinite(scale).all():
        raise Unsupported("a scale that is not finite", "quantise without masks of -inf")
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
    """RequantShift: clip((x * mul + add + half) >> log2(div)); int8 if signed, else uint8.

    mul and add that do not follow one axis become Mul and Add of int32 tensors, exact as long as
    x * mul + add fits 32 bits.
    """
    x = call.input(0)
    shift = exponent(scalar(call, "div"), "div")
    levels = int(scalar(call, "n_levels_out" if call.attribute("n_levels_out") is not None else "n_levels"))
    signed = bool(scalar(call, "signed"))
    if not 2 <= levels <= 256:
        raise Unsupported(f"{levels} levels", "2 to 256 levels are supported")
    minimum = -(levels // 2) if signed else 0
    mul, add = _along_axes(call, 1, "mul", x.shape), _along_axes(call, 2, "add", x.shape)
    axes = {axis for values in (mul, add) for axis in range(values.ndim) if values.shape[axis] > 1}
    axis = axes.pop() if axes else min(1, len(x.shape) - 1)
    source, multiplier, addend = x.name, _integers(mul), _integers(add)
    if axes:
        zero_points = {"a_zero_point": 0, "b_zero_point": 0}
        factors = call.literal(mul, f"{call.node.outputs[0]}/mul")
        source = call.emit("Mul", [source, factors], x.shape, zero_points, part="scaled")
        addends = call.literal(add, f"{call.node.outputs[0]}/add")
        source = call.emit("Add", [source, addends], x.shape, zero_points, part="shifted")
        multiplier, addend = (1,), (0,)
    epilogue = RequantizeShift(multiplier, addend, shift, minimum, minimum + levels - 1)
    dtype = DType.INT8 if signed else DType.UINT8
    attributes = {"channel_axis": axis, "x_zero_point": 0}
    call.emit("Requantize", [source], x.shape, attributes, dtype=dtype, epilogue=epilogue)


def _integers(values: Array) -> tuple[int, ...]:
    return tuple(int(value) for value in values.reshape(-1))


def scalar(call: Call, name: str) -> float:
    """An attribute that holds one number, as such or as a tensor; Unsupported if it is missing."""
    if call.attribute(name) is None:
        raise Unsupported(f"attribute '{name}' is missing")
    return call.number(name)


def exponent(power: float, what: str) -> int:
    """log2 of a power of two; Unsupported for other numbers."""
    if power < 1 or power != int(power) or int(power) & (int(power) - 1):
        raise Unsupported(f"{what} {power:g} is not a power of two")
    return int(power).bit_length() - 1


def _along_axes(call: Call, index: int, what: str, shape: tuple[int, ...]) -> Array:
    """Constant integers of x's rank that broadcast to x."""
    array = call.constant(index, what)
    if not np.array_equal(array, array.astype(np.int64)):
        raise Unsupported(f"{what} holds values that are not integers")
    rank = len(shape)
    values = array.astype(np.int64)
    if values.size == 1:
        return values.reshape((1,) * rank)
    long = [axis for axis, extent in enumerate(values.shape) if extent > 1]
    if values.ndim > rank:
        raise Unsupported(f"{what} of shape {list(array.shape)} for {list(shape)}")
    aligned = (1,) * (rank - values.ndim) + values.shape
    misplaced = (values.ndim == 1 and rank > 2) or any(n not in (1, m) for n, m in zip(aligned, shape, strict=True))
    if misplaced and len(long) == 1 and rank > 1 and shape[1] == values.size:
        # The dialect reads a vector on more than two axes as channels, and [C, 1, 1] on [N, C, L] too.
        aligned = (1, values.size) + (1,) * (rank - 2)
    if any(extent not in (1, whole) for extent, whole in zip(aligned, shape, strict=True)):
        raise Unsupported(f"{what} of shape {list(array.shape)} for {list(shape)}")
    return values.reshape(aligned)


QUANTIZATION: Mapping[str, Callable[[Call], None]] = MappingProxyType(
    {"QuantizeLinear": quantize, "DequantizeLinear": dequantize, "RequantShift": requant_shift}
)
