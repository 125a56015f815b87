"""Biases and clips behind a view of a convolution or product fold as they do right behind it."""

from __future__ import annotations

import numpy as np
import pytest
from support.onnx_models import ModelBuilder, assert_equal_to_runtime, imported, operators
from tilewright.graph import Clamp, Requantize
from tilewright.rewrites.passes import optimise

RANDOM = np.random.default_rng(23)


class Network(ModelBuilder):
    """Operators with random constants."""

    def weights(self, *shape):
        return self.constant(RANDOM.normal(size=shape).astype(np.float32))

    def axes(self, *axes):
        return self.constant(np.array(axes))


def convolution_of_one_axis(net, x):
    """Conv1D as tf2onnx writes it: rows become images of height 1 and back."""
    image = net.node("Unsqueeze", x, net.axes(2))
    return net.node("Squeeze", net.node("Conv", image, net.weights(4, 3, 1, 3)), net.axes(2))


def test_conv1d_of_tf2onnx(tmp_path):
    net = Network()
    y = convolution_of_one_axis(net, net.input("x", [1, 3, 16]))
    net.node("Relu", net.node("Add", y, net.weights(1, 4, 1)), output="y")
    graph = assert_equal_to_runtime(tmp_path, net.model("y"))
    assert operators(graph)["Conv"] == 1
    assert set(operators(graph)) <= {"Conv", "Reshape"}
    (node,) = (node for node in graph.nodes if node.operator == "Conv")
    assert node.epilogue == Clamp(0.0, float("inf"))
    assert len(node.inputs) == 3


def test_conv1d_whose_channels_become_last(tmp_path):
    net = Network()
    y = net.node("Transpose", convolution_of_one_axis(net, net.input("x", [1, 3, 16])), perm=[0, 2, 1])
    net.node("Mul", net.node("Add", y, net.weights(4)), net.weights(4), output="y")
    graph = assert_equal_to_runtime(tmp_path, net.model("y"))
    assert not {"Add", "Mul"} & set(operators(graph))


def test_dense_on_three_axes(tmp_path):
    net = Network()
    rows = net.node("Reshape", net.input("x", [2, 5, 3]), net.axes(10, 3))
    y = net.node("Reshape", net.node("MatMul", rows, net.weights(3, 4)), net.axes(2, 5, 4))
    net.node("Add", y, net.weights(4), output="y")
    assert "Add" not in operators(assert_equal_to_runtime(tmp_path, net.model("y")))


@pytest.mark.parametrize("shape", [(2, 5, 1), (5, 4)])
def test_constants_along_other_axes_stay(tmp_path, shape):
    net = Network()
    rows = net.node("Reshape", net.input("x", [2, 5, 3]), net.axes(10, 3))
    y = net.node("Reshape", net.node("MatMul", rows, net.weights(3, 4)), net.axes(2, 5, 4))
    net.node("Add", y, net.weights(*shape), output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y")))["Add"] == 1


def test_a_view_with_two_readers_stays(tmp_path):
    net = Network()
    y = convolution_of_one_axis(net, net.input("x", [1, 3, 16]))
    net.node("Add", y, net.weights(1, 4, 1), output="y")
    net.node("Neg", y, output="z")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y", "z")))["Add"] == 1


def test_quantised_conv1d_is_one_integer_operator(tmp_path):
    net = Network()
    x = net.dequantize(net.input("x", [1, 3, 16], np.int8), 0.05, 3)
    w = net.dequantize(net.constant(RANDOM.integers(-128, 128, (4, 3, 1, 3), np.int8)), 0.01)
    image = net.node("Unsqueeze", x, net.axes(2))
    y = net.node("Squeeze", net.node("Conv", image, w), net.axes(2))
    y = net.node("Relu", net.node("Add", y, net.weights(1, 4, 1)))
    net.quantize(y, 0.1, -128, np.int8, output="y")
    model = net.model("y", dtypes={"y": np.int8})
    assert_equal_to_runtime(tmp_path, model)
    graph = optimise(imported(tmp_path, model))
    assert set(operators(graph)) == {"Conv", "Reshape"}
    (node,) = (node for node in graph.nodes if node.operator == "Conv")
    assert isinstance(node.epilogue, Requantize)


@pytest.mark.parametrize("scale", [0.25, np.array([0.25, 0.5, 1.0, 2.0], np.float32)])
def test_dequantised_constants_move_too(tmp_path, scale):
    net = Network()
    y = convolution_of_one_axis(net, net.input("x", [1, 3, 16]))
    stored = net.constant(RANDOM.integers(-128, 128, (1, 4, 1), np.int8))
    bias = net.dequantize(stored, scale, np.zeros(np.shape(scale)), axis=1)
    net.node("Add", y, bias, output="y")
    assert "Add" not in operators(assert_equal_to_runtime(tmp_path, net.model("y")))
