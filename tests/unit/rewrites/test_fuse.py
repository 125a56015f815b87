"""Folding and fusing of float operators."""

from __future__ import annotations

import numpy as np
import pytest
from support.onnx_models import ModelBuilder, assert_equal_to_runtime, imported, operators, outputs_of
from tilewright.graph import Clamp
from tilewright.rewrites.passes import optimise

RANDOM = np.random.default_rng(13)


def normal(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


class Network(ModelBuilder):
    """Operators with random constants."""

    def weights(self, *shape):
        return self.constant(normal(*shape))

    def batch_normalization(self, x, channels):
        constants = [self.weights(channels) for _ in range(3)]
        return self.node("BatchNormalization", x, *constants, self.constant(np.abs(normal(channels))))


@pytest.mark.parametrize("bias", [False, True])
def test_batch_normalization_folds_into_conv(tmp_path, bias):
    net = Network()
    inputs = [net.input("x", [1, 3, 6, 6]), net.weights(4, 3, 3, 3), *([net.weights(4)] if bias else [])]
    net.node("Relu", net.batch_normalization(net.node("Conv", *inputs), 4), output="y")
    graph = assert_equal_to_runtime(tmp_path, net.model("y"))
    (node,) = graph.nodes
    assert node.epilogue == Clamp(0.0, float("inf"))
    assert len(node.sources) == 3


@pytest.mark.parametrize("transposed", [0, 1])
def test_batch_normalization_folds_into_gemm(tmp_path, transposed):
    net = Network()
    shape = (5, 8) if transposed else (8, 5)
    y = net.node("Gemm", net.input("x", [2, 8]), net.weights(*shape), net.weights(5), transB=transposed)
    graph = assert_equal_to_runtime(tmp_path, net.model(net.batch_normalization(y, 5)))
    assert operators(graph) == {"MatMul": 1}


def test_batch_normalization_alone_is_one_layer(tmp_path):
    net = Network()
    y = net.batch_normalization(net.input("x", [1, 3, 6, 6]), 3)
    assert operators(assert_equal_to_runtime(tmp_path, net.model(y))) == {"MulAdd": 1}


def test_a_result_with_two_readers_is_not_folded(tmp_path):
    net = Network()
    a = net.node("Conv", net.input("x", [1, 3, 6]), net.weights(4, 3, 3))
    net.node("Add", a, net.weights(4, 1), output="y")
    net.node("Relu", a, output="z")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y", "z"))) == {"Conv": 1, "Add": 1, "Clip": 1}


@pytest.mark.parametrize(
    ("shape", "folds"),
    [((4, 1), True), ((1,), True), ((), True), ((1, 4, 1), True), ((4,), False), ((2, 4, 1), False)],
)
def test_only_constants_along_channels_are_biases(tmp_path, shape, folds):
    net = Network()
    a = net.node("Conv", net.input("x", [1, 3, 6]), net.weights(4, 3, 3))
    net.node("Sub", a, net.weights(*shape), output="y")
    graph = assert_equal_to_runtime(tmp_path, net.model("y"))
    assert operators(graph) == ({"Conv": 1} if folds else {"Conv": 1, "Sub": 1})


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "MaxPool", "AveragePool"])
def test_clips_become_clamps(tmp_path, operator):
    net = Network(opset=12)
    x = net.input("x", [1, 3, 6])
    a = net.node(operator, x, kernel_shape=[2]) if "Pool" in operator else net.node(operator, x, x)
    b = net.node(
        "Transpose", net.node("Clip", a, net.constant(np.float32(-0.2)), net.constant(np.float32(2))), perm=[0, 2, 1]
    )
    net.node("Relu", b, output="y")
    graph = assert_equal_to_runtime(tmp_path, net.model("y"))
    assert next(node.epilogue for node in graph.nodes if node.operator == operator) == Clamp(0.0, 2.0)
    assert set(operators(graph)) == {operator, "Transpose"}


def test_a_clip_of_something_else_stays(tmp_path):
    net = Network()
    net.node("Relu", net.node("Tanh", net.input("x", [4])), output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y"))) == {"Tanh": 1, "Clip": 1}


@pytest.mark.parametrize(
    ("value", "pads", "folds"), [(0, [0, 0, 1, 2], True), (1, [0, 0, 1, 2], False), (0, [0, 1, 0, 0], False)]
)
def test_zero_pads_become_the_padding_of_conv(tmp_path, value, pads, folds):
    net = Network()
    x = net.input("x", [1, 3, 6])
    whole = [*pads[:2], pads[2], 0, 0, pads[3]]
    padded = net.node("Pad", x, net.constant(np.array(whole)), net.constant(np.float32(value)))
    net.node("Conv", padded, net.weights(4, 3 + pads[1], 3), pads=[1, 0], output="y")
    graph = assert_equal_to_runtime(tmp_path, net.model("y"))
    assert ("Pad" not in operators(graph)) == folds
    if folds:
        assert graph.nodes[0].attributes.pads == (2, 2)


def test_pads_of_causal_convolutions_fold_through_views(tmp_path):
    net = Network()
    pads = net.constant(np.array([0, 2, 0, 0, 0, 0]))
    padded = net.node("Pad", net.input("x", [1, 16, 3]), pads)
    image = net.node("Unsqueeze", net.node("Transpose", padded, perm=[0, 2, 1]), net.constant(np.array([2])))
    net.node("Conv", image, net.weights(4, 3, 1, 3), output="y")
    graph = assert_equal_to_runtime(tmp_path, net.model("y"))
    assert "Pad" not in operators(graph)
    (node,) = (node for node in graph.nodes if node.operator == "Conv")
    assert node.attributes.pads == (0, 2, 0, 0)


def test_a_pad_of_channels_behind_a_view_stays(tmp_path):
    net = Network()
    padded = net.node("Pad", net.input("x", [1, 16, 3]), net.constant(np.array([0, 0, 0, 0, 0, 1])))
    net.node("Conv", net.node("Transpose", padded, perm=[0, 2, 1]), net.weights(4, 4, 3), output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y")))["Pad"] == 1


def test_constants_fold_and_a_constant_output_is_copied(tmp_path):
    net = Network()
    stored = net.constant(RANDOM.integers(-128, 128, (3, 4), np.int8))
    w = net.dequantize(stored, 0.1, 3)
    net.node("MatMul", net.input("x", [2, 3]), net.node("Tanh", w), output="y")
    net.node("Relu", w, output="z")
    model = net.model("y", "z")
    graph = assert_equal_to_runtime(tmp_path, model)
    assert operators(graph) == {"MatMul": 1, "Copy": 1}
    feeds = {"x": normal(2, 3)}
    got = outputs_of(graph, feeds)
    before = outputs_of(imported(tmp_path, model), feeds)
    np.testing.assert_array_equal(got[1], before[1])


def test_optimising_twice_changes_nothing(tmp_path):
    net = Network()
    y = net.batch_normalization(net.node("Conv", net.input("x", [1, 3, 6, 6]), net.weights(4, 3, 3, 3)), 4)
    net.node("Flatten", net.node("Relu", y), output="y")
    graph = optimise(imported(tmp_path, net.model("y")))
    again = optimise(graph)
    assert [node.operator for node in again.nodes] == [node.operator for node in graph.nodes]
    assert {name: tensor.order for name, tensor in again.tensors.items()} == {
        name: tensor.order for name, tensor in graph.tensors.items()
    }
