"""LpPool, MaxPool with indices, transposed convolution and interpolation along an axis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Graph, Node
from tilewright.operators import pooling
from tilewright.operators.attributes import AxisAttributes
from tilewright.operators.elementwise import dimensions_of, identity_maps
from tilewright.operators.interpolation import narrowest_map
from tilewright.operators.nest import AxisMap, Dimension, Iteration, Nest, along
from tilewright.operators.operator import Arrays, Integers, OnIntegers, Operator, operand, optional_operand
from tilewright.operators.spatial import OUTPUT_NAMES, TAP_NAMES, Windows, spatial_extents

_BOTH = (slice(None), slice(None))
"""The first two axes of a tensor, batch and channels, taken whole."""


@dataclass(frozen=True, slots=True)
class LpPoolAttributes(Windows):
    """Windows, and the order of the norm."""

    p: float


@dataclass(frozen=True, slots=True)
class MaxPoolIndicesAttributes(Windows):
    """Windows; ``steps`` holds, for each spatial axis, by how much the index grows from one position to the next."""

    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ConvTransposeAttributes(Windows):
    """Windows over the output, whose ``kernel`` holds the weights' spatial extents, and the number of groups."""

    group: int = 1


@dataclass(frozen=True, slots=True)
class InterpolateAttributes(AxisAttributes):
    """Each output along the axis is a weighted sum of input elements along it.

    Attributes:
        indices, weights: tables [output, tap], row by row: positions on the input's axis, and their factors.
        outside: the value of an output whose first index is -1.
    """

    indices: tuple[int, ...]
    weights: tuple[float, ...]
    outside: float


