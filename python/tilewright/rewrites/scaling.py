"""Constants that scale or shift what a convolution or product reads go into its weights and bias.

Before:  Mul(x, s) -> Add(t) -> Conv(w, b)                     (Rescaling and Normalization of Keras)
After:   Conv(x, w * s, b + sum of w * t)                      where the Conv has padding, Conv(Add(x, t / s), w * s)
Before:  Concat(Conv(..), Conv(..)) -> Mul(s) -> Add(t)        (BatchNormalization behind a Concat)
After:   Concat(Conv(..) -> Mul -> Add, Conv(..) -> Mul -> Add), whose constants fold into the convolutions
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.catalogue.operators import declared
from tilewright.graph import Array, DType, Graph, Node
from tilewright.graph.edit import GraphEditor, joined_sources, make_node
from tilewright.operators.attributes import AxisAttributes
from tilewright.operators.conv import ConvAttributes
from tilewright.operators.matmul import MatMulAttributes
from tilewright.operators.movement import TransposeAttributes
from tilewright.operators.operator import Affine
from tilewright.rewrites.fuse import per_channel


def fold_scaling(graph: Graph) -> Graph:
    """Mul, Add and Sub of constants before float32 Conv and MatMul, and behind Concat, moved to where they fold."""
    editor = GraphEditor(graph)
    for listed in graph.nodes:
        node = editor.current(listed)
        if node is not None and declared(node, editor.extensions).affine is not Affine.NONE:
            _before_concat(editor, node)
    for listed in graph.nodes:
        node = editor.current(listed)
        while node is not None and isinstance(node.attributes, (ConvAttributes, MatMulAttributes)):
            node = _folded(editor, node)
    return editor.graph()


def _folded(editor: GraphEditor, node: Node) -> Node | None:
    """The Conv or MatMul that reads what the constant operator before it reads; None where nothing can fold."""
    _in_front_of_transpose(editor, node, node.inputs[0])
    before = editor.producer(node.inputs[0])
    weights = editor.tensors[node.inputs[1]]
    if before is None or before.epilogue is not None or node.epilogue is not None:
        return None
    if weights.data is None or weights.dtype is not DType.FLOAT32 or editor.sole_reader(before.outputs[0]) is not node:
        return None
    x, values = _source_and_values(editor, before, _read_axis(editor, node))
    if values is None or editor.tensors[x].shape != editor.tensors[before.outputs[0]].shape:
        return None
    spread = _along_weights(node, weights.data, values)
    if spread is None:
        return None
    wide = weights.data.astype(np.float64)
    if declared(before, editor.extensions).affine is Affine.FACTOR:
        scaled = editor.constant(f"{node.outputs[0]}/weights", (wide * spread).astype(np.float32)).name
        inputs: tuple[str, ...] = (x, scaled, *node.inputs[2:])
    else:
        shifted = _shifted_bias(editor, node, wide * spread)
        if shifted is None:
            return _with_scale_of_shift(editor, node, before)
        inputs = (x, node.inputs[1], shifted)
    editor.remove(before)
    return editor.replace(node, replace(node, inputs=inputs, sources=joined_sources(before, node)))


def _in_front_of_transpose(editor: GraphEditor, node: Node, name: str) -> None:
    """Move a constant Mul, Add or Sub before the Transpose that computes ``name`` behind that Transpose.

    TensorFlow scales images whose channels are last, before they are transposed.
    """
    transpose = editor.producer(name)
    if transpose is None or not isinstance(transpose.attributes, TransposeAttributes):
        return
    before = editor.producer(transpose.inputs[0])
    alone = editor.sole_reader(transpose.outputs[0]) is node and editor.sole_reader(transpose.inputs[0]) is transpose
    if not alone or before is None or before.epilogue is not None:
        return
    position = _constant_position(editor, before)
    if position is None:
        return
    x, data = before.inputs[1 - position], editor.tensors[before.inputs[position]].data
    output = editor.tensors[transpose.outputs[0]]
    if data is None or editor.tensors[x].shape != editor.tensors[before.outputs[0]].shape:
        return
    perm = transpose.attributes.perm
    aligned = data.reshape((1,) * (len(perm) - data.ndim) + data.shape).transpose(perm)
    inner = editor.variable(output, f"{x}/transposed", quantization=None)
    operands = (inner.name, editor.constant(f"{output.name}/constant", np.ascontiguousarray(aligned)).name)
    editor.remove(before)
    editor.replace(transpose, replace(transpose, inputs=(x,), outputs=(inner.name,)))
    editor.add(replace(before, inputs=operands if position else operands[::-1], outputs=(output.name,)))


def _constant_position(editor: GraphEditor, node: Node) -> int | None:
    """Which operand of a Mul, Add or Sub is the constant; None for other operators, or where none or both are."""
    if declared(node, editor.extensions).affine is Affine.NONE:
        return None
    found = [position for position, name in enumerate(node.inputs) if editor.tensors[name].data is not None]
    return found[0] if len(found) == 1 else None


def _with_scale_of_shift(editor: GraphEditor, node: Node, shift: Node) -> Node | None:
    """Conv(x * s + t, w) as Conv(x + t / s, w * s); None where no constant Mul stands before the shift.

    The form for a Conv with padding: the padding is not shifted, so only the factor s can go into the weights.
    """
    position = _constant_position(editor, shift)
    if position is None or (position == 0 and declared(shift, editor.extensions).affine is Affine.DIFFERENCE):
        return None
    _in_front_of_transpose(editor, shift, shift.inputs[1 - position])
    scale = editor.producer(shift.inputs[1 - position])
    if scale is None or scale.epilogue is not None:
        return None
    if declared(scale, editor.extensions).affine is not Affine.FACTOR:
        return None
    weights, values = editor.tensors[node.inputs[1]], editor.tensors[shift.inputs[position]].data
    x, factors = _source_and_values(editor, scale, 1)
    alone = editor.sole_reader(scale.outputs[0]) is shift
    if not alone or values is None or weights.data is None or factors is None or not factors.all():
        return None
    shape = editor.tensors[scale.outputs[0]].shape
    spread = _along_weights(node, weights.data, factors)
    if spread is None or editor.tensors[x].shape != shape:
        return None
    column = factors.reshape((1, -1, *(1,) * (len(shape) - 2)))
    moved = editor.constant(f"{shift.outputs[0]}/shift", (values.astype(np.float64) / column).astype(np.float32)).name
    scaled = editor.constant(
        f"{node.outputs[0]}/weights", (weights.data.astype(np.float64) * spread).astype(np.float32)
    )
    editor.remove(scale)
    editor.replace(shift, replace(shift, inputs=(x, moved) if position else (moved, x)))
    return editor.replace(node, replace(node, inputs=(node.inputs[0], scaled.name, *node.inputs[2:])))


def _read_axis(editor: GraphEditor, node: Node) -> int:
    """The axis of the first input over which the sum of products runs: channels of a Conv, the last of a MatMul."""
    if isinstance(node.attributes, ConvAttributes):
        return 1
    rank = len(editor.tensors[node.inputs[0]].shape)
    return rank - 2 if node.given(MatMulAttributes).transpose_a else rank - 1


def _source_and_values(editor: GraphEditor, node: Node, axis: int) -> tuple[str, Array | None]:
    """The other operand of a Mul, Add or Sub of a constant, and the constant for each index of an axis, in float64.

    The values are None where the constant follows other axes, or where there is none.
    """
    affine = declared(node, editor.extensions).affine
    if affine is Affine.NONE or editor.tensors[node.outputs[0]].dtype is not DType.FLOAT32:
        return node.inputs[0], None
    position = 1 if editor.tensors[node.inputs[1]].data is not None else 0
    constant, x = editor.tensors[node.inputs[position]], node.inputs[1 - position]
    if constant.data is None or (affine is Affine.DIFFERENCE and position == 0):
        return x, None
    values = per_channel(axis, editor.tensors[node.outputs[0]], constant)
    if values is None:
        return x, None
    return x, -values if affine is Affine.DIFFERENCE else values


def _along_weights(node: Node, weights: Array, values: Array) -> Array | None:
    """The values of input channels, broadcast to the weights that multiply these channels."""
    if isinstance(node.attributes, ConvAttributes):
        groups, (outputs, inputs) = node.attributes.group, weights.shape[:2]
        by_group = np.repeat(values.reshape(groups, inputs), outputs // groups, axis=0)
        return by_group.reshape(outputs, inputs, *(1,) * (weights.ndim - 2))
    rows = node.given(MatMulAttributes).transpose_b
    if weights.ndim != 2:
        return None
    return values.reshape((1, -1) if rows else (-1, 1))


def _shifted_bias(editor: GraphEditor, node: Node, products: Array) -> str | None:
    """The bias plus the sums of products that a shift of the input adds; None where padding is not shifted."""
    if isinstance(node.attributes, ConvAttributes):
        if any(node.attributes.pads):
            return None
        sums = products.sum(axis=tuple(range(1, products.ndim)))
    else:
        sums = products.sum(axis=1 if node.given(MatMulAttributes).transpose_b else 0)
    bias: Array | None = np.zeros(())
    if len(node.inputs) > 2 and node.inputs[2]:
        bias = editor.tensors[node.inputs[2]].data
    if bias is None:
        return None
    return editor.constant(f"{node.outputs[0]}/bias", (bias + sums).astype(np.float32)).name


def _before_concat(editor: GraphEditor, node: Node) -> None:
    """Apply a constant along the axis of a Concat to its parts, if each part folds it and nothing else reads one."""
    variable = [name for name in node.inputs if editor.tensors[name].data is None]
    concat = editor.producer(variable[0]) if len(variable) == 1 else None
    if concat is None or concat.operator != "Concat" or editor.sole_reader(concat.outputs[0]) is not node:
        return
    axis = concat.given(AxisAttributes).axis
    _, values = _source_and_values(editor, node, axis)
    if values is None or node.epilogue is not None or not all(_folds(editor, name, concat) for name in concat.inputs):
        return
    if declared(node, editor.extensions).affine is Affine.DIFFERENCE:
        values = -values
    first, parts = 0, []
    for name in concat.inputs:
        part = editor.tensors[name]
        extent = part.shape[axis]
        column = [extent if other == axis else 1 for other in range(len(part.shape))]
        piece = values[first : first + extent].astype(np.float32).reshape(column)
        inner = editor.variable(part, f"{name}/of_concat")
        inputs = [name, editor.constant(f"{inner.name}/constant", piece).name]
        step = make_node(node.operator, inputs, [inner.name], attributes=node.attributes, sources=node.sources)
        parts.append(editor.add(step).outputs[0])
        first += extent
    editor.remove(node)
    editor.replace(concat, replace(concat, inputs=tuple(parts), outputs=node.outputs))


def _folds(editor: GraphEditor, name: str, concat: Node) -> bool:
    """Whether a part of a Concat is the output of an operator with weights along the axis of the Concat."""
    producer = editor.producer(name)
    if producer is None or producer.epilogue is not None or editor.sole_reader(name) is not concat:
        return False
    while declared(producer, editor.extensions).affine is not Affine.NONE:
        before = [editor.producer(other) for other in producer.inputs if editor.tensors[other].data is None]
        if len(before) != 1 or before[0] is None:
            return False
        producer = before[0]
    operator = declared(producer, editor.extensions)
    rank, axis = len(editor.tensors[name].shape), concat.given(AxisAttributes).axis
    return operator.weights_axis is not None and operator.channel_axis % rank == axis
