"""Translation of the operators that only the Deeploy dialect has, or that it reads in its own way.

What they compute stands in docs/reference/graph.md; their element types follow from the graph
around them and are set afterwards (retype.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes
from tilewright.importers.construction import Unsupported, broadcast
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.quantization import exponent, scalar

_INT32_MAX = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class TabulatedAttributes(Attributes):
    """Attributes of a function that becomes a table as soon as the type of x is known; no kernel computes it."""

    def table(self, low: int, high: int) -> Array:
        """The function's results for x = low ... high, int64."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class GeluAttributes(TabulatedAttributes):
    """The constants of iGELU. b is not positive."""

    b: int
    one: int

    def table(self, low: int, high: int) -> Array:
        """q = min(|x|, -b), L = sign(x) * (one - (q + b)^2), y = x * ((one + L) >> 1)."""
        x = np.arange(low, high + 1, dtype=np.int64)
        distance = np.minimum(np.abs(x), -self.b) + self.b
        gelu: Array = x * ((self.one + np.sign(x) * (self.one - distance * distance)) >> 1)
        return gelu


@dataclass(frozen=True, slots=True)
class HardSwishAttributes(TabulatedAttributes):
    """The constants of iHardswish."""

    one_over_six: int
    three: int
    six: int

    def table(self, low: int, high: int) -> Array:
        """y = x * clip(x + three, 0, six) * one_over_six."""
        x = np.arange(low, high + 1, dtype=np.int64)
        swish: Array = x * np.clip(x + self.three, 0, self.six) * self.one_over_six
        return swish


@dataclass(frozen=True, slots=True)
class LeakyReluAttributes(TabulatedAttributes):
    """The constants of iLeakyReLU."""

    multiplier: int
    shift: int

    def table(self, low: int, high: int) -> Array:
        """y = x where x is not negative, else (multiplier * x) >> shift, rounded down."""
        x = np.arange(low, high + 1, dtype=np.int64)
        leaky: Array = np.where(x >= 0, x, (self.multiplier * x) >> self.shift)
        return leaky


def layer_norm(call: Call) -> None:
    """iLayerNorm(x, weight, bias; D) over the last axis."""
    _norm(call, "iLayerNorm", 2)


def rms_norm(call: Call) -> None:
    """iRMSNorm(x, weight; D) over the last axis."""
    _norm(call, "iRMSNorm", 1)


def _norm(call: Call, operator: str, parameters: int) -> None:
    x = call.input(0)
    names = [x.name]
    if not x.shape:
        raise Unsupported("a scalar operand")
    for index in range(1, parameters + 1):
        tensor = call.input(index)
        if tensor.elements != x.shape[-1] or tensor.shape[-1:] != x.shape[-1:]:
            raise Unsupported(f"input {index} of shape {list(tensor.shape)} for x of shape {list(x.shape)}")
        names.append(tensor.name)
    _levels(call, 256)
    call.emit(operator, names, x.shape, {"shift": exponent(scalar(call, "D"), "D")})


def no_norm(call: Call) -> None:
    """iNoNorm(x, weight, bias; mul, D), elementwise; the bias repeats along the flattened x."""
    x, w = call.input(0), call.input(1)
    if broadcast(x.shape, w.shape) != x.shape:
        raise Unsupported(f"weight of shape {list(w.shape)} for x of shape {list(x.shape)}")
    _levels(call, 256)
    bias = call.constant(2, "the bias")
    kept = next((k for k in range(len(x.shape) + 1) if prod(x.shape[k:]) == bias.size), None)
    if kept is None:
        raise Unsupported(f"bias of shape {list(bias.shape)} for x of shape {list(x.shape)}")
    b = call.literal(bias.reshape(x.shape[kept:]), f"{call.node.outputs[0]}/bias")
    attributes = {"multiplier": _whole(call, "mul"), "shift": exponent(scalar(call, "D"), "D")}
    call.emit("iNoNorm", [x.name, w.name, b], x.shape, attributes)


def gelu(call: Call) -> None:
    """iGELU(x; b, one): becomes a table when the type of x is known."""
    given = GeluAttributes(_whole(call, "b"), _whole(call, "one"))
    if given.b > 0:
        raise Unsupported(f"b = {given.b}", "b must not be positive")
    call.emit("iGELU", [call.input(0).name], call.input(0).shape, given)


def hard_swish(call: Call) -> None:
    """iHardswish(x; one_over_six, three, six): becomes a table when the type of x is known."""
    given = HardSwishAttributes(*(_whole(call, name) for name in ("one_over_six", "three", "six")))
    call.emit("iHardswish", [call.input(0).name], call.input(0).shape, given)


def leaky_relu(call: Call) -> None:
    """iLeakyReLU(x; mul, shift): becomes a table when the type of x is known."""
    given = LeakyReluAttributes(_whole(call, "mul"), _whole(call, "shift"))
    if not 0 <= given.shift < 32:
        raise Unsupported(f"shift = {given.shift}", "shift must be from 0 to 31")
    call.emit("iLeakyReLU", [call.input(0).name], call.input(0).shape, given)


def softmax(call: Call) -> None:
    """iSoftmax(x; coeffA, coeffB, coeffC, log2, n_levels) over the last axis."""
    coefficients = {"a": "coeffA", "b": "coeffB", "c": "coeffC", "log2": "log2"}
    attributes = {key: _whole(call, name) for key, name in coefficients.items()}
    if attributes["log2"] <= 0:
        raise Unsupported(f"log2 = {attributes['log2']}", "log2 must be positive")
    _probabilities(call, "iSoftmax", attributes)


def ita_max(call: Call) -> None:
    """ITAMax(x; n_levels) over the last axis."""
    _probabilities(call, "ITAMax", {})


