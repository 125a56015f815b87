"""Quantised operators beside those of common networks: quotients, running sums, vectors of length 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from types import MappingProxyType

import numpy as np

from tilewright.graph import Array, DType, RequantizeTwice
from tilewright.importers.construction import Unsupported, broadcast
from tilewright.importers.tflite.context import LiteCall, axis_of, one_type, per_tensor, same_scale
from tilewright.importers.tflite.elementwise import whole_numbers
from tilewright.importers.tflite.multipliers import stored_bounds, twice
from tilewright.importers.tflite.records import TensorRecord
from tilewright.operators.fixed_point import inverse_root, multiplied, quantized_multiplier

_EIGHT_BIT = ("int8", "uint8")
_LEFT = 20
_LARGEST = (1 << 31) - 1


def tabulated(call: LiteCall, index: int, function: Callable[[Array], Array]) -> str:
    """An int32 for each element of an 8-bit input, by a table."""
    x = call.input(index)
    limits = np.iinfo(x.dtype.numpy)
    values = np.arange(limits.min, limits.max + 1, dtype=np.int64)
    table = call.literal(function(values).astype(np.int32), f"table{index}")
    return call.emit("Lookup", [x.name, table], x.shape, dtype=DType.INT32, part=f"operand{index}")


def scaled(call: LiteCall, index: int, left: int, factor: tuple[int, int]) -> str:
    """An operand of 8 bits less its zero point, shifted left, times a factor; int32."""
    zero = call.record(index).zero
    return tabulated(call, index, lambda values: multiplied((values - zero) << left, *factor))


def divide(call: LiteCall) -> None:
    """Float32, int8, uint8 and int16, and int32 without scale, with broadcasting."""
    kind, a, b = one_type(call, 0, 1), call.input(0), call.input(1)
    shape, names = broadcast(a.shape, b.shape), [a.name, b.name]
    if kind == "float32":
        call.activated(lambda part: call.emit("Div", names, shape, part=part), call.text("activation"))
        return
    if kind == "int32" and not call.output().is_quantized:
        whole_numbers(call, "DivInteger", names, shape)
        return
    if kind not in (*_EIGHT_BIT, "int16"):
        raise Unsupported(f"elements of type {kind}", "float32, int8, uint8, int16 and int32 are supported")
    _fixed_quotient(call, shape, names)


def _fixed_quotient(call: LiteCall, shape: tuple[int, ...], names: list[str]) -> None:
    x, w, y = call.record(0), call.record(1), call.output()
    for record in (x, w, y):
        per_tensor(record)
    if x.type == "int16" and (x.zero, w.zero, y.zero) != (0, 0, 0):
        raise Unsupported("int16 with a zero point", "quantise the model again")
    multiplier, shift = quantized_multiplier(_quotient_factor(x, w, y))
    low, high = stored_bounds(call.text("activation"), y)
    given = {
        "a_zero_point": x.zero,
        "b_zero_point": w.zero,
        "multiplier": multiplier,
        "shift": shift,
        "zero_point": y.zero,
        "minimum": low,
        "maximum": high,
    }
    call.emit("DivFixed", names, shape, given)


def _quotient_factor(x: TensorRecord, w: TensorRecord, y: TensorRecord) -> float:
    """x scale / (w scale * y scale) in float64 for int8, which TensorFlow Lite Micro computes; LiteRT has float32."""
    if x.type == "int8":
        return float(x.unit) / (float(w.unit) * float(y.unit))
    return float(x.unit / (w.unit * y.unit))


def _step(call: LiteCall, sums: str, constant: int) -> None:
    """From sums of 1/2^20 of half the input's steps, plus a constant, to the output."""
    x, y = call.record(0), call.output()
    shape = call.build.tensor(sums).shape
    total = call.emit("AddInteger", [sums, call.literal(np.asarray(constant, np.int32), "start")], shape, part="total")
    epilogue = twice([2.0 * float(x.unit) / ((1 << _LEFT) * float(y.unit))], y)
    call.emit("Requantize", [total], shape, dtype=DType(y.type), epilogue=epilogue)


