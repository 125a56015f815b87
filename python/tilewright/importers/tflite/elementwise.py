"""Sums, products, activations, means, and the border between float32 and integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import floor, prod
from types import MappingProxyType

import numpy as np

from tilewright.graph import Array, DType, RequantizeTwice
from tilewright.importers.construction import Unsupported, broadcast
from tilewright.importers.tflite.context import LiteCall, axis_of, one_type, per_tensor
from tilewright.importers.tflite.images import FIRST, LAST
from tilewright.importers.tflite.int16 import INT16_FUNCTIONS, limited
from tilewright.importers.tflite.int16 import softmax as softmax_int16
from tilewright.importers.tflite.multipliers import real_bounds, stored_bounds, table, twice
from tilewright.importers.tflite.pointwise import FUNCTIONS
from tilewright.importers.tflite.records import TensorRecord
from tilewright.operators.fixed_point import multiplied, quantized_multiplier

_EIGHT_BIT = ("int8", "uint8")
_SUM_LEFT = {"int8": 20, "uint8": 20, "int16": 15}
_FLOAT_BINARY = {"ADD": "Add", "SUB": "Sub", "MUL": "Mul"}
_SOFTMAX_BITS = 5


def binary(call: LiteCall) -> None:
    """Float32, int8, uint8, int16, and int32 and int64 without scale, with broadcasting."""
    kind = one_type(call, 0, 1)
    a, b = call.input(0), call.input(1)
    shape = broadcast(a.shape, b.shape)
    names = [a.name, b.name]
    operator = call.node.operator
    if kind == "float32":
        call.activated(
            lambda part: call.emit(_FLOAT_BINARY[operator], names, shape, part=part), call.text("activation")
        )
        return
    if kind in ("int32", "int64") and not call.output().is_quantized:
        whole_numbers(call, f"{_FLOAT_BINARY[operator]}Integer", names, shape)
        return
    if not call.output().is_quantized or kind not in _SUM_LEFT:
        raise Unsupported(f"elements of type {kind}", "float32, int8, uint8 and int16 are supported")
    records = (call.record(0), call.record(1), call.output())
    for record in records:
        per_tensor(record)
    if operator == "MUL":
        _product(call, names, shape)
        return
    given, epilogue = _sum(call, kind, *records)
    if len(shape) != 4 or a.shape != b.shape:
        call.emit("ScaledSum", names, shape, given, epilogue=epilogue)
        return
    # Between convolutions the transpositions vanish, and the sum may lie over one of its operands.
    first = [call.transposed(name, FIRST, "first") for name in names]
    inner = [shape[axis] for axis in FIRST]
    call.transposed(call.emit("ScaledSum", first, inner, given, part="sum", epilogue=epilogue), LAST, "")


def whole_numbers(call: LiteCall, operator: str, names: list[str], shape: tuple[int, ...]) -> None:
    """An operator on integers without scale, and its activation."""
    low, high = real_bounds(call.text("activation"))
    # TensorFlow Lite Micro's ADD of int32 has no activation, whatever the file says.
    unbounded = operator == "AddInteger" and call.build.tensor(names[0]).dtype is DType.INT32
    if unbounded or (low, high) == (float("-inf"), float("inf")):
        call.emit(operator, names, shape)
        return
    inner = call.emit(operator, names, shape, part="linear")
    limits = np.iinfo(call.build.tensor(inner).dtype.numpy)
    limited(call, inner, int(max(low, limits.min)), int(high) if high < limits.max else int(limits.max), "")


def _product(call: LiteCall, names: list[str], shape: tuple[int, ...]) -> None:
    a, b, y = call.record(0), call.record(1), call.output()
    epilogue = twice([float(a.unit) * float(b.unit) / float(y.unit)], y, call.text("activation"))
    given = {"a_zero_point": a.zero, "b_zero_point": b.zero}
    call.emit("Mul", names, shape, given, epilogue=epilogue)


def _sum(
    call: LiteCall, kind: str, a: TensorRecord, b: TensorRecord, y: TensorRecord
) -> tuple[dict[str, int], RequantizeTwice]:
    """Attributes of ScaledSum, whose three factors are computed in float64."""
    left = _SUM_LEFT[kind]
    widest = 2.0 * max(float(a.unit), float(b.unit))
    factors = [float(a.unit) / widest, float(b.unit) / widest]
    (a_multiplier, a_shift), (b_multiplier, b_shift) = (quantized_multiplier(factor) for factor in factors)
    out = quantized_multiplier(widest / ((1 << left) * float(y.unit)))
    if out[1] > 0:
        raise Unsupported(f"an output scale of {float(y.unit)}, so small that sums would be shifted left")
    given = {
        "a_zero_point": a.zero,
        "b_zero_point": b.zero,
        "a_multiplier": a_multiplier,
        "b_multiplier": b_multiplier,
        "a_shift": a_shift,
        "b_shift": b_shift,
        "left": left,
        "sign": -1 if call.node.operator == "SUB" else 1,
    }
    low, high = stored_bounds(call.text("activation"), y)
    return given, RequantizeTwice((out[0],), (out[1],), y.zero, low, high)


def mean(call: LiteCall) -> None:
    """Over constant axes; float32, int8, uint8 and int16; int32 and int64 without scale."""
    kind = one_type(call, 0)
    x, y = call.record(0), call.output()
    rank = len(x.shape)
    axes = tuple(sorted({axis_of(int(axis), rank) for axis in call.constant(1, "the axes").reshape(-1)}))
    keep = bool(call.integer("keep_dims"))
    shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(x.shape) if keep or axis not in axes)
    given = {"axes": axes, "keepdims": keep}
    source = call.input(0).name
    if kind == "float32":
        call.emit("ReduceMean" if call.node.operator == "MEAN" else "ReduceSum", [source], shape, given)
        return
    if kind in ("int32", "int64") and not y.is_quantized:
        _whole_mean(call, shape, given, prod(x.shape[axis] for axis in axes))
        return
    if kind not in _SUM_LEFT:
        raise Unsupported(f"elements of type {kind}", "float32, int8, uint8 and int16 are supported")
    per_tensor(x)
    per_tensor(y)
    count = prod(x.shape[axis] for axis in axes)
    limits = np.iinfo(kind)
    if count * (int(limits.max) - int(limits.min)) >= 1 << 31:
        raise Unsupported(f"a sum of {count} elements")
    multiplier, shift = quantized_multiplier(float(x.unit) / float(y.unit))
    if call.node.operator == "MEAN":
        halvings = min(count.bit_length() - 1, 32, 31 + shift)
        multiplier, shift = (multiplier << halvings) // count, shift - halvings
    low, high = stored_bounds("NONE", y)
    epilogue = RequantizeTwice((multiplier,), (shift,), y.zero, low, high)
    total = call.emit("IntegerSum", [source], shape, given, dtype=DType.INT32, part="sum")
    largest = count * max(abs(int(limits.min) - x.zero), abs(int(limits.max) - x.zero))
    bounded = {"x_zero_point": x.zero * count, "largest": largest}
    call.emit("Requantize", [total], shape, bounded, dtype=DType(kind), epilogue=epilogue)


def _whole_mean(call: LiteCall, shape: tuple[int, ...], given: dict[str, object], count: int) -> None:
    """SUM and MEAN of integers without scale; a mean is a sum of 64 bits, whose quotient is cut off."""
    x = call.input(0)
    if call.node.operator == "SUM":
        call.emit("ReduceSum", [x.name], shape, given)
        return
    wide = x.name
    if x.dtype is not DType.INT64:
        wide = call.emit("Cast", [x.name], x.shape, dtype=DType.INT64, part="wide")
    total = call.emit("ReduceSum", [wide], shape, given, part="sum")
    divisor = call.literal(np.asarray(count, np.int64), "count")
    if x.dtype is DType.INT64:
        call.emit("DivInteger", [total, divisor], shape)
        return
    quotient = call.emit("DivInteger", [total, divisor], shape, part="quotient")
    call.emit("Cast", [quotient], shape, dtype=DType.INT32)


def softmax(call: LiteCall) -> None:
    """Over the last axis; float32, int8 (also to int16), uint8 and int16."""
    x, y, shape = call.record(0), call.output(), call.record(0).shape
    kind = "int8" if (x.type, y.type) == ("int8", "int16") else one_type(call, 0)
    if not shape:
        raise Unsupported("a scalar")
    if kind == "int16":
        softmax_int16(call)
        return
    beta = call.real("beta")
    if kind == "float32":
        source = call.input(0).name
        if beta != 1.0:
            source = call.emit(
                "Mul", [source, call.literal(np.asarray([beta], np.float32), "beta")], shape, part="scaled"
            )
        call.emit("Softmax", [source], shape, {"axis": len(shape) - 1})
        return
    if kind not in _EIGHT_BIT:
        raise Unsupported(f"elements of type {kind}", "float32, int8 and uint8 are supported")
    per_tensor(x)
    levels = 65536 if y.type == "int16" else 256
    if len(y.scale) != 1 or abs(y.scale[0] * levels - 1) > 0.001 or y.zero != np.iinfo(y.type).min:
        raise Unsupported(
            f"an output with scale {y.scale} and zero point {y.zero_point}", f"scale 1/{levels} is supported"
        )
    multiplier, left = _softmax_factor(x, beta)
    given = {"multiplier": multiplier, "left": left, "lowest": -input_radius(_SOFTMAX_BITS, left)}
    call.emit("FixedSoftmax", [call.input(0).name], shape, given, dtype=DType(y.type))


def _softmax_factor(x: TensorRecord, beta: float) -> tuple[int, int]:
    """Multiplier and shift to the left from differences of stored integers to Q5.26."""
    real = min(float(np.float32(beta)) * float(x.unit) * (1 << (31 - _SOFTMAX_BITS)), float((1 << 31) - 1))
    multiplier, left = quantized_multiplier(real)
    if left < 0:
        raise Unsupported(f"an input scale of {float(x.unit)}")
    return multiplier, left


def input_radius(integer_bits: int, left: int) -> int:
    """The largest stored difference that does not exceed Q<integer_bits> after its factor."""
    return floor(((1 << integer_bits) - 1) * (1 << (31 - integer_bits)) / (1 << left))


def quantize(call: LiteCall) -> None:
    """From float32 to int8, uint8 or int16; from one scale to another of int8, int16 and int32, int8 and uint8."""
    x, y = call.record(0), call.output()
    per_tensor(y)
    shape = call.input(0).shape
    if x.type == "float32":
        if y.type not in ("int8", "uint8", "int16"):
            raise Unsupported(f"float32 to {y.type}", "int8, uint8 and int16 are supported")
        given = {"scale": (float(y.unit),), "zero_point": (y.zero,), "half_away": True}
        call.emit("Quantize", [call.input(0).name], shape, given, dtype=DType(y.type))
        return
    per_tensor(x)
    if x.type in _EIGHT_BIT and y.type in _EIGHT_BIT:
        tabulated_function(call, _rescaled)
        return
    if x.type not in (*_EIGHT_BIT, "int16", "int32") or y.type not in ("int8", "int16", "int32"):
        raise Unsupported(f"{x.type} to {y.type}")
    epilogue = twice([float(x.unit) / float(y.unit)], y)
    call.emit(
        "Requantize", [call.input(0).name], shape, {"x_zero_point": x.zero}, dtype=DType(y.type), epilogue=epilogue
    )


def _rescaled(call: LiteCall, x: TensorRecord, y: TensorRecord) -> Callable[[Array], Array]:
    q, shift = quantized_multiplier(float(x.unit) / float(y.unit))
    return lambda stored: multiplied(stored - x.zero, q, shift) + y.zero


def dequantize(call: LiteCall) -> None:
    """Integers with one scale to float32; constants with several, and constants of float16."""
    x = call.record(0)
    if x.data is not None and call.output().type == "float32":
        call.known(_real_values(x, x.data))
        return
    per_tensor(x)
    given = {"scale": (float(x.unit),), "zero_point": (x.zero,)}
    call.emit("Dequantize", [call.input(0).name], call.input(0).shape, given, dtype=DType.FLOAT32)


def _real_values(x: TensorRecord, data: Array) -> Array:
    """The real numbers for which a constant's elements stand, float32."""
    if x.type == "float16":
        return data.astype(np.float32)
    if not x.is_quantized:
        raise Unsupported(f"constants of {x.type} without scale", "convert the model again")
    axes = [1] * len(x.shape)
    if len(x.scale) > 1:
        axes[x.axis] = len(x.scale)
    if len(x.scale) > 1 and x.shape[x.axis] != len(x.scale):
        raise Unsupported(f"{len(x.scale)} scales for {list(x.shape)}", "convert the model again")
    scale = np.asarray(x.scale, np.float32).reshape(axes)
    zero = np.asarray(x.zero_point, np.int64).reshape(axes)
    return (data.astype(np.int64) - zero).astype(np.float32) * scale


