"""Dequantize moves down, Quantize moves up, through operators that only move or select elements.

Before:  x int8 -> Dequantize -> Reshape -> Conv        Conv -> MaxPool -> Quantize
After:   x int8 -> Reshape -> Dequantize -> Conv        Conv -> Quantize -> MaxPool

Both are exact: the operators commute with any function of single elements that keeps order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tilewright.catalogue.operators import declared
from tilewright.graph import DType, Node, identity_order
from tilewright.graph.edit import NO_ATTRIBUTES, GraphEditor, make_node, with_attributes
from tilewright.importers.qdq.match import dequantize_of, is_over_volumes, per_tensor, quantized_value, same_parameters
from tilewright.operators.movement import PadAttributes, TransposeAttributes
from tilewright.operators.operator import Joins
from tilewright.operators.quantization import QuantizationAttributes
from tilewright.operators.unary import ClipAttributes


def lower_dequantize(editor: GraphEditor, node: Node) -> bool:
    """Move the Dequantize nodes before a mover (or Relu) behind it, as one."""
    if isinstance(node.attributes, ClipAttributes):
        return _lower_through_relu(editor, node)
    if not _moves(node):
        return False
    values = _values(editor, node)
    sources = [dequantize_of(editor, name) for name in values]
    first = sources[0] if sources else None
    if first is None:
        return False
    if len(node.inputs) == 1 and not per_tensor(first):
        return _lower_per_axis(editor, node, first)
    stored = [source.inputs[0] for source in sources if source is not None]
    dtypes = {editor.tensors[name].dtype for name in stored}
    together = all(source is not None and same_parameters(source, first) for source in sources)
    if not together or not per_tensor(first) or len(dtypes) > 1:
        return False
    moved = replace(node, inputs=_with_values(node, dict(zip(values, stored, strict=True))))
    if isinstance(node.attributes, PadAttributes):
        value = _exact_pad(node, first, dtypes.pop())
        if value is None:
            return False
        moved = with_attributes(moved, value=value)
    _put(editor, node, moved, first, first.given(QuantizationAttributes).axis)
    return True


def _moves(node: Node) -> bool:
    """Whether a node only moves or selects elements, and kernels do so on integers: not for windows over volumes."""
    return declared(node).keeps_values and node.epilogue is None and not is_over_volumes(node)


def _values(editor: GraphEditor, mover: Node) -> list[str]:
    """The inputs whose elements a mover gives: not the indices of Gather, which are integers."""
    return [name for name in mover.inputs if editor.tensors[name].dtype is DType.FLOAT32]


def _with_values(mover: Node, stored: Mapping[str, str]) -> tuple[str, ...]:
    """The inputs of a mover with stored integers in the place of real values."""
    return tuple(stored.get(name, name) for name in mover.inputs)


def _lower_per_axis(editor: GraphEditor, node: Node, source: Node) -> bool:
    """Views keep scales along an axis if the axis itself stays whole."""
    axis = source.given(QuantizationAttributes).axis
    if axis is None or not declared(node).is_view:
        return False
    if isinstance(node.attributes, TransposeAttributes):
        moved_axis = node.attributes.perm.index(axis)
    else:
        before, after = editor.tensors[node.inputs[0]].shape, editor.tensors[node.outputs[0]].shape
        front, back = before[: axis + 1], before[axis:]
        if after[: axis + 1] == front:
            moved_axis = axis
        elif after[len(after) - len(back) :] == back:
            moved_axis = len(after) - len(back)
        else:
            return False
    _put(editor, node, replace(node, inputs=(source.inputs[0],)), source, moved_axis)
    return True


def _lower_through_relu(editor: GraphEditor, node: Node) -> bool:
    """Relu of a dequantised tensor is a table on the stored integers, in the same scale.

    Where Quantize follows, the table that takes both in one step is better.
    """
    source = dequantize_of(editor, node.inputs[0])
    readers = editor.readers(node.outputs[0])
    if source is None or not per_tensor(source) or any(reader.operator == "Quantize" for reader in readers):
        return False
    stored = editor.tensors[source.inputs[0]]
    relu = node.given(ClipAttributes) == ClipAttributes(0.0, float("inf"))
    if not relu or stored.dtype not in (DType.INT8, DType.UINT8) or stored.is_constant:
        return False
    limits = np.iinfo(stored.dtype.numpy)
    values = np.arange(limits.min, limits.max + 1)
    table = np.maximum(values, source.given(QuantizationAttributes).zero_point[0]).astype(stored.dtype.numpy)
    data = editor.constant(f"{node.outputs[0]}/table", table)
    moved = replace(node, operator="Lookup", inputs=(stored.name, data.name), attributes=NO_ATTRIBUTES)
    _put(editor, node, moved, source, None)
    return True


def _put(editor: GraphEditor, node: Node, moved: Node, source: Node, axis: int | None) -> None:
    """Replace ``node`` by ``moved``, which works on stored integers, with Dequantize behind ``moved``."""
    stored = editor.tensors[source.inputs[0]]
    target = editor.tensors[node.outputs[0]]
    meaning = None if stored.quantization is None else replace(stored.quantization, axis=axis)
    if stored.data is not None and declared(node).is_view:
        rank = len(stored.shape)
        perm = node.attributes.perm if isinstance(node.attributes, TransposeAttributes) else identity_order(rank)
        inner = editor.constant(f"{target.name}/stored", np.transpose(stored.data, perm).reshape(target.shape))
        editor.remove(node)
    else:
        inner = editor.variable(stored, f"{target.name}/stored", shape=target.shape, quantization=meaning)
        editor.replace(node, replace(moved, outputs=(inner.name,)))
    attributes = replace(source.given(QuantizationAttributes), axis=axis)
    editor.add(make_node("Dequantize", [inner.name], [target.name], attributes=attributes, sources=source.sources))


def _exact_pad(node: Node, source: Node, dtype: DType) -> int | None:
    """The stored integer that stands for the pad value, if there is one."""
    given, value = source.given(QuantizationAttributes), node.given(PadAttributes).value
    scale, zero_point = given.scale[0], given.zero_point[0]
    if not np.isfinite(value):
        return None
    stored = quantized_value(value, scale, zero_point, dtype)
    exact = np.float32(stored - zero_point) * np.float32(scale) == np.float32(value)
    return stored if exact else None


def raise_quantize(editor: GraphEditor, quantize: Node) -> bool:
    """Move Quantize before the mover that feeds it, if nothing else reads the mover's output."""
    mover = editor.producer(quantize.inputs[0])
    if mover is None or not _moves(mover) or not per_tensor(quantize):
        return False
    if editor.sole_reader(mover.outputs[0]) is not quantize or not _worth_raising(editor, mover):
        return False
    output = editor.tensors[quantize.outputs[0]]
    stored: dict[str, str] = {}
    for name in dict.fromkeys(_values(editor, mover)):
        inner = editor.variable(output, f"{name}/quantized", shape=editor.tensors[name].shape)
        stored[name] = inner.name
        editor.add(replace(quantize, name=inner.name, inputs=(name,), outputs=(inner.name,)))
    moved = replace(mover, inputs=_with_values(mover, stored), outputs=quantize.outputs)
    if isinstance(mover.attributes, PadAttributes):
        given = quantize.given(QuantizationAttributes)
        value = quantized_value(mover.attributes.value, given.scale[0], given.zero_point[0], output.dtype)
        moved = with_attributes(moved, value=value)
    editor.remove(quantize)
    editor.replace(mover, moved)
    return True


def _worth_raising(editor: GraphEditor, mover: Node) -> bool:
    """Whether Quantize should move before a mover.

    Not if other nodes read the mover's input, for which Quantize would be an additional node, and not before a Slice
    of a graph input, of which Quantize would also compute the elements that Slice drops. Always before a Concat.
    """
    joins = declared(mover).joins
    if joins is Joins.PART and editor.producer(mover.inputs[0]) is None:
        return False
    if joins is Joins.PARTS:
        return True
    return editor.sole_reader(mover.inputs[0]) is mover
