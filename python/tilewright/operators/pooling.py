"""MaxPool and AveragePool; global pools are pools over the whole extent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Graph, Node
from tilewright.operators.epilogue import finish
from tilewright.operators.exact import offset_removed
from tilewright.operators.nest import Dimension, Iteration, Nest, along
from tilewright.operators.operator import Arrays, Integers, OnIntegers, Operator, operand
from tilewright.operators.spatial import Windows, output_dimensions, spatial_extents


@dataclass(frozen=True, slots=True)
class AveragePoolAttributes(Windows):
    """Windows, whether pads count as elements, and the stored integer that stands for 0."""

    count_include_pad: bool = False
    x_zero_point: int = 0


def nest(node: Node, graph: Graph) -> Nest:
    """Dimensions n, c, oh, ow, kh, kw; 1-D has no oh and kh. The only window of a channel can be cut."""
    batch, channels = graph.tensor(node.outputs[0]).shape[:2]
    windows = node.given(Windows)
    outputs = output_dimensions(spatial_extents(node, graph)[1])
    taps = windows.tap_dimensions
    if all(output.extent == 1 for output in outputs):
        taps = tuple(replace(tap, iteration=Iteration.REDUCTION) for tap in taps)
    return Nest(
        (Dimension("n", batch), Dimension("c", channels), *outputs, *taps),
        ((along("n"), along("c"), *windows.input_maps),),
        ((along("n"), along("c"), *(along(out.name) for out in outputs)),),
    )


def max_pool(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """The largest element under each window; padding never wins. Any dtype."""
    x = operand(arrays, 0)
    windows, (_, outputs) = node.given(Windows), spatial_extents(node, graph)
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    result = np.full((*x.shape[:2], *outputs), lowest, x.dtype)
    for _, view in windows.taps(x, outputs, lowest):
        result = np.maximum(result, view)
    return finish(node, graph, result)


def average_pool(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """sum (x - x_zero_point) / count in float64; a window without counted taps gives 0.

    Raises:
        TilewrightError (not supported): integers without a Requantize or Rescale epilogue.
    """
    windows, (extents, outputs) = node.given(AveragePoolAttributes), spatial_extents(node, graph)
    x = offset_removed(operand(arrays, 0), windows.x_zero_point)
    total = np.zeros((*x.shape[:2], *outputs), np.float64 if x.dtype.kind == "f" else np.int64)
    for _, view in windows.taps(x, outputs, 0):
        total = total + view
    counts = windows.counts(extents, outputs, include_pads=windows.count_include_pad)
    return finish(node, graph, total / np.maximum(counts, 1))


OPERATORS = (
    Operator("MaxPool", nest, max_pool, Windows, takes_clamp=True, keeps_values=True, is_alike=True),
    Operator(
        "AveragePool",
        nest,
        average_pool,
        AveragePoolAttributes,
        takes_clamp=True,
        on_integers=OnIntegers(Integers.MEAN),
        is_alike=True,
    ),
)