def tabulated_function(
    call: LiteCall, function: Callable[[LiteCall, TensorRecord, TensorRecord], Callable[[Array], Array]]
) -> None:
    """An operator of one 8-bit tensor as a table."""
    x, y = call.record(0), call.output()
    per_tensor(x)
    per_tensor(y)
    values = table(x, y, function(call, x, y))
    call.emit("Lookup", [call.input(0).name, call.literal(values, "table")], x.shape, dtype=DType(y.type))


def activation(call: LiteCall) -> None:
    """Float32; int8 and uint8 by a table. ABS, LEAKY_RELU, LOGISTIC, RELU, RELU6 and TANH also of int16."""
    kind = one_type(call, 0)
    function = FUNCTIONS[call.node.operator]
    if kind == "int16" and call.node.operator in INT16_FUNCTIONS:
        INT16_FUNCTIONS[call.node.operator](call)
        return
    if kind == "float32" or (kind == "int32" and call.node.operator == "ABS" and not call.record(0).is_quantized):
        operator, given = function.real(call)
        call.emit(operator, [call.input(0).name], call.input(0).shape, given)
        return
    if kind not in _EIGHT_BIT:
        raise Unsupported(f"elements of type {kind}", "float32, int8 and uint8 are supported")
    tabulated_function(call, function.stored)


