"""From Q and DQ nodes around float operators to integer operators.

Before:  x int8 -> Dequantize -> Conv -> Clip -> Quantize -> y int8
After:   x int8 -> Conv with Requantize -> y int8

Four kinds of steps, repeated until nothing changes; each leaves the computed values as they
were, up to the order of float32 roundings that the fused operator does not have:

- movement: Dequantize moves down and Quantize moves up through operators that only move or
  select elements (movement.py);
- meeting pairs: Quantize of Dequantize vanishes if it changes nothing;
- functions of one quantised tensor become a Lookup (lookup.py), PRelu the larger of two tensors (slopes.py);
- operators whose inputs are all dequantised compute on integers (operators.py).

What none of them covers keeps its Dequantize, float operator and Quantize.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.catalogue.operators import declared
from tilewright.graph import Graph, Node, Tensor
from tilewright.graph.edit import NO_ATTRIBUTES, GraphEditor
from tilewright.importers.qdq.commute import lower_dequantize, raise_quantize
from tilewright.importers.qdq.integer_operators import fuse_operator
from tilewright.importers.qdq.lookup import lookup_instead
from tilewright.importers.qdq.match import dequantize_of, same_parameters
from tilewright.importers.qdq.slopes import fuse_slopes


def fuse_quantized(graph: Graph) -> Graph:
    """The graph with integer operators wherever inputs and output are quantised."""
    if not any(node.operator in ("Quantize", "Dequantize") for node in graph.nodes):
        return graph
    changed = True
    while changed:
        editor = GraphEditor(graph)
        _merge_duplicates(editor)
        changed = False
        while _move(editor):
            changed = True
        changed |= _compute(editor)
        graph = editor.graph()
    return _annotated(graph)


def _move(editor: GraphEditor) -> bool:
    changed = False
    for node in editor.nodes():
        if editor.has(node):
            changed |= lower_dequantize(editor, node)
    for node in reversed(editor.nodes()):
        if editor.has(node) and node.operator == "Quantize":
            changed |= _cancel(editor, node) or raise_quantize(editor, node)
    return changed


def _compute(editor: GraphEditor) -> bool:
    changed = False
    for node in editor.nodes():
        if editor.has(node) and node.operator == "Quantize":
            changed |= lookup_instead(editor, node) or fuse_slopes(editor, node)
    for node in editor.nodes():
        if editor.has(node):
            changed |= fuse_operator(editor, node)
    return changed


def _merge_duplicates(editor: GraphEditor) -> None:
    """Equal Quantize nodes of one tensor become one, so that a tensor has one reader."""
    seen: dict[str, list[Node]] = {}
    for node in editor.nodes():
        if node.operator != "Quantize":
            continue
        others = seen.setdefault(node.inputs[0], [])
        twin = next((other for other in others if _same_quantize(editor, other, node)), None)
        if twin is None or node.outputs[0] in editor.outputs:
            others.append(node)
            continue
        editor.remove(node)
        editor.redirect(node.outputs[0], twin.outputs[0])


def _same_quantize(editor: GraphEditor, one: Node, other: Node) -> bool:
    same_type = editor.tensors[one.outputs[0]].dtype is editor.tensors[other.outputs[0]].dtype
    return same_type and same_parameters(one, other)


def _cancel(editor: GraphEditor, node: Node) -> bool:
    """Remove Quantize of Dequantize with equal parameters and type, which changes nothing."""
    dequantize = dequantize_of(editor, node.inputs[0])
    if dequantize is None or not same_parameters(dequantize, node):
        return False
    stored = dequantize.inputs[0]
    if editor.tensors[stored].dtype is not editor.tensors[node.outputs[0]].dtype:
        return False
    if node.outputs[0] not in editor.outputs:
        editor.remove(node)
        editor.redirect(node.outputs[0], stored)
        return True
    view = replace(node, operator="Reshape", inputs=(stored,), attributes=NO_ATTRIBUTES)
    editor.replace(node, view)
    return True


def _annotated(graph: Graph) -> Graph:
    """Carry the meaning of stored integers through operators that keep it, for headers and reports."""
    tensors = dict(graph.tensors)
    for nodes, direction in ((graph.nodes[::-1], "back"), (graph.nodes, "forth")):
        for node in nodes:
            if not declared(node).keeps_values or len(node.inputs) > 1 or node.epilogue is not None:
                continue
            ends = (node.outputs[0], node.inputs[0]) if direction == "back" else (node.inputs[0], node.outputs[0])
            known, unknown = tensors[ends[0]], tensors[ends[1]]
            if _tells(known) and unknown.quantization is None and unknown.dtype is known.dtype:
                tensors[ends[1]] = replace(unknown, quantization=known.quantization)
    return graph.with_nodes(graph.nodes, tensors)


def _tells(tensor: Tensor) -> bool:
    return tensor.quantization is not None and tensor.quantization.axis is None


def quantized_interface(graph: Graph) -> Graph:
    """The graph without Quantize at its inputs and Dequantize at its outputs; names stay."""
    editor = GraphEditor(graph)
    for name in graph.inputs:
        readers = editor.readers(name)
        stored = [reader for reader in readers if reader.operator == "Quantize"]
        one = bool(stored) and all(_same_quantize(editor, stored[0], reader) for reader in stored)
        if one and len(stored) == len(readers) and not any(r.outputs[0] in editor.outputs for r in stored):
            inner = editor.tensors[stored[0].outputs[0]]
            editor.tensors[name] = replace(inner, name=name)
            for reader in stored:
                editor.remove(reader)
                editor.redirect(reader.outputs[0], name)
    for name in graph.outputs:
        last = editor.producer(name)
        if last is None or last.operator != "Dequantize" or editor.readers(name):
            continue
        _expose(editor, last)
    return editor.graph()


def _expose(editor: GraphEditor, dequantize: Node) -> None:
    """Let the output hold what Dequantize reads."""
    stored, name = dequantize.inputs[0], dequantize.outputs[0]
    producer = editor.producer(stored)
    if producer is None or stored in editor.outputs:
        return
    editor.remove(dequantize)
    editor.tensors[name] = replace(editor.tensors[stored], name=name)
    outputs = tuple(name if output == stored else output for output in producer.outputs)
    editor.replace(producer, replace(producer, outputs=outputs))
    editor.redirect(stored, name)
