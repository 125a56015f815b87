"""A strided 1x1 convolution reads a Slice of its input, without the rows that the convolution skips.

Before:  y = Conv(x, w), kernel 1x1, strides (2, 2)
After:   x.rows = Slice(x, every second row), a view; y = Conv(x.rows, w), strides (1, 2)
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph import Graph, Node, Tensor
from tilewright.graph.edit import make_node, untaken, with_attributes
from tilewright.operators.conv import ConvAttributes
from tilewright.operators.movement import SliceAttributes


def without_skipped_rows(graph: Graph) -> tuple[Graph, frozenset[str]]:
    """The graph with a Slice before each such convolution, and the names of the Slice nodes.

    The slices pay only where they are views, which move nothing. Columns stay: without the skipped
    columns each line of a tile would be as short as a pixel.
    """
    tensors = dict(graph.tensors)
    taken = {*tensors, *(node.name for node in graph.nodes)}
    nodes: list[Node] = []
    added: set[str] = set()
    for node in graph.nodes:
        if not _skips_rows(node, graph):
            nodes.append(node)
            continue
        rows = _rows(node, graph, taken)
        taken.add(rows.name)
        tensors[rows.name] = rows
        added.add(rows.name)
        nodes += _sliced(node, rows)
    return (graph.with_nodes(nodes, tensors) if added else graph), frozenset(added)


def _skips_rows(node: Node, graph: Graph) -> bool:
    windows = node.attributes
    if not isinstance(windows, ConvAttributes) or graph.tensor(node.inputs[0]).data is not None:
        return False
    return windows.kernel == (1, 1) and windows.strides[0] > 1 and not any(windows.pads)


def _rows(node: Node, graph: Graph, taken: set[str]) -> Tensor:
    x, y = graph.tensor(node.inputs[0]), graph.tensor(node.outputs[0])
    return replace(x, name=untaken(f"{y.name}/rows", taken), shape=(*x.shape[:2], y.shape[2], x.shape[3]))


def _sliced(node: Node, rows: Tensor) -> tuple[Node, Node]:
    down, across = node.given(ConvAttributes).strides
    attributes = SliceAttributes(starts=(0, 0, 0, 0), steps=(1, 1, down, 1))
    part = make_node("Slice", [node.inputs[0]], [rows.name], attributes=attributes, sources=node.sources)
    inputs = (rows.name, *node.inputs[1:])
    return part, with_attributes(replace(node, inputs=inputs), strides=(1, across))
