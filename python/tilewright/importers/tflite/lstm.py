"""UNIDIRECTIONAL_SEQUENCE_LSTM without peepholes, projection and layer normalisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log2
from types import MappingProxyType

import numpy as np

from tilewright.graph import Array, DType
from tilewright.importers.construction import Unsupported
from tilewright.importers.tflite.context import LiteCall, per_tensor
from tilewright.operators.fixed_point import quantized_multiplier
from tilewright.operators.integer_lstm import LstmIntegerAttributes

_W, _R, _BIAS, _H, _C = 1, 5, 12, 18, 19
_ABSENT = (*range(9, 12), 16, 17, *range(20, 24))
_GATE_SCALE = 2.0**-12
_NARROW = 2.0**-15
"""Scale of the results of logistic and tanh."""
_STEPS_FIRST = (1, 0, 2)
_ONNX_ORDER = (0, 3, 1, 2)
"""Input, output, forget and cell gate among input, forget, cell and output gate."""
_LARGEST = 3.0e38


def lstm(call: LiteCall) -> None:
    """Float32, and int8 or int16 with a cell state of int16; batch or time first. Both states are kept."""
    x, units = call.record(0), call.record(_W).shape[0] if call.record(_W).shape else 0
    if any(call.has(index) for index in _ABSENT):
        raise Unsupported("peepholes, projection or layer normalisation", "use a plain LSTM")
    if call.text("activation") != "TANH" or (x.type, call.record(_C).type) not in _TYPES:
        raise Unsupported(
            f"{x.type} with a cell state of {call.record(_C).type}", "float32, int8 and int16 are supported"
        )
    weights = [_stacked(call, first) for first in (_W, _R)]
    biases = [call.constant(_BIAS + gate, "a bias").reshape(-1) for gate in range(4)]
    shapes = ((4, units, x.shape[-1]), (4, units, units))
    if len(x.shape) != 3 or any(w.shape != shape for w, shape in zip(weights, shapes, strict=True)):
        raise Unsupported(f"input {list(x.shape)}, weights {list(weights[0].shape[1:])}")
    if any(bias.size != units or bias.dtype != _BIASES[x.type] for bias in biases):
        raise Unsupported(f"biases of {biases[0].dtype}[{biases[0].size}] for {units} units")
    run = _real if x.type == "float32" else _integer
    run(call, weights, np.stack(biases))


_TYPES = (("float32", "float32"), ("int8", "int16"), ("int16", "int16"))
_BIASES = {"float32": np.float32, "int8": np.int32, "int16": np.int64}


def _stacked(call: LiteCall, first: int) -> Array:
    """The weights of all gates, [gate, unit, input]: float32 beside float32, else int8."""
    arrays = [call.constant(first + gate, "the weights") for gate in range(4)]
    kinds = {call.record(first + gate).type for gate in range(4)}
    wanted = {"float32" if call.record(0).type == "float32" else "int8"}
    if len({array.shape for array in arrays}) != 1 or arrays[0].ndim != 2 or kinds != wanted:
        raise Unsupported("weights of gates that differ in shape or type")
    return np.stack(arrays)


def _integer(call: LiteCall, weights: list[Array], bias: Array) -> None:
    units, time_first = bias.shape[1], bool(call.integer("time_major"))
    source = call.input(0).name
    if time_first:
        source = call.transposed(source, _STEPS_FIRST, "entries")
    batch, steps, _ = call.build.tensor(source).shape
    states = [call.reshaped(call.kept(index), (batch, units), f"state{index}") for index in (_H, _C)]
    listed = ((weights[0], "w"), (weights[1], "r"), (bias, "bias"))
    constants = [call.literal(array, name) for array, name in listed]
    kind = call.input(0).dtype
    outputs = (
        ((batch, steps, units), kind, "rows"),
        ((batch, units), kind, "last_output"),
        ((batch, units), DType.INT16, "last_cell"),
    )
    rows, *last = call.emit_parts("LstmInteger", [source, *states, *constants], outputs, _arithmetic(call))
    _keep(call, last)
    if time_first:
        call.transposed(rows, _STEPS_FIRST, "")
        return
    call.emit("Reshape", [rows], (batch, steps, units))


def _real(call: LiteCall, weights: list[Array], bias: Array) -> None:
    """ONNX's LSTM, whose gates have another order."""
    units, time_first = bias.shape[1], bool(call.integer("time_major"))
    source = call.input(0).name
    if not time_first:
        source = call.transposed(source, _STEPS_FIRST, "steps")
    steps, batch, _ = call.build.tensor(source).shape
    states = [call.reshaped(call.kept(index), (1, batch, units), f"state{index}") for index in (_H, _C)]
    gates = [array[list(_ONNX_ORDER)].reshape(1, 4 * units, -1) for array in weights]
    both = np.concatenate([bias[list(_ONNX_ORDER)].reshape(1, -1), np.zeros((1, 4 * units), np.float32)], axis=1)
    constants = [call.literal(array, name) for array, name in ((gates[0], "w"), (gates[1], "r"), (both, "bias"))]
    state = ((1, batch, units), DType.FLOAT32)
    outputs = (((steps, 1, batch, units), DType.FLOAT32, "rows"), (*state, "last_output"), (*state, "last_cell"))
    given = {
        "reverse": (0, 0),
        "activations": ("Sigmoid", "Tanh", "Tanh") * 2,
        "alpha": (0.0,) * 6,
        "beta": (0.0,) * 6,
        "clip": _LARGEST,
        "linear_before_reset": False,
        "input_forget": False,
        "cell_clip": max(call.real("cell_clip"), 0.0),
    }
    rows, *last = call.emit_parts("LSTM", [source, *constants, "", *states], outputs, given)
    _keep(call, last)
    flat = call.reshaped(rows, (steps, batch, units), "" if time_first else "flat")
    if not time_first:
        call.transposed(flat, _STEPS_FIRST, "")


