"""A Loop whose body is one step of RNN, GRU or LSTM becomes that operator over the whole sequence.

Before:  Loop(98, true, 0, h) { x = Gather(xs, t), s = MatMul(x, W) + ..., h = z * h + (1 - z) * n }    (Keras 3)
After:   y, h = GRU(xs, W, R, B, , h)

A loop whose body is anything else is left to ``control``, which unrolls it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tilewright.graph import DType
from tilewright.importers.construction import Construction
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.loop_recognition import LoopCell, LoopInParts, StepSequence
from tilewright.importers.onnx.loop_values import NoCell
from tilewright.importers.onnx.recurrent import attributes_of_one_direction
from tilewright.importers.onnx.source import SourceGraph, SourceNode

_MASK = 8
"""The position of the mask among the operands of a recurrent operator in normal form."""


def became_recurrent(node: SourceNode, build: Construction, visit: Callable[[SourceNode], None]) -> bool:
    """Translate a Loop into a recurrent operator, and return whether that is possible.

    If not, the graph is as it was: constants that were computed to find out are not read, and do not count.
    """
    body = node.attributes.get("body")
    if not isinstance(body, SourceGraph) or len(body.inputs) != len(node.inputs):
        return False
    loop, left = LoopInParts(node, build, visit, body), build.computed_bytes
    try:
        found = loop.recognised()
    except NoCell:
        build.computed_bytes = left
        return False
    _Emission(loop, found).emit()
    return True


class _Emission:
    """The nodes of a recognised loop."""

    def __init__(self, loop: LoopInParts, found: LoopCell) -> None:
        self._loop, self._found = loop, found
        self._build = loop.build
        self._base = next(name for name in loop.node.outputs if name)

    def emit(self) -> None:
        """Translate the operator and the nodes around it, for its inputs and outputs."""
        cell = self._found.cell
        words = ("steps", "h", "c") if cell.operator == "LSTM" else ("steps", "h")
        outputs = [self._build.reserve(f"{self._base}/{word}") for word in words]
        source = self._found.sequences[cell.x]
        x = self._sequence(source)
        steps, entries = self._build.tensor(x).shape[:2]
        units = cell.recurrence.shape[1]
        call = Call(SourceNode(self._loop.node.name, cell.operator, "", (), tuple(outputs), {}), self._build)
        operands = [x]
        for word, array in (("W", cell.weights), ("R", cell.recurrence), ("B", cell.bias)):
            operands.append(call.literal(array[np.newaxis], f"{self._base}/{word}"))
        operands += ["", *(self._first(name) for name in self._found.initial)]
        if cell.mask:
            operands += [""] * (_MASK - len(operands)) + [self._sequence(self._found.sequences[cell.mask])]
        while not operands[-1]:
            operands.pop()
        state = ((1, entries, units), DType.FLOAT32)
        shapes = [((steps, 1, entries, units), DType.FLOAT32), state, state][: len(outputs)]
        given = attributes_of_one_direction(cell.activations, source.step < 0, cell.linear_before_reset)
        call.emit_all(cell.operator, operands, shapes, given)
        self._give(outputs)

    def _give(self, outputs: Sequence[str]) -> None:
        """The outputs of the loop from those of the operator."""
        loop, targets = self._loop, self._loop.node.outputs
        for at, name in enumerate(loop.carried):
            if at >= len(targets) or not targets[at]:
                continue
            if at in self._found.states:
                self._node("Squeeze", [outputs[1 + self._found.states[at]], self._axes(0)], targets[at])
            elif name in loop.outside:
                self._node("Identity", [loop.outside[name]], targets[at])
            else:
                self._build.constants[targets[at]] = self._found.counted[at]
        for target, zeroed in zip(targets[len(loop.carried) :], self._found.seen, strict=False):
            if target:
                self._steps(outputs[0], target, zeroed)

    def _steps(self, steps: str, target: str, zeroed: bool) -> None:
        """All steps without the axis of directions, zeros where the mask leaves a step out if wanted."""
        source = self._found.sequences[self._found.cell.x]
        forward = steps if source.step > 0 else self._backward(steps)
        if not zeroed:
            self._node("Squeeze", [forward, self._axes(1)], target)
            return
        flat = self._node("Squeeze", [forward, self._axes(1)])
        mask = self._sequence(self._found.sequences[self._found.cell.mask])
        self._node("Mul", [flat, self._node("Cast", [mask], to=1)], target)

    def _sequence(self, item: StepSequence) -> str:
        """The steps that the loop reads, in the order in which they lie."""
        length = self._build.tensor(item.tensor).shape[0]
        first = item.first if item.step > 0 else item.first - self._found.trips + 1
        if (first, self._found.trips) == (0, length):
            return item.tensor
        return self._node(
            "Slice", [item.tensor, self._axes(first), self._axes(first + self._found.trips), self._axes(0)]
        )

    def _backward(self, name: str) -> str:
        """Steps from the last to the first: the order in which a loop that counts down lists its results."""
        ends = self._axes(-(2**31))
        return self._node("Slice", [name, self._axes(-1), ends, self._axes(0), self._axes(-1)])

    def _first(self, name: str) -> str:
        """The first value of a state, [1, batch, units]; empty for zeros."""
        array = self._build.constants.get(name)
        if array is not None and not array.any():
            return ""
        return self._node("Unsqueeze", [name, self._axes(0)])

    def _axes(self, *numbers: int) -> str:
        name = self._build.reserve(f"{self._base}/numbers")
        self._build.constants[name] = np.asarray(numbers, np.int64)
        return name

    def _node(self, operator: str, inputs: Sequence[str], target: str = "", **attributes: int) -> str:
        output = target or self._build.reserve(f"{self._base}/{operator}")
        name = f"{self._loop.node.name or self._base}/{operator}"
        self._loop.visit(SourceNode(name, operator, "", tuple(inputs), (output,), attributes))
        return output
