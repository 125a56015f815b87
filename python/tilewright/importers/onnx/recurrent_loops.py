"""A Loop whose body is one step of RNN, GRU or LSTM becomes that operator over the whole sequence.

Before:  Loop(98, true, 0, h) { x = Gather(xs, t), s = MatMul(x, W) + ..., h = z * h + (1 - z) * n }    (Keras 3)
After:   y, h = GRU(xs, W, R, B, , h)

A loop whose body is anything else is left to ``control``, which unrolls it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright.graph import Array, DType
from tilewright.importers.construction import Construction, Unsupported
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.loop_body import BodyValues
from tilewright.importers.onnx.loop_cells import STATE, Cell, cell_of, zero_where_masked
from tilewright.importers.onnx.loop_values import Atoms, NoCell, Sum
from tilewright.importers.onnx.recurrent import attributes_of_one_direction
from tilewright.importers.onnx.source import SourceGraph, SourceNode

_MOST_STEPS = 65536
_MASK = 8
"""The position of the mask among the operands of a recurrent operator in normal form."""


def became_recurrent(node: SourceNode, build: Construction, visit: Callable[[SourceNode], None]) -> bool:
    """Translate a Loop into a recurrent operator; whether that is possible. Else nothing has changed."""
    body = node.attributes.get("body")
    if not isinstance(body, SourceGraph) or len(body.inputs) != len(node.inputs):
        return False
    loop = _Loop(node, build, visit, body)
    try:
        found = loop.recognised()
    except NoCell:
        return False
    _Emission(loop, found).emit()
    return True


@dataclass(frozen=True)
class _Sequence:
    """Entries that the iterations read from a tensor [step, batch, width], from its first one on or backwards."""

    tensor: str
    first: int
    step: int


@dataclass(frozen=True)
class _Found:
    """A loop that is a recurrent operator.

    Attributes:
        trips: iterations.
        sequences: what the leaves of the cell read, by their names.
        states: by carried position, which state of the cell it is: 0 for h, 1 for c.
        initial: the names of the states' first values.
        seen: by position of a scanned output, whether its masked steps are zeros.
        counted: last values of carried numbers, by position.
    """

    cell: Cell
    trips: int
    sequences: Mapping[str, _Sequence]
    states: Mapping[int, int]
    initial: tuple[str, ...]
    seen: tuple[bool, ...]
    counted: Mapping[int, Array]


class _Loop:
    """One Loop, taken apart."""

    def __init__(
        self, node: SourceNode, build: Construction, visit: Callable[[SourceNode], None], body: SourceGraph
    ) -> None:
        self.node, self.build, self.body = node, build, body
        self.visit = visit
        self.nodes = {name: inner for inner in body.nodes for name in inner.outputs if name}
        self.carried = body.inputs[2:]
        self.results = body.outputs[1 : 1 + len(self.carried)]
        self.outside = {name: node.inputs[2 + at] for at, name in enumerate(self.carried) if self._stays(at)}
        self.arrays: dict[str, Array] = dict(body.constants)
        self.counting = self._counting()

    def known(self, name: str) -> Array | None:
        """The elements of a constant that the body reads."""
        if name in self.arrays:
            return self.arrays[name]
        inside = name in self.nodes or (name in self.body.inputs and name not in self.outside)
        return None if inside else self.build.constants.get(self.outside.get(name, name))

    def recognised(self) -> _Found:
        """The recurrent operator. Raises NoCell where the loop is none."""
        self._fold_constants()
        values = self._iterations()
        sequences = self._sequences(values)
        atoms = Atoms()
        leaves = {name: atoms.leaf(name, self._width(item)) for name, item in sequences.items()}
        positions = [at for at, name in enumerate(self.carried) if name not in self.outside | self._numbers()]
        classes = self._classes(positions, atoms, leaves)
        first = [classes.index(number) for number in sorted(set(classes))]
        for order in (first, first[::-1]):
            inner = self._values(positions, classes, atoms, leaves)
            states = [inner.value(self.carried[positions[at]]) for at in order]
            updates = [inner.value(self.results[positions[at]]) for at in order]
            try:
                cell = cell_of(atoms, states, updates)
            except NoCell:
                continue
            self._require_types(cell, sequences)
            rank = {classes[at]: number for number, at in enumerate(order)}
            return _Found(
                cell,
                len(values),
                sequences,
                {position: rank[number] for position, number in zip(positions, classes, strict=True)},
                tuple(self.node.inputs[2 + positions[at]] for at in order),
                tuple(self._zeroed(name, inner, updates[0], cell) for name in self._scanned()),
                {at: np.asarray(values[-1][self.results[at]]) for at in self._numbers().values()},
            )
        raise NoCell

    def _stays(self, position: int) -> bool:
        """Whether an iteration hands on what it got."""
        name = self.results[position]
        while name in self.nodes and self.nodes[name].operator == "Identity":
            name = self.nodes[name].inputs[0]
        return name == self.carried[position]

    def _numbers(self) -> dict[str, int]:
        """Carried values that are known for each iteration, with their positions."""
        return {name: at for at, name in enumerate(self.carried) if name in self.counting}

    def _counting(self) -> set[str]:
        """Names whose values follow from the number of the iteration alone."""
        counting = {*self.body.inputs[:2]}
        for name, given in zip(self.carried, self.node.inputs[2:], strict=True):
            array = self.build.constants.get(given)
            if array is not None and array.size == 1 and array.dtype.kind in "iub" and name not in self.outside:
                counting.add(name)
        for node in self.body.nodes:
            read = [name for name in node.inputs if name]
            if any(name in counting for name in read) and all(self._is_plain(name, counting) for name in read):
                counting.update(node.outputs)
        return counting

    def _is_plain(self, name: str, counting: set[str]) -> bool:
        return name in counting or self.known(name) is not None

    def _fold_constants(self) -> None:
        """Nodes of the body that read constants only, once for all iterations."""
        for node in self.body.nodes:
            if node.inputs and all(self.known(name) is not None for name in node.inputs if name):
                self.arrays.update(self._computed(node, {}))

    def _computed(self, node: SourceNode, values: Mapping[str, Array]) -> dict[str, Array]:
        """What a node computes of constants and of values of an iteration."""
        inputs, outputs = [], []
        for name in node.inputs:
            array = values.get(name)
            inputs.append(self._named(self.known(name) if array is None else array) if name else "")
        for name in node.outputs:
            outputs.append(self._fresh(f"{self.node.name}/{name}") if name else "")
        try:
            self.visit(replace(node, inputs=tuple(inputs), outputs=tuple(outputs)))
        except Unsupported:
            raise NoCell from None
        named = zip(node.outputs, outputs, strict=True)
        found = {name: self.build.constants.get(inner) for name, inner in named if name}
        if any(array is None for array in found.values()):
            raise NoCell
        return {name: array for name, array in found.items() if array is not None}

    def _named(self, array: Array | None) -> str:
        if array is None:
            raise NoCell
        name = self._fresh(f"{self.node.name}/value")
        self.build.constants[name] = array
        return name

    def _fresh(self, base: str) -> str:
        name = self.build.fresh(base)
        self.build.reserved.add(name)
        return name

    def _iterations(self) -> list[dict[str, Array]]:
        """For each iteration, the values that follow from its number."""
        trips = self._trips()
        going = self.build.constants.get(self.node.inputs[1]) if self.node.inputs[1] else np.asarray(True)
        if going is None or not going.any() or self.body.outputs[0] not in self.counting:
            raise NoCell
        numbers = {name: self.build.constants[self.node.inputs[2 + at]] for name, at in self._numbers().items()}
        found: list[dict[str, Array]] = []
        counting = [node for node in self.body.nodes if self.counting.issuperset(node.outputs)]
        while len(found) < trips:
            values = {self.body.inputs[0]: np.asarray(len(found), np.int64), self.body.inputs[1]: going, **numbers}
            for node in counting:
                values.update(self._computed(node, values))
            found.append(values)
            numbers = {name: values[self.results[at]] for name, at in self._numbers().items()}
            if not values[self.body.outputs[0]].any():
                break
            if len(found) > _MOST_STEPS:
                raise NoCell
        if len(found) < 2:
            raise NoCell
        return found

    def _trips(self) -> int:
        if not self.node.inputs[0]:
            return _MOST_STEPS + 1
        trips = self.build.constants.get(self.node.inputs[0])
        if trips is None or any(self.results[at] not in self.counting for at in self._numbers().values()):
            raise NoCell
        return int(trips.reshape(-1)[0])

    def _sequences(self, values: Sequence[Mapping[str, Array]]) -> dict[str, _Sequence]:
        """What each Gather of the body reads from a tensor outside, by the name of its result."""
        found = {}
        for node in self.body.nodes:
            if node.operator != "Gather" or node.inputs[1] not in self.counting or node.attributes.get("axis", 0) != 0:
                continue
            tensor = self.build.tensors.get(self.outside.get(node.inputs[0], node.inputs[0]))
            if node.inputs[0] in self.nodes or tensor is None or len(tensor.shape) != 3:
                continue
            at = [value[node.inputs[1]] for value in values]
            if any(index.ndim for index in at):
                raise NoCell
            numbers = [int(index) % tensor.shape[0] for index in at]
            step = numbers[1] - numbers[0]
            wanted = range(numbers[0], numbers[0] + step * len(numbers), step or 1)
            if step not in (1, -1) or numbers != list(wanted):
                raise NoCell
            found[node.outputs[0]] = _Sequence(tensor.name, numbers[0], step)
        return found

    def _width(self, item: _Sequence) -> int:
        return self.build.tensors[item.tensor].shape[-1]

    def _values(
        self, positions: Sequence[int], classes: Sequence[int], atoms: Atoms, leaves: Mapping[str, Sum]
    ) -> BodyValues:
        """The body's values where carried values of a class are equal."""
        states = {
            self.carried[at]: atoms.leaf(f"{STATE}{number}", self._state_shape(at)[1])
            for at, number in zip(positions, classes, strict=True)
        }
        return BodyValues(atoms, self.nodes, {**leaves, **states}, self.known)

    def _state_shape(self, position: int) -> tuple[int, ...]:
        name = self.node.inputs[2 + position]
        array = self.build.constants.get(name)
        shape = array.shape if array is not None else self.build.tensor(name).shape
        if len(shape) != 2:
            raise NoCell
        return shape

    def _classes(self, positions: Sequence[int], atoms: Atoms, leaves: Mapping[str, Sum]) -> list[int]:
        """Which carried values are equal in all iterations: they begin so, and are computed equally."""
        keys: list[object] = [self._first_value(at) for at in positions]
        while True:
            listed = list(dict.fromkeys(keys))
            classes = [listed.index(key) for key in keys]
            inner = self._values(positions, classes, atoms, leaves)
            updates = [inner.value(self.results[at]).key for at in positions]
            keys = list(zip(classes, updates, strict=True))
            if len(set(keys)) == len(listed):
                return classes

    def _first_value(self, position: int) -> object:
        name = self.node.inputs[2 + position]
        array = self.build.constants.get(name)
        return name if array is None else (array.shape, array.dtype.str, array.tobytes())

    def _scanned(self) -> tuple[str, ...]:
        return self.body.outputs[1 + len(self.carried) :]

    def _zeroed(self, name: str, inner: BodyValues, update: Sum, cell: Cell) -> bool:
        """Whether a scanned output has zeros where steps are masked; NoCell if it is no sequence of the cell."""
        value = inner.value(name)
        if value.key == update.key:
            return False
        if not cell.mask or value.key != zero_where_masked(inner.atoms, cell).key:
            raise NoCell
        return True

    def _require_types(self, cell: Cell, sequences: Mapping[str, _Sequence]) -> None:
        wanted = {cell.x: DType.FLOAT32} | ({cell.mask: DType.BOOL} if cell.mask else {})
        for name, dtype in wanted.items():
            if self.build.tensors[sequences[name].tensor].dtype is not dtype:
                raise NoCell
        if cell.mask and (sequences[cell.mask].step, self._width(sequences[cell.mask])) != (1, 1):
            raise NoCell


class _Emission:
    """The nodes of a recognised loop."""

    def __init__(self, loop: _Loop, found: _Found) -> None:
        self._loop, self._found = loop, found
        self._build = loop.build
        self._base = next(name for name in loop.node.outputs if name)

    def emit(self) -> None:
        """Translate the operator and what stands around it."""
        cell = self._found.cell
        outputs = [self._fresh("steps"), self._fresh("h"), self._fresh("c")][: 3 if cell.operator == "LSTM" else 2]
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

    def _sequence(self, item: _Sequence) -> str:
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
        name = self._fresh("numbers")
        self._build.constants[name] = np.asarray(numbers, np.int64)
        return name

    def _node(self, operator: str, inputs: Sequence[str], target: str = "", **attributes: int) -> str:
        output = target or self._fresh(operator)
        name = f"{self._loop.node.name or self._base}/{operator}"
        self._loop.visit(SourceNode(name, operator, "", tuple(inputs), (output,), attributes))
        return output

    def _fresh(self, word: str) -> str:
        name = self._build.fresh(f"{self._base}/{word}")
        self._build.reserved.add(name)
        return name
