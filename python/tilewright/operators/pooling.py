"""MaxPool and AveragePool; global pools are pools over the whole extent."""

from __future__ import annotations

import numpy as np

from tilewright.graph import Array, Graph, Node
from tilewright.operators.epilogue import finish
from tilewright.operators.exact import offset_removed
from tilewright.operators.nest import Dimension, Nest, along
from tilewright.operators.operator import Arrays, Operator, operand
from tilewright.operators.spatial import windows_of


def nest(node: Node, graph: Graph) -> Nest:
    """Dimensions n, c, oh, ow, kh, kw; 1-D has no oh and kh."""
    batch, channels = graph.tensor(node.outputs[0]).shape[:2]
    windows = windows_of(node, graph, tuple(node.attributes["kernel"]))
    outputs = windows.output_dimensions
    return Nest(
        (Dimension("n", batch), Dimension("c", channels), *outputs, *windows.tap_dimensions),
        ((along("n"), along("c"), *windows.input_maps),),
        ((along("n"), along("c"), *(along(out.name) for out in outputs)),),
    )


def max_pool(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """The largest element under each window; padding never wins. Any dtype."""
    x = operand(arrays, 0)
    windows = windows_of(node, graph, tuple(node.attributes["kernel"]))
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    result = np.full((*x.shape[:2], *windows.outputs), lowest, x.dtype)
    for _, view in windows.taps(x, lowest):
        result = np.maximum(result, view)
    return finish(node, graph, result)


def average_pool(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """sum (x - x_zero_point) / count in float64; a window without counted taps gives 0.

    Raises:
        TilewrightError (not supported): integers without a Requantize or Rescale epilogue.
    """
    x = offset_removed(operand(arrays, 0), node.attributes.get("x_zero_point", 0))
    windows = windows_of(node, graph, tuple(node.attributes["kernel"]))
    total = np.zeros((*x.shape[:2], *windows.outputs), np.float64 if x.dtype.kind == "f" else np.int64)
    for _, view in windows.taps(x, 0):
        total = total + view
    counts = windows.counts(bool(node.attributes["count_include_pad"]))
    return finish(node, graph, total / np.maximum(counts, 1))


POOLING = (Operator("MaxPool", nest, max_pool), Operator("AveragePool", nest, average_pool))
