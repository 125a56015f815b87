"""Elementwise functions of one to three tensors with NumPy broadcasting; alpha, gamma, ... as in ONNX.

Integer arithmetic wraps in the operands' type, which is also the result's. AddInteger, SubInteger,
MulInteger and DivInteger are ONNX's Add, Sub, Mul and Div on integers; Add, Sub and Mul of
docs/reference/graph.md give an accumulator of 32 bits instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import astuple
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators import elementwise
from tilewright.operators.operator import Arrays, Operator
from tilewright.operators.unary import AlphaAttributes

_Function = Callable[..., Array]
"""Called with the operands (floats as float64, others as they are), then the ``parameters`` of the node."""


def to_type(values: Array, dtype: np.dtype[Any]) -> Array:
    """Values in another element type: integers wrap, reals go to the nearest in range, NaN to 0, bool is x != 0."""
    if dtype.kind == "b":
        return np.not_equal(values, 0)
    if values.dtype.kind != "f" or dtype.kind == "f":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    whole = np.trunc(np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
    over, under = whole >= float(limits.max), whole <= float(limits.min)
    result: Array = np.where(over | under, 0.0, whole).astype(dtype)
    result[over], result[under] = limits.max, limits.min
    return result


def truncated_quotient(a: Array, b: Array) -> Array:
    """a / b towards zero in the operands' type; 0 where b is 0."""
    safe = np.where(b == 0, b.dtype.type(1), b)
    quotient, rest = a // safe, a % safe
    corrected = np.where((rest != 0) & ((a < 0) != (safe < 0)), quotient + 1, quotient)
    return np.where(b == 0, 0, corrected).astype(a.dtype)


