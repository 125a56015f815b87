"""Random ONNX models that grow operator by operator; ONNX's reference evaluator says what each tensor holds."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnx.reference
import onnx.shape_inference
from onnx import helper, numpy_helper
from tilewright.graph import Array

OPSET = 21
MOST_ELEMENTS = 4000
_MOST_RANK = 5
_LARGEST = 1e4


class Unfit(Exception):
    """An operator that cannot come next: a shape that does not suit, or values that grow too large."""


@dataclass
class RandomModel:
    """A model under construction with the values that its tensors have for its inputs."""

    chance: random.Random
    numbers: np.random.Generator
    values: dict[str, Array] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def input(self, array: Array) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs.append(name)
        self.values[name] = array
        return name

    def constant(self, array: Array | Sequence[int]) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = self.values[name] = np.asarray(array)
        return name

    def add(self, operator: str, *inputs: str, outputs: int = 1, **attributes: object) -> str:
        """The first output of a new node. Raises Unfit if it cannot be computed or is too large."""
        names = [f"t{len(self.nodes)}" + (f"_{number}" if number else "") for number in range(outputs)]
        if any(value == [] for value in attributes.values()):
            raise Unfit("an empty list has no type")
        node = helper.make_node(operator, inputs, names, name=f"n{len(self.nodes)}", **attributes)
        for name, array in zip(names, self._computed(node), strict=True):
            if array.size == 0 or array.size > MOST_ELEMENTS or array.ndim > _MOST_RANK:
                raise Unfit(f"shape {array.shape}")
            if array.dtype.kind == "f" and not np.abs(array).max() < _LARGEST:
                raise Unfit("values")
            self.values[name] = array
        self.nodes.append(node)
        return names[0]

    def _computed(self, node: onnx.NodeProto) -> list[Array]:
        infos = [onnx.ValueInfoProto(name=name) for name in dict.fromkeys(node.input) if name]
        graph = helper.make_graph([node], "node", infos, [onnx.ValueInfoProto(name=name) for name in node.output])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        feeds = {info.name: self.values[info.name] for info in infos}
        try:
            with np.errstate(all="ignore"):
                arrays = [np.asarray(array) for array in onnx.reference.ReferenceEvaluator(model).run(None, feeds)]
        except Exception as error:  # the evaluator raises whatever NumPy does
            raise Unfit(str(error)) from error
        self._check_shapes(model, arrays)
        return arrays

    def _check_shapes(self, model: onnx.ModelProto, arrays: Sequence[Array]) -> None:
        """The evaluator's pooling with uneven padding has other shapes than ONNX's inference says."""
        for info in model.graph.input:
            info.CopyFrom(self._info(info.name))
        inferred = onnx.shape_inference.infer_shapes(model).graph.output
        for info, array in zip(inferred, arrays, strict=True):
            dims = info.type.tensor_type.shape.dim
            known = info.type.tensor_type.HasField("shape") and all(dim.HasField("dim_value") for dim in dims)
            if known and [dim.dim_value for dim in dims] != list(array.shape):
                raise Unfit("the evaluator contradicts ONNX's shape inference")

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.values[name].shape)

    def pick(self, fits: Callable[[str], bool]) -> str:
        """One of the tensors that are no constants, the younger ones more often. Raises Unfit."""
        names = [name for name in self.values if name not in self.constants and fits(name)]
        if not names:
            raise Unfit("no operand")
        return self.chance.choice([*names, *names[-2:], names[-1]])

    def normal(self, shape: Sequence[int]) -> Array:
        return self.numbers.standard_normal(tuple(shape)).astype(np.float32)

    def integers(self, low: int, high: int, shape: Sequence[int], dtype: str = "int8") -> Array:
        """Both ends included."""
        return self.numbers.integers(low, high, tuple(shape), dtype=np.dtype(dtype), endpoint=True)

    def axis(self, name: str) -> int:
        rank = len(self.shape(name))
        if rank == 0:
            raise Unfit("no axes")
        return self.chance.randrange(-rank, rank)

    def proto(self) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "random",
            [self._info(name) for name in self.inputs],
            [self._info(name) for name in self.outputs],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)

    def _info(self, name: str) -> onnx.ValueInfoProto:
        array = self.values[name]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


Step = Callable[[RandomModel], None]


def grown(model: RandomModel, steps: Sequence[Step], count: int) -> RandomModel:
    """The model with ``count`` more operators; conversions around an operator are not counted.

    Outputs are all tensors that no node reads, and for some seeds one more.
    """
    for _ in range(60 * count):
        before = (dict(model.values), list(model.nodes), dict(model.constants))
        try:
            model.chance.choice(steps)(model)
        except Unfit:
            model.values, model.nodes, model.constants = before
            continue
        count -= 1
        if count == 0:
            break
    read = {name for node in model.nodes for name in node.input}
    made = [name for node in model.nodes for name in node.output]
    extra = [model.chance.choice(made)] if model.chance.random() < 0.3 else []
    model.outputs = list(dict.fromkeys([*(name for name in made if name not in read), *extra]))
    return model
