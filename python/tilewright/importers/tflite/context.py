"""The context of the translation of one operator of a .tflite file: its operands, its options, and the graph so far.

A translator gets a ``LiteCall``; it emits nodes of the normal form (docs/reference/graph.md) or raises ``Unsupported``.
Its docstring names the element types that it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from tilewright.catalogue.evaluate import evaluate_node
from tilewright.catalogue.operators import attributes_for
from tilewright.graph import Array, Attributes, DType, Epilogue, Graph, Node, Tensor
from tilewright.importers.construction import Construction, Unsupported, checked, constant_tensor, dtype_named
from tilewright.importers.tflite.multipliers import real_bounds
from tilewright.importers.tflite.records import OperatorRecord, SubgraphRecord, TensorRecord
from tilewright.plan import Quantization

Given = Attributes | dict[str, Any]


@dataclass(frozen=True)
class Shared:
    """State that the operators of a model share while it is translated.

    Attributes:
        graph_inputs: names of the graph's inputs.
        subgraphs: all of the file.
        initial: what variables hold in the first run, by their names.
        translate: translates an operator, as those of the first subgraph are.
        expected: the only values that inputs of the graph may have, by name.
        handles: the names of variables by the numbers of the tensors that stand for them.
        first: for variables, the input of the graph that holds what the run before has left.
        held: for variables, the tensor of the graph that they hold now.
    """

    graph_inputs: Sequence[str]
    subgraphs: Sequence[SubgraphRecord]
    initial: dict[str, Array]
    translate: Callable[[LiteCall], None]
    expected: dict[str, Array] = field(default_factory=dict)
    handles: dict[int, str] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)

    def subgraph_operators(self, index: int) -> Sequence[OperatorRecord]:
        """The operators of a subgraph; Unsupported if the file does not have it."""
        if not 0 < index < len(self.subgraphs):
            raise Unsupported(f"subgraph {index} of {len(self.subgraphs)}", "convert the model again")
        return self.subgraphs[index].operators


@dataclass(frozen=True)
class LiteCall:
    """One operator to translate.

    Attributes:
        tensors: all tensors of the subgraph. A list takes the shapes that are computed, as in loops, whose tensors
            may change their shapes from one iteration to the next.
        names: the names of the tensors in the graph, by number.
        shared: what all operators of the model know.
    """

    node: OperatorRecord
    tensors: Sequence[TensorRecord]
    names: Sequence[str]
    build: Construction
    shared: Shared

    def has(self, index: int) -> bool:
        """Whether an optional input is present."""
        return index < len(self.node.inputs) and self.node.inputs[index] >= 0

    def record(self, index: int) -> TensorRecord:
        """The record of an input in the file; Unsupported if the input is absent."""
        if not self.has(index):
            raise Unsupported(f"input {index} is missing", "convert the model again")
        return self.tensors[self.node.inputs[index]]

    def output(self, index: int = 0) -> TensorRecord:
        """The record of an output in the file."""
        if index >= len(self.node.outputs):
            raise Unsupported(f"output {index} is missing", "convert the model again")
        return self.tensors[self.node.outputs[index]]

    def input(self, index: int) -> Tensor:
        """An input tensor of the graph."""
        self.record(index)
        return self.build.tensor(self.names[self.node.inputs[index]])

    def constant(self, index: int, what: str) -> Array:
        """The elements of an input; Unsupported if they are computed at run time."""
        data = self.record(index).data
        known = data if data is not None else self.build.constants.get(self.names[self.node.inputs[index]])
        if known is None:
            raise Unsupported(f"{what} (input {index}) is computed at run time", f"make {what} a constant")
        return known

    def rearranged(self, *inputs: int) -> LiteCall:
        """The same operator with its inputs in another order; those that it lacks are absent."""
        given = self.node.inputs
        return replace(self, node=replace(self.node, inputs=tuple(given[i] if i < len(given) else -1 for i in inputs)))

    def expect(self, index: int, value: Array, what: str) -> None:
        """Require that an input has this value: now if it is constant, else at run time if it is a graph input."""
        record, name = self.record(index), self.names[self.node.inputs[index]]
        known = record.data if record.data is not None else self.build.constants.get(name)
        if known is not None:
            if not np.array_equal(known.reshape(-1), value):
                raise Unsupported(f"{what} is {known.reshape(-1).tolist()}, the file's tensor has {value.tolist()}")
            return
        if name not in self.shared.graph_inputs or record.shape != value.shape or record.type != value.dtype.name:
            raise Unsupported(f"{what} (input {index}) is computed at run time", f"make {what} a constant")
        self.shared.expected.setdefault(name, value)
        if not np.array_equal(self.shared.expected[name], value):
            raise Unsupported(f"{what} is both {self.shared.expected[name].tolist()} and {value.tolist()}")

    def state(self, key: str, record: TensorRecord, meaning: Quantization | None) -> str:
        """The tensor that a variable holds now; at its first reading, an input of the graph."""
        shared, build = self.shared, self.build
        if key in shared.held:
            return shared.held[key]
        if key not in shared.initial or shared.initial[key].size != prod(record.shape):
            raise Unsupported(
                f"variable '{key}' without an initial value of its shape", "assign a constant in CALL_ONCE"
            )
        name = build.fresh(f"{key}/state")
        order = tuple(range(len(record.shape)))
        build.tensors[name] = checked(Tensor(name, dtype_named(record.type), record.shape, order, None, meaning))
        shared.initial[key] = shared.initial[key].reshape(record.shape)
        shared.first[key] = shared.held[key] = name
        return name

    def kept(self, index: int, shape: Sequence[int] = ()) -> str:
        """The tensor that an input which is kept from run to run holds now; int8 begins with the zero point.

        Args:
            shape: of the graph's tensor, whose elements may stand in another order; that of the file by default.
        """
        record, key = self.record(index), self.names[self.node.inputs[index]]
        if not record.is_variable:
            raise Unsupported(f"input {index} is no variable", "convert the model again")
        if record.is_quantized:
            per_tensor(record)
        zero = record.zero if record.is_quantized and record.type == "int8" else 0
        self.shared.initial.setdefault(key, np.full(record.shape, zero, record.type))
        own = replace(record, shape=tuple(shape) or record.shape)
        name = self.state(key, own, record.quantization)
        if self.build.tensor(name).shape != own.shape:
            raise Unsupported(f"input {index} is kept in another layout by another operator", "convert the model again")
        return name

    def keep(self, index: int, name: str) -> None:
        """Let an input that is kept from run to run hold another tensor."""
        self.shared.held[self.names[self.node.inputs[index]]] = name

    def text(self, option: str) -> str:
        """An option that is a word."""
        return str(self.node.options[option])

    def integer(self, option: str) -> int:
        """An option that is an integer."""
        value = self.node.options[option]
        assert isinstance(value, (int, float)), option
        return int(value)

    def real(self, option: str) -> float:
        """An option that is a number."""
        value = self.node.options[option]
        assert isinstance(value, (int, float)), option
        return float(value)

    def known(self, array: Array) -> None:
        """Give the operator's output, which is known at compile time, as a constant."""
        self.build.take_bytes(array.nbytes)
        self.build.constants[self.names[self.node.outputs[0]]] = array

    def literal(self, array: Array, part: str) -> str:
        """A new constant tensor."""
        name = self.build.fresh(f"{self.names[self.node.outputs[0]]}/{part}")
        self.build.tensors[name] = checked(constant_tensor(name, array))
        self.build.constants[name] = array
        return name

    def emit(
        self,
        operator: str,
        inputs: Sequence[str],
        shape: Sequence[int],
        attributes: Given | None = None,
        *,
        dtype: DType | None = None,
        part: str = "",
        output: int = 0,
        epilogue: Epilogue | None = None,
    ) -> str:
        """Add a node and give the name of its output.

        Args:
            dtype: of the output; that of the first input by default.
            part: empty for the node that writes the operator's output, else a word for an intermediate.
        """
        target = self.names[self.node.outputs[output]]
        name = self.build.fresh(f"{target}/{part}") if part else target
        dtype = self.build.tensor(inputs[0]).dtype if dtype is None else dtype
        meaning = None if part else self.output(output).quantization
        if not part:
            self._agree(operator, shape, dtype, output)
        tensor = Tensor(name, dtype, tuple(shape), tuple(range(len(shape))), None, meaning)
        self._append(operator, inputs, (tensor,), attributes, epilogue)
        return name

    def emit_parts(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: Sequence[tuple[Sequence[int], DType, str]],
        attributes: Given | None = None,
    ) -> tuple[str, ...]:
        """Add a node whose outputs are all intermediates, each of a shape, a type and a word; gives their names."""
        target = self.names[self.node.outputs[0]]
        tensors = [
            Tensor(self.build.fresh(f"{target}/{part}"), dtype, tuple(shape), tuple(range(len(shape))), None, None)
            for shape, dtype, part in outputs
        ]
        self._append(operator, inputs, tensors, attributes, None)
        return tuple(tensor.name for tensor in tensors)

    def _append(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: Sequence[Tensor],
        attributes: Given | None,
        epilogue: Epilogue | None,
    ) -> None:
        """Add a node, or its results where all inputs are constants."""
        given = attributes if isinstance(attributes, Attributes) else attributes_for(operator, attributes or {})
        build, target = self.build, self.names[self.node.outputs[0]]
        tensors = [checked(tensor) for tensor in outputs]
        label = build.fresh_node(outputs[0].name)
        names = tuple(tensor.name for tensor in outputs)
        node = Node(label, operator, tuple(inputs), names, given, epilogue, (target,))
        build.tensors.update({tensor.name: tensor for tensor in tensors})
        operands = {name: build.tensor(name) for name in inputs if name}
        if any(tensor.data is None for tensor in operands.values()):
            build.nodes.append(node)
            return
        for tensor in tensors:
            build.take_bytes(tensor.size_bytes)
        graph = Graph(label, (node,), build.tensors, (), names)
        values = {name: tensor.data for name, tensor in operands.items() if tensor.data is not None}
        for name, array in evaluate_node(node, graph, values).items():
            build.constants[name] = array
            build.tensors[name] = checked(replace(build.tensors[name], data=array))

    def transposed(self, name: str, perm: tuple[int, ...], part: str) -> str:
        """A tensor with its axes in another order."""
        shape = self.build.tensor(name).shape
        return self.emit("Transpose", [name], [shape[axis] for axis in perm], {"perm": perm}, part=part)

    def reshaped(self, name: str, shape: Sequence[int], part: str) -> str:
        """A tensor under another shape."""
        tensor = self.build.tensor(name)
        if prod(shape) != tensor.elements:
            raise Unsupported(f"{list(tensor.shape)} cannot take shape {list(shape)}")
        return name if tensor.shape == tuple(shape) and part else self.emit("Reshape", [name], shape, part=part)

    def activated(self, write: Callable[[str], str], activation: str) -> None:
        """A float operator and its activation; ``write`` emits the operator under a part's name."""
        low, high = real_bounds(activation)
        if (low, high) == (float("-inf"), float("inf")):
            write("")
            return
        inner = write("linear")
        self.emit("Clip", [inner], self.build.tensor(inner).shape, {"minimum": low, "maximum": high})

    def _agree(self, operator: str, shape: Sequence[int], dtype: DType, output: int) -> None:
        record = self.output(output)
        if isinstance(self.tensors, list) and dtype.value == record.type:
            self.tensors[self.node.outputs[output]] = replace(record, shape=tuple(shape))
            return
        if tuple(shape) != record.shape or dtype.value != record.type:
            raise Unsupported(
                f"computes {dtype.value}{list(shape)}, the file says {record.type}{list(record.shape)}",
                "convert the model again, with fixed shapes",
            )


