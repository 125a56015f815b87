"""Control flow: the operators of branches and of loop bodies, in the order in which they run.

Before:  h, i = WHILE(h, 0) { condition: i < 3; body: h = f(h), i = i + 1 }
After:   h = f(f(f(h)))

How often a loop runs has to be known. A branch of which only the run decides is computed, and so is the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from types import MappingProxyType

from tilewright.importers.construction import Unsupported
from tilewright.importers.tflite.context import LiteCall
from tilewright.importers.tflite.records import OperatorRecord, SubgraphRecord, TensorRecord

MOST_NODES = 4096
"""The most operators that the bodies of a model's loops may become."""
_FIXED = "convert the model again, with loops unrolled"


@dataclass
class _Body:
    """A subgraph that an operator runs, once or several times.

    Attributes:
        call: the operator.
        shared: the names of the subgraph's constants, by number.
    """

    call: LiteCall
    index: int
    subgraph: SubgraphRecord
    shared: dict[int, str] = field(default_factory=dict)
    runs: int = 0

    def run(self, inputs: Sequence[str]) -> list[str]:
        """Translate the operators once; gives the names of what the subgraph computes of its inputs."""
        build, subgraph = self.call.build, self.subgraph
        build.unrolled += len(subgraph.operators)
        if build.unrolled > MOST_NODES:
            raise Unsupported(f"loops of more than {MOST_NODES} operators when unrolled", "shorten the sequence")
        self.runs += 1
        names = [self._name(number, record) for number, record in enumerate(subgraph.tensors)]
        tensors = list(subgraph.tensors)
        for number, name in zip(subgraph.inputs, inputs, strict=True):
            names[number] = name
            tensors[number] = replace(tensors[number], shape=build.tensor(name).shape)
        empty: set[int] = set()
        for node in subgraph.operators:
            self._translate(LiteCall(node, tensors, names, build, self.call.shared), empty)
        return [names[number] for number in subgraph.outputs]

    def _name(self, number: int, record: TensorRecord) -> str:
        build, call = self.call.build, self.call
        if number in self.shared:
            return self.shared[number]
        base = f"{call.names[call.node.outputs[0]]}/{self.index}"
        if record.data is None:
            return build.reserve(f"{base}.{self.runs}/{record.name or number}")
        self.shared[number] = build.reserve(f"{base}/{record.name or number}")
        build.constants[self.shared[number]] = record.data
        return self.shared[number]

    def _translate(self, call: LiteCall, empty: set[int]) -> None:
        node = call.node
        try:
            if _takes_nothing(call):
                empty.update(node.outputs)
                return
            call.shared.translate(replace(call, node=_without(node, empty)))
        except Unsupported as problem:
            where = f"operator {node.index} ({node.operator}) of subgraph {self.index}"
            raise Unsupported(f"{where}: {problem.reason}", problem.help) from None


def _takes_nothing(call: LiteCall) -> bool:
    """Whether a slice has no elements, as the part of a sequence before its first step."""
    if call.node.operator != "SLICE":
        return False
    begins, sizes = (call.constant(index, what).reshape(-1) for index, what in ((1, "the begins"), (2, "the sizes")))
    left = zip(begins, sizes, call.input(0).shape, strict=False)
    return any(size == 0 or (size == -1 and begin == extent) for begin, size, extent in left)


def _without(node: OperatorRecord, empty: set[int]) -> OperatorRecord:
    """The operator without inputs that have no elements."""
    if node.operator != "CONCATENATION" or not empty.intersection(node.inputs):
        return node
    return replace(node, inputs=tuple(number for number in node.inputs if number not in empty))


def _body(call: LiteCall, option: str) -> _Body:
    index = call.integer(option)
    call.shared.subgraph_operators(index)
    subgraph = call.shared.subgraphs[index]
    keeps = sorted({node.operator for node in subgraph.operators} & {"ASSIGN_VARIABLE", "CALL_ONCE", "VAR_HANDLE"})
    if keeps or any(tensor.is_variable for tensor in subgraph.tensors):
        raise Unsupported(f"subgraph {index} keeps a variable", "assign variables outside of loops and branches")
    return _Body(call, index, subgraph)


def _require_interface(call: LiteCall, body: _Body, inputs: int, outputs: int) -> None:
    found = (len(body.subgraph.inputs), len(body.subgraph.outputs))
    if found != (inputs, outputs):
        raise Unsupported(f"subgraph {body.index} has {found[0]} inputs and {found[1]} outputs", "convert again")


def _give(call: LiteCall, output: int, name: str) -> None:
    """Let an output of the operator be a tensor or a constant."""
    build, target = call.build, call.names[call.node.outputs[output]]
    if name in build.constants:
        build.take_bytes(build.constants[name].nbytes)
        build.constants[target] = build.constants[name]
        return
    call.emit("Reshape", [name], build.tensor(name).shape, output=output)


def while_loop(call: LiteCall) -> None:
    """A loop of which it is known how often it runs: its body as often, in a row."""
    count = len(call.node.inputs)
    condition, body = _body(call, "condition"), _body(call, "body")
    _require_interface(call, condition, count, 1)
    _require_interface(call, body, count, count)
    held = [call.input(index).name for index in range(count)]
    while _decided(condition, held):
        held = body.run(held)
    for output, name in enumerate(held):
        _give(call, output, name)


def _decided(condition: _Body, held: Sequence[str]) -> bool:
    (name,) = condition.run(held)
    known = condition.call.build.constants.get(name)
    if known is None:
        raise Unsupported("how often the loop runs is known at run time only", _FIXED)
    _require_one(known.shape)
    return bool(known.reshape(-1)[0])


def _require_one(shape: tuple[int, ...]) -> None:
    """A condition has one element: LiteRT refuses others (if.cc and while.cc)."""
    if prod(shape) != 1:
        raise Unsupported(f"its condition has {prod(shape)} elements instead of one", "convert again")


def if_else(call: LiteCall) -> None:
    """A branch; where only the run decides, both are computed, and one is taken."""
    bodies = _body(call, "then"), _body(call, "else")
    inputs = [call.input(index).name for index in range(1, len(call.node.inputs))]
    for body in bodies:
        _require_interface(call, body, len(inputs), len(call.node.outputs))
    condition = call.input(0)
    _require_one(condition.shape)
    known = call.build.constants.get(condition.name)
    if known is not None:
        for output, name in enumerate(bodies[0 if known.reshape(-1)[0] else 1].run(inputs)):
            _give(call, output, name)
        return
    results = [body.run(inputs) for body in bodies]
    for output, (one, other) in enumerate(zip(*results, strict=True)):
        x, y = call.build.tensor(one), call.build.tensor(other)
        if (x.shape, x.dtype) != (y.shape, y.dtype):
            raise Unsupported(f"branches that give {list(x.shape)} and {list(y.shape)}", "give both one shape")
        call.emit("Where", [condition.name, one, other], x.shape, dtype=x.dtype, output=output)


INLINED: Mapping[str, Callable[[LiteCall], None]] = MappingProxyType({"WHILE": while_loop, "IF": if_else})
