"""Cases of .tflite operators of int16, uint8 and integers without scale, and quotients and lengths of int8."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from support.lite_made import LiteCase, Made
from support.lite_models import Step, Value

_RESULTS = {
    "LOGISTIC": {"int16": (2.0**-15, 0), "uint8": (2.0**-8, 0)},
    "TANH": {"int16": (2.0**-15, 0), "uint8": (2.0**-7, 128)},
    "SOFTMAX": {"int16": (2.0**-15, 0)},
    "L2_NORMALIZATION": {"int8": (2.0**-7, 0), "uint8": (2.0**-7, 128)},
    "RSQRT": {"int8": (0.02, -128)},
    "GELU": {"int8": (0.05, -100)},
}
"""Scale and zero point of results that are not the input's scale times 1.3."""


def _listed(*numbers: int) -> Value:
    return Value((len(numbers),), "int32", data=np.asarray(numbers, np.int32))


def _function(name: str, operator: str, kind: str, scale: float, judge: str = "tflm", **options: object) -> LiteCase:
    made = Made(name, kind)
    x = made.value(2, 3, 9, scale=(scale,))
    if operator == "RSQRT":
        x = replace(x, zero_point=(-120,))
    unit, zero = _RESULTS.get(operator, {}).get(kind, (float(np.float32(scale * 1.3)), made.zero()[0]))
    if operator == "RELU6":
        unit, zero = scale, x.zero_point[0]
    case = made.case([x, Value(x.shape, kind, (unit,), (zero,))], Step(operator, (0,), (1,), options), judge=judge)
    if operator == "RSQRT":
        return replace(case, inputs=(np.maximum(case.inputs[0], -119),))
    return case


def _window(name: str, operator: str, activation: str) -> LiteCase:
    made = Made(name, "int16")
    x = made.value(2, 6, 5, 3, scale=(2e-4,))
    window = {"padding": "SAME", "stride_w": 2, "stride_h": 1, "filter_w": 3, "filter_h": 2, "activation": activation}
    return made.case([x, replace(x, shape=(2, 6, 3, 3))], Step(operator, (0,), (1,), window))


def _equal_scales(name: str, operator: str) -> LiteCase:
    """Operands of one scale: both factors are a half, which has no shift."""
    made = Made(name, "int16")
    a = made.value(2, 3, 4, 5, scale=(3e-4,))
    y = replace(a, scale=(5e-4,))
    return made.case([a, a, y], Step(operator, (0, 1), (2,), {"activation": "NONE"}), (0, 1))


def _mean(name: str, operator: str) -> LiteCase:
    made = Made(name, "int16")
    x, y = made.value(2, 5, 3, 4, scale=(1e-3,)), made.value(2, 4, scale=(6e-4,))
    return made.case([x, _listed(1, 2), y], Step(operator, (0, 1), (2,), {"keep_dims": False}))


def _quotient(name: str, kind: str, judge: str = "tflm") -> LiteCase:
    """DIV with divisors whose real value is not zero."""
    made = Made(name, kind)
    a, b = made.value(2, 3, 4, 5, scale=(0.05,)), made.value(4, 1, scale=(0.03,))
    case = made.case([a, b, made.value(2, 3, 4, 5, scale=(0.11,))], Step("DIV", (0, 1), (2,)), (0, 1), judge)
    zero, divisor = b.zero_point[0], case.inputs[1]
    return replace(case, inputs=(case.inputs[0], np.where(divisor == zero, zero ^ 1, divisor).astype(kind)))


def _whole(name: str, operator: str, kind: str, judge: str = "tflm", **options: object) -> LiteCase:
    """An operator on integers that have no scale, so small that products do not overflow."""
    made = Made(name, "float32")
    values = [Value((2, 3, 4), kind), Value((4,), kind), Value((2, 3, 4), kind)]
    case = made.case(values, Step(operator, (0, 1), (2,), options), (0, 1), judge)
    small = [made.rng.integers(-500, 500, array.shape).astype(kind) for array in case.inputs]
    small[1][small[1] == 0] = 7
    return replace(case, inputs=tuple(small))


def _sums(name: str, operator: str) -> LiteCase:
    made = Made(name)
    x, y = made.value(2, 5, 3, scale=(0.05,)), made.value(2, 5, 3, scale=(0.17,))
    if operator == "ADD_N":
        return made.case([x, x, x, y], Step(operator, (0, 1, 2), (3,)), (0, 1, 2))
    axis = Value((), "int32", data=np.asarray(1, np.int32))
    return made.case([x, axis, y], Step(operator, (0, 1), (2,), {"exclusive": True, "reverse": True}))