def one_type(call: LiteCall, *indices: int) -> str:
    """The element type of inputs and of the first output; Unsupported if they differ."""
    kinds = {call.record(index).type for index in indices} | {call.output().type}
    if len(kinds) != 1:
        raise Unsupported(f"operands of types {', '.join(sorted(kinds))}")
    return kinds.pop()


_STORED = ("int8", "uint8", "int16", "int32", "int64")
"""Types of integers that stand for real numbers."""


def per_tensor(record: TensorRecord) -> None:
    """Unsupported unless a tensor is quantised with one positive scale and a zero point that its type holds."""
    if len(record.scale) != 1 or record.scale[0] <= 0.0:
        raise Unsupported(f"'{record.name}' is {record.type} without one scale", "quantise the model as a whole")
    if record.type not in _STORED:
        raise Unsupported(f"'{record.name}' is {record.type} with a scale", "convert the model again")
    limits = np.iinfo(record.type)
    if not limits.min <= record.zero <= limits.max:
        raise Unsupported(f"the zero point {record.zero} of '{record.name}' is no {record.type}")


def axis_of(axis: int, rank: int) -> int:
    """An axis, counted from the first one; Unsupported if the tensor does not have it."""
    if not -rank <= axis < rank:
        raise Unsupported(f"axis {axis} of {rank} axes", "convert the model again")
    return axis % rank


def same_scale(call: LiteCall, *records: TensorRecord) -> None:
    """Unsupported unless tensors have the scale and the zero point of the first output."""
    output = call.output()
    if any((record.scale, record.zero_point) != (output.scale, output.zero_point) for record in records):
        raise Unsupported("the scales of input and output differ", "convert the model again")
