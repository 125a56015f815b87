"""What the elements of each channel of 8-bit tensors can be, from weights alone.

Before:  Conv(x, w, b) -> Requantize, b[3] so low that all sums of channel 3 are clipped
After:   channel 3 of the output lies between -128 and -128: it is a constant
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.catalogue.evaluate import evaluate_node
from tilewright.graph import Array, DType, Graph, Node, Requantize, RequantizeShift, RequantizeTwice, Tensor
from tilewright.operators.attributes import AxisAttributes
from tilewright.operators.binary import BinaryAttributes
from tilewright.operators.conv import ConvAttributes
from tilewright.operators.epilogue import apply
from tilewright.operators.matmul import MatMulAttributes

CHANNEL = 1
"""The axis of channels, of images and of vectors behind a batch."""

EIGHT_BIT = frozenset({DType.INT8, DType.UINT8})

_SCALES = (Requantize, RequantizeShift, RequantizeTwice)
"""Epilogues whose results do not fall where sums grow, with multipliers that are not negative."""

_MOST = (1 << 31) - 1
_ROWS = 64
"""Output channels whose weights are looked at together."""

_GROWING = frozenset({"Add", "AveragePool", "MaxPool"})
"""Operators whose output does not fall where an input grows, with multipliers that are not negative."""


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the largest stored integer of each channel."""

    lowest: Array
    highest: Array

    @property
    def constant(self) -> Array:
        """bool[channels]: whether the channel has one value."""
        result: Array = self.lowest == self.highest
        return result


def has_channels(tensor: Tensor) -> bool:
    """Whether a tensor is computed, has 8 bits and an axis of channels."""
    return tensor.data is None and tensor.dtype in EIGHT_BIT and len(tensor.shape) > CHANNEL


def is_joined_constant(tensor: Tensor) -> bool:
    """Whether a tensor is a constant of 8 bits that can be a part of a tensor with channels."""
    return tensor.data is not None and tensor.dtype in EIGHT_BIT and len(tensor.shape) > CHANNEL


def ranges_of_channels(graph: Graph) -> dict[str, Range]:
    """The range of each tensor with channels, by name."""
    known: dict[str, Range] = {}
    for name in graph.inputs:
        if has_channels(graph.tensor(name)):
            known[name] = _whole(graph.tensor(name))
    for node in graph.nodes:
        for name in node.outputs:
            tensor = graph.tensor(name)
            if has_channels(tensor):
                known[name] = _of_node(node, graph, known) or _whole(tensor)
    return known


def _whole(tensor: Tensor) -> Range:
    limits = np.iinfo(tensor.dtype.numpy)
    channels = tensor.shape[CHANNEL]
    return Range(np.full(channels, limits.min, np.int64), np.full(channels, limits.max, np.int64))


def _of_node(node: Node, graph: Graph, known: dict[str, Range]) -> Range | None:
    """None if nothing is known."""
    if node.operator == "Concat":
        return _of_parts(node, graph, known)
    x = known.get(node.inputs[0]) if node.inputs else None
    if x is None:
        return None
    if isinstance(node.attributes, MatMulAttributes) and len(graph.tensor(node.outputs[0]).shape) > CHANNEL + 1:
        return None  # columns of the matrix follow another axis than that of channels
    if isinstance(node.attributes, (ConvAttributes, MatMulAttributes)):
        return _of_products(node, graph, x)
    if node.operator == "Reshape" and len(x.lowest) == graph.tensor(node.outputs[0]).shape[CHANNEL]:
        return x if graph.tensor(node.inputs[0]).elements == len(x.lowest) else None
    if node.operator == "Lookup":
        return _looked_up(node, graph, x)
    if node.operator in _GROWING and all(name in known for name in node.inputs) and _grows(node):
        lowest, highest = (_evaluated(node, graph, known, end) for end in ("lowest", "highest"))
        axes = tuple(axis for axis in range(lowest.ndim) if axis != CHANNEL)
        return Range(lowest.min(axis=axes), highest.max(axis=axes))
    return None


def _of_parts(node: Node, graph: Graph, known: dict[str, Range]) -> Range | None:
    """The ranges of a Concat's parts one behind the other."""
    if node.given(AxisAttributes).axis != CHANNEL or node.epilogue is not None:
        return None
    parts = []
    for name in node.inputs:
        data = graph.tensor(name).data
        if name in known:
            parts.append(known[name])
        elif data is not None and is_joined_constant(graph.tensor(name)):
            stored = np.moveaxis(data, CHANNEL, 0).reshape(data.shape[CHANNEL], -1).astype(np.int64)
            parts.append(Range(stored.min(axis=1), stored.max(axis=1)))
        else:
            return None
    return Range(np.concatenate([part.lowest for part in parts]), np.concatenate([part.highest for part in parts]))


def _looked_up(node: Node, graph: Graph, x: Range) -> Range | None:
    """The least and the largest entry of a table for what each channel can be."""
    table = graph.tensor(node.inputs[1]).data
    if table is None:
        return None
    first = np.iinfo(graph.tensor(node.inputs[0]).dtype.numpy).min
    spans = [table[low - first : high - first + 1] for low, high in zip(x.lowest, x.highest, strict=True)]
    lowest, highest = ([int(end(span)) for span in spans] for end in (np.min, np.max))
    return Range(np.asarray(lowest, np.int64), np.asarray(highest, np.int64))


