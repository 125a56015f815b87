"""Joined tensors of which only parts are read, as loops write sequences step by step.

Before:  s1 = Concat(h0, zeros[1:]), s2 = Concat(Slice(s1, 0:1), h1, Slice(s1, 2:)), s3 = Concat(Slice(s2, 0:2), h2, ..)
After:   s3 = Concat(h0, h1, h2, ..)
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph import Graph, Node, Tensor
from tilewright.graph.edit import GraphEditor, make_node
from tilewright.operators.attributes import AxisAttributes
from tilewright.operators.movement import SliceAttributes


def take_parts(graph: Graph) -> Graph:
    """The graph in which slices of a Concat read what was joined, where nothing else reads the Concat."""
    editor, written = GraphEditor(graph), set[str]()
    for listed in graph.nodes:
        if listed.operator != "Concat":
            continue
        node = _flattened(editor, editor.current(listed), written)
        if node is None or node.outputs[0] in editor.outputs:
            continue
        cuts = [_cut(editor, reader, _axis(node)) for reader in editor.readers(node.outputs[0])]
        if not cuts or None in cuts:
            continue
        for slice_, first, count in (cut for cut in cuts if cut is not None):
            _replace(editor, node, slice_, first, count, written)
    return editor.graph()


def _axis(node: Node) -> int:
    assert isinstance(node.attributes, AxisAttributes)
    return node.attributes.axis


def _flattened(editor: GraphEditor, node: Node | None, written: set[str]) -> Node | None:
    """The Concat with the inputs of those among its inputs that this rewrite has made."""
    if node is None:
        return None
    inputs: list[str] = []
    for name in node.inputs:
        inner = editor.producer(name)
        joins = inner is not None and name in written and inner.operator == "Concat" and _axis(inner) == _axis(node)
        inputs += inner.inputs if inner is not None and joins else [name]
    return node if tuple(inputs) == node.inputs else editor.replace(node, replace(node, inputs=tuple(inputs)))


def _cut(editor: GraphEditor, reader: Node, axis: int) -> tuple[Node, int, int] | None:
    """A slice on one axis with its first position and extent; None for another reader."""
    given = reader.attributes
    if reader.operator != "Slice" or not isinstance(given, SliceAttributes):
        return None
    source, target = editor.tensors[reader.inputs[0]], editor.tensors[reader.outputs[0]]
    others = [other for other in range(len(source.shape)) if other != axis]
    if given.steps[axis] != 1 or any(source.shape[other] != target.shape[other] for other in others):
        return None
    if any(given.starts[other] or given.steps[other] != 1 for other in others):
        return None
    return reader, given.starts[axis], target.shape[axis]


def _replace(editor: GraphEditor, joined: Node, slice_: Node, first: int, count: int, written: set[str]) -> None:
    """Let what reads a slice read the parts of the Concat."""
    axis, target, at = _axis(joined), slice_.outputs[0], 0
    parts: list[str] = []
    for name in joined.inputs:
        extent = editor.tensors[name].shape[axis]
        low, high = max(first - at, 0), min(first + count - at, extent)
        at += extent
        if low < high:
            parts.append(_part(editor, editor.tensors[name], axis, low, high))
    if len(parts) == 1 and target not in editor.outputs:
        editor.remove(slice_)
        editor.redirect(target, parts[0])
        return
    written.add(target)
    joins = make_node("Concat", parts, [target], name=slice_.name, attributes=joined.attributes, sources=slice_.sources)
    editor.replace(slice_, joins)


def _part(editor: GraphEditor, tensor: Tensor, axis: int, low: int, high: int) -> str:
    """The name of the positions of an axis from ``low`` to ``high``."""
    if (low, high) == (0, tensor.shape[axis]):
        return tensor.name
    kept = tuple(slice(low, high) if other == axis else slice(None) for other in range(len(tensor.shape)))
    if tensor.data is not None:
        return editor.constant(f"{tensor.name}/part", tensor.data[kept].copy()).name
    shape = tuple(high - low if other == axis else extent for other, extent in enumerate(tensor.shape))
    part = editor.variable(tensor, f"{tensor.name}/part", shape=shape)
    starts = tuple(low if other == axis else 0 for other in range(len(shape)))
    producer = editor.producer(tensor.name)
    sources = producer.sources if producer is not None else ()
    given = SliceAttributes(starts, (1,) * len(shape))
    editor.add(make_node("Slice", [tensor.name], [part.name], name=part.name, attributes=given, sources=sources))
    return part.name
