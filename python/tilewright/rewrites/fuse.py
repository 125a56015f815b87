"""Float operators that vanish into their producer or reader: factors, biases, clips, pads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.catalogue.operators import declared
from tilewright.graph import Array, Clamp, DType, Graph, Node, Tensor
from tilewright.graph.edit import GraphEditor, joined_sources, with_attributes
from tilewright.operators.conv import ConvAttributes
from tilewright.operators.movement import PadAttributes, TransposeAttributes
from tilewright.operators.operator import Affine
from tilewright.operators.unary import ClipAttributes


def fold_factors_and_biases(graph: Graph) -> Graph:
    """Mul, Add and Sub of per-channel constants after Conv and MatMul go into weights and bias.

    Before:  Conv(x, w, b) -> Mul(s) -> Add(t)      (BatchNormalization is such a pair)
    After:   Conv(x, w * s, b * s + t)
    """
    editor = GraphEditor(graph)
    for node in editor.nodes():
        if declared(node, editor.extensions).weights_axis is not None:
            while (folded := _fold_reader(editor, node)) is not None:
                node = folded
    return editor.graph()


def _fold_reader(editor: GraphEditor, node: Node) -> Node | None:
    output = editor.tensors[node.outputs[0]]
    reader = editor.sole_reader(output.name)
    if node.epilogue is not None or output.dtype is not DType.FLOAT32:
        return None
    if reader is None or reader.epilogue is not None:
        return None
    affine = declared(reader, editor.extensions).affine
    if affine is Affine.NONE:
        return None
    position = reader.inputs.index(output.name)
    other = editor.tensors[reader.inputs[1 - position]]
    channel_axis = declared(node, editor.extensions).channel_axis % len(output.shape)
    values = per_channel(channel_axis, output, other)
    if values is None or editor.tensors[reader.outputs[0]].shape != output.shape:
        return None
    if affine is Affine.DIFFERENCE:
        if position == 1:
            return None
        values = -values
    fold = _with_factor if affine is Affine.FACTOR else _with_bias
    folded = fold(editor, node, values)
    if folded is None:
        return None
    editor.remove(reader)
    sources = joined_sources(node, reader)
    return editor.replace(node, replace(folded, outputs=reader.outputs, sources=sources))


def per_channel(axis: int, output: Tensor, other: Tensor) -> Array | None:
    """Float64 values for each index of an output's axis, if the other operand is constant along all other axes."""
    if other.data is None or len(other.shape) > len(output.shape):
        return None
    shape = (1,) * (len(output.shape) - len(other.shape)) + other.shape
    if any(extent != 1 for position, extent in enumerate(shape) if position != axis):
        return None
    return np.broadcast_to(other.data.reshape(-1).astype(np.float64), (output.shape[axis],))


def _bias_values(editor: GraphEditor, node: Node) -> Array | None:
    """Float64 bias, zero for a node without bias; None if the bias is computed at run time."""
    if len(node.inputs) < 3 or not node.inputs[2]:
        return np.zeros(())
    data = editor.tensors[node.inputs[2]].data
    return None if data is None else data.astype(np.float64)


def _with_bias(editor: GraphEditor, node: Node, values: Array) -> Node | None:
    bias = _bias_values(editor, node)
    if bias is None:
        return None
    name = editor.constant(f"{node.outputs[0]}/bias", (bias + values).astype(np.float32)).name
    return replace(node, inputs=(*node.inputs[:2], name))


def _with_factor(editor: GraphEditor, node: Node, values: Array) -> Node | None:
    weights, bias = editor.tensors[node.inputs[1]], _bias_values(editor, node)
    weights_axis = declared(node, editor.extensions).weights_axis
    if weights.data is None or bias is None or weights_axis is None:
        return None
    own_axis = weights_axis(node)
    if own_axis is None:
        return None
    axis = own_axis % len(weights.shape)
    along = values.reshape([-1 if position == axis else 1 for position in range(len(weights.shape))])
    scaled = (weights.data.astype(np.float64) * along).astype(np.float32)
    inputs = [node.inputs[0], editor.constant(f"{node.outputs[0]}/weights", scaled).name]
    if len(node.inputs) > 2 and node.inputs[2]:
        inputs.append(editor.constant(f"{node.outputs[0]}/bias", (bias * values).astype(np.float32)).name)
    return replace(node, inputs=tuple(inputs))


def fuse_clamps(graph: Graph) -> Graph:
    """A float Clip becomes the Clamp epilogue of its producer, if no other node reads the producer's output."""
    editor = GraphEditor(graph)
    for node in editor.nodes():
        if isinstance(node.attributes, ClipAttributes) and node.epilogue is None:
            _fuse_clamp(editor, _raised(editor, node))
    return editor.graph()


