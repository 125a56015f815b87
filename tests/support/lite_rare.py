"""Cases of .tflite operators in types that runtimes compute and converters rarely write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from tilewright.graph import Array

from support.lite_made import WINDOW, LiteCase, Made
from support.lite_models import Step, Value


def _function(name: str, operator: str, kind: str, scale: float, y: tuple[float, int], **options: object) -> LiteCase:
    made = Made(name, kind)
    x = made.value(2, 3, 9, scale=(scale,))
    if operator in ("SQRT", "RSQRT", "LOG"):
        x = replace(x, zero_point=(-128 if kind == "int8" else 0,))
    case = made.case(
        [x, Value(x.shape, kind, (y[0],), (y[1],))],
        Step(operator, (0,), (1,), options),
        judge="tflm" if operator == "RSQRT" else "litert",
    )
    if kind == "int16" and operator in ("SQRT", "RSQRT"):
        return replace(case, inputs=(_not_negative(made, case.inputs[0]),))
    return case


def _not_negative(made: Made, drawn: Array) -> Array:
    """Numbers of all magnitudes, among them 0, 1 and the largest."""
    found = np.exp(made.rng.uniform(0.0, np.log(32767.0), drawn.shape)).astype(np.int16)
    found[:, 0, 0, :3] = (0, 1, 32767)
    return found


def _quotient(name: str, activation: str) -> LiteCase:
    """DIV of int16 with numbers of all magnitudes; no divisor is 0."""
    made = Made(name, "int16")
    a, b, y = (made.value(3, 40, scale=(unit,)) for unit in (3e-4, 5e-4, 7e-3))
    case = made.case([a, b, y], Step("DIV", (0, 1), (2,), {"activation": activation}), (0, 1), "litert")
    dividend, divisor = (
        np.exp(made.rng.uniform(0.0, np.log(32767.0), drawn.shape)).astype(np.int16) * np.sign(drawn).astype(np.int16)
        for drawn in case.inputs
    )
    divisor[divisor == 0] = 1
    dividend[0, 0, :4], divisor[0, 0, :4] = (-32768, -32768, 0, 32767), (-32768, 1, -32768, -1)
    return replace(case, inputs=(dividend, divisor))


def _log_softmax(name: str, kind: str, scale: float) -> LiteCase:
    made = Made(name, kind)
    x = made.value(3, 11, scale=(scale,))
    y = Value(x.shape, kind, (2.0**-4,), (np.iinfo(kind).max,))
    case = made.case([x, y], Step("LOG_SOFTMAX", (0,), (1,)), judge="tflm" if kind == "int8" else "litert")
    near = case.inputs[0].copy()
    near[2] = near[2] // 8
    return replace(case, inputs=(near,))


def _pair(name: str, operator: str, kind: str, judge: str = "litert") -> LiteCase:
    """Two operands that broadcast, each with its scale; about a third of the elements have equal real values."""
    made = Made(name, kind)
    a, b, y = (
        made.value(*shape, scale=(0.01 * (index + 1),)) for index, shape in enumerate(((2, 3, 4), (4,), (2, 3, 4)))
    )
    if operator.endswith("EQUAL") or operator in ("LESS", "GREATER"):
        y = Value((2, 3, 4), "bool")
    case = made.case([a, b, y], Step(operator, (0, 1), (2,)), (0, 1), judge)
    drawn, other = case.inputs
    if operator.startswith("FLOOR"):
        return replace(case, inputs=(drawn, np.where(other == 0, 3, other).astype(kind)))
    same = np.broadcast_to((other[:, None, None] // 2) * 4, drawn.shape)
    alike = np.where(made.rng.random(drawn.shape) < 0.3, same, drawn).astype(kind)
    return replace(case, inputs=(alike, ((other // 2) * 2).astype(kind)))


def _joined(name: str) -> LiteCase:
    made = Made(name, "int16")
    a, b, y = made.value(2, 4, 3), made.value(2, 2, 3), made.value(2, 6, 3)
    return made.case([a, b, y], Step("CONCATENATION", (0, 1), (2,), {"axis": 1}), (0, 1))


def _sizes(name: str, kind: str) -> LiteCase:
    """ABS of integers that have no scale."""
    made = Made(name, "float32")
    case = made.case([Value((3, 7), kind), Value((3, 7), kind)], Step("ABS", (0,), (1,)), judge="litert")
    return replace(case, inputs=(made.rng.integers(-30000, 30000, case.inputs[0].shape).astype(kind),))


def _product(name: str, kind: str, y_kind: str, *, constant: bool) -> LiteCase:
    made = Made(name, kind)
    a, b = made.value(2, 3, 5), Value((2, 5, 4), "int8", (0.03,), (0,))
    if constant:
        b = replace(b, data=made.rng.integers(-127, 127, b.shape, np.int8, endpoint=True))
    step = Step("BATCH_MATMUL", (0, 1), (2,), {"adj_x": False, "adj_y": False})
    return made.case([a, b, Value((2, 3, 4), y_kind)], step, (0,) if constant else (0, 1), "litert")


def _computed_weights(name: str) -> LiteCase:
    """A fully connected layer whose weights are an input."""
    made = Made(name)
    x, w, y = made.value(2, 9), made.value(5, 9, scale=(0.02,)), made.value(2, 5, scale=(0.4,))
    w = replace(w, zero_point=(0,))
    return made.case([x, w, y], Step("FULLY_CONNECTED", (0, 1, -1), (2,), {"activation": "RELU"}), (0, 1))


def _transposed(name: str) -> LiteCase:
    made = Made(name, "float32")
    shape = (2, 6, 10, 3)
    x, w, size = made.value(2, 6, 5, 4), made.weights((3, 3, 3, 4), 0, 3), Value((4,), "int32", data=np.int32(shape))
    bias = Value((3,), "float32", data=np.array([1, -2, 0.5], np.float32))
    step = Step("TRANSPOSE_CONV", (4, 1, 0, 2), (3,), {**WINDOW, "activation": "RELU"})
    return made.case([x, w, bias, Value(shape, "float32"), size], step, judge="litert")


def _filters(name: str) -> LiteCase:
    """SVDF of float32 with weights of int8."""
    made = Made(name, "float32")
    x, feature, time = made.value(2, 9), made.weights((6, 9), 0, 1), made.weights((6, 5), 0, 1)
    bias = Value((3,), "float32", data=made.rng.normal(0, 1, 3).astype(np.float32))
    state, y = Value((2, 30), "float32", variable=True), Value((2, 3), "float32")
    step = Step("SVDF", (0, 1, 2, 3, 4), (5,), {"rank": 2, "activation": "RELU"})
    return replace(made.case([x, feature, time, bias, state, y], step, judge="litert"), stateful=True)


_FINE = 3e-4
RARE: Mapping[str, Callable[[str], LiteCase]] = MappingProxyType(
    {
        "log_softmax_int8": lambda n: _log_softmax(n, "int8", 0.043),
        "log_softmax_int8_sharp": lambda n: _log_softmax(n, "int8", 0.7),
        "log_softmax_uint8": lambda n: _log_softmax(n, "uint8", 0.11),
        "exp_int16": lambda n: _function(n, "EXP", "int16", _FINE / 2, (1e-3, 0)),
        "log_int16": lambda n: _function(n, "LOG", "int16", _FINE, (_FINE, 0)),
        "gelu_int16": lambda n: _function(n, "GELU", "int16", _FINE, (_FINE, 0), approximate=False),
        "gelu_int16_by_tanh": lambda n: _function(n, "GELU", "int16", _FINE, (_FINE, 0), approximate=True),
        "sqrt_int8": lambda n: _function(n, "SQRT", "int8", 0.05, (0.03, -128)),
        "sqrt_int16": lambda n: _function(n, "SQRT", "int16", _FINE, (1.1e-4, 0)),
        "sqrt_int16_limited": lambda n: _function(n, "SQRT", "int16", _FINE, (4e-5, 0)),
        "rsqrt_int16": lambda n: _function(n, "RSQRT", "int16", _FINE, (2e-3, 0)),
        "rsqrt_int16_limited": lambda n: _function(n, "RSQRT", "int16", 0.7, (7e-6, 0)),
        "rsqrt_int16_fine": lambda n: _function(n, "RSQRT", "int16", 4e-5, (4.2e-5, 0)),
        "quotient_int16": lambda n: _quotient(n, "NONE"),
        "quotient_int16_relu6": lambda n: _quotient(n, "RELU6"),
        "neg_int16": lambda n: _function(n, "NEG", "int16", _FINE, (_FINE, 0)),
        "abs_int16_plain": lambda n: _sizes(n, "int16"),
        "abs_int32": lambda n: _sizes(n, "int32"),
        "larger_int8": lambda n: _pair(n, "MAXIMUM", "int8", "tflm"),
        "equal_int16": lambda n: _pair(n, "EQUAL", "int16"),
        "not_equal_int16": lambda n: _pair(n, "NOT_EQUAL", "int16"),
        "greater_int16": lambda n: _pair(n, "GREATER", "int16"),
        "floor_div_int8": lambda n: _pair(n, "FLOOR_DIV", "int8"),
        "floor_mod_int16": lambda n: _pair(n, "FLOOR_MOD", "int16"),
        "joined_int16": _joined,
        "product_int32": lambda n: _product(n, "int8", "int32", constant=False),
        "product_hybrid": lambda n: _product(n, "float32", "float32", constant=True),
        "dense_computed": _computed_weights,
        "transposed_hybrid": _transposed,
        "svdf_hybrid": _filters,
    }
)
