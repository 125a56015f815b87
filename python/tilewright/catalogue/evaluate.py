"""Compute the outputs of a graph, or of one node, by the operators' references."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.base.errors import bad_input
from tilewright.catalogue.operators import operator_of
from tilewright.graph import Array, Graph, Node


def evaluate(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The elements of every tensor of the graph by name: inputs, constants and outputs of nodes.

    Args:
        inputs: an array for each of ``graph.inputs``, in its tensor's shape and dtype.

    Raises:
        TilewrightError (bad input): an input is missing, unknown, or has another shape or dtype.
        TilewrightError (not supported): the reference of an operator refuses a node.
    """
    _check_inputs(graph, inputs)
    values = {name: tensor.data for name, tensor in graph.tensors.items() if tensor.data is not None}
    values.update({name: inputs[name] for name in graph.inputs})
    for node in graph.nodes:
        values.update(evaluate_node(node, graph, values))
    return values


def evaluate_node(node: Node, graph: Graph, values: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of one node from the elements of its inputs, by tensor name.

    Raises:
        TilewrightError (not supported): the operator's reference refuses the node.
        ValueError: a result's shape or dtype is not that of its tensor in the graph, which is a
            mistake in the graph.
    """
    arrays = [values[name] if name else None for name in node.inputs]
    results = operator_of(node, graph).reference(node, graph, arrays)
    outputs = {}
    for name, result in zip(node.outputs, results, strict=True):
        tensor = graph.tensor(name)
        if result.shape != tensor.shape or result.dtype != tensor.dtype.numpy:
            raise ValueError(
                f"node '{node.name}' ({node.operator}) gives {result.dtype}{list(result.shape)}; "
                f"tensor '{name}' is {tensor.dtype.value}{list(tensor.shape)}"
            )
        outputs[name] = result
    return outputs


def _check_inputs(graph: Graph, inputs: Mapping[str, Array]) -> None:
    for name in inputs:
        if name not in graph.inputs:
            raise bad_input("unknown-input", f"'{name}' is not an input", help="inputs: " + ", ".join(graph.inputs))
    for name in graph.inputs:
        if name not in inputs:
            raise bad_input("missing-input", f"no array for input '{name}'")
        tensor, array = graph.tensor(name), inputs[name]
        if array.shape != tensor.shape or array.dtype != tensor.dtype.numpy:
            raise bad_input(
                "input-type",
                f"input '{name}' is {tensor.dtype.value}{list(tensor.shape)}, "
                f"the array {array.dtype}{list(array.shape)}",
            )
