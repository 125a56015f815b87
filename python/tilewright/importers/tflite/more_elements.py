"""Functions, comparisons, logic, reductions and products beside those of common networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from tilewright.graph import DType, RequantizeTwice
from tilewright.importers.construction import Unsupported, broadcast, dtype_named
from tilewright.importers.tflite.bilinear import resize_bilinear
from tilewright.importers.tflite.context import LiteCall, axis_of, one_type, per_tensor, same_scale
from tilewright.importers.tflite.elementwise import tabulated_function
from tilewright.importers.tflite.hybrid_more import hybrid_matmul
from tilewright.importers.tflite.int16 import INTERPOLATED, interpolated, root
from tilewright.importers.tflite.multipliers import once, stored_bounds, tensor_multiplier, twice
from tilewright.importers.tflite.pointwise import FUNCTIONS
from tilewright.importers.tflite.quantized_more import scaled, squares_of_halves
from tilewright.operators.fixed_point import quantized_multiplier

_INTEGERS = ("int8", "uint8", "int16", "int32", "int64")
_REAL_UNARY = {
    "SQRT": "Sqrt",
    "SIN": "Sin",
    "COS": "Cos",
    "LOG": "Log",
    "ROUND": "Round",
    "FLOOR": "Floor",
    "CEIL": "Ceil",
    "NEG": "Neg",
    "SIGN": "Sign",
}
_BINARY = {"MAXIMUM": "Max", "MINIMUM": "Min"}
_REAL_BINARY = {"POW": "Pow"}
_COMPARISONS = {
    "EQUAL": ("Equal", False, False),
    "NOT_EQUAL": ("Equal", False, True),
    "LESS": ("Less", False, False),
    "GREATER": ("Less", True, False),
    "LESS_EQUAL": ("LessOrEqual", False, False),
    "GREATER_EQUAL": ("LessOrEqual", True, False),
}
"""The graph's operator, whether its operands change places, whether its result is negated."""


def unary(call: LiteCall) -> None:
    """Float32; NEG of integers, SIGN of those without scale; LOG and SQRT of int8 and int16."""
    kind, x = one_type(call, 0), call.input(0)
    if kind == "int16" and call.node.operator in INTERPOLATED:
        interpolated(call)
        return
    if kind == "int16" and call.node.operator == "SQRT":
        root(call)
        return
    if kind in ("int8", "uint8") and call.node.operator in FUNCTIONS:
        tabulated_function(call, FUNCTIONS[call.node.operator].stored)
        return
    # LiteRT negates the stored integers of signed types, whatever their scale.
    signed = call.node.operator == "NEG" and kind in ("int8", "int16")
    plain = signed or (kind in _INTEGERS and not call.record(0).is_quantized and call.node.operator in ("NEG", "SIGN"))
    if kind != "float32" and not plain:
        raise Unsupported(f"elements of type {kind}", "float32 is supported")
    call.emit(_REAL_UNARY[call.node.operator], [x.name], x.shape)


def square(call: LiteCall) -> None:
    """x * x; float32."""
    x = _real(call)
    call.emit("Mul", [x, x], call.build.tensor(x).shape)


def _real(call: LiteCall, index: int = 0) -> str:
    """The name of a float32 input."""
    if call.record(index).type != "float32" or call.output().type != "float32":
        raise Unsupported(f"{call.record(index).type} to {call.output().type}", "float32 is supported")
    return call.input(index).name


def extremes(call: LiteCall) -> None:
    """The larger or the smaller stored one, with broadcasting; one type, whatever the scales."""
    one_type(call, 0, 1)
    a, b = call.input(0), call.input(1)
    call.emit(_BINARY[call.node.operator], [a.name, b.name], broadcast(a.shape, b.shape))


def real_binary(call: LiteCall) -> None:
    """Float32 with broadcasting."""
    names, shape = [_real(call, 0), _real(call, 1)], broadcast(call.input(0).shape, call.input(1).shape)
    call.emit(_REAL_BINARY[call.node.operator], names, shape)


