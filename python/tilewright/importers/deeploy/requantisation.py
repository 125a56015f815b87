"""Requantisation of the Deeploy dialect moves into the operators before it. Every step is exact.

Before:  MatMul -> Add of a bias -> RequantShift;   iGELU table of int32 -> RequantShift
After:   MatMul with bias and epilogue;             table of int8
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.catalogue.operators import declared
from tilewright.graph import Array, DType, Node, RequantizeShift
from tilewright.graph.edit import NO_ATTRIBUTES, GraphEditor, joined_sources, with_attributes
from tilewright.importers.deeploy.retype import EIGHT_BIT
from tilewright.operators.operator import Affine, Multipliers
from tilewright.operators.quantization import RequantizeAttributes

_INT32_MAX = (1 << 31) - 1
# A table saves twelve instructions for each element, and costs 256 bytes that tiles must fetch.
_WORTH_A_TABLE = 512


def fuse_requantization(editor: GraphEditor) -> None:
    """Fold biases and factors into their neighbours, then remove each Requantize that can move into another node."""
    for node in editor.nodes():
        if declared(node).affine is Affine.SUM and editor.has(node):
            _fold_bias(editor, node)
    for node in editor.nodes():
        if node.operator == "Requantize" and editor.has(node):
            node = _fold_factor(editor, node)
            for fuse in (_vanish, _into_table, _into_producer, _as_table):
                if fuse(editor, node):
                    break


def _fold_bias(editor: GraphEditor, node: Node) -> None:
    """Make a constant that is added to a product's columns, or to a convolution's channels, the bias of that node."""
    position = next((at for at, name in enumerate(node.inputs) if editor.tensors[name].is_constant), None)
    producer = None if position is None else editor.producer(node.inputs[1 - position])
    if position is None or producer is None or declared(producer).weights_axis is None or producer.epilogue is not None:
        return
    output, added = editor.tensors[producer.outputs[0]], editor.tensors[node.inputs[position]]
    same = editor.tensors[node.outputs[0]].shape == output.shape and node.epilogue is None
    if added.data is None or not same or editor.sole_reader(output.name) is not node:
        return
    axis = declared(producer).channel_axis % len(output.shape)
    shape = (1,) * (len(output.shape) - len(added.shape)) + added.shape
    if any(extent != 1 for at, extent in enumerate(shape) if at != axis):
        return
    bias = np.broadcast_to(added.data.reshape(-1).astype(np.int64), (output.shape[axis],))
    if len(producer.inputs) > 2 and producer.inputs[2]:
        own = editor.tensors[producer.inputs[2]].data
        if own is None:
            return
        bias = bias + own
    # Beyond this the sums, for which there is a kernel now, might not fit 32 bits any more.
    if np.abs(bias).max() > _INT32_MAX // 2:
        return
    inputs = producer.inputs[:2]
    if np.any(bias):
        inputs = (*inputs, editor.constant(f"{node.outputs[0]}/bias", bias.astype(np.int32)).name)
    fused = replace(producer, inputs=inputs, outputs=node.outputs, sources=joined_sources(producer, node))
    editor.remove(node)
    editor.replace(producer, fused)


def _fold_factor(editor: GraphEditor, node: Node) -> Node:
    """Multiply the multipliers of a Requantize by the one constant of a product before it; the product goes."""
    producer, epilogue = editor.producer(node.inputs[0]), node.epilogue
    if producer is None or declared(producer).affine is not Affine.FACTOR or producer.epilogue is not None:
        return node
    position = next((at for at, name in enumerate(producer.inputs) if editor.tensors[name].is_constant), None)
    if position is None or not isinstance(epilogue, RequantizeShift):
        return node
    data, source = editor.tensors[producer.inputs[position]].data, editor.tensors[producer.inputs[1 - position]]
    if data is None or data.size != 1 or source.shape != editor.tensors[node.outputs[0]].shape:
        return node
    if editor.sole_reader(node.inputs[0]) is not node:
        return node
    multiplier = tuple(value * int(data.reshape(-1)[0]) for value in epilogue.multiplier)
    if max(map(abs, multiplier)) > _INT32_MAX:
        return node
    editor.remove(producer)
    sources = joined_sources(producer, node)
    changed = replace(node, inputs=(source.name,), epilogue=replace(epilogue, multiplier=multiplier), sources=sources)
    return editor.replace(node, changed)


def _vanish(editor: GraphEditor, node: Node) -> bool:
    """Replace a Requantize that leaves every value of its input's type as it is by a Reshape."""
    source, output = editor.tensors[node.inputs[0]], editor.tensors[node.outputs[0]]
    if source.dtype is not output.dtype or not _one_channel(node):
        return False
    values = _values(source.dtype)
    if not np.array_equal(_requantized(node, values, output.dtype), values):
        return False
    editor.replace(node, replace(node, operator="Reshape", attributes=NO_ATTRIBUTES, epilogue=None))
    return True


