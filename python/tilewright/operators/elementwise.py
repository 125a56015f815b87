"""Nests in which output element d depends on element d of each input, with NumPy broadcasting."""

from __future__ import annotations

from tilewright.graph import Graph, Node
from tilewright.operators.nest import AxisMap, Dimension, Nest, along, whole


def dimensions_of(shape: tuple[int, ...]) -> tuple[Dimension, ...]:
    """d0, d1, ...: one parallel dimension for each axis."""
    return tuple(Dimension(f"d{axis}", extent) for axis, extent in enumerate(shape))


def identity_maps(shape: tuple[int, ...]) -> tuple[AxisMap, ...]:
    """Axis i follows d<i>."""
    return tuple(along(f"d{axis}") for axis in range(len(shape)))


def broadcast_maps(shape: tuple[int, ...], rank: int) -> tuple[AxisMap, ...]:
    """Maps of an operand that broadcasts to ``rank`` axes, aligned at the last axis."""
    first = rank - len(shape)
    return tuple(whole(1) if extent == 1 else along(f"d{first + axis}") for axis, extent in enumerate(shape))


def nest(node: Node, graph: Graph) -> Nest:
    """Dimensions d0, d1, ... over the output's axes; every input broadcasts to the output."""
    shape = graph.tensor(node.outputs[0]).shape
    reads = tuple(broadcast_maps(graph.tensor(name).shape, len(shape)) for name in node.inputs)
    return Nest(dimensions_of(shape), reads, (identity_maps(shape),))
