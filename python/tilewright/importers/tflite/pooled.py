"""Pooling over windows."""

from __future__ import annotations

import numpy as np

from tilewright.graph import RoundAway
from tilewright.importers.construction import Unsupported
from tilewright.importers.tflite.context import LiteCall, one_type, per_tensor
from tilewright.importers.tflite.images import FIRST, last, windows_of
from tilewright.importers.tflite.int16 import limited
from tilewright.importers.tflite.multipliers import stored_bounds
from tilewright.operators.pooling import AveragePoolAttributes
from tilewright.operators.spatial import Windows

_INTEGERS = ("int8", "uint8", "int16")


def _pool(call: LiteCall) -> tuple[str, Windows, tuple[int, ...]]:
    """Input with channels first, geometry and output shape of a pooling."""
    x = call.record(0)
    if len(x.shape) != 4:
        raise Unsupported(f"input {list(x.shape)}", "four axes are supported")
    kernel = (call.integer("filter_h"), call.integer("filter_w"))
    windows, outputs = windows_of(call, (x.shape[1], x.shape[2]), kernel)
    return call.transposed(call.input(0).name, FIRST, "first"), windows, (x.shape[0], x.shape[3], *outputs)


def average_pool(call: LiteCall) -> None:
    """Averages of float32, int8, uint8 or int16; taps in the padding do not count."""
    first, windows, shape = _pool(call)
    given = AveragePoolAttributes(windows.kernel, windows.strides, windows.dilations, windows.pads)
    if one_type(call, 0) == "float32":
        call.activated(
            lambda part: last(call, call.emit("AveragePool", [first], shape, given, part="pool"), part),
            call.text("activation"),
        )
        return
    epilogue = RoundAway(*_pool_bounds(call))
    last(call, call.emit("AveragePool", [first], shape, given, part="pool", epilogue=epilogue), "")


def max_pool(call: LiteCall) -> None:
    """Maxima of float32, int8, uint8 or int16."""
    first, windows, shape = _pool(call)
    if one_type(call, 0) == "float32":
        call.activated(
            lambda part: last(call, call.emit("MaxPool", [first], shape, windows, part="pool"), part),
            call.text("activation"),
        )
        return
    low, high = _pool_bounds(call)
    name = last(call, call.emit("MaxPool", [first], shape, windows, part="pool"), "largest")
    limits = np.iinfo(call.output().type)
    if (low, high) == (limits.min, limits.max):
        call.emit("Reshape", [name], call.build.tensor(name).shape)
        return
    if call.output().type == "int16":
        limited(call, name, low, high, "")
        return
    table = np.clip(np.arange(limits.min, limits.max + 1), low, high).astype(call.output().type)
    call.emit("Lookup", [name, call.literal(table, "table")], call.build.tensor(name).shape)


def _pool_bounds(call: LiteCall) -> tuple[int, int]:
    kind = one_type(call, 0)
    if kind not in _INTEGERS:
        raise Unsupported(f"elements of type {kind}", "int8, uint8, int16 and float32 are supported")
    per_tensor(call.record(0))
    per_tensor(call.output())
    return stored_bounds(call.text("activation"), call.output())


def l2_pool(call: LiteCall) -> None:
    """Square roots of the average squares; float32."""
    if one_type(call, 0) != "float32":
        raise Unsupported(f"elements of type {one_type(call, 0)}", "float32 is supported")
    first, windows, shape = _pool(call)
    given = AveragePoolAttributes(windows.kernel, windows.strides, windows.dilations, windows.pads)
    squares = call.emit("Mul", [first, first], call.build.tensor(first).shape, part="squares")
    mean = call.emit("AveragePool", [squares], shape, given, part="mean")
    root = call.emit("Sqrt", [mean], shape, part="root")
    call.activated(lambda part: last(call, root, part), call.text("activation"))
