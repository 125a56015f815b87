"""Functions of int16 tensors, in TensorFlow Lite Micro's arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log2
from types import MappingProxyType

import numpy as np

from tilewright.graph import Array, DType, RequantizeTwice
from tilewright.importers.construction import Unsupported
from tilewright.importers.tflite.context import LiteCall, per_tensor
from tilewright.importers.tflite.multipliers import away, quotient, twice
from tilewright.importers.tflite.pointwise import gelu_by_erf, gelu_by_tanh
from tilewright.importers.tflite.records import TensorRecord
from tilewright.operators.fixed_point import quantized_multiplier
from tilewright.operators.int16_functions import interpolated_table

_LARGEST = 32767
_POWERS = {"LOGISTIC": (0,), "TANH": (0, 1)}
"""Shifts to the left at which a scale that is a power of two takes no multiplier."""


def sigmoid(call: LiteCall) -> None:
    """LOGISTIC and TANH by interpolation in a table; the argument's factor has 15 bits, cut off."""
    x, y = call.record(0), call.output()
    per_tensor(x)
    per_tensor(y)
    if x.zero or y.zero or round(log2(y.scale[0])) != -15:
        raise Unsupported(f"int16 with zero points {x.zero} and {y.zero}, output scale {y.scale[0]}")
    scale = float(x.unit)
    power = round(log2(scale))
    left, shift = 12 + power, 0
    exact = abs(log2(scale) - power) < 1e-3
    if exact and left in _POWERS[call.node.operator]:
        multiplier = 3 << left
    else:
        real = scale * 4096.0 * 3.0
        while real <= _LARGEST / 2.0 and shift <= 30:
            shift, real = shift + 1, real * 2.0
        if real > _LARGEST:
            raise Unsupported(f"an input scale of {scale}", "quantise the model again")
        multiplier = int(real)
    given = {"multiplier": multiplier, "shift": shift, "is_tanh": call.node.operator == "TANH"}
    call.emit("SigmoidHalves", [call.input(0).name], x.shape, given)


def relu(call: LiteCall) -> None:
    """A clamp behind the quotient of the scales."""
    x, y = call.record(0), call.output()
    per_tensor(x)
    per_tensor(y)
    q, shift = quantized_multiplier(quotient(x, y))
    epilogue = RequantizeTwice((q,), (shift,), y.zero, y.zero, _LARGEST)
    call.emit("Requantize", [call.input(0).name], x.shape, {"x_zero_point": x.zero}, epilogue=epilogue)


def relu6(call: LiteCall) -> None:
    """A clamp of the stored integers; the output has the input's scale."""
    x, y = call.record(0), call.output()
    per_tensor(x)
    if (x.scale, x.zero_point) != (y.scale, y.zero_point):
        raise Unsupported("the scales of input and output differ", "convert the model again")
    limited(call, call.input(0).name, x.zero, min(x.zero + away(np.float32(6.0) / x.unit), _LARGEST), "")


def limited(call: LiteCall, name: str, low: int, high: int, part: str) -> str:
    """Integers without those below ``low`` and above ``high``."""
    tensor = call.build.tensor(name)
    bounds = [call.literal(np.asarray(bound, tensor.dtype.numpy), "bound") for bound in (low, high)]
    above = call.emit("Max", [name, bounds[0]], tensor.shape, part="above")
    return call.emit("Min", [above, bounds[1]], tensor.shape, part=part)


def absolute(call: LiteCall) -> None:
    """Of stored integers less the zero point, times the quotient of the scales."""
    x, y = call.record(0), call.output()
    if not x.is_quantized:
        call.emit("Abs", [call.input(0).name], x.shape)
        return
    per_tensor(x)
    per_tensor(y)
    if x.zero or y.zero:
        raise Unsupported("int16 with a zero point", "quantise the model again")
    _size_times(call, call.input(0).name, quotient(x, y), "")


def leaky(call: LiteCall) -> None:
    """Sum of the factors of what is above 0 and of what is below, one of which is 0 everywhere."""
    x, y = call.record(0), call.output()
    if (*x.zero_point, *y.zero_point) != (0, 0):
        raise Unsupported("int16 with a zero point")
    alpha = quotient(x, y, call.real("alpha"))
    zero = call.literal(np.zeros((), np.int16), "zero")
    shape, parts = call.input(0).shape, []
    for operator, real in (("Max", quotient(x, y)), ("Min", alpha)):
        side = call.emit(operator, [call.input(0).name, zero], shape, part=operator.lower())
        if real < 0:
            # Both factors with the other sign have the same product, and so the same rounding.
            parts.append(_size_times(call, side, -real, "factor"))
        else:
            parts.append(call.emit("Requantize", [side], shape, part="factor", epilogue=twice([real], y)))
    call.emit("AddInteger", parts, shape)


