"""Cases of .tflite operators that common networks do not have, each in the types that its importer takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from support.lite_made import LiteCase, Made
from support.lite_models import Step, Value

Shape = tuple[int, ...]


def _listed(*numbers: int) -> Value:
    return Value((len(numbers),), "int32", data=np.asarray(numbers, np.int32))


def _moved(
    name: str, operator: str, x: Shape, y: Shape, *numbers: Value, outputs: int = 1, **options: object
) -> LiteCase:
    """An operator that moves elements and leaves the scale as it is, such as SLICE."""
    made = Made(name)
    source = made.value(*x)
    after = [replace(source, shape=y)] * outputs
    inputs = tuple(range(1 + len(numbers)))
    ends = tuple(range(len(inputs), len(inputs) + outputs))
    return made.case([source, *numbers, *after], Step(operator, inputs, ends, options))


def _real(name: str, operator: str, *shapes: tuple[int, ...], positive: bool = False, **options: object) -> LiteCase:
    """An operator on float32; the last of the shapes is that of the output."""
    made = Made(name, "float32")
    values = [Value(shape, "float32") for shape in shapes]
    inputs = tuple(range(len(shapes) - 1))
    case = made.case(values, Step(operator, inputs, (len(shapes) - 1,), options), inputs)
    return replace(case, inputs=tuple(np.abs(array) + np.float32(0.1) for array in case.inputs)) if positive else case


def _pair(name: str, operator: str, kind: str, y_kind: str = "", scale: float = 0.0, **options: object) -> LiteCase:
    """Two operands that broadcast. With ``scale``, which is the output's, each operand has a scale of its own."""
    made = Made(name, kind if kind in ("int8", "uint8", "int16") else "float32")
    a, b = made.value(2, 3, 4, 5), made.value(4, 1)
    y = Value((2, 3, 4, 5), y_kind or kind)
    if kind in ("int32", "bool", "int64"):
        a, b = Value(a.shape, kind), Value(b.shape, kind)
    elif kind in ("int8", "uint8") and not y_kind:
        b = b if scale else replace(a, shape=b.shape)
        y = replace(a, shape=y.shape) if not scale else Value(y.shape, kind, (scale,), made.zero())
    case = made.case([a, b, y], Step(operator, (0, 1), (2,), options), (0, 1))
    if kind in ("int32", "int64"):
        small = tuple(made.rng.integers(-50, 50, array.shape).astype(kind) for array in case.inputs)
        return replace(case, inputs=small)
    return case


def _chosen(name: str, kind: str) -> LiteCase:
    """SELECT_V2: a condition chooses between the elements of two tensors."""
    made = Made(name, kind)
    a = made.value(2, 3, 4)
    values = [Value((2, 3, 1), "bool"), a, replace(a, shape=(1, 3, 4)), a]
    return made.case(values, Step("SELECT_V2", (0, 1, 2), (3,)), (0, 1, 2))


def _picked(name: str, operator: str, shape: Shape, y: Shape, most: int, **options: object) -> LiteCase:
    """An operator that takes elements by indices, which are an input."""
    made = Made(name)
    x = made.value(5, 4, 3)
    case = made.case([x, Value(shape, "int32"), replace(x, shape=y)], Step(operator, (0, 1), (2,), options), (0, 1))
    return replace(case, inputs=(case.inputs[0], made.rng.integers(0, most, case.inputs[1].shape).astype(np.int32)))


def _reduced(name: str, operator: str, kind: str, y_kind: str, y: tuple[int, ...], axis: int) -> LiteCase:
    made = Made(name, kind)
    x = made.value(2, 5, 3, 4)
    options = {"output_type": y_kind} if operator.startswith("ARG") else {"keep_dims": False}
    after = Value(y, y_kind) if y_kind != kind else replace(x, shape=y)
    axes = Value((), "int32", data=np.asarray(axis, np.int32)) if operator.startswith("ARG") else _listed(axis)
    return made.case([x, axes, after], Step(operator, (0, 1), (2,), options))


