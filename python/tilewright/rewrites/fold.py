"""Constant folding with the operators' references."""

from __future__ import annotations

from dataclasses import replace

from tilewright.catalogue.evaluate import evaluate_node
from tilewright.graph import Graph, Tensor, constant
from tilewright.graph.edit import GraphEditor, make_node


def fold_constants(graph: Graph) -> Graph:
    """Compute every node whose inputs are all constant.

    A graph output that is constant is written by a Copy. Raises not_supported as the operators' references do.
    """
    editor = GraphEditor(graph)
    for node in graph.nodes:
        inputs = [editor.tensors[name] for name in node.inputs if name]
        if not inputs or not all(tensor.is_constant for tensor in inputs):
            continue
        to_output = any(name in graph.outputs for name in node.outputs)
        if node.operator == "Copy" and to_output:
            continue
        values = {tensor.name: tensor.data for tensor in inputs if tensor.data is not None}
        results = evaluate_node(node, replace(graph, tensors=editor.tensors), values)
        editor.remove(node)
        for name, data in results.items():
            folded: Tensor = constant(name, data, editor.tensors[name].quantization)
            if name not in graph.outputs:
                editor.tensors[name] = folded
                continue
            source = editor.constant(f"{name}/constant", data)
            editor.redirect(name, source.name)
            editor.add(make_node("Copy", [source.name], [name], name=node.name, sources=node.sources))
    return editor.graph()
