"""SVDF: a layer of filters over features and time, which remembers the features of the last runs.

Before:  y[u] = bias[u] + sum over the filters f of unit u, and t, of w_time[f, t] * state[f, t]
After:   features = MatMul(x, w_feature), state' = Concat(Slice(state, 1:), features), y = Conv(state') in groups

The file's state is [n, filter, time]. The graph's is [n, time, filter], so that the features of a run lie side by side:
a run's shift moves one block of bytes, and the convolution reads an image whose channels are last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from tilewright.graph import Array, DType, RequantizeTwice
from tilewright.importers.construction import Unsupported
from tilewright.importers.tflite.context import LiteCall, per_tensor
from tilewright.importers.tflite.hybrid import quantized_rows
from tilewright.importers.tflite.images import FIRST
from tilewright.importers.tflite.multipliers import twice
from tilewright.operators.fixed_point import quantized_multiplier

_X, _FEATURE, _TIME, _BIAS, _STATE = range(5)


def svdf(call: LiteCall) -> None:
    """Float32, also with int8 weights, and int8 with a state of int8 or int16."""
    x, feature, time = call.record(_X), call.record(_FEATURE), call.record(_TIME)
    rank, state = call.integer("rank"), call.record(_STATE)
    shapes = (x.shape, feature.shape, time.shape)
    if any(len(shape) != 2 for shape in shapes) or rank < 1:
        raise Unsupported(f"inputs and weights {', '.join(str(list(shape)) for shape in shapes)}, rank {rank}")
    batch, filters, times = x.shape[0], feature.shape[0], time.shape[1]
    fits = feature.shape[1] == x.shape[1] and time.shape[0] == filters and filters % rank == 0
    if not fits or np.prod(state.shape) != batch * filters * times:
        raise Unsupported(f"weights {list(feature.shape)} and {list(time.shape)}, state {list(state.shape)}")
    old = call.kept(_STATE, (batch, times, filters))
    parts = [call.reshaped(_features(call, batch, filters), (batch, 1, filters), "row")]
    if times > 1:
        given = {"starts": (0, 1, 0), "steps": (1, 1, 1)}
        parts.insert(0, call.emit("Slice", [old], (batch, times - 1, filters), given, part="later"))
    new = call.emit("Concat", parts, (batch, times, filters), {"axis": 1}, part="new")
    call.keep(_STATE, new)
    _over_time(call, new, (batch, filters, times), rank)


def _features(call: LiteCall, batch: int, filters: int) -> str:
    """The features of this run, [n, filters], of the state's type."""
    x, w, state = call.record(_X), call.record(_FEATURE), call.record(_STATE)
    weights = call.constant(_FEATURE, "the weights of features")
    operands, shape = [call.input(_X).name, call.input(_FEATURE).name], (batch, filters)
    if x.type == "float32" and w.type == "int8":
        return _hybrid_features(call, shape)
    if x.type == "float32":
        return call.emit("MatMul", operands, shape, {"transpose_b": True}, part="features")
    if (x.type, w.type) != ("int8", "int8") or state.type not in ("int8", "int16"):
        raise Unsupported(f"input {x.type}, weights {w.type}, state {state.type}")
    for record in (x, w, state):
        per_tensor(record)
    given = {"transpose_b": True, "a_zero_point": x.zero, "b_zero_point": (0,)}
    limits = np.iinfo(state.type)
    q, shift = quantized_multiplier(float(x.unit * w.unit / state.unit))
    epilogue = RequantizeTwice((q,), (shift,), 0, int(limits.min), int(limits.max))
    if state.type == "int16":
        sums = call.emit("MatMul", operands, shape, given, dtype=DType.INT32, part="sums")
        bounded = {"largest": _largest(weights, x.zero)}
        return call.emit("Requantize", [sums], shape, bounded, dtype=DType.INT16, part="features", epilogue=epilogue)
    features = call.emit("MatMul", operands, shape, given, dtype=DType.INT8, part="features", epilogue=epilogue)
    if state.zero == 0:
        return features
    # The zero point is added behind the clamp, in 8 bits.
    table = np.arange(-128 + state.zero, 128 + state.zero).astype(np.int8)
    return call.emit("Lookup", [features, call.literal(table, "offset")], shape, part="stored")


def _largest(weights: Array, x_zero: int) -> int:
    """The largest magnitude of a feature's sum."""
    return int(np.abs(weights.astype(np.int64)).sum(axis=1).max()) * max(128 + x_zero, 127 - x_zero)