def floored(call: LiteCall) -> None:
    """FLOOR_DIV and FLOOR_MOD of float32 and of stored integers, with broadcasting."""
    kind, names = one_type(call, 0, 1), [call.input(0).name, call.input(1).name]
    shape = broadcast(call.input(0).shape, call.input(1).shape)
    if kind not in ("float32", *_INTEGERS):
        raise Unsupported(f"elements of type {kind}", "float32 and integers are supported")
    if call.node.operator == "FLOOR_MOD":
        call.emit("Mod", names, shape)
        return
    if kind == "float32":
        call.emit("Floor", [call.emit("Div", names, shape, part="quotient")], shape)
        return
    _floored_quotient(call, names, shape)


def _floored_quotient(call: LiteCall, names: list[str], shape: tuple[int, ...]) -> None:
    """(a - a mod b) / b; the difference may need more bits than a has."""
    dtype, wider = call.input(0).dtype, _WIDER.get(call.input(0).dtype)
    if wider is not None:
        names = [call.emit("Cast", [name], call.build.tensor(name).shape, dtype=wider, part="wide") for name in names]
    rest = call.emit("Mod", names, shape, part="rest")
    whole = call.emit("SubInteger", [names[0], rest], shape, part="whole")
    quotient = call.emit("DivInteger", [whole, names[1]], shape, part="" if wider is None else "quotient")
    if wider is not None:
        call.emit("Cast", [quotient], shape, dtype=dtype)


_WIDER = {
    DType.INT8: DType.INT32,
    DType.UINT8: DType.INT32,
    DType.INT16: DType.INT32,
    DType.INT32: DType.INT64,
}


def squared_difference(call: LiteCall) -> None:
    """(a - b)^2 with broadcasting: float32, int32, int8, int16."""
    kind, a, b = one_type(call, 0, 1), call.input(0), call.input(1)
    shape = broadcast(a.shape, b.shape)
    if kind == "float32":
        difference = call.emit("Sub", [a.name, b.name], shape, part="difference")
        call.emit("Mul", [difference, difference], shape)
        return
    if kind == "int32":
        difference = call.emit("SubInteger", [a.name, b.name], shape, part="difference")
        call.emit("MulInteger", [difference, difference], shape)
        return
    if kind == "int16":
        squares_of_halves(call, shape)
        return
    if kind != "int8":
        raise Unsupported(f"elements of type {kind}", "float32, int32, int8 and int16 are supported")
    _int8_squares(call, shape)


def _int8_squares(call: LiteCall, shape: tuple[int, ...]) -> None:
    """Both operands in steps of the larger scale / 64, then the square in steps of the output."""
    a, b, y = call.record(0), call.record(1), call.output()
    for record in (a, b, y):
        per_tensor(record)
    left, widest = 7, 2.0 * max(float(a.unit), float(b.unit))
    sides = []
    for index, record in enumerate((a, b)):
        q, shift = quantized_multiplier(float(record.unit) / widest)
        sides.append(scaled(call, index, left, (q, shift)))
    difference = call.emit("SubInteger", sides, shape, part="difference")
    squares = call.emit("MulInteger", [difference, difference], shape, part="squares")
    epilogue = twice([widest * widest / ((1 << (left * 2)) * float(y.unit))], y)
    call.emit("Requantize", [squares], shape, dtype=DType.INT8, epilogue=epilogue)


