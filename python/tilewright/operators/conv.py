"""Convolution over one to three spatial axes, grouped and depthwise included.

y[n, g*M/G + oc, oh, ow] += w[g*M/G + oc, ic, kh, kw] * x[n, g*C/G + ic, oh*s + kh*d - pad, ow*s + kw*d - pad]
"""

from __future__ import annotations

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Graph, Node
from tilewright.operators.epilogue import along_axis, finish
from tilewright.operators.exact import exact_operands, offset_removed
from tilewright.operators.nest import AxisMap, Dimension, Iteration, Nest, along
from tilewright.operators.operator import Arrays, Integers, Multipliers, OnIntegers, Operator, operand, optional_operand
from tilewright.operators.spatial import Windows, output_dimensions, spatial_extents


@dataclass(frozen=True, slots=True)
class ConvAttributes(Windows):
    """Windows, whose ``kernel`` holds the weights' spatial extents, and groups of channels.

    Attributes:
        group: number of groups into which the channels of x, and those of y, are divided.
        x_zero_point: stored integer of x, and of its padding, that stands for 0.
        w_zero_point: stored integer of the weights that stands for 0; one value, or one for each channel of y.
        x_largest: the largest magnitude of an element of x, where x is int16 and whatever wrote it keeps within less
            than its type; 0 for that of the type. For example 255 for differences of two int8.
    """

    group: int = 1
    x_zero_point: int = 0
    w_zero_point: tuple[int, ...] = (0,)
    x_largest: int = 0


def nest(node: Node, graph: Graph) -> Nest:
    """Dimensions n, group, oc (within the group), oh, ow, ic (within the group), kh, kw; 1-D has no oh and kh."""
    weights = graph.tensor(node.inputs[1]).shape
    windows = node.given(ConvAttributes)
    groups, taps = windows.group, windows.tap_dimensions
    group_outputs, group_inputs = weights[0] // groups, weights[1]
    output_channel = _channel(groups, group_outputs, "oc")
    input_channel = _channel(groups, group_inputs, "ic")
    outputs = output_dimensions(spatial_extents(node, graph)[1])
    reads = (
        (along("n"), input_channel, *windows.input_maps),
        (output_channel, along("ic"), *(along(tap.name) for tap in taps)),
        *((output_channel,) if name else () for name in node.inputs[2:]),
    )
    return Nest(
        (
            Dimension("n", graph.tensor(node.outputs[0]).shape[0]),
            Dimension("group", groups),
            Dimension("oc", group_outputs),
            *outputs,
            Dimension("ic", group_inputs, Iteration.REDUCTION),
            *taps,
        ),
        reads,
        ((along("n"), output_channel, *(along(out.name) for out in outputs)),),
        macs_per_point=1,
    )


def reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """acc = b + sum (w - w_zero_point) * (x - x_zero_point); padding adds nothing. Float32 accumulates in float64."""
    windows = node.given(ConvAttributes)
    outputs, groups = spatial_extents(node, graph)[1], windows.group
    raw = operand(arrays, 1)
    x = offset_removed(operand(arrays, 0), windows.x_zero_point)
    w = offset_removed(raw, along_axis(windows.w_zero_point, np.int64, raw.ndim, 0))
    integer = x.dtype.kind != "f"
    x, w = exact_operands(x, w, int(np.prod(w.shape[1:])))
    batch, channels = x.shape[0], w.shape[0]
    w = w.reshape(groups, channels // groups, *w.shape[1:])
    total = np.zeros((batch, groups, channels // groups, int(np.prod(outputs))), x.dtype)
    for tap, view in windows.taps(x, outputs, 0):
        total += w[(slice(None),) * 3 + tap] @ view.reshape(batch, groups, w.shape[2], -1)
    accumulator = total.reshape(batch, channels, *outputs)
    if integer:
        accumulator = accumulator.astype(np.int64)
    bias = optional_operand(arrays, 2)
    if bias is not None:
        accumulator = accumulator + bias.reshape(-1, *(1,) * len(outputs))
    return finish(node, graph, accumulator)


def _channel(groups: int, within: int, name: str) -> AxisMap:
    terms = ((("group", within),) if groups > 1 else ()) + (((name, 1),) if within > 1 else ())
    return AxisMap(terms)


OPERATORS = (
    Operator(
        "Conv",
        nest,
        reference,
        ConvAttributes,
        takes_clamp=True,
        multipliers=Multipliers.EACH,
        on_integers=OnIntegers(Integers.WEIGHTED),
        weights_axis=lambda node: 0,
        is_alike=True,
    ),
)