def _size_times(call: LiteCall, name: str, real: float, part: str) -> str:
    """Magnitudes of int16 elements times a real number; the magnitude of -32768 needs more than 16 bits."""
    shape = call.build.tensor(name).shape
    wide = call.emit("Cast", [name], shape, dtype=DType.INT32, part="wide")
    size = call.emit("Abs", [wide], shape, part="size")
    epilogue = twice([real], call.output())
    # A factor above 1 shifts to the left, for which a kernel must know that 32 bits suffice.
    bounded = {"largest": _LARGEST + 1}
    return call.emit("Requantize", [size], shape, bounded, dtype=DType.INT16, part=part, epilogue=epilogue)


def softmax(call: LiteCall) -> None:
    """Over the last axis, by two tables: exp on [-10, 0], and 1 / (1 + x) on [0, 1]."""
    x, y = call.record(0), call.output()
    per_tensor(x)
    per_tensor(y)
    if x.zero or y.zero or abs(y.scale[0] * 32768 - 1) > 0.001:
        raise Unsupported(f"an output with scale {y.scale} and zero point {y.zero_point}", "scale 1/32768 is supported")
    beta = float(np.float32(call.real("beta")))
    multiplier, shift = quantized_multiplier(float(x.unit) * beta / (10.0 / 65535.0))
    given = {"multiplier": multiplier, "shift": shift}
    call.emit("SoftmaxHalves", [call.input(0).name], x.shape, given)


def interpolated(call: LiteCall) -> None:
    """A function by interpolation in a table of 513 entries, as LiteRT has it."""
    x, y = call.record(0), call.output()
    per_tensor(x)
    per_tensor(y)
    if x.zero or y.zero:
        raise Unsupported("int16 with a zero point", "quantise the model again")
    function = INTERPOLATED[call.node.operator](call, y)
    with np.errstate(divide="ignore", invalid="ignore"):
        table = interpolated_table(x.unit, 0, y.unit, function)
    call.emit("InterpolatedHalves", [call.input(0).name, call.literal(table, "table")], x.shape)


def root(call: LiteCall) -> None:
    """SQRT in float32, rounded towards 0; arguments below 0 count as 0."""
    x, y, shape = call.record(0), call.output(), call.input(0).shape
    per_tensor(x)
    per_tensor(y)
    if x.zero or y.zero:
        raise Unsupported("int16 with a zero point", "quantise the model again")
    zero = call.literal(np.zeros((), np.int16), "zero")
    above = call.emit("Max", [call.input(0).name, zero], shape, part="above")
    given = {"scale": (float(x.unit),), "zero_point": (0,)}
    real = call.emit("Dequantize", [above], shape, given, dtype=DType.FLOAT32, part="real")
    length = call.emit("Sqrt", [real], shape, dtype=DType.FLOAT32, part="root")
    unit = call.literal(np.asarray(y.unit, np.float32), "unit")
    steps = call.emit("Div", [length, unit], shape, dtype=DType.FLOAT32, part="steps")
    most = call.literal(np.asarray(_LARGEST, np.float32), "most")
    limited_steps = call.emit("Min", [steps, most], shape, dtype=DType.FLOAT32, part="limited")
    call.emit("Cast", [limited_steps], shape, dtype=DType.INT16)


def _log(call: LiteCall, y: TensorRecord) -> Callable[[Array], Array]:
    """The logarithm; arguments that are not above 0 give y's smallest value."""
    smallest = np.float32(np.float32(-32768) * y.unit)
    return lambda x: np.where(x <= 0, smallest, np.log(np.where(x <= 0, 1, x)))


def _exp(call: LiteCall, y: TensorRecord) -> Callable[[Array], Array]:
    return lambda x: np.exp(np.minimum(x, 88.0))


def _gelu(call: LiteCall, y: TensorRecord) -> Callable[[Array], Array]:
    return gelu_by_tanh if call.integer("approximate") else gelu_by_erf


INTERPOLATED: Mapping[str, Callable[[LiteCall, TensorRecord], Callable[[Array], Array]]] = MappingProxyType(
    {"EXP": _exp, "LOG": _log, "GELU": _gelu}
)
"""Functions of int16 that LiteRT has in tables: from the call and its output to a function of float64."""

INT16_FUNCTIONS: Mapping[str, Callable[[LiteCall], None]] = MappingProxyType(
    {
        **dict.fromkeys(INTERPOLATED, interpolated),
        "LOGISTIC": sigmoid,
        "TANH": sigmoid,
        "RELU": relu,
        "RELU6": relu6,
        "ABS": absolute,
        "LEAKY_RELU": leaky,
    }
)
