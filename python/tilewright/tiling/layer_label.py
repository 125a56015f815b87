"""A short, unique and stable name of a layer: number, what it is, and what sets it apart.

Before:  MobilenetV1/MobilenetV1/Conv2d_3_depthwise/Relu6;MobilenetV1/.../FusedBatchNormV3_quant (Conv), layer 7
After:   07 depthwise 3x3/2 64ch
"""

from __future__ import annotations

import re
from math import prod

from tilewright.graph import Graph, Node
from tilewright.operators.spatial import Windows

LONGEST_SHAPE = 20
"""Characters of a shape in a label; longer ones are told by their number of elements."""


def layer_label(number: int, count: int, node: Node, graph: Graph) -> str:
    """The label of layer ``number`` of ``count``, counted from 0."""
    width = max(2, len(str(count - 1)))
    return f"{number:0{width}d} {_word(node, graph)} {_apart(node, graph)}".rstrip()


def _word(node: Node, graph: Graph) -> str:
    group = getattr(node.attributes, "group", 1)
    if isinstance(node.attributes, Windows) and group > 1 and group == graph.tensor(node.inputs[0]).shape[1]:
        return "depthwise"
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", node.operator.rpartition(".")[2]).lower()


def _apart(node: Node, graph: Graph) -> str:
    """Windows, strides and channels, rows and columns of a product, or else the result's shape."""
    result = graph.tensor(node.outputs[0]).shape
    if isinstance(node.attributes, Windows):
        windows = node.attributes
        strides = windows.strides if len(set(windows.strides)) > 1 else windows.strides[:1]
        stepped = f"/{_extents(strides)}" if any(stride > 1 for stride in strides) else ""
        return f"{_extents(windows.kernel)}{stepped} {result[1]}ch"
    if node.operator in ("Gemm", "MatMul") and result:
        inner = graph.tensor(node.inputs[0]).shape[-1]
        return f"{inner} to {result[-1]}" + (f", {prod(result[:-1])} rows" if prod(result[:-1]) > 1 else "")
    shape = _extents(tuple(extent for extent in result if extent != 1))
    return shape if len(shape) <= LONGEST_SHAPE else f"{prod(result)} elements"


def _extents(extents: tuple[int, ...]) -> str:
    return "x".join(map(str, extents)) or "1"
