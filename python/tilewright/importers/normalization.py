"""Normalisations that ONNX gives no function body, as smaller operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType

import numpy as np

from tilewright.graph import DType
from tilewright.importers.context import Call, Unsupported
from tilewright.importers.elementwise import typed

Translate = Callable[[Call], None]

_FLOAT = frozenset({DType.FLOAT32})
_OFFSETS: Mapping[str, int] = MappingProxyType({"a_zero_point": 0, "b_zero_point": 0})


def instance_normalization(call: Call) -> None:
    """(x - mean) / sqrt(variance + epsilon) * scale + B, the statistics over each channel's positions."""
    x = typed(call, 0, _FLOAT)
    rank = len(x.shape)
    if rank < 3:
        raise Unsupported(f"input of shape {list(x.shape)}")
    axes = tuple(range(2, rank))
    narrow = (*x.shape[:2], *(1,) * len(axes))
    reduction = {"axes": axes, "keepdims": True}
    base = call.node.outputs[0]
    epsilon = call.literal(np.float32(call.attribute("epsilon", 1e-5)).reshape(()), f"{base}/epsilon")
    mean = call.emit("ReduceMean", [x.name], narrow, reduction, part="mean")
    centred = call.emit("Sub", [x.name, mean], x.shape, _OFFSETS, part="centred")
    squares = call.emit("Mul", [centred, centred], x.shape, _OFFSETS, part="squares")
    variance = call.emit("ReduceMean", [squares], narrow, reduction, part="variance")
    raised = call.emit("Add", [variance, epsilon], narrow, _OFFSETS, part="raised")
    deviation = call.emit("Sqrt", [raised], narrow, part="deviation")
    normal = call.emit("Div", [centred, deviation], x.shape, part="normal")
    column = (x.shape[1], *(1,) * len(axes))
    factors, offsets = (
        call.emit("Reshape", [typed(call, index, _FLOAT).name], column, part=word)
        for index, word in ((1, "scale"), (2, "offset"))
    )
    scaled = call.emit("Mul", [normal, factors], x.shape, _OFFSETS, part="scaled")
    call.emit("Add", [scaled, offsets], x.shape, _OFFSETS)


def local_response(call: Call) -> None:
    """LRN: x / (bias + alpha / size * sum of squares over ``size`` neighbouring channels) ^ beta.

    The sums are averages under windows along the channels, padding counted as zeros.
    """
    x = typed(call, 0, _FLOAT)
    size = int(call.attribute("size", 0))
    if len(x.shape) < 2 or size < 1:
        raise Unsupported(f"size {size} of {list(x.shape)}")
    base = call.node.outputs[0]
    image = (x.shape[0], 1, x.shape[1], prod(x.shape[2:]))
    squares = call.emit("Mul", [x.name, x.name], x.shape, _OFFSETS, part="squares")
    rows = call.emit("Reshape", [squares], image, part="rows")
    window = {
        "kernel": (size, 1),
        "strides": (1, 1),
        "dilations": (1, 1),
        "pads": ((size - 1) // 2, 0, size // 2, 0),
        "count_include_pad": 1,
        "x_zero_point": 0,
    }
    average = call.emit("AveragePool", [rows], image, window, part="average")
    spread = call.emit("Reshape", [average], x.shape, part="spread")
    alpha, bias, beta = (
        call.literal(np.float32(call.attribute(name, default)).reshape(()), f"{base}/{name}")
        for name, default in (("alpha", 1e-4), ("bias", 1.0), ("beta", 0.75))
    )
    scaled = call.emit("Mul", [spread, alpha], x.shape, _OFFSETS, part="scaled")
    raised = call.emit("Add", [scaled, bias], x.shape, _OFFSETS, part="raised")
    power = call.emit("Pow", [raised, beta], x.shape, part="power")
    call.emit("Div", [x.name, power], x.shape)


NORMALIZATION: Mapping[str, Translate] = MappingProxyType(
    {"InstanceNormalization": instance_normalization, "LRN": local_response}
)
