"""One step of LSTM as smaller operators: a matrix product that can be tiled, and elementwise ones.

Before:  LSTM(X[1, n, inputs], W, R, B, , h, c)
After:   i, o, f = sigmoid, g = tanh of [X h] * [W R]' + B;  C = f * c + i * g;  H = o * tanh(C)

A network that is called once for each step has this form. The operator for all steps at once needs
its weights in one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tilewright.graph import Array, DType
from tilewright.importers.onnx.context import Call

_OFFSETS = {"a_zero_point": 0, "b_zero_point": 0}
_PRODUCT = {"transpose_a": False, "transpose_b": True, "a_zero_point": 0, "b_zero_point": (0,)}
_PLAIN = frozenset({"activations", "activation_alpha", "activation_beta", "clip", "layout", "input_forget"})
_LENGTHS, _STATE, _CELL, _PEEPHOLES = 4, 5, 6, 7


def lstm_or(translate: Callable[[Call], None]) -> Callable[[Call], None]:
    """A translator of LSTM: one step by smaller operators, else ``translate``."""

    def chosen(call: Call) -> None:
        if _is_one_step(call):
            _one_step(call)
        else:
            translate(call)

    chosen.__doc__ = translate.__doc__
    return chosen


def _is_one_step(call: Call) -> bool:
    """One step in one direction, constant weights, nothing but the defaults otherwise."""
    plain = not any(call.attribute(name) for name in _PLAIN)
    forward = str(call.attribute("direction", "forward")) == "forward"
    weights = [call.known(index) for index in (1, 2)]
    known = all(array is not None and array.ndim == 3 and len(array) == 1 for array in weights)
    shape = call.input(0).shape
    whole = len(shape) == 3 and shape[0] == 1 and call.input(0).dtype is DType.FLOAT32
    return (
        plain
        and forward
        and known
        and whole
        and not call.has(_LENGTHS)
        and not call.has(_PEEPHOLES)
        and (not call.has(3) or call.known(3) is not None)
    )


def _one_step(call: Call) -> None:
    batch = call.input(0).shape[1]
    units = _weights(call, 2).shape[1]
    gates = _gates(call, batch, units)
    state = (batch, units)
    opened = call.emit("Slice", [gates], (batch, 3 * units), _slice(0), part="before_sigmoid")
    opened = call.emit("Sigmoid", [opened], (batch, 3 * units), part="sigmoid")
    i, o, f = (call.emit("Slice", [opened], state, _slice(n * units), part=word) for n, word in enumerate("iof"))
    g = call.emit("Slice", [gates], state, _slice(3 * units), part="before_tanh")
    g = call.emit("Tanh", [g], state, part="g")
    cell = call.emit("Mul", [i, g], state, _OFFSETS, part="added")
    if call.has(_CELL):
        before = call.emit("Reshape", [call.input(_CELL).name], state, part="cell_before")
        kept = call.emit("Mul", [f, before], state, _OFFSETS, part="kept")
        cell = call.emit("Add", [kept, cell], state, _OFFSETS, part="cell")
    hidden = call.emit("Tanh", [cell], state, part="tanh_cell")
    hidden = call.emit("Mul", [o, hidden], state, _OFFSETS, part="hidden")
    shapes = ((1, 1, batch, units), (1, batch, units), (1, batch, units))
    for index, (name, shape) in enumerate(zip((hidden, hidden, cell), shapes, strict=True)):
        if index < len(call.node.outputs) and call.node.outputs[index]:
            call.emit("Reshape", [name], shape, output=index)


def _gates(call: Call, batch: int, units: int) -> str:
    """[X h] * [W R]' + B, one row for each entry of the batch, 4 * units columns."""
    x = call.input(0)
    base = call.node.outputs[0] or call.node.name
    operands, weights = [x.name], [_weights(call, 1)]
    if call.has(_STATE):
        operands.append(call.input(_STATE).name)
        weights.append(_weights(call, 2))
    rows = [
        call.emit("Reshape", [name], (batch, matrix.shape[1]), part=f"rows{number}")
        for number, (name, matrix) in enumerate(zip(operands, weights, strict=True))
    ]
    depth = sum(matrix.shape[1] for matrix in weights)
    joined = rows[0] if len(rows) == 1 else call.emit("Concat", rows, (batch, depth), {"axis": 1}, part="joined")
    matrix = call.literal(np.ascontiguousarray(np.concatenate(weights, axis=1)), f"{base}/weights")
    inputs = [joined, matrix]
    bias = call.known(3)
    if bias is not None:
        half = bias.shape[1] // 2
        inputs.append(call.literal(bias[0, :half] + bias[0, half:], f"{base}/bias"))
    return call.emit("MatMul", inputs, (batch, 4 * units), _PRODUCT, part="gates")


def _weights(call: Call, index: int) -> Array:
    """One direction's matrix, which is known here."""
    array = call.known(index)
    assert array is not None
    return np.asarray(array[0])


def _slice(first: int) -> dict[str, Sequence[int]]:
    return {"starts": (0, first), "steps": (1, 1)}