def comparison(call: LiteCall) -> None:
    """Float32, bool, int32, int64; int8, uint8 and int16, each with its scale, with broadcasting.

    LiteRT orders int16 by the stored integers, and TensorFlow Lite Micro's GREATER of int16 is never true.
    LiteRT leaves the output of NOT_EQUAL of int16 without scale unwritten; here it is the opposite of EQUAL.
    """
    kinds = {call.record(0).type, call.record(1).type}
    operator, swapped, negated = _COMPARISONS[call.node.operator]
    names = [call.input(0).name, call.input(1).name]
    shape = broadcast(call.input(0).shape, call.input(1).shape)
    if len(kinds) != 1 or not kinds & {"float32", "bool", "int32", "int64", "int16", "int8", "uint8"}:
        raise Unsupported(f"operands of types {', '.join(sorted(kinds))}")
    if kinds <= {"int8", "uint8"} and call.record(0).is_quantized:
        names = [_compared(call, index) for index in range(2)]
    if kinds == {"int16"} and call.record(0).is_quantized and operator == "Equal":
        names = [_compared_half(call, index) for index in range(2)]
    if swapped:
        names.reverse()
    name = call.emit(operator, names, shape, dtype=DType.BOOL, part="equal" if negated else "")
    if negated:
        call.emit("Not", [name], shape)


def _compared(call: LiteCall, index: int) -> str:
    """An operand of 8 bits as the number of 1/256 of one that it stands for."""
    record = call.record(index)
    per_tensor(record)
    q, shift = quantized_multiplier(float(record.unit))
    return scaled(call, index, 8, (q, shift))


def _compared_half(call: LiteCall, index: int) -> str:
    """As ``_compared`` for int16."""
    record, x = call.record(index), call.input(index)
    per_tensor(record)
    wide = call.emit("Cast", [x.name], x.shape, dtype=DType.INT32, part=f"wide{index}")
    factor = call.literal(np.asarray(256, np.int32), "factor")
    zero = call.literal(np.asarray(record.zero, np.int32), "zero")
    offset = call.emit("SubInteger", [wide, zero], x.shape, part=f"offset{index}")
    shifted = call.emit("MulInteger", [offset, factor], x.shape, part=f"shifted{index}")
    q, shift = quantized_multiplier(float(record.unit))
    epilogue = RequantizeTwice((q,), (shift,), 0, -(1 << 31), (1 << 31) - 1)
    bounded = {"largest": 1 << 24}
    return call.emit("Requantize", [shifted], x.shape, bounded, part=f"scaled{index}", epilogue=epilogue)


def logic(call: LiteCall) -> None:
    """Bool with broadcasting."""
    count = len(call.node.inputs)
    if one_type(call, *range(count)) != "bool":
        raise Unsupported("operands that are no bool")
    shape = call.input(0).shape
    for index in range(1, count):
        shape = broadcast(shape, call.input(index).shape)
    operator = {"LOGICAL_AND": "And", "LOGICAL_OR": "Or", "LOGICAL_NOT": "Not"}[call.node.operator]
    call.emit(operator, [call.input(index).name for index in range(count)], shape)


_REDUCTIONS = {
    "REDUCE_MAX": "ReduceMax",
    "REDUCE_MIN": "ReduceMin",
    "REDUCE_PROD": "ReduceProd",
    "REDUCE_ANY": "ReduceMax",
    "REDUCE_ALL": "ReduceMin",
}


def reduce_extreme(call: LiteCall) -> None:
    """Over constant axes: MAX and MIN of any type with one scale, PROD of numbers without, ANY and ALL of bool."""
    one_type(call, 0)
    x = call.input(0)
    if call.record(0).is_quantized:
        same_scale(call, call.record(0))
    axes, shape = _reduced(call, bool(call.integer("keep_dims")))
    operator = _REDUCTIONS[call.node.operator]
    if call.node.operator in ("REDUCE_ANY", "REDUCE_ALL") and x.dtype is not DType.BOOL:
        raise Unsupported(f"elements of type {x.dtype.value}", "bool is supported")
    if operator == "ReduceProd" and x.dtype not in (DType.FLOAT32, DType.INT32, DType.INT64):
        raise Unsupported(f"elements of type {x.dtype.value}", "float32, int32 and int64 are supported")
    call.emit(operator, [x.name], shape, {"axes": axes, "keepdims": bool(call.integer("keep_dims"))})