def log_softmax(call: LiteCall) -> None:
    """Over the last axis; float32, int8 and uint8."""
    kind, shape = one_type(call, 0), call.input(0).shape
    if kind == "float32":
        call.emit("LogSoftmax", [call.input(0).name], shape, {"axis": axis_of(-1, len(shape))})
        return
    if kind not in _EIGHT_BIT or not shape:
        raise Unsupported(f"elements of type {kind}", "float32, int8 and uint8 are supported")
    x, y = call.record(0), call.output()
    per_tensor(x)
    per_tensor(y)
    if (y.scale, y.zero) != ((2.0**-4,), np.iinfo(kind).max):
        raise Unsupported(
            f"an output with scale {y.scale} and zero point {y.zero_point}", "scale 1/16 below the type's largest"
        )
    multiplier, left = _softmax_factor(x, 1.0)
    divisor, shift = quantized_multiplier((1 << (31 - left)) / multiplier)
    given = {"multiplier": multiplier, "left": left, "lowest": -input_radius(_SOFTMAX_BITS, left)}
    call.emit("FixedLogSoftmax", [call.input(0).name], shape, given | {"divisor": divisor, "right": -shift})


ELEMENTWISE: Mapping[str, Callable[[LiteCall], None]] = MappingProxyType(
    {
        **dict.fromkeys(_FLOAT_BINARY, binary),
        **dict.fromkeys(FUNCTIONS, activation),
        "MEAN": mean,
        "SUM": mean,
        "SOFTMAX": softmax,
        "LOG_SOFTMAX": log_softmax,
        "QUANTIZE": quantize,
        "DEQUANTIZE": dequantize,
    }
)