def _grows(node: Node) -> bool:
    """Whether no multiplier is negative."""
    given, epilogue = node.attributes, node.epilogue
    factors: list[float] = list(epilogue.multiplier) if isinstance(epilogue, _SCALES) else []
    if isinstance(given, BinaryAttributes):
        factors += [given.a_multiplier, given.b_multiplier]
    return all(factor >= 0 for factor in factors) and (epilogue is None or isinstance(epilogue, _SCALES))


def _evaluated(node: Node, graph: Graph, known: dict[str, Range], end: str) -> Array:
    """The node's output where each element is at one end of its channel's range."""
    values = {}
    for name in node.inputs:
        tensor = graph.tensor(name)
        along = [-1 if axis == CHANNEL else 1 for axis in range(len(tensor.shape))]
        ends = getattr(known[name], end).astype(tensor.dtype.numpy).reshape(along)
        values[name] = np.broadcast_to(ends, tensor.shape)
    return evaluate_node(node, graph, values)[node.outputs[0]].astype(np.int64)


def _of_products(node: Node, graph: Graph, x: Range) -> Range | None:
    weights, bias = weights_of(node, graph), bias_of(node, graph)
    if weights is None or bias is None or not isinstance(node.epilogue, _SCALES):
        return None
    if min(node.epilogue.multiplier) < 0 or len(x.lowest) % weights.shape[1]:
        return None
    lowest, highest = x.lowest - zero_of(node), x.highest - zero_of(node)
    if has_pads(node):
        lowest, highest = np.minimum(lowest, 0), np.maximum(highest, 0)
    # Of grouped convolutions each output channel sees the channels of its group.
    ends = np.stack([lowest, highest]).reshape(2, -1, weights.shape[1])
    sums = bias + _extreme_sums(weights, ends)
    if int(np.abs(sums).max()) > _MOST:
        return None
    stored = apply(node.epilogue, sums, 1).astype(np.int64)
    return Range(stored[0], stored[1])


def _extreme_sums(weights: Array, ends: Array) -> Array:
    """int64 [2, output channels]: the least and the largest sum of products.

    ``ends`` is [2, groups, input channels of a group]: what an input channel is at least and at most.
    """
    found = []
    for at, part in _in_rows(weights):
        low, high = ends[:, (at + np.arange(len(part))) * ends.shape[1] // len(weights)]
        positive, negative = np.maximum(part, 0).sum(axis=2), np.minimum(part, 0).sum(axis=2)
        found.append([(positive * low + negative * high).sum(1), (positive * high + negative * low).sum(1)])
    result: Array = np.concatenate(found, axis=1)
    return result


def weighted(weights: Array, values: Array, *, magnitudes: bool = False) -> Array:
    """int64 [output channels]: the sums of all taps, each times the value of its input channel.

    With ``magnitudes`` all weights count as positive.
    """
    parts = ((np.abs(part) if magnitudes else part).sum(axis=2) for _, part in _in_rows(weights))
    result: Array = np.concatenate([(part * values).sum(axis=1) for part in parts])
    return result


def _in_rows(weights: Array) -> Iterator[tuple[int, Array]]:
    """The weights of some output channels at a time as int64, eight times as large, behind the first one's number."""
    for at in range(0, len(weights), _ROWS):
        yield at, weights[at : at + _ROWS].astype(np.int64)


def weights_of(node: Node, graph: Graph) -> Array | None:
    """The stored integers [output channels, input channels of a group, taps] of constant weights of 8 bits.

    None for other nodes, and where the weights' zero point is not 0.
    """
    given, tensor = node.attributes, graph.tensor(node.inputs[1])
    if tensor.data is None or tensor.dtype not in EIGHT_BIT:
        return None
    data = tensor.data
    if isinstance(given, ConvAttributes):
        return None if any(given.w_zero_point) else data.reshape(*data.shape[:2], -1)
    if not isinstance(given, MatMulAttributes) or any(given.b_zero_point) or data.ndim != 2 or given.transpose_a:
        return None
    return (data if given.transpose_b else data.T)[:, :, None]


def bias_of(node: Node, graph: Graph) -> Array | None:
    """int64 [output channels], zeros for a node without bias; None for a bias that is computed."""
    weights = weights_of(node, graph)
    if weights is None:
        return None
    if len(node.inputs) < 3 or not node.inputs[2]:
        return np.zeros(len(weights), np.int64)
    data = graph.tensor(node.inputs[2]).data
    return None if data is None or data.size != len(weights) else data.reshape(-1).astype(np.int64)


def zero_of(node: Node) -> int:
    """The stored integer of x, and of its padding, that stands for 0."""
    given = node.attributes
    assert isinstance(given, (ConvAttributes, MatMulAttributes))
    return given.x_zero_point if isinstance(given, ConvAttributes) else given.a_zero_point


def has_pads(node: Node) -> bool:
    """Whether some taps of a convolution lie beside x."""
    given = node.attributes
    return isinstance(given, ConvAttributes) and any((*given.pads_begin, *given.pads_end))