def _reduced(call: LiteCall, keep: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The reduced axes, and the shape that is left."""
    shape = call.record(0).shape
    axes = tuple(sorted({axis_of(int(axis), len(shape)) for axis in call.constant(1, "the axes").reshape(-1)}))
    left = tuple(1 if axis in axes else extent for axis, extent in enumerate(shape) if keep or axis not in axes)
    return axes, left


def arg_extreme(call: LiteCall) -> None:
    """The position of the first largest or smallest element on a constant axis."""
    x = call.input(0)
    axes, shape = _reduced(call, keep=False)
    if len(axes) != 1 or x.dtype not in (DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT32):
        raise Unsupported(f"axes {list(axes)} of {x.dtype.value}")
    given = {"axes": axes, "keepdims": False, "select_last": False}
    operator = {"ARG_MAX": "ArgMax", "ARG_MIN": "ArgMin"}[call.node.operator]
    narrow = call.output().type == "int32"
    name = call.emit(operator, [x.name], shape, given, dtype=DType.INT64, part="position" if narrow else "")
    if narrow:
        call.emit("Cast", [name], shape, dtype=DType.INT32)


def cast(call: LiteCall) -> None:
    """From any type to any other; fractions are cut off."""
    x = call.input(0)
    dtype = dtype_named(call.output().type)
    call.emit("Reshape" if dtype is x.dtype else "Cast", [x.name], x.shape, dtype=dtype)


def prelu(call: LiteCall) -> None:
    """x, and alpha * x below 0; alpha broadcasts. Float32, int8, uint8, and int16 with an alpha of int8."""
    kind, x, alpha = one_type(call, 0), call.input(0), call.input(1)
    shape = broadcast(x.shape, alpha.shape)
    if kind == call.record(1).type == "float32":
        call.emit("PRelu", [x.name, alpha.name], shape)
        return
    if kind not in ("int8", "uint8", "int16") or call.record(1).type != ("int8" if kind == "int16" else kind):
        # LiteRT reads the bytes of an int16 alpha as int8.
        raise Unsupported(
            f"{kind} with alpha of {call.record(1).type}", "float32, int8, uint8, and int16 with an int8 alpha"
        )
    a, b, y = call.record(0), call.record(1), call.output()
    for record in (a, b, y):
        per_tensor(record)
    if kind == "int16" and (a.zero, y.zero) != (0, 0):
        raise Unsupported("int16 with a zero point")
    zero = call.literal(np.asarray(a.zero, kind), "zero")
    above = call.emit("Max", [x.name, zero], x.shape, part="above")
    below = call.emit("Min", [x.name, zero], x.shape, part="below")
    first, second = float(a.unit) / float(y.unit), float(a.unit) * float(b.unit) / float(y.unit)
    above_rule = RequantizeTwice(*_pair(first), 0, *_HALVES)
    given = {"x_zero_point": a.zero}
    positive = call.emit("Requantize", [above], x.shape, given, dtype=DType.INT16, part="positive", epilogue=above_rule)
    offsets = [_offset(call, name, zero_point) for name, zero_point in ((below, a.zero), (alpha.name, b.zero))]
    product = call.emit("MulInteger", offsets, shape, part="product")
    rule, bounded = RequantizeTwice(*_pair(second), 0, *_HALVES), {}
    if kind == "int16":
        bounded = {"largest": 1 << 23}
    negative = call.emit("Requantize", [product], shape, bounded, dtype=DType.INT16, part="negative", epilogue=rule)
    if kind == "int16":
        # One of the two is 0 everywhere, so that no sum leaves 16 bits.
        call.emit("AddInteger", [positive, negative], shape)
        return
    total = call.emit("AddInteger", [positive, negative], shape, part="total")
    low, high = stored_bounds("NONE", y)
    last = RequantizeTwice((1 << 30,), (1,), y.zero, low, high)
    call.emit("Requantize", [total], shape, dtype=DType(kind), epilogue=last)


_HALVES = (-(1 << 15), (1 << 15) - 1)
"""The smallest and the largest int16."""


def _pair(real: float) -> tuple[tuple[int], tuple[int]]:
    q, shift = quantized_multiplier(real)
    return (q,), (shift,)


def _offset(call: LiteCall, name: str, zero_point: int) -> str:
    """The elements without their zero point, int32."""
    shape = call.build.tensor(name).shape
    wide = call.emit("Cast", [name], shape, dtype=DType.INT32, part="wide")
    zero = call.literal(np.asarray(zero_point, np.int32), "offset")
    return call.emit("SubInteger", [wide, zero], shape, part="without_offset")


def batch_matmul(call: LiteCall) -> None:
    """Products of matrices with broadcast batch axes; float32 (also with int8), int8 (also to int32), uint8, int16."""
    a, b = call.input(0), call.input(1)
    if len(a.shape) < 2 or len(b.shape) < 2:
        raise Unsupported(f"operands {list(a.shape)} and {list(b.shape)}")
    turned = [bool(call.integer("adj_x")), bool(call.integer("adj_y"))]
    rows, depth = a.shape[-2:][::-1] if turned[0] else a.shape[-2:]
    inner, columns = b.shape[-2:][::-1] if turned[1] else b.shape[-2:]
    if depth != inner:
        raise Unsupported(f"operands {list(a.shape)} and {list(b.shape)}")
    shape = (*broadcast(a.shape[:-2], b.shape[:-2]), rows, columns)
    given: dict[str, object] = {"transpose_a": turned[0], "transpose_b": turned[1]}
    names = [a.name, b.name]
    if (a.dtype, b.dtype) == (DType.FLOAT32, DType.INT8):
        hybrid_matmul(call, shape, (turned[0], turned[1]))
        return
    if (a.dtype.value, b.dtype.value, call.output().type) == ("int8", "int8", "int32"):
        # LiteRT multiplies the stored integers, whatever their zero points.
        call.emit("MatMul", names, shape, given | {"a_zero_point": 0, "b_zero_point": (0,)}, dtype=DType.INT32)
        return
    kind = one_type(call, 0, 1)
    if kind == "float32":
        call.emit("MatMul", names, shape, given)
        return
    if kind not in ("int8", "uint8", "int16"):
        raise Unsupported(f"elements of type {kind}", "float32, int8, uint8 and int16 are supported")
    x, w, y = call.record(0), call.record(1), call.output()
    for record in (x, w, y):
        per_tensor(record)
    if kind == "int16":
        if (x.zero, w.zero, y.zero) != (0, 0, 0):
            raise Unsupported("int16 with a zero point", "quantise the model again")
        call.emit("MatMul", names, shape, given, epilogue=once(tensor_multiplier(x, w, y), y))
        return
    given |= {"a_zero_point": x.zero, "b_zero_point": (w.zero,)}
    call.emit("MatMul", names, shape, given, epilogue=twice(tensor_multiplier(x, w, y), y))


MORE_ELEMENTS: Mapping[str, Callable[[LiteCall], None]] = MappingProxyType(
    {
        **dict.fromkeys(_REAL_UNARY, unary),
        **dict.fromkeys(_BINARY, extremes),
        **dict.fromkeys(_REAL_BINARY, real_binary),
        **dict.fromkeys(_COMPARISONS, comparison),
        **dict.fromkeys(("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT"), logic),
        **dict.fromkeys(_REDUCTIONS, reduce_extreme),
        **dict.fromkeys(("ARG_MAX", "ARG_MIN"), arg_extreme),
        "FLOOR_DIV": floored,
        "FLOOR_MOD": floored,
        "SQUARE": square,
        "SQUARED_DIFFERENCE": squared_difference,
        "CAST": cast,
        "PRELU": prelu,
        "BATCH_MATMUL": batch_matmul,
        "RESIZE_BILINEAR": resize_bilinear,
    }
)