def _half(values: Array) -> Array:
    return multiplied(values << _LEFT, *quantized_multiplier(0.5))


def cumsum(call: LiteCall) -> None:
    """Along a constant axis; float32, int32, int64 and int8."""
    kind, x = one_type(call, 0), call.input(0)
    if kind not in ("float32", "int32", "int64", "int8"):
        raise Unsupported(f"elements of type {kind}", "float32, int32, int64 and int8 are supported")
    axis = axis_of(int(call.constant(1, "the axis").reshape(-1)[0]), len(x.shape))
    given = {"axis": axis, "exclusive": bool(call.integer("exclusive")), "reverse": bool(call.integer("reverse"))}
    if kind != "int8":
        call.emit("CumSum", [x.name], x.shape, given)
        return
    record = call.record(0)
    per_tensor(record)
    per_tensor(call.output())
    wide = tabulated(call, 0, lambda values: _half(values - record.zero))
    sums = call.emit("CumSum", [wide], x.shape, given, part="sums")
    _step(call, sums, int(_half(np.asarray(-record.zero, np.int64))))


def add_n(call: LiteCall) -> None:
    """The sum of several tensors; float32, int32, and int8 of one scale."""
    count = len(call.node.inputs)
    kind, shape = one_type(call, *range(count)), call.input(0).shape
    if kind not in ("float32", "int32", "int8"):
        raise Unsupported(f"elements of type {kind}", "float32, int32 and int8 are supported")
    names = [call.input(index).name for index in range(count)]
    record = call.record(0)
    if kind == "int8":
        if any(
            (call.record(i).scale, call.record(i).zero_point) != (record.scale, record.zero_point) for i in range(count)
        ):
            raise Unsupported("inputs whose scales differ", "convert the model again")
        per_tensor(record)
        per_tensor(call.output())
        names = [tabulated(call, index, lambda values: _half(values - record.zero)) for index in range(count)]
    total = names[0]
    for index in range(1, count):
        operator = "Add" if kind == "float32" else "AddInteger"
        total = call.emit(operator, [total, names[index]], shape, part=f"sum{index}")
    if kind == "int8":
        _step(call, total, int(_half(np.asarray(-record.zero, np.int64))))
        return
    call.emit("Reshape", [total], shape)


def l2_normalization(call: LiteCall) -> None:
    """Each line of the last axis divided by its length; float32, int8 and uint8."""
    kind, x = one_type(call, 0), call.input(0)
    shape = x.shape
    if kind in _EIGHT_BIT:
        record, y = call.record(0), call.output()
        per_tensor(record)
        per_tensor(y)
        offset = 128 if kind == "uint8" else 0
        if call.text("activation") != "NONE" or (y.scale, y.zero) != ((2.0**-7,), offset):
            raise Unsupported(
                f"an output with scale {y.scale} and zero point {y.zero_point}", "use 1/128 without activation"
            )
        call.emit("L2Fixed", [x.name], shape, {"x_zero_point": record.zero})
        return
    if kind != "float32":
        raise Unsupported(f"elements of type {kind}", "float32, int8 and uint8 are supported")
    given = {"axes": (len(shape) - 1,), "keepdims": True}
    squares = call.emit("ReduceSumSquare", [x.name], (*shape[:-1], 1), given, part="squares")
    length = call.emit("Sqrt", [squares], (*shape[:-1], 1), part="length")
    least = call.literal(np.asarray([1e-6], np.float32), "least")
    bounded = call.emit("Max", [length, least], (*shape[:-1], 1), part="bounded")
    call.activated(lambda part: call.emit("Div", [x.name, bounded], shape, part=part), call.text("activation"))