def ita_partial_max(call: Call) -> None:
    """ITAPartialMax(x; n_levels, group_width) over the last axis."""
    width = _whole(call, "group_width")
    extent = call.input(0).shape[-1]
    if width < 1 or extent % width:
        raise Unsupported(f"groups of {width} elements on an axis of {extent}", "the axis must hold whole groups")
    _probabilities(call, "ITAPartialMax", {"group": width})


def _probabilities(call: Call, operator: str, attributes: Mapping[str, int]) -> None:
    x = call.input(0)
    axis = int(call.attribute("axis", -1))
    if not x.shape or axis not in (-1, len(x.shape) - 1):
        raise Unsupported(f"axis {axis} of {list(x.shape)}", "the last axis is supported")
    levels = _levels(call)
    call.emit(operator, [x.name], x.shape, {**attributes, "levels": levels})


def integer_mean(call: Call) -> None:
    """The mean over the given axes, rounded as the dialect says."""
    _reduce(call, "IntegerMean")


def integer_sum(call: Call) -> None:
    """The sum over the given axes."""
    _reduce(call, "IntegerSum")


def _reduce(call: Call, operator: str) -> None:
    x = call.input(0)
    rank = len(x.shape)
    listed = call.axes("axes", 1, rank, ())
    if not listed and call.attribute("noop_with_empty_axes", 0):
        call.emit("Reshape", [x.name], x.shape)
        return
    axes = tuple(sorted(set(listed))) or tuple(range(rank))
    keep = bool(call.attribute("keepdims", 1))
    shape = [1 if axis in axes else extent for axis, extent in enumerate(x.shape) if keep or axis not in axes]
    call.emit(operator, [x.name], shape, {"axes": axes, "keepdims": keep})


def integer_divide(call: Call) -> None:
    """IntegerDiv(a, b; Delta, eps, eta): Delta * eta * a / (eta * b + eps)."""
    a, b = call.input(0), call.input(1)
    eta = _whole(call, "eta")
    attributes = {"numerator": _whole(call, "Delta") * eta, "eta": eta, "epsilon": _whole(call, "eps")}
    call.emit("IntegerDiv", [a.name, b.name], broadcast(a.shape, b.shape), attributes)


def true_integer_divide(call: Call) -> None:
    """TrueIntegerDiv(x; Delta, eps, eta, y): x times the floor of Delta * eta / (y * eta + eps)."""
    x = call.input(0)
    delta, epsilon, eta, y = (_whole(call, name) for name in ("Delta", "eps", "eta", "y"))
    divisor = y * eta + epsilon
    if divisor <= 0:
        raise Unsupported(f"a divisor of {divisor}", "y * eta + eps must be positive")
    factor = delta * eta // divisor
    if abs(factor) > _INT32_MAX:
        raise Unsupported(f"a factor of {factor}", "it must fit 32 bits")
    name = call.literal(np.asarray(factor, np.int32), f"{call.node.outputs[0]}/factor")
    call.emit("Mul", [x.name, name], x.shape, {"a_zero_point": 0, "b_zero_point": 0})


def gather_one(call: Call) -> bool:
    """Gather of one constant index is a Slice; False for any other Gather."""
    x, indices = call.input(0), call.known(1)
    if indices is None or indices.size != 1 or indices.ndim > 1:
        return False
    rank = len(x.shape)
    axis = call.axis(int(call.attribute("axis", 0)), rank)
    index, extent = int(indices.reshape(-1)[0]), x.shape[axis]
    if not -extent <= index < extent:
        raise Unsupported(f"index {index} into axis {axis} of extent {extent}", "export the model again")
    index %= extent
    starts = tuple(index if position == axis else 0 for position in range(rank))
    taken = tuple(1 if position == axis else extent for position, extent in enumerate(x.shape))
    shape = taken if indices.ndim == 1 else taken[:axis] + taken[axis + 1 :]
    same = shape == taken
    part = call.emit("Slice", [x.name], taken, {"starts": starts, "steps": (1,) * rank}, part="" if same else "taken")
    if not same:
        call.emit("Reshape", [part], shape)
    return True


def _whole(call: Call, name: str) -> int:
    value = scalar(call, name)
    if value != int(value):
        raise Unsupported(f"attribute {name} = {value:g} is not an integer")
    return int(value)


def _levels(call: Call, only: int | None = None) -> int:
    """The attribute n_levels (256 if it is missing), between 2 and 256, or ``only``."""
    levels = _whole(call, "n_levels") if call.attribute("n_levels") is not None else 256
    if not 2 <= levels <= 256 or only not in (None, levels):
        raise Unsupported(f"{levels} levels", "256 levels are supported" if only else "2 to 256 levels are supported")
    return levels


DIALECT: Mapping[str, Callable[[Call], None]] = MappingProxyType(
    {
        "iLayerNorm": layer_norm,
        "iRMSNorm": rms_norm,
        "iNoNorm": no_norm,
        "iGELU": gelu,
        "iHardswish": hard_swish,
        "iLeakyReLU": leaky_relu,
        "iSoftmax": softmax,
        "ITAMax": ita_max,
        "ITAPartialMax": ita_partial_max,
        "IntegerMean": integer_mean,
        "IntegerDiv": integer_divide,
        "TrueIntegerDiv": true_integer_divide,
    }
)
REINTERPRETED: Mapping[str, Callable[[Call], None]] = MappingProxyType(
    {"ReduceMean": integer_mean, "ReduceSum": integer_sum}
)
"""ONNX operators that mean something else on integers in floats."""
OF_DEEPLOY = frozenset({"RMSNorm"})
"""Float operators that only Deeploy's networks have. Softmax without an axis runs over the last one there."""
