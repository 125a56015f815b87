"""The one core that all packed products of a network take."""

from __future__ import annotations

import numpy as np
import pytest
from support.integer_nodes import node_graph, requantize
from tilewright.graph import Array, DType, Graph, Node, Tensor, identity_order
from tilewright.kernels.scalar.conv_packed import packed
from tilewright.kernels.scalar.network_core import core_of_network, most_taps
from tilewright.kernels.scalar.pixel_product import product_of_images
from tilewright.kernels.scalar.rounds import Core
from tilewright.kernels.scalar.spatial_integer import integer_conv
from tilewright.operators.conv import ConvAttributes
from tilewright.operators.matmul import MatMulAttributes

SPREADS = {Core.TO4: 110, Core.TO8: 50, Core.TO16: 20}
"""For each core weights, up to this value, that it multiplies fastest."""


def drawn(largest: int, channels: int = 16, taps: int = 64) -> Array:
    return np.random.default_rng(largest).integers(-largest, largest + 1, (channels, taps))


def tensor(name: str, shape: tuple[int, ...], data: Array | None = None) -> Tensor:
    return Tensor(name, DType.INT8, shape, identity_order(len(shape)), data=data)


def network(*layers: tuple[Array, int]) -> Graph:
    """1x1 convolutions of int8, one for each pair of weights [channels, taps] and rows of its square image."""
    nodes, tensors = [], []
    for number, (weights, side) in enumerate(layers):
        channels, taps = weights.shape
        names = [f"{name}{number}" for name in "xwy"]
        data = weights.astype(np.int8).reshape(channels, taps, 1, 1)
        tensors += [
            tensor(names[0], (1, taps, side, side)),
            tensor(names[1], data.shape, data),
            tensor(names[2], (1, channels, side, side)),
        ]
        attributes = ConvAttributes(kernel=(1, 1), strides=(1, 1), dilations=(1, 1), pads=(0, 0, 0, 0))
        nodes.append(Node(f"conv{number}", "Conv", tuple(names[:2]), (names[2],), attributes))
    inputs, outputs = (tuple(f"{name}{number}" for number in range(len(layers))) for name in "xy")
    return Graph("net", tuple(nodes), {item.name: item for item in tensors}, inputs, outputs)


@pytest.mark.parametrize("core", SPREADS)
def test_the_core_that_is_fastest_for_the_weights(core: Core) -> None:
    assert core_of_network(network((drawn(SPREADS[core]), 4))) is core


def test_layers_count_by_their_pixels() -> None:
    light, heavy = drawn(SPREADS[Core.TO16]), drawn(SPREADS[Core.TO4])
    assert core_of_network(network((light, 12), (heavy, 1))) is Core.TO16
    assert core_of_network(network((light, 1), (heavy, 12))) is Core.TO4


def test_all_layers_take_the_same_core() -> None:
    graph = network((drawn(20), 12), (drawn(110), 2), (drawn(50), 2))
    assert core_of_network(graph) is core_of_network(graph)
    assert most_taps(graph) == 64


def test_rows_times_a_matrix_count_and_vectors_do_not() -> None:
    matrix = drawn(SPREADS[Core.TO16]).T.astype(np.int8)
    wanted = {8: Core.TO16, 1: Core.TO4}
    for rows, core in wanted.items():
        tensors = [tensor("a", (rows, 64)), tensor("b", matrix.shape, matrix), tensor("c", (rows, 16))]
        node = Node("product", "MatMul", ("a", "b"), ("c",), MatMulAttributes())
        graph = Graph("net", (node,), {item.name: item for item in tensors}, ("a",), ("c",))
        assert core_of_network(graph) is core


def test_weights_of_nine_bits_have_their_own() -> None:
    weights = np.where(np.eye(16, 64) > 0, 255, drawn(20)).astype(np.uint8)[:, :, None, None]
    x = np.zeros((1, 64, 4, 4), np.uint8)
    attributes = {"strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0), "group": 1, "w_zero_point": (7,)}
    graph, _ = node_graph(
        "Conv", [x, weights], (1,), (1, 16, 4, 4), "int8", attributes, requantize([0.001]), channels_last=True
    )
    conv = integer_conv(graph.nodes[0], graph)
    assert conv is not None
    names = [choice.name for choice in packed(product_of_images(conv), graph)]
    assert names
    assert all("_wide" in name for name in names)