def rsqrt(call: LiteCall) -> None:
    """1 / sqrt(x); float32, int16, and int8 by a table."""
    kind, x = one_type(call, 0), call.input(0)
    if kind == "float32":
        root = call.emit("Sqrt", [x.name], x.shape, part="root")
        call.emit("Reciprocal", [root], x.shape)
        return
    if kind not in ("int8", "int16"):
        raise Unsupported(f"elements of type {kind}", "float32, int8 and int16 are supported")
    record, y = call.record(0), call.output()
    per_tensor(record)
    per_tensor(y)
    q, shift = quantized_multiplier(1.0 / (sqrt(float(record.unit)) * float(y.unit)))
    if kind == "int16":
        _rsqrt_halves(call, q, shift)
        return

    def stored(value: int) -> int:
        """The root's argument is never below 0; there 0 counts as the smallest number."""
        if value <= 0:
            return 127
        inverse, right = inverse_root(value)
        data = multiplied(np.asarray(1, np.int64), inverse, _LEFT - right)
        return int(np.clip(multiplied(data, q, shift - _LEFT) + y.zero, -128, 127))

    table = np.asarray([stored(value - record.zero) for value in range(-128, 128)], np.int8)
    call.emit("Lookup", [x.name, call.literal(table, "table")], x.shape)


def _rsqrt_halves(call: LiteCall, multiplier: int, shift: int) -> None:
    x, y = call.record(0), call.output()
    if (x.zero, y.zero) != (0, 0):
        raise Unsupported("int16 with a zero point", "quantise the model again")
    if not -11 <= shift <= _LEFT + 10:
        raise Unsupported(f"scales {float(x.unit)} and {float(y.unit)}", "quantise the model again")
    call.emit("RsqrtHalves", [call.input(0).name], x.shape, {"multiplier": multiplier, "shift": shift})


def joined(call: LiteCall, names: Sequence[str]) -> list[str]:
    """Inputs of a concatenation in the output's scale: uint8 by tables in float32, as LiteRT has them.

    TensorFlow Lite Micro copies the stored integers of int16, whatever their scales.
    """
    if call.output().type == "int16":
        return list(names)
    if call.output().type != "uint8" or not call.output().is_quantized:
        same_scale(call, *(call.record(index) for index in range(len(names))))
        return list(names)
    y, results = call.output(), []
    per_tensor(y)
    for index, name in enumerate(names):
        x = call.record(index)
        per_tensor(x)
        if (x.scale, x.zero_point) == (y.scale, y.zero_point):
            results.append(name)
            continue
        scale = x.unit * (np.float32(1.0) / y.unit)
        real = np.arange(256, dtype=np.float32) * scale + np.float32(-x.zero) * scale
        table = np.clip(np.trunc(real + np.copysign(np.float32(0.5), real)) + y.zero, 0, 255).astype(np.uint8)
        literal = call.literal(table, f"table{index}")
        results.append(call.emit("Lookup", [name, literal], call.input(index).shape, part=f"joined{index}"))
    return results


def squares_of_halves(call: LiteCall, shape: tuple[int, ...]) -> None:
    """SQUARED_DIFFERENCE of int16: both operands in steps of twice the larger scale."""
    a, b, y = call.record(0), call.record(1), call.output()
    if (*a.zero_point, *b.zero_point, *y.zero_point) != (0, 0, 0):
        raise Unsupported("int16 with a zero point")
    widest, sides = 2.0 * max(float(a.unit), float(b.unit)), []
    for index, record in enumerate((a, b)):
        q, shift = quantized_multiplier(float(record.unit) / widest)
        epilogue = RequantizeTwice((q,), (shift,), 0, -_LARGEST - 1, _LARGEST)
        x = call.input(index)
        sides.append(
            call.emit("Requantize", [x.name], x.shape, dtype=DType.INT32, part=f"side{index}", epilogue=epilogue)
        )
    difference = call.emit("SubInteger", sides, shape, part="difference")
    squares = call.emit("MulInteger", [difference, difference], shape, part="squares")
    call.emit("Requantize", [squares], shape, dtype=DType.INT16, epilogue=twice([widest * widest / float(y.unit)], y))


QUANTIZED_MORE: Mapping[str, Callable[[LiteCall], None]] = MappingProxyType(
    {
        "DIV": divide,
        "CUMSUM": cumsum,
        "ADD_N": add_n,
        "L2_NORMALIZATION": l2_normalization,
        "RSQRT": rsqrt,
    }
)