def _mod(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.asarray(np.mod(a, b))
    return np.where(b == 0, 0, np.mod(a, np.where(b == 0, b.dtype.type(1), b))).astype(a.dtype)


def _fmod(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.asarray(np.fmod(a, b))
    return np.where(b == 0, 0, np.fmod(a, np.where(b == 0, b.dtype.type(1), b))).astype(a.dtype)


def _pow(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f" or b.dtype.kind == "f":
        return np.asarray(np.power(a.astype(np.float64), b))
    return np.asarray(np.power(a, np.maximum(b, 0)))


def _softplus(x: Array) -> Array:
    return np.asarray(np.logaddexp(x, 0.0))


def _shift(direction: str) -> _Function:
    def shifted(a: Array, b: Array) -> Array:
        bits = 8 * a.dtype.itemsize
        safe = np.clip(b, 0, bits - 1).astype(a.dtype)
        result = np.left_shift(a, safe) if direction == "left" else np.right_shift(a, safe)
        gone = np.where((a < 0) & (direction == "right"), -1, 0)
        return np.where((b < 0) | (b >= bits), gone, result).astype(a.dtype)

    return shifted


def _shrink(x: Array, bias: float, lambd: float) -> Array:
    return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0.0))


def _is_inf(x: Array, positive: float, negative: float) -> Array:
    return np.asarray((np.isposinf(x) & (positive != 0)) | (np.isneginf(x) & (negative != 0)))


def _quantize(x: Array, scale: Array, zero_point: Array) -> Array:
    quotient = (x.astype(np.float32) / scale.astype(np.float32)).astype(np.float64)
    limits = np.iinfo(zero_point.dtype)
    return np.asarray(np.clip(np.rint(quotient) + zero_point, limits.min, limits.max).astype(zero_point.dtype))


erf = np.vectorize(math.erf, otypes=[np.float64])
"""The error function of every element, in float64."""

FUNCTIONS: Mapping[str, _Function] = MappingProxyType(
    {
        "Abs": np.abs,
        "Neg": np.negative,
        "Sign": np.sign,
        "Exp": np.exp,
        "Log": np.log,
        "Sqrt": np.sqrt,
        "Reciprocal": lambda x: 1.0 / x,
        "Floor": np.floor,
        "Ceil": np.ceil,
        "Round": np.rint,
        "Erf": erf,
        "Sin": np.sin,
        "Cos": np.cos,
        "Tan": np.tan,
        "Asin": np.arcsin,
        "Acos": np.arccos,
        "Atan": np.arctan,
        "Sinh": np.sinh,
        "Cosh": np.cosh,
        "Asinh": np.arcsinh,
        "Acosh": np.arccosh,
        "Atanh": np.arctanh,
        "Softplus": _softplus,
        "Softsign": lambda x: x / (1.0 + np.abs(x)),
        "Elu": lambda x, alpha: np.where(x < 0, alpha * np.expm1(x), x),
        "Selu": lambda x, alpha, gamma: np.where(x > 0, gamma * x, gamma * alpha * np.expm1(x)),
        "Celu": lambda x, alpha: np.where(x < 0, alpha * np.expm1(x / alpha), x),
        "ThresholdedRelu": lambda x, alpha: np.where(x > alpha, x, 0.0),
        "Shrink": _shrink,
        "Mish": lambda x: x * np.tanh(_softplus(x)),
        "Not": np.logical_not,
        "IsNaN": np.isnan,
        "IsInf": _is_inf,
        "BitwiseNot": np.invert,
        "AddInteger": np.add,
        "SubInteger": np.subtract,
        "MulInteger": np.multiply,
        "DivInteger": truncated_quotient,
        "Min": np.minimum,
        "Max": np.maximum,
        "Mod": _mod,
        "FMod": _fmod,
        "Pow": _pow,
        "PRelu": lambda a, b: np.where(a < 0, a * b, a),
        "BitwiseAnd": np.bitwise_and,
        "BitwiseOr": np.bitwise_or,
        "BitwiseXor": np.bitwise_xor,
        "ShiftLeft": _shift("left"),
        "ShiftRight": _shift("right"),
        "Equal": np.equal,
        "Less": np.less,
        "LessOrEqual": np.less_equal,
        "And": np.logical_and,
        "Or": np.logical_or,
        "Xor": np.logical_xor,
        "Where": np.where,
        "QuantizeByOperand": _quantize,
        "Cast": lambda x: x,
        "Expand": lambda x: x,
    }
)


_REAL = frozenset(
    "Abs Neg Sign Exp Log Sqrt Reciprocal Floor Ceil Round Erf Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh "
    "Softplus Softsign Elu Selu Celu ThresholdedRelu Shrink Mish Min Max FMod Pow PRelu".split()
)
"""Functions of real numbers; of a quantised tensor of 8 bits each becomes a table (``Operator.function``)."""


@dataclass(frozen=True, slots=True)
class SeluAttributes(AlphaAttributes):
    """``alpha`` and ``gamma`` as ONNX has them."""

    gamma: float


@dataclass(frozen=True, slots=True)
class ShrinkAttributes(Attributes):
    """``bias`` and ``lambd`` as ONNX has them."""

    bias: float
    lambd: float


@dataclass(frozen=True, slots=True)
class IsInfAttributes(Attributes):
    """Which infinities IsInf reports."""

    positive: bool
    negative: bool


_ATTRIBUTES: Mapping[str, type[Attributes]] = MappingProxyType(
    {
        **dict.fromkeys(("Elu", "Celu", "ThresholdedRelu"), AlphaAttributes),
        "Selu": SeluAttributes,
        "Shrink": ShrinkAttributes,
        "IsInf": IsInfAttributes,
    }
)


def parameters(node: Node) -> tuple[float, ...]:
    """The node's attributes as numbers, in the order of their declaration: the order of FUNCTIONS and of C."""
    return astuple(node.attributes)


def _operator(name: str, function: _Function) -> Operator:
    def reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
        """The function in float64 or exact integers, rounded once to the output's type."""
        output = graph.tensor(node.outputs[0])
        given = [array for array in arrays if array is not None]
        operands = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in given]
        with np.errstate(all="ignore"):
            result = np.asarray(function(*operands, *parameters(node)))
        return [to_type(np.array(np.broadcast_to(result, output.shape)), output.dtype.numpy)]

    def real(node: Node, *operands: Array) -> Array:
        """The function of float64 operands."""
        with np.errstate(all="ignore"):
            return np.asarray(function(*operands, *parameters(node)))

    attributes = _ATTRIBUTES.get(name, Attributes)
    table = real if name in _REAL else None
    return Operator(name, elementwise.nest, reference, attributes, table, keeps_values=name == "Expand", is_alike=True)


OPERATORS = tuple(_operator(name, function) for name, function in FUNCTIONS.items())
