"""From a .tflite file as read to a graph in normal form, with quantised operators in LiteRT's arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from tilewright.graph import Array, Graph, Tensor, identity_order
from tilewright.graph.edit import GraphEditor, make_node, untaken
from tilewright.importers.construction import Construction, Unsupported, checked, dtype_named
from tilewright.importers.problems import Problem, untranslatable
from tilewright.importers.tflite.context import LiteCall, Shared
from tilewright.importers.tflite.elementwise import ELEMENTWISE
from tilewright.importers.tflite.inlined import INLINED
from tilewright.importers.tflite.lstm import LSTM
from tilewright.importers.tflite.more_elements import MORE_ELEMENTS
from tilewright.importers.tflite.movement import MOVEMENT
from tilewright.importers.tflite.products import PRODUCTS
from tilewright.importers.tflite.quantized_more import QUANTIZED_MORE
from tilewright.importers.tflite.rearranging import REARRANGING
from tilewright.importers.tflite.records import LiteModel, OperatorRecord, SubgraphRecord, TensorRecord
from tilewright.importers.tflite.schema import CIRCULAR_BUFFER
from tilewright.importers.tflite.sequences import SEQUENCES
from tilewright.importers.tflite.svdf import SVDF
from tilewright.importers.tflite.variables import VARIABLES, initial_values, states_of

TRANSLATORS: Mapping[str, Callable[[LiteCall], None]] = MappingProxyType(
    {
        **PRODUCTS,
        **MOVEMENT,
        **ELEMENTWISE,
        **VARIABLES,
        **SVDF,
        **LSTM,
        **REARRANGING,
        **MORE_ELEMENTS,
        **QUANTIZED_MORE,
        **INLINED,
        **SEQUENCES,
    }
)
_KEEPS = ("SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM")
_WAY_OUT = "replace the operator by supported ones (docs/reference/litert.md)"


def convert_lite(model: LiteModel) -> Graph:
    """The model's first subgraph as a graph.

    Raises:
        TilewrightError (not supported): every operator that cannot be translated, with its number and output.
    """
    subgraph = model.subgraphs[0]
    names = names_of(subgraph)
    build = Construction(0, False, _constants(subgraph, names))
    build.reserved.update(names)
    problems: list[Problem] = []
    unknown = _add_inputs(subgraph, names, build, problems)
    shared = Shared([names[number] for number in subgraph.inputs], model.subgraphs, initial_values(model), _translate)
    for node in subgraph.operators:
        if unknown.intersection(node.inputs) and node.operator in TRANSLATORS:
            unknown.update(node.outputs)
            continue
        try:
            _translate(LiteCall(node, subgraph.tensors, names, build, shared))
        except Unsupported as problem:
            problems.append(Problem(_place(node, names), problem.reason, problem.help))
            unknown.update(node.outputs)
    if problems:
        raise untranslatable(model.file, problems)
    for name, value in shared.expected.items():
        build.tensors[name] = replace(build.tensors[name], required=tuple(value.reshape(-1).tolist()))
    return _finished(model, subgraph, names, build, shared)


def names_of(subgraph: SubgraphRecord) -> list[str]:
    """A name for every tensor: the file's, made unique."""
    taken: set[str] = set()
    names = []
    for number, tensor in enumerate(subgraph.tensors):
        name = untaken(tensor.name or f"tensor_{number}", taken)
        taken.add(name)
        names.append(name)
    return names


def _constants(subgraph: SubgraphRecord, names: list[str]) -> dict[str, Array]:
    return {
        name: tensor.data
        for name, tensor in zip(names, subgraph.tensors, strict=True)
        if tensor.data is not None and not tensor.is_variable
    }


def _add_inputs(subgraph: SubgraphRecord, names: list[str], build: Construction, problems: list[Problem]) -> set[int]:
    """Add the graph's inputs; gives the numbers of those that cannot be taken."""
    unknown = set()
    for number in subgraph.inputs:
        record = subgraph.tensors[number]
        try:
            build.tensors[names[number]] = checked(_variable(names[number], record))
        except Unsupported as problem:
            problems.append(Problem(f"input '{names[number]}'", problem.reason, problem.help))
            unknown.add(number)
    return unknown


def _variable(name: str, record: TensorRecord) -> Tensor:
    order = identity_order(len(record.shape))
    return Tensor(name, dtype_named(record.type), record.shape, order, None, record.quantization)


def _translate(call: LiteCall) -> None:
    translate = TRANSLATORS.get(call.node.operator)
    if translate is None:
        raise Unsupported(f"operator {call.node.operator} is not supported", _WAY_OUT)
    touched = (*(number for number in call.node.inputs if number >= 0), *call.node.outputs)
    if any(0 in call.tensors[number].shape for number in touched):
        raise Unsupported("a tensor without elements", "convert the model again, with fixed shapes")
    written = call.node.operator != CIRCULAR_BUFFER and any(call.tensors[n].is_variable for n in call.node.outputs)
    kept = any(
        call.tensors[number].is_variable and call.names[number] not in call.build.tensors
        for number in call.node.inputs
        if number >= 0
    )
    if written or (kept and call.node.operator not in _KEEPS):
        raise Unsupported("a tensor that is kept from run to run")
    translate(call)


def _place(node: OperatorRecord, names: list[str]) -> str:
    output = f" of '{names[node.outputs[0]]}'" if node.outputs else ""
    return f"operator {node.index} ({node.operator}){output}"


def _finished(
    model: LiteModel, subgraph: SubgraphRecord, names: list[str], build: Construction, shared: Shared
) -> Graph:
    """The graph; outputs that are inputs, constants or listed twice become copies."""
    inputs = [names[number] for number in subgraph.inputs]
    outputs: list[str] = []
    for number in subgraph.outputs:
        name = names[number]
        if name in inputs or name in build.constants or name in outputs:
            name = _copied(name, build)
        outputs.append(name)
    try:
        states = states_of(shared, build, lambda name: _copied(name, build), [*inputs, *outputs])
    except Unsupported as problem:
        raise untranslatable(model.file, [Problem("variables", problem.reason, problem.help)]) from None
    inputs += [state.input for state in states]
    outputs += [state.output for state in states]
    name = subgraph.name or Path(model.file).stem
    graph = Graph(name, tuple(build.nodes), build.tensors, tuple(inputs), tuple(outputs), states=tuple(states))
    return GraphEditor(graph).graph()


def _copied(name: str, build: Construction) -> str:
    source = build.tensor(name)
    output = build.fresh(f"{name}/output")
    build.tensors[output] = Tensor(output, source.dtype, source.shape, source.order, None, source.quantization)
    build.nodes.append(make_node("Copy", [name], [output], name=build.fresh_node(output)))
    return output
