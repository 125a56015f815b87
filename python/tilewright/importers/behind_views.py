"""Biases, factors and clips that an exporter writes behind a view move in front of the view, to where they fold.

Before:  Conv(x, w) -> Squeeze -> Add(bias[C]) -> Relu       (Conv1D of tf2onnx; Dense on three axes likewise)
After:   Conv(x, w) -> Add(bias[1, C, 1, 1]) -> Relu -> Squeeze
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.catalogue.operators import declared
from tilewright.graph import Array, DType, Graph, Node
from tilewright.graph.edit import GraphEditor
from tilewright.importers.qdq.match import real_constant
from tilewright.operators.movement import TransposeAttributes
from tilewright.operators.operator import Affine
from tilewright.operators.unary import ClipAttributes


def biases_before_views(graph: Graph) -> Graph:
    """The graph with constants along the channels, and clips, right behind the Conv or MatMul whose view they follow.

    Float32 nodes only. The constants may be dequantised ones, which become float32. A view that something else reads
    too stays where it is.
    """
    editor = GraphEditor(graph)
    for listed in graph.nodes:
        node = editor.current(listed)
        while node is not None and (view := _view_before(editor, node)) is not None:
            node = _swapped(editor, view, node)
    return editor.graph()


def _view_before(editor: GraphEditor, node: Node) -> Node | None:
    """The view that feeds a bias, factor or clip, where only views and other such nodes lie behind the weights."""
    if node.epilogue is not None or editor.tensors[node.outputs[0]].dtype is not DType.FLOAT32:
        return None
    if _operand(editor, node) is None:
        return None
    view = editor.producer(node.inputs[_position(editor, node)])
    if view is None or not declared(view).is_view or view.operator == "Copy":
        return None
    alone = editor.sole_reader(view.outputs[0]) is node and editor.sole_reader(view.inputs[0]) is view
    return view if alone and _is_behind_weights(editor, view.inputs[0]) else None


def _is_behind_weights(editor: GraphEditor, name: str) -> bool:
    """Whether a tensor is the output of an operator with weights, perhaps with views, constants and clips behind it."""
    node = editor.producer(name)
    while node is not None and node.epilogue is None:
        if declared(node).weights_axis is not None:
            return True
        if declared(node).is_view:
            node = editor.producer(node.inputs[0])
        elif _operand(editor, node) is not None:
            node = editor.producer(node.inputs[_position(editor, node)])
        else:
            return False
    return False


def _operand(editor: GraphEditor, node: Node) -> Array | None:
    """The constant of a bias or factor, with the extents of its tensor; empty for a clip; None for other nodes."""
    if isinstance(node.attributes, ClipAttributes):
        return np.zeros(0, np.float32)
    if declared(node).affine is Affine.NONE or len(node.inputs) != 2:
        return None
    return _constant(editor, node.inputs[1 - _position(editor, node)])


def _position(editor: GraphEditor, node: Node) -> int:
    """Which input is computed at run time."""
    constant = [_constant(editor, name) is not None for name in node.inputs]
    return 1 if len(constant) > 1 and constant[0] else 0


def _constant(editor: GraphEditor, name: str) -> Array | None:
    """The float32 elements of a constant or of a dequantised constant."""
    real = real_constant(editor, name) if editor.tensors[name].dtype is DType.FLOAT32 else None
    return None if real is None else real.astype(np.float32)


def _swapped(editor: GraphEditor, view: Node, node: Node) -> Node | None:
    """Run the node on the view's input, and the view behind it.

    None, and no change, where the node's constant follows more than one axis of the view's input.
    """
    before, output = editor.tensors[view.inputs[0]], editor.tensors[node.outputs[0]]
    position = _position(editor, node)
    if output.shape != editor.tensors[view.outputs[0]].shape:
        return None
    inputs = [before.name]
    if not isinstance(node.attributes, ClipAttributes):
        values = _operand(editor, node)
        moved = None if values is None else _through(values, view, before.shape, output.shape)
        if moved is None:
            return None
        inputs.insert(1 - position, editor.constant(f"{output.name}/before_view", moved).name)
    inner = editor.variable(before, f"{output.name}/before_view")
    editor.remove(node)
    editor.replace(view, replace(view, inputs=(inner.name,), outputs=node.outputs))
    return editor.add(replace(node, inputs=tuple(inputs), outputs=(inner.name,)))


def _through(values: Array, view: Node, before: tuple[int, ...], after: tuple[int, ...]) -> Array | None:
    """A constant that broadcasts to the view's output, as one that broadcasts to its input along at most one axis."""
    whole = np.broadcast_to(values, after)
    if isinstance(view.attributes, TransposeAttributes):
        whole = np.transpose(whole, np.argsort(view.attributes.perm))
    whole = whole.reshape(before)
    for axis in range(len(before)):
        line = whole[tuple(slice(None) if other == axis else slice(1) for other in range(len(before)))]
        if np.array_equal(np.broadcast_to(line, before), whole):
            return np.ascontiguousarray(line)
    return None
