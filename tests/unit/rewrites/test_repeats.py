"""Nearest upsampling, however an exporter writes it, is one Repeat."""

from __future__ import annotations

import numpy as np
import pytest
from support.onnx_models import ModelBuilder, assert_equal_to_runtime, operators


class Network(ModelBuilder):
    """Operators with shapes as constants."""

    def shaped(self, operator, x, *values, **attributes):
        return self.node(operator, x, self.constant(np.array(values, np.int64)), **attributes)


def repeated_by_tf2onnx(net, x, shape):
    """UpSampling2D of Keras: rows of channels-first images by Unsqueeze and Tile, columns of channels-last ones."""
    batch, channels, rows, columns = shape
    x = net.shaped("Tile", net.shaped("Unsqueeze", x, 3), 1, 1, 1, 2, 1)
    x = net.node("Transpose", x, perm=[0, 2, 3, 4, 1])
    x = net.shaped("Reshape", x, batch, 2 * rows, columns, channels)
    x = net.shaped("Tile", net.shaped("Unsqueeze", x, 3), 1, 1, 1, 3, 1)
    x = net.shaped("Reshape", x, batch, 2 * rows, 3 * columns, channels)
    return net.node("Transpose", x, perm=[0, 3, 1, 2])


def repeated_by_expand(net, x, shape):
    """As PyTorch code writes it: x[:, :, :, None, :, None].expand(...).reshape(...)."""
    batch, channels, rows, columns = shape
    x = net.shaped("Reshape", x, batch, channels, rows, 1, columns)
    x = net.shaped("Expand", x, batch, channels, rows, 2, columns)
    x = net.shaped("Reshape", x, batch, channels, 2 * rows, columns, 1)
    x = net.shaped("Expand", x, batch, channels, 2 * rows, columns, 3)
    return net.shaped("Reshape", x, batch, channels, 2 * rows, 3 * columns)


def network(repeated):
    """A convolution, each row twice and each column three times, another convolution."""
    net, random = Network(), np.random.default_rng(3)
    weights = [net.constant(random.normal(0, 0.1, size).astype(np.float32)) for size in ((4, 2, 3, 3), (2, 4, 3, 3))]
    x = net.node("Conv", net.input("x", [1, 2, 5, 6]), weights[0], pads=[1] * 4)
    net.node("Conv", repeated(net, x, (1, 4, 5, 6)), weights[1], output="y")
    return net.model("y")


@pytest.mark.parametrize("repeated", [repeated_by_tf2onnx, repeated_by_expand])
def test_upsampling_between_views_is_one_repeat(tmp_path, repeated):
    graph = assert_equal_to_runtime(tmp_path, network(repeated))
    assert operators(graph) == {"Conv": 2, "Repeat": 1}
    (repeat,) = (node for node in graph.nodes if node.operator == "Repeat")
    assert repeat.attributes.times == (1, 1, 2, 3)


def test_copies_of_a_whole_axis_are_none(tmp_path):
    """Tile sets the rows 0 1 2 0 1 2 behind each other, not 0 0 1 1 2 2."""
    net = Network()
    net.shaped("Tile", net.input("x", [1, 2, 3, 4]), 1, 1, 2, 1, output="y")
    assert "Repeat" not in operators(assert_equal_to_runtime(tmp_path, net.model("y")))


def test_copies_that_others_read_too_stay(tmp_path):
    net = Network()
    x = net.shaped("Reshape", net.input("x", [4, 5]), 4, 1, 5)
    copies = net.shaped("Expand", x, 4, 2, 5, output="copies")
    net.shaped("Reshape", copies, 8, 5, output="y")
    found = operators(assert_equal_to_runtime(tmp_path, net.model("y", "copies")))
    assert "Repeat" not in found