def _prelu(name: str) -> LiteCase:
    made = Made(name)
    x, y = made.value(1, 4, 3, 6, scale=(0.05,)), made.value(1, 4, 3, 6, scale=(0.04,))
    alpha = Value((1, 1, 6), "int8", (0.013,), (4,), made.rng.integers(-128, 127, (1, 1, 6), np.int8, endpoint=True))
    return made.case([x, alpha, y], Step("PRELU", (0, 1), (2,)))


def _product(name: str, kind: str, *, turned: bool) -> LiteCase:
    made = Made(name, kind)
    a, b = made.value(2, 3, 5), made.value(2, 4, 5) if turned else made.value(2, 5, 4)
    y = made.value(2, 3, 4, scale=(0.05,)) if kind == "int8" else Value((2, 3, 4), kind)
    if kind == "int16":
        y = replace(y, scale=(a.scale[0] * b.scale[0] * 1e5,), zero_point=(0,))
    return made.case([a, b, y], Step("BATCH_MATMUL", (0, 1), (2,), {"adj_x": False, "adj_y": turned}), (0, 1))


def _resized(name: str, operator: str, kind: str, size: tuple[int, int], **options: object) -> LiteCase:
    made = Made(name, kind)
    x = made.value(1, 4, 5, 3)
    y = replace(x, shape=(1, *size, 3))
    return made.case([x, _listed(*size), y], Step(operator, (0, 1), (2,), options))


def _function(name: str, operator: str, scale: float, y_scale: float, zero: int) -> LiteCase:
    made = Made(name)
    x = made.value(1, 60, scale=(scale,))
    return made.case([x, Value(x.shape, "int8", (y_scale,), (zero,))], Step(operator, (0,), (1,)))