def lp_pool(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """(sum |x|^p)^(1/p) under each window, in float64."""
    windows, (_, outputs) = node.given(LpPoolAttributes), spatial_extents(node, graph)
    x, p = operand(arrays, 0).astype(np.float64), windows.p
    total = np.zeros((*x.shape[:2], *outputs))
    for _, view in windows.taps(np.abs(x) ** p, outputs, 0):
        total = total + view
    return [(total ** (1.0 / p)).astype(np.float32)]


def max_pool_indices_nest(node: Node, graph: Graph) -> Nest:
    """The nest of MaxPool; elements and indices are written at the same positions."""
    nest = pooling.nest(node, graph)
    return replace(nest, writes=(nest.writes[0], nest.writes[0]))


def max_pool_indices(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """The largest element under each window and its index in the whole input; the first of equals."""
    x = operand(arrays, 0)
    windows, (spatial, outputs) = node.given(MaxPoolIndicesAttributes), spatial_extents(node, graph)
    steps = np.array(windows.steps, np.int64).reshape(-1, *(1,) * len(spatial))
    image = np.arange(x.shape[0] * x.shape[1], dtype=np.int64).reshape(*x.shape[:2], *(1,) * len(spatial))
    index = image * int(np.prod(spatial)) + (np.indices(spatial) * steps).sum(axis=0)
    best = np.zeros((*x.shape[:2], *outputs), x.dtype)
    where = np.full(best.shape, -1, np.int64)
    # Indices that stand for padding are -1, so that padding never wins.
    for (_, view), (_, at) in zip(windows.taps(x, outputs, 0), windows.taps(index, outputs, -1), strict=True):
        better = (at >= 0) & ((where < 0) | (view > best))
        best, where = np.where(better, view, best), np.where(better, at, where)
    return [best, where]


def conv_transpose_nest(node: Node, graph: Graph) -> Nest:
    """Dimensions n, group, oc, output positions, ic, taps; output o reads x from (o + pad - k * dilation) / stride.

    Quotients that are no integers read nothing: the first position is rounded up, the last one down.
    """
    x, w = (graph.tensor(name).shape for name in node.inputs[:2])
    shape = graph.tensor(node.outputs[0]).shape
    windows = node.given(ConvTransposeAttributes)
    groups, spatial = windows.group, windows.rank
    inputs, outputs = x[1] // groups, w[1]
    out_names, tap_names = OUTPUT_NAMES[spatial], TAP_NAMES[spatial]
    read = [
        AxisMap(((out, 1), (tap, -dilation)), pad + stride - 1, pad, stride)
        for out, tap, stride, dilation, pad in zip(
            out_names, tap_names, windows.strides, windows.dilations, windows.pads_begin, strict=True
        )
    ]
    channel_in = AxisMap((("group", inputs), ("ic", 1)))
    channel_out = AxisMap((("group", outputs), ("oc", 1)))
    reads = [
        (along("n"), channel_in, *read),
        (channel_in, along("oc"), *(along(tap) for tap in tap_names)),
        *((channel_out,) if name else () for name in node.inputs[2:]),
    ]
    dimensions = (
        Dimension("n", shape[0]),
        Dimension("group", groups),
        Dimension("oc", outputs),
        *(Dimension(name, extent) for name, extent in zip(out_names, shape[2:], strict=True)),
        Dimension("ic", inputs, Iteration.WHOLE),
        *(Dimension(name, extent, Iteration.WHOLE) for name, extent in zip(tap_names, w[2:], strict=True)),
    )
    written = (along("n"), channel_out, *(along(name) for name in out_names))
    return Nest(dimensions, tuple(reads), (written,), macs_per_point=1)


def conv_transpose(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """Each input element adds its weights to a window of the output; in float64."""
    x, w = operand(arrays, 0).astype(np.float64), operand(arrays, 1).astype(np.float64)
    windows = node.given(ConvTransposeAttributes)
    result = transposed_sums(x, w, graph.tensor(node.outputs[0]).shape, windows)
    bias = optional_operand(arrays, 2)
    if bias is not None:
        result = result + bias.reshape(-1, *(1,) * windows.rank)
    return [result.astype(np.float32)]


def transposed_sums(x: Array, w: Array, shape: tuple[int, ...], windows: ConvTransposeAttributes) -> Array:
    """The sums of a transposed convolution.

    Args:
        x: [N, C, s...].
        w: [C, M / group, k...], of the dtype of x, in which the sums are built.
        shape: of the result, [N, M, s...].
    """
    groups, spatial = windows.group, windows.rank
    strides, dilations, pads = windows.strides, windows.dilations, windows.pads_begin
    parts = x.reshape(x.shape[0], groups, -1, *x.shape[2:])
    weights = w.reshape(groups, -1, *w.shape[1:])
    reach = [
        max((x.shape[2 + a] - 1) * strides[a] + (w.shape[2 + a] - 1) * dilations[a] + 1, shape[2 + a] + pads[a])
        for a in range(spatial)
    ]
    full = np.zeros((*shape[:2], *reach), x.dtype)
    for tap in np.ndindex(*w.shape[2:]):
        product = np.einsum("ngi...,gio->ngo...", parts, weights[(slice(None),) * 3 + tap])
        at = tuple(
            slice(tap[a] * dilations[a], tap[a] * dilations[a] + (x.shape[2 + a] - 1) * strides[a] + 1, strides[a])
            for a in range(spatial)
        )
        full[_BOTH + at] += product.reshape(*shape[:2], *x.shape[2:])
    sums: Array = full[_BOTH + tuple(slice(pads[a], pads[a] + shape[2 + a]) for a in range(spatial))]
    return sums


def interpolate_nest(node: Node, graph: Graph) -> Nest:
    """Dimensions over the output's axes; a tile reads what its outputs have taps with a weight at."""
    shape = graph.tensor(node.outputs[0]).shape
    given = node.given(InterpolateAttributes)
    axis, extent = given.axis, graph.tensor(node.inputs[0]).shape[given.axis]
    indices, weights = interpolation_tables(given, shape[axis])
    counts = (weights.astype(np.float32) != 0) & (indices >= 0)
    lowest = np.where(counts, indices, extent).min(axis=1)
    highest = np.where(counts, indices, -1).max(axis=1)
    maps = identity_maps(shape)
    read = (*maps[:axis], narrowest_map(f"d{axis}", extent, lowest, highest), *maps[axis + 1 :])
    return Nest(dimensions_of(shape), (read,), (maps,), macs_per_point=indices.shape[1])


def interpolation_tables(given: InterpolateAttributes, outputs: int) -> tuple[Array, Array]:
    """Indices and weights [output, tap] along the axis, int64 and float64; taps without a weight come last.

    Weights that float32 cannot tell from 0 are none.
    """
    indices = np.array(given.indices, np.int64).reshape(outputs, -1)
    weights = np.array(given.weights, np.float64).reshape(outputs, -1)
    counts = weights.astype(np.float32) != 0
    taps = max(int(counts.sum(axis=1).max()), 1)
    kept = np.argsort(~counts, axis=1, kind="stable")[:, :taps]
    return np.take_along_axis(indices, kept, axis=1), np.take_along_axis(weights, kept, axis=1)


def interpolate(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """y[o] = sum of weights[o, t] * x[indices[o, t]]; ``outside`` where the first index is -1."""
    given = node.given(InterpolateAttributes)
    x, axis = operand(arrays, 0), given.axis
    indices, weights = interpolation_tables(given, graph.tensor(node.outputs[0]).shape[axis])
    lines = np.moveaxis(x.astype(np.float64), axis, -1)
    result = (lines[..., np.maximum(indices, 0)] * weights).sum(axis=-1)
    result = np.where(indices[:, 0] < 0, given.outside, result)
    return [np.moveaxis(result, -1, axis).astype(np.float32)]


OPERATORS = (
    Operator("LpPool", pooling.nest, lp_pool, LpPoolAttributes, is_alike=True),
    Operator("MaxPoolIndices", max_pool_indices_nest, max_pool_indices, MaxPoolIndicesAttributes),
    Operator(
        "ConvTranspose",
        conv_transpose_nest,
        conv_transpose,
        ConvTransposeAttributes,
        on_integers=OnIntegers(Integers.WEIGHTED, "ConvTransposeInteger", channel_axis=1, over_volumes=True),
        weights_axis=lambda node: 1 if node.given(ConvTransposeAttributes).group == 1 else None,
    ),
    Operator(
        "Interpolate",
        interpolate_nest,
        interpolate,
        InterpolateAttributes,
        on_integers=OnIntegers(Integers.NEIGHBOURS, "InterpolateInteger"),
    ),
)