def _squares(name: str) -> LiteCase:
    made = Made(name, "int16")
    a, b = made.value(2, 3, 4, scale=(4e-4,)), made.value(4, scale=(7e-4,))
    return made.case([a, b, made.value(2, 3, 4, scale=(0.02,))], Step("SQUARED_DIFFERENCE", (0, 1), (2,)), (0, 1))


def _joined(name: str) -> LiteCase:
    made = Made(name, "uint8")
    a, b, y = made.value(2, 4, 3), made.value(2, 2, 3), made.value(2, 6, 3)
    return made.case([a, b, y], Step("CONCATENATION", (0, 1), (2,), {"axis": 1}), (0, 1), "litert")


def _sliced(name: str, y: tuple[int, ...], bounds: tuple[tuple[int, ...], ...], **masks: int) -> LiteCase:
    made = Made(name)
    x = made.value(3, 5, 4)
    values = [x, *(_listed(*numbers) for numbers in bounds), replace(x, shape=y)]
    return made.case(values, Step("STRIDED_SLICE", (0, 1, 2, 3), (4,), masks), judge="litert")


def _compared(name: str) -> LiteCase:
    made = Made(name, "uint8")
    a, b = made.value(2, 3, 4), made.value(4)
    return made.case([a, b, Value((2, 3, 4), "bool")], Step("LESS", (0, 1), (2,)), (0, 1), "litert")


def _constants(name: str, kind: str) -> LiteCase:
    """DEQUANTIZE of constants: of float16, and of int8 with a scale for each row."""
    made = Made(name, "float32")
    drawn = made.rng.normal(0, 1, (3, 4)).astype(np.float16)
    held = Value((3, 4), "float16", data=drawn)
    if kind == "int8":
        held = replace(made.weights((3, 4), 0, 3), zero_point=(0, 0, 0))
    x, real = Value((2, 4), "float32"), Value((3, 4), "float32")
    steps = [Step("DEQUANTIZE", (1,), (2,)), Step("FULLY_CONNECTED", (0, 2, -1), (3,), {"activation": "NONE"})]
    return made.sequence([x, held, real, Value((2, 3), "float32")], steps, (0,), "litert")


def _rows(name: str) -> LiteCase:
    made = Made(name)
    table = Value((10, 4), "int8", (0.1,), (0,), made.rng.integers(-128, 127, (10, 4), np.int8))
    values = [Value((7,), "int32"), table, replace(table, shape=(7, 4), data=None)]
    case = made.case(values, Step("EMBEDDING_LOOKUP", (0, 1), (2,)))
    return replace(case, inputs=(made.rng.integers(0, 10, case.inputs[0].shape).astype(np.int32),))


def _slopes(name: str) -> LiteCase:
    """PRELU of int16 with slopes of int8."""
    made = Made(name, "int16")
    x, y = made.value(1, 4, 3, 6, scale=(3e-4,)), made.value(1, 4, 3, 6, scale=(2e-4,))
    alpha = Value((1, 1, 6), "int8", (0.013,), (0,), made.rng.integers(-128, 127, (1, 1, 6), np.int8, endpoint=True))
    return made.case([x, alpha, y], Step("PRELU", (0, 1), (2,)))


def _larger(name: str) -> LiteCase:
    """MAXIMUM of int16, each operand with its scale."""
    made = Made(name, "int16")
    a, b, y = made.value(2, 3, 4, scale=(3e-4,)), made.value(4, scale=(5e-4,)), made.value(2, 3, 4, scale=(4e-4,))
    return made.case([a, b, y], Step("MAXIMUM", (0, 1), (2,)), (0, 1))


def _resized(name: str, kind: str, **options: object) -> LiteCase:
    made = Made(name, kind)
    x = made.value(1, 4, 5, 3)
    step = Step("RESIZE_BILINEAR", (0, 1), (2,), options)
    return made.case([x, _listed(7, 9), replace(x, shape=(1, 7, 9, 3))], step, judge="litert")