def _raised(editor: GraphEditor, clip: Node) -> Node:
    """The Clip, moved in front of the views that lie between its producer and the Clip."""
    while (view := editor.producer(clip.inputs[0])) is not None and declared(view, editor.extensions).is_view:
        if editor.sole_reader(clip.inputs[0]) is not clip or editor.producer(view.inputs[0]) is None:
            break
        if editor.sole_reader(view.inputs[0]) is not view:
            break
        before = editor.tensors[view.inputs[0]]
        inner = editor.variable(before, f"{before.name}/clipped")
        target = clip.outputs
        clip = editor.replace(clip, replace(clip, inputs=(before.name,), outputs=(inner.name,)))
        editor.replace(view, replace(view, inputs=(inner.name,), outputs=target))
    return clip


def _fuse_clamp(editor: GraphEditor, clip: Node) -> None:
    producer = editor.producer(clip.inputs[0])
    if producer is None or not declared(producer, editor.extensions).takes_clamp:
        return
    if editor.sole_reader(clip.inputs[0]) is not clip or editor.tensors[clip.outputs[0]].dtype is not DType.FLOAT32:
        return
    given = clip.given(ClipAttributes)
    low, high = given.minimum, given.maximum
    if isinstance(producer.epilogue, Clamp):
        first = producer.epilogue
        clamp = Clamp(min(max(first.minimum, low), high), min(max(first.maximum, low), high))
    elif producer.epilogue is None:
        clamp = Clamp(low, high)
    else:
        return
    editor.remove(clip)
    sources = joined_sources(producer, clip)
    editor.replace(producer, replace(producer, outputs=clip.outputs, epilogue=clamp, sources=sources))


def fold_pads(graph: Graph) -> Graph:
    """A Pad of spatial axes becomes padding of the Conv behind it, if its value stands for 0 in the Conv.

    Views between the two go in front of the Pad, as for the causal convolutions of Keras:

    Before:  x[1, 16, 3] -> Pad(2 before) -> [1, 18, 3] -> Transpose, Unsqueeze -> [1, 3, 1, 18] -> Conv
    After:   x[1, 16, 3] -> Transpose, Unsqueeze -> [1, 3, 1, 16] -> Conv with pads (0, 2, 0, 0)
    """
    editor = GraphEditor(graph)
    for node in editor.nodes():
        given = node.attributes
        if not isinstance(given, ConvAttributes):
            continue
        pad = _pad_before(editor, node)
        if pad is None or pad.given(PadAttributes).value != given.x_zero_point:
            continue
        widths, rank = pad.given(PadAttributes).pads, len(editor.tensors[pad.inputs[0]].shape)
        if any(widths[axis] or widths[axis + rank] for axis in (0, 1)):
            continue
        spatial = (*widths[2:rank], *widths[rank + 2 :])
        pads = tuple(own + added for own, added in zip(given.pads, spatial, strict=True))
        folded = replace(node, inputs=(pad.inputs[0], *node.inputs[1:]), sources=joined_sources(pad, node))
        editor.replace(node, with_attributes(folded, pads=pads))
    return editor.graph()


def _pad_before(editor: GraphEditor, node: Node) -> Node | None:
    """The Pad that feeds a node, behind the views that lay between the two; None if there is no Pad."""
    views: list[Node] = []
    before = editor.producer(node.inputs[0])
    while before is not None and declared(before, editor.extensions).is_view:
        views.append(before)
        before = editor.producer(before.inputs[0])
    if before is None or not isinstance(before.attributes, PadAttributes):
        return None
    pad: Node | None = before
    for view in reversed(views):
        pad = None if pad is None else _behind_view(editor, pad, view)
    return pad


def _behind_view(editor: GraphEditor, pad: Node, view: Node) -> Node | None:
    """Let the view read what the Pad reads, and the Pad what the view writes; None where the view mixes axes."""
    if editor.sole_reader(pad.outputs[0]) is not view or view.outputs[0] in editor.outputs:
        return None
    source, padded, seen = (editor.tensors[name] for name in (pad.inputs[0], pad.outputs[0], view.outputs[0]))
    axes = _axes_through(view, padded.shape, seen.shape)
    if axes is None:
        return None
    widths, rank = pad.given(PadAttributes).pads, len(padded.shape)
    begins, ends, shape = [0] * len(axes), [0] * len(axes), list(seen.shape)
    for target, axis in enumerate(axes):
        if axis is not None:
            begins[target], ends[target], shape[target] = widths[axis], widths[axis + rank], source.shape[axis]
    inner = editor.variable(seen, f"{seen.name}/unpadded", shape=tuple(shape))
    editor.remove(pad)
    editor.replace(view, replace(view, inputs=(source.name,), outputs=(inner.name,)))
    moved = with_attributes(replace(pad, inputs=(inner.name,), outputs=(seen.name,)), pads=(*begins, *ends))
    return editor.add(moved)


def _axes_through(view: Node, source: tuple[int, ...], target: tuple[int, ...]) -> list[int | None] | None:
    """For each axis of a view's output the axis of its input, None for a new axis of extent 1.

    None for a Reshape that does more than to add and to drop axes of extent 1.
    """
    if isinstance(view.attributes, TransposeAttributes):
        return list(view.attributes.perm)
    long = [axis for axis, extent in enumerate(source) if extent > 1]
    if [source[axis] for axis in long] != [extent for extent in target if extent > 1]:
        return None
    following = iter(long)
    return [next(following) if extent > 1 else None for extent in target]
