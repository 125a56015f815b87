"""Multiply-accumulates of the nodes of a graph, as the loop nests of their operators count them."""

from __future__ import annotations

from tilewright.catalogue.operators import operator_of
from tilewright.graph import Graph


def macs_of_nodes(graph: Graph) -> dict[str, int]:
    """By name of the node: its multiply-accumulates in one inference, with those of padding.

    Nodes that read nothing but constants are computed before any inference, and left out.
    """
    constant = {name for name, tensor in graph.tensors.items() if tensor.is_constant}
    found = {}
    for node in graph.nodes:
        read = [name for name in node.inputs if name]
        if read and constant.issuperset(read):
            constant.update(node.outputs)
        else:
            found[node.name] = operator_of(node, graph).nest(node, graph).macs
    return found