def _whole_mean(name: str) -> LiteCase:
    made = Made(name, "float32")
    values = [Value((2, 5, 3, 4), "int32"), _listed(1, 2), Value((2, 4), "int32")]
    case = made.case(values, Step("MEAN", (0, 1), (2,), {"keep_dims": False}), judge="litert")
    return replace(case, inputs=(made.rng.integers(-500, 500, case.inputs[0].shape).astype(np.int32),))


_HALF = 2.0**-12
TYPES: Mapping[str, Callable[[str], LiteCase]] = MappingProxyType(
    {
        "logistic_int16": lambda n: _function(n, "LOGISTIC", "int16", 3.1e-4),
        "logistic_int16_power": lambda n: _function(n, "LOGISTIC", "int16", _HALF),
        "tanh_int16": lambda n: _function(n, "TANH", "int16", 1.7e-4),
        "tanh_int16_power": lambda n: _function(n, "TANH", "int16", 2 * _HALF),
        "softmax_int16_both": lambda n: _function(n, "SOFTMAX", "int16", 4e-4, beta=1.0),
        "softmax_int16_sharp": lambda n: _function(n, "SOFTMAX", "int16", 3e-3, beta=0.7),
        "relu_int16": lambda n: _function(n, "RELU", "int16", 3e-4),
        "relu6_int16": lambda n: _function(n, "RELU6", "int16", 3e-4),
        "abs_int16": lambda n: _function(n, "ABS", "int16", 3e-4),
        "average_int16": lambda n: _window(n, "AVERAGE_POOL_2D", "RELU"),
        "largest_int16": lambda n: _window(n, "MAX_POOL_2D", "RELU6"),
        "add_int16_equal": lambda n: _equal_scales(n, "ADD"),
        "sub_int16_equal": lambda n: _equal_scales(n, "SUB"),
        "mean_int16": lambda n: _mean(n, "MEAN"),
        "sum_int16": lambda n: _mean(n, "SUM"),
        "squares_int16": _squares,
        "logistic_uint8": lambda n: _function(n, "LOGISTIC", "uint8", 0.05, "litert"),
        "tanh_uint8": lambda n: _function(n, "TANH", "uint8", 0.03, "litert"),
        "joined_uint8": _joined,
        "compared_uint8": _compared,
        "l2_int8": lambda n: _function(n, "L2_NORMALIZATION", "int8", 0.05),
        "l2_uint8": lambda n: _function(n, "L2_NORMALIZATION", "uint8", 0.05, "litert"),
        "rsqrt_int8": lambda n: _function(n, "RSQRT", "int8", 0.05),
        "gelu_int8": lambda n: _function(n, "GELU", "int8", 0.05, "litert", approximate=True),
        "quotient_int8": lambda n: _quotient(n, "int8"),
        "quotient_uint8": lambda n: _quotient(n, "uint8", "litert"),
        "cumsum_int8": lambda n: _sums(n, "CUMSUM"),
        "add_n_int8": lambda n: _sums(n, "ADD_N"),
        "mul_int32_relu": lambda n: _whole(n, "MUL", "int32", activation="RELU"),
        "add_int32_relu": lambda n: _whole(n, "ADD", "int32", activation="RELU"),
        "sub_int64": lambda n: _whole(n, "SUB", "int64", "litert"),
        "div_int32": lambda n: _whole(n, "DIV", "int32"),
        "div_int32_relu": lambda n: _whole(n, "DIV", "int32", activation="RELU"),
        "floor_div_int32": lambda n: _whole(n, "FLOOR_DIV", "int32", "litert"),
        "floor_mod_int32": lambda n: _whole(n, "FLOOR_MOD", "int32", "litert"),
        "slice_ellipsis": lambda n: _sliced(n, (3, 5, 2), ((0, 1), (0, 3), (1, 1)), ellipsis_mask=1),
        "slice_new_axis": lambda n: _sliced(n, (2, 1, 5, 4), ((1, 0), (3, 1), (1, 1)), new_axis_mask=2),
        "constants_float16": lambda n: _constants(n, "float16"),
        "constants_int8": lambda n: _constants(n, "int8"),
        "rows_by_index": _rows,
        "slopes_int16": _slopes,
        "larger_int16": _larger,
        "resized_uint8": lambda n: _resized(n, "uint8"),
        "resized_uint8_centred": lambda n: _resized(n, "uint8", half_pixel_centers=True),
        "resized_int16": lambda n: _resized(n, "int16"),
        "mean_int32": _whole_mean,
    }
)