def _into_table(editor: GraphEditor, node: Node) -> bool:
    """Join a table and the Requantize of its results into one table."""
    producer = editor.producer(node.inputs[0])
    if producer is None or producer.operator != "Lookup" or not _one_channel(node):
        return False
    table, output = editor.tensors[producer.inputs[1]], editor.tensors[node.outputs[0]]
    if table.data is None or editor.sole_reader(node.inputs[0]) is not node:
        return False
    data = editor.constant(f"{output.name}/table", _requantized(node, table.data, output.dtype))
    fused = replace(
        producer,
        inputs=(producer.inputs[0], data.name),
        outputs=node.outputs,
        sources=joined_sources(producer, node),
    )
    editor.remove(node)
    editor.replace(producer, fused)
    return True


def _into_producer(editor: GraphEditor, node: Node) -> bool:
    """Make a Requantize behind an accumulating operator that operator's epilogue, if their channels agree."""
    producer = editor.producer(node.inputs[0])
    if producer is None or producer.epilogue is not None:
        return False
    if editor.sole_reader(node.inputs[0]) is not node or not _axis_fits(editor, node, producer):
        return False
    fused = replace(producer, outputs=node.outputs, epilogue=node.epilogue, sources=joined_sources(producer, node))
    editor.remove(node)
    if declared(producer).multipliers is Multipliers.ONE:
        fused = with_attributes(fused, channel_axis=node.given(RequantizeAttributes).channel_axis)
    editor.replace(producer, fused)
    return True


def _as_table(editor: GraphEditor, node: Node) -> bool:
    """Replace a Requantize of a large 8-bit tensor by a table."""
    source, output = editor.tensors[node.inputs[0]], editor.tensors[node.outputs[0]]
    if source.dtype not in EIGHT_BIT or not _one_channel(node) or source.elements < _WORTH_A_TABLE:
        return False
    table = _requantized(node, _values(source.dtype), output.dtype)
    data = editor.constant(f"{output.name}/table", table)
    lookup = replace(node, operator="Lookup", inputs=(source.name, data.name), attributes=NO_ATTRIBUTES, epilogue=None)
    editor.replace(node, lookup)
    return True


def _axis_fits(editor: GraphEditor, node: Node, producer: Node) -> bool:
    """Whether the producer's kernels take as many multipliers as there are, along the same axis."""
    operator = declared(producer)
    if operator.multipliers is not Multipliers.EACH:
        return operator.multipliers is Multipliers.ONE and _one_channel(node)
    wanted = node.given(RequantizeAttributes).channel_axis
    rank = len(editor.tensors[node.outputs[0]].shape)
    return _one_channel(node) or wanted == operator.channel_axis % rank


def _one_channel(node: Node) -> bool:
    epilogue = node.epilogue
    return isinstance(epilogue, RequantizeShift) and len(epilogue.multiplier) == len(epilogue.addend) == 1


def _values(dtype: DType) -> Array:
    """All values of an 8-bit type; of a wider type its least and greatest value, which a clip to 8 bits changes."""
    limits = np.iinfo(dtype.numpy)
    if dtype not in EIGHT_BIT:
        return np.asarray([limits.min, limits.max], dtype.numpy)
    return np.arange(limits.min, limits.max + 1).astype(dtype.numpy)


def _requantized(node: Node, values: Array, dtype: DType) -> Array:
    """``values`` requantised by the node's epilogue, which has one channel."""
    epilogue = node.epilogue
    assert isinstance(epilogue, RequantizeShift)
    half = (1 << epilogue.shift) >> 1
    raised = values.astype(np.int64) * epilogue.multiplier[0] + epilogue.addend[0] + half
    stored: Array = np.clip(raised >> epilogue.shift, epilogue.minimum, epilogue.maximum).astype(dtype.numpy)
    return stored