_S, _B = (1, 4, 6, 8), (2, 3, 4, 5)
BREADTH: Mapping[str, Callable[[str], LiteCase]] = MappingProxyType(
    {
        "pack": lambda n: _moved(n, "UNPACK", (2, 3, 4), (3, 4), outputs=2, num=2, axis=0),
        "unpack_last": lambda n: _moved(n, "UNPACK", (2, 5, 3), (2, 5), outputs=3, num=3, axis=-1),
        "slice": lambda n: _moved(n, "SLICE", (3, 5, 4), (2, 3, 4), _listed(1, 2, 0), _listed(2, 3, -1)),
        "gather": lambda n: _picked(n, "GATHER", (6,), (5, 6, 3), 4, axis=1),
        "gather_nd": lambda n: _picked(n, "GATHER_ND", (7, 2), (7, 3), 4),
        "mirror": lambda n: _moved(
            n, "MIRROR_PAD", (3, 4), (6, 7), Value((2, 2), "int32", data=np.int32([[1, 2], [2, 1]])), mode="REFLECT"
        ),
        "reverse": lambda n: _moved(n, "REVERSE_V2", (2, 3, 4), (2, 3, 4), _listed(1)),
        "space_to_depth": lambda n: _moved(n, "SPACE_TO_DEPTH", _S, (1, 2, 3, 32), block_size=2),
        "depth_to_space": lambda n: _moved(n, "DEPTH_TO_SPACE", _S, (1, 8, 12, 2), block_size=2),
        # TensorFlow Lite Micro pads with whatever its memory holds.
        "space_to_batch": lambda n: replace(
            _moved(
                n,
                "SPACE_TO_BATCH_ND",
                (1, 4, 5, 3),
                (6, 2, 2, 3),
                _listed(2, 3),
                Value((2, 2), "int32", data=np.int32([[0, 0], [1, 0]])),
            ),
            judge="litert",
        ),
        "batch_to_space": lambda n: _moved(
            n,
            "BATCH_TO_SPACE_ND",
            (6, 2, 2, 3),
            (1, 4, 4, 3),
            _listed(2, 3),
            Value((2, 2), "int32", data=np.int32([[0, 0], [1, 1]])),
        ),
        "broadcast_to": lambda n: _moved(n, "BROADCAST_TO", (3, 1), (2, 3, 4), _listed(2, 3, 4)),
        "nearest": lambda n: _resized(n, "RESIZE_NEAREST_NEIGHBOR", "int8", (7, 3)),
        "nearest_centred": lambda n: _resized(n, "RESIZE_NEAREST_NEIGHBOR", "int8", (9, 8), half_pixel_centers=True),
        "nearest_aligned": lambda n: _resized(n, "RESIZE_NEAREST_NEIGHBOR", "int8", (7, 9), align_corners=True),
        "bilinear": lambda n: _resized(n, "RESIZE_BILINEAR", "int8", (7, 9)),
        "bilinear_centred": lambda n: _resized(n, "RESIZE_BILINEAR", "int8", (6, 3), half_pixel_centers=True),
        "bilinear_aligned": lambda n: _resized(n, "RESIZE_BILINEAR", "int8", (7, 9), align_corners=True),
        "bilinear_float": lambda n: _resized(n, "RESIZE_BILINEAR", "float32", (7, 9), half_pixel_centers=True),
        "maximum": lambda n: _pair(n, "MAXIMUM", "int8"),
        "minimum_float": lambda n: _pair(n, "MINIMUM", "float32"),
        "divide": lambda n: _real(n, "DIV", _B, (4, 1), _B, positive=True, activation="NONE"),
        "add_int32": lambda n: _pair(n, "ADD", "int32", activation="NONE"),
        "squared_difference": lambda n: _pair(n, "SQUARED_DIFFERENCE", "int8", scale=0.9),
        "squared_difference_float": lambda n: _pair(n, "SQUARED_DIFFERENCE", "float32"),
        "less": lambda n: _pair(n, "LESS", "int8", "bool"),
        "greater_equal": lambda n: _pair(n, "GREATER_EQUAL", "float32", "bool"),
        "not_equal": lambda n: _pair(n, "NOT_EQUAL", "int32", "bool"),
        "both": lambda n: _pair(n, "LOGICAL_AND", "bool"),
        "select": lambda n: _chosen(n, "int8"),
        "largest_of_axis": lambda n: _reduced(n, "REDUCE_MAX", "int8", "int8", (2, 3, 4), 1),
        "arg_max": lambda n: _reduced(n, "ARG_MAX", "int8", "int32", (2, 5, 4), 2),
        "arg_min": lambda n: _reduced(n, "ARG_MIN", "float32", "int32", (2, 5, 3), 3),
        "prelu": _prelu,
        "prelu_float": lambda n: _real(n, "PRELU", (1, 4, 3, 6), (1, 1, 6), (1, 4, 3, 6)),
        "batch_matmul": lambda n: _product(n, "int8", turned=False),
        "batch_matmul_turned": lambda n: _product(n, "int8", turned=True),
        "batch_matmul_int16": lambda n: _product(n, "int16", turned=False),
        "batch_matmul_int16_turned": lambda n: _product(n, "int16", turned=True),
        "batch_matmul_float": lambda n: _product(n, "float32", turned=False),
        "rsqrt": lambda n: _real(n, "RSQRT", (3, 7), (3, 7), positive=True),
        "square": lambda n: _real(n, "SQUARE", (3, 7), (3, 7)),
        "round": lambda n: _real(n, "ROUND", (3, 7), (3, 7)),
        "elu_float": lambda n: _real(n, "ELU", (3, 7), (3, 7)),
        "l2_normalization": lambda n: _real(n, "L2_NORMALIZATION", (3, 7), (3, 7), activation="NONE"),
        "l2_pool": lambda n: _real(
            n,
            "L2_POOL_2D",
            (1, 5, 6, 3),
            (1, 5, 3, 3),
            padding="SAME",
            stride_w=2,
            stride_h=1,
            filter_w=3,
            filter_h=2,
            activation="RELU",
        ),
        "elu": lambda n: _function(n, "ELU", 0.05, 0.04, -20),
        "exp": lambda n: replace(_function(n, "EXP", 0.02, 0.05, -120), judge="litert"),
        "abs": lambda n: _function(n, "ABS", 0.05, 0.031, -90),
    }
)