def _keep(call: LiteCall, last: list[str]) -> None:
    """Keep what the last step leaves of output and cell."""
    for index, name in zip((_H, _C), last, strict=True):
        call.keep(index, call.reshaped(name, call.record(index).shape, f"kept{index}"))


def _arithmetic(call: LiteCall) -> LstmIntegerAttributes:
    x, h, c = call.record(0), call.record(_H), call.record(_C)
    for record in (x, h, c, *(call.record(index) for index in (*range(_W, _W + 4), *range(_R, _R + 4)))):
        per_tensor(record)
    reals = [float(x.unit * call.record(_W + gate).unit) / _GATE_SCALE for gate in range(4)]
    reals += [float(h.unit * call.record(_R + gate).unit) / _GATE_SCALE for gate in range(4)]
    cell, output = float(c.unit), float(h.unit)
    reals += [_NARROW * cell / cell, _NARROW * _NARROW / cell, _NARROW * _NARROW / output]
    pairs = [quantized_multiplier(real) for real in reals]
    left = 15 + round(log2(cell)) - 3
    if c.zero or left > 13:
        raise Unsupported(f"a cell state with scale {cell} and zero point {c.zero}", "use a scale of 1/2 or less")
    if x.type == "int16" and ((x.zero, h.zero) != (0, 0) or max(shift for _, shift in pairs[:8]) > 14):
        raise Unsupported("int16 with a zero point, or with scales of weights above those of sums")
    clip = call.real("cell_clip")
    return LstmIntegerAttributes(
        x.zero,
        h.zero,
        tuple(q for q, _ in pairs),
        tuple(shift for _, shift in pairs),
        3 if left < 0 else 3 << left,
        max(-left, 0),
        int(min(clip / cell, 32767.0)) if clip > 0 else 0,
    )


LSTM: Mapping[str, Callable[[LiteCall], None]] = MappingProxyType({"UNIDIRECTIONAL_SEQUENCE_LSTM": lstm})
