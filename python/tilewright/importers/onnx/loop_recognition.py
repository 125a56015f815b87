"""A Loop taken apart: whether its iterations are the steps of RNN, GRU or LSTM, and what these read.

Loop(98, true, 0, h) { x = Gather(xs, 97 - t), .. }    reads xs from step 97 backwards, 98 times
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright.graph import Array, DType
from tilewright.importers.construction import Construction, Unsupported
from tilewright.importers.onnx.loop_body import BodyValues
from tilewright.importers.onnx.loop_cells import STATE, Cell, cell_of, zero_where_masked
from tilewright.importers.onnx.loop_values import Atoms, NoCell, Sum
from tilewright.importers.onnx.source import SourceGraph, SourceNode

_MOST_STEPS = 65536
_MOST_COMPUTED = 1 << 14
"""The most nodes that are computed to find out what each iteration counts: a quarter of a millisecond each."""


@dataclass(frozen=True)
class StepSequence:
    """Entries that the iterations read from a tensor [step, batch, width], from its first one on or backwards."""

    tensor: str
    first: int
    step: int


@dataclass(frozen=True)
class LoopCell:
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
    sequences: Mapping[str, StepSequence]
    states: Mapping[int, int]
    initial: tuple[str, ...]
    seen: tuple[bool, ...]
    counted: Mapping[int, Array]


class LoopInParts:
    """One Loop, taken apart.

    Attributes:
        nodes: the nodes of the body, by the names of what they write.
        carried: the names of what an iteration gets from the one before.
        results: the names of what it hands on, in the same order.
        outside: carried names that stay what they are, with the names of their first values.
        counting: names whose values follow from the number of the iteration alone.
    """

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

    def recognised(self) -> LoopCell:
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
            return LoopCell(
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
        """The outputs of a node whose inputs are constants, or values of an iteration that are known."""
        inputs, outputs = [], []
        for name in node.inputs:
            array = values.get(name)
            inputs.append(self._named(self.known(name) if array is None else array) if name else "")
        for name in node.outputs:
            outputs.append(self.build.reserve(f"{self.node.name}/{name}") if name else "")
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
        name = self.build.reserve(f"{self.node.name}/value")
        self.build.constants[name] = array
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
        most = min(_MOST_STEPS, _MOST_COMPUTED // max(len(counting), 1))
        if self.node.inputs[0] and trips > most:
            raise NoCell
        while len(found) < trips:
            values = {self.body.inputs[0]: np.asarray(len(found), np.int64), self.body.inputs[1]: going, **numbers}
            for node in counting:
                values.update(self._computed(node, values))
            found.append(values)
            numbers = {name: values[self.results[at]] for name, at in self._numbers().items()}
            if not values[self.body.outputs[0]].any():
                break
            if len(found) > most:
                raise NoCell
        if len(found) < 2:
            raise NoCell
        return found

    def _trips(self) -> int:
        if not self.node.inputs[0]:
            return _MOST_STEPS + 1
        trips = self.build.constants.get(self.node.inputs[0])
        if (
            trips is None
            or trips.size != 1
            or any(self.results[at] not in self.counting for at in self._numbers().values())
        ):
            raise NoCell
        return int(trips.reshape(-1)[0])

    def _sequences(self, values: Sequence[Mapping[str, Array]]) -> dict[str, StepSequence]:
        """The entries that each Gather of the body reads from a tensor outside, by the name of its result."""
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
            found[node.outputs[0]] = StepSequence(tensor.name, numbers[0], step)
        return found

    def _width(self, item: StepSequence) -> int:
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

    def _require_types(self, cell: Cell, sequences: Mapping[str, StepSequence]) -> None:
        wanted = {cell.x: DType.FLOAT32} | ({cell.mask: DType.BOOL} if cell.mask else {})
        for name, dtype in wanted.items():
            if self.build.tensors[sequences[name].tensor].dtype is not dtype:
                raise NoCell
        if cell.mask and (sequences[cell.mask].step, self._width(sequences[cell.mask])) != (1, 1):
            raise NoCell