def _hybrid_features(call: LiteCall, shape: tuple[int, int]) -> str:
    """Features of float32 by weights of int8: rows are quantised at run time."""
    per_tensor(call.record(_FEATURE))
    if call.integer("asymmetric"):
        raise Unsupported("asymmetric rows", "quantise the whole model to int8")
    stored, scale = quantized_rows(call, call.input(_X).name, asymmetric=False)
    given = {"transpose_b": True, "a_zero_point": 0, "b_zero_point": (0,)}
    operands = [stored, call.input(_FEATURE).name]
    sums = call.emit("MatMul", operands, shape, given, dtype=DType.INT32, part="sums")
    real = call.emit("Cast", [sums], shape, dtype=DType.FLOAT32, part="real")
    unit = call.literal(np.asarray([call.record(_FEATURE).unit], np.float32), "weight_scale")
    factors = call.emit("Mul", [scale, unit], (shape[0], 1), part="factors")
    return call.emit("Mul", [real, factors], shape, part="features")


def _time_weights(call: LiteCall) -> Array:
    """The weights of time; those of int8 beside float32 as real numbers."""
    weights, w = call.constant(_TIME, "the weights of time"), call.record(_TIME)
    if call.record(_X).type != "float32" or w.type == "float32":
        return weights
    if w.type != "int8":
        raise Unsupported(f"weights of time of {w.type} beside float32", "float32 and int8 are supported")
    per_tensor(w)
    real: Array = (weights.astype(np.int64) - w.zero).astype(np.float32) * w.unit
    return real


def _over_time(call: LiteCall, new: str, shape: tuple[int, int, int], rank: int) -> None:
    """The output: sums over time and over the filters of each unit."""
    x, w, state, y = call.record(_X), call.record(_TIME), call.record(_STATE), call.output()
    batch, filters, times = shape
    weights, units = _time_weights(call), filters // rank
    bias = [] if not call.has(_BIAS) else [call.reshaped(call.input(_BIAS).name, (units,), "bias")]
    if x.type == "int8":
        for record in (w, y):
            per_tensor(record)
        epilogue = twice([float(state.unit * w.unit / y.unit)], y)
        if state.type == "int16":
            _halves_over_time(call, new, shape, rank, bias, epilogue)
            return
    image = call.transposed(call.reshaped(new, (batch, 1, times, filters), "window"), FIRST, "image")
    kernel = call.literal(weights.reshape(units, rank, 1, times), "kernel")
    given = {"kernel": (1, times), "strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0), "group": units}
    sums = (batch, units, 1, 1)
    if x.type == "float32":
        name = call.emit("Conv", [image, kernel, *bias], sums, given, part="sums")
        call.activated(lambda part: call.emit("Reshape", [name], y.shape, part=part), call.text("activation"))
        return
    quantized = {**given, "x_zero_point": state.zero, "w_zero_point": (0,)}
    name = call.emit("Conv", [image, kernel, *bias], sums, quantized, part="sums", epilogue=epilogue)
    call.emit("Reshape", [name], y.shape)


def _halves_over_time(
    call: LiteCall, new: str, shape: tuple[int, int, int], rank: int, bias: list[str], epilogue: RequantizeTwice
) -> None:
    """Sums of products of int16; those beyond 32 bits wrap around, as TensorFlow Lite Micro's do on its targets."""
    batch, filters, times = shape
    units = filters // rank
    weights = call.constant(_TIME, "the weights of time")
    wide = call.emit("Cast", [new], (batch, times, filters), dtype=DType.INT32, part="wide")
    kernel = call.literal(weights.astype(np.int32).T.reshape(1, times, filters), "kernel")
    products = call.emit("MulInteger", [wide, kernel], (batch, times, filters), part="products")
    rows = call.reshaped(products, (batch, times, units, rank), "filters")
    sums = call.emit("ReduceSum", [rows], (batch, units), {"axes": (1, 3), "keepdims": False}, part="sums")
    total = call.emit("AddInteger", [sums, *bias], (batch, units), part="total") if bias else sums
    stored = call.emit("Requantize", [total], (batch, units), dtype=DType.INT8, part="stored", epilogue=epilogue)
    call.emit("Reshape", [stored], call.output().shape)


SVDF: Mapping[str, Callable[[LiteCall], None]] = MappingProxyType({"SVDF": svdf})
