"""What the packed products of a network share: one C core for all of them, so that a firmware holds one.

A core's code is as large as that of all other kernels of a small network, and no layer gains more than a few percent by
a core of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from tilewright.graph import Array, Graph, Node
from tilewright.kernels.integer import EIGHT_BIT, columns_of, is_wide
from tilewright.kernels.scalar.rounds import Core, core_cycles
from tilewright.kernels.scalar.spatial_integer import conv_weights
from tilewright.kernels.scalar.vector_product import MOST_ROWS
from tilewright.operators.conv import ConvAttributes
from tilewright.operators.matmul import MatMulAttributes

_NARROW = (Core.TO4, Core.TO8, Core.TO16)
"""Cores for weights of 8 bits; of those that take as long, the first one is taken."""

_MOST_CHANNELS = 64
"""Channels of a layer whose runs are counted; the others' weights are taken to be alike."""

_known: list[tuple[Graph, Core]] = []
"""The core of the network that was asked for last: kernels are chosen layer by layer."""


def core_of_network(graph: Graph) -> Core:
    """The core of 8-bit weights whose loops take the fewest instructions in all packed products of a network.

    Weights that need more bits have a core of their own.
    """
    if not _known or _known[0][0] is not graph:
        _known[:] = [(graph, _fastest(graph))]
    return _known[0][1]


def most_taps(graph: Graph) -> int:
    """The most taps of a channel of all convolutions, and of products of more rows than vectors have."""
    shapes = (graph.tensor(node.inputs[1]).shape for node in graph.nodes if node.operator == "Conv")
    products = (graph.tensor(node.inputs[0]) for node in graph.nodes if _has_rows(node, graph))
    return max((*(prod(shape[1:]) for shape in shapes), *(x.shape[-1] for x in products)), default=0)


def _fastest(graph: Graph) -> Core:
    layers = [(weights, pixels) for weights, pixels in _products(graph) if not is_wide(weights)]
    return min(_NARROW, key=lambda core: sum(pixels * core_cycles(weights, core) for weights, pixels in layers))


def _products(graph: Graph) -> Iterator[tuple[Array, float]]:
    """Weights int64[some channels, taps] of each product, and for how many elements of y each of them stands."""
    for node in graph.nodes:
        weights = _weights_of(node, graph)
        if weights is not None and weights.size:
            some = weights[:: -(-len(weights) // _MOST_CHANNELS)]
            yield some, prod(graph.tensor(node.outputs[0]).shape) / len(some)


def _weights_of(node: Node, graph: Graph) -> Array | None:
    """Constant 8-bit weights int64[channels, taps], zero point removed; None if a node is no packed product."""
    if _has_rows(node, graph):
        return _matrix(node, graph)
    if node.operator != "Conv":
        return None
    w, given = graph.tensor(node.inputs[1]), node.given(ConvAttributes)
    if w.data is None or w.dtype not in EIGHT_BIT or w.shape[1] == 1 < given.group:
        return None
    weights: Array = np.moveaxis(conv_weights(w, given), 1, -1).reshape(w.shape[0], -1)
    return weights


def _matrix(node: Node, graph: Graph) -> Array | None:
    """The constant matrix of a product as ``_weights_of`` gives it."""
    b = graph.tensor(node.inputs[1])
    if b.dtype not in EIGHT_BIT or prod(b.shape[:-2]) != 1:
        return None
    return columns_of(b, node.given(MatMulAttributes))


def _has_rows(node: Node, graph: Graph) -> bool:
    """Whether a node is a product of more than two rows with a constant matrix."""
    if node.operator != "MatMul" or graph.tensor(node.inputs[1]).data is None:
        return False
    return prod(graph.tensor(node.outputs[0]).shape[:-1]) > MOST_ROWS
