"""Patterns that the steps of QDQ fusion look for in a graph."""

from __future__ import annotations

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType, Node, Tensor
from tilewright.graph.edit import GraphEditor
from tilewright.operators.quantization import QuantizationAttributes
from tilewright.operators.spatial import Windows

PLANE = 2
"""Axes of the windows that all kernels of integers take."""

EIGHT_BIT = frozenset({DType.INT8, DType.UINT8})


@dataclass(frozen=True, slots=True)
class Quantized:
    """A float tensor that is the dequantisation of ``tensor`` with one scale and zero point."""

    tensor: Tensor
    scale: float
    zero_point: int


@dataclass(frozen=True, slots=True)
class Weights:
    """A dequantised constant: int8 values, and one scale and zero point or one for each channel."""

    name: str
    data: Array
    scale: tuple[float, ...]
    zero_point: tuple[int, ...]


def is_over_volumes(node: Node) -> bool:
    """Whether the node has windows over three axes, which few kernels of integers take."""
    return isinstance(node.attributes, Windows) and node.attributes.rank > PLANE


def dequantize_of(editor: GraphEditor, tensor: str) -> Node | None:
    """The Dequantize node that writes a tensor."""
    node = editor.producer(tensor)
    return node if node is not None and node.operator == "Dequantize" else None


def per_tensor(node: Node) -> bool:
    """Whether a Quantize or Dequantize has one positive, finite scale."""
    given = node.given(QuantizationAttributes)
    return given.axis is None and 0.0 < given.scale[0] < float("inf")


def same_parameters(one: Node, other: Node) -> bool:
    """Whether two Quantize or Dequantize nodes have equal scale, zero point and axis."""
    return one.given(QuantizationAttributes) == other.given(QuantizationAttributes)


def quantized(editor: GraphEditor, name: str) -> Quantized | None:
    """The 8-bit tensor with one scale of which ``name`` is the dequantisation; None if there is none."""
    node = dequantize_of(editor, name)
    if node is None or not per_tensor(node):
        return None
    tensor = editor.tensors[node.inputs[0]]
    if tensor.dtype not in EIGHT_BIT:
        return None
    given = node.given(QuantizationAttributes)
    return Quantized(tensor, given.scale[0], given.zero_point[0])


def weights(editor: GraphEditor, name: str, axis: int) -> Weights | None:
    """Dequantised constant weights with scales per tensor or along ``axis``, brought to int8.

    uint8 weights become int8 by taking 128 from values and zero points alike.
    """
    node = dequantize_of(editor, name)
    if node is None or node.given(QuantizationAttributes).axis not in (None, axis):
        return None
    tensor, given = editor.tensors[node.inputs[0]], node.given(QuantizationAttributes)
    scale, zero_point = given.scale, given.zero_point
    if tensor.data is None or tensor.dtype not in EIGHT_BIT or not all(0 < s < float("inf") for s in scale):
        return None
    if len(set(zero_point)) == 1:
        zero_point = zero_point[:1]
    if tensor.dtype is DType.INT8:
        return Weights(tensor.name, tensor.data, scale, zero_point)
    shifted = (tensor.data.astype(np.int16) - 128).astype(np.int8)
    name = editor.constant(f"{tensor.name}/int8", shifted).name
    return Weights(name, shifted, scale, tuple(point - 128 for point in zero_point))


def real_constant(editor: GraphEditor, name: str) -> Array | None:
    """The float64 values of a constant or of a dequantised constant."""
    tensor = editor.tensors[name]
    if tensor.data is not None:
        return tensor.data.astype(np.float64)
    node = dequantize_of(editor, name)
    if node is None:
        return None
    stored = editor.tensors[node.inputs[0]]
    if stored.data is None:
        return None
    shape, given = [1] * len(stored.shape), node.given(QuantizationAttributes)
    if given.axis is not None:
        shape[given.axis] = -1
    scale = np.asarray(given.scale, np.float64).reshape(shape)
    zero_point = np.asarray(given.zero_point, np.int64).reshape(shape)
    real: Array = (stored.data.astype(np.int64) - zero_point) * scale
    return real.reshape(stored.shape)


def quantized_value(value: float, scale: float, zero_point: int, dtype: DType) -> int:
    """QuantizeLinear of one float32 value."""
    limits = np.iinfo(dtype.numpy)
    with np.errstate(over="ignore"):
        steps = float(np.rint(np.float32(value) / np.float32(scale)))
    return int(min(max(steps + zero_point, limits.min), limits.max))
