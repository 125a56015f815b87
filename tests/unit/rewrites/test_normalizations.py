"""Normalisations that are written out become one operator; what only looks like one stays."""

from __future__ import annotations

import numpy as np
import pytest
from support.onnx_models import ModelBuilder, assert_equal_to_runtime, operators

RANDOM = np.random.default_rng(17)


class Network(ModelBuilder):
    """Operators with constants of one element or random ones."""

    def scalar(self, value):
        return self.constant(np.float32(value))

    def weights(self, *shape):
        return self.constant(RANDOM.normal(size=shape).astype(np.float32))

    def mean(self, x, axes):
        return self.node("ReduceMean", x, axes=axes)

    def deviation(self, squares, axes):
        return self.node("Sqrt", self.node("Add", self.mean(squares, axes), self.scalar(1e-3)))


def of_torch(net, x, axes):
    """Pow, and a division by the root."""
    centred = net.node("Sub", x, net.mean(x, axes))
    return net.node("Div", centred, net.deviation(net.node("Pow", centred, net.scalar(2)), axes))


def of_tf2onnx(net, x, axes):
    """The difference twice, and a product with the reciprocal of the root."""
    mean = net.mean(x, axes)
    again = net.node("Sub", x, mean)
    deviation = net.deviation(net.node("Mul", again, again), axes)
    return net.node("Mul", net.node("Reciprocal", deviation), net.node("Sub", x, mean))


def of_keras(net, x, axes):
    """x * k + (beta - mean * k)."""
    mean = net.mean(x, axes)
    centred = net.node("Sub", x, mean)
    inverse = net.node("Reciprocal", net.deviation(net.node("Mul", centred, centred), axes))
    factor = net.node("Mul", inverse, net.weights(6))
    offset = net.node("Sub", net.weights(6), net.node("Mul", mean, factor))
    return net.node("Add", net.node("Mul", x, factor), offset)


def of_keras_with_negated_mean(net, x, axes, shape=(6,)):
    """x * k + (-mean * k + beta)."""
    mean = net.mean(x, axes)
    centred = net.node("Sub", x, mean)
    inverse = net.node("Reciprocal", net.deviation(net.node("Mul", centred, centred), axes))
    factor = net.node("Mul", inverse, net.weights(*shape))
    offset = net.node("Add", net.node("Mul", net.node("Neg", mean), factor), net.weights(*shape))
    return net.node("Add", net.node("Mul", x, factor), offset)


@pytest.mark.parametrize("write", [of_torch, of_tf2onnx, of_keras, of_keras_with_negated_mean])
def test_layer_normalization(tmp_path, write):
    net = Network()
    y = write(net, net.input("x", [2, 5, 6]), [-1])
    net.node("Add", net.node("Mul", y, net.weights(6)), net.weights(6), output="y")
    counts = operators(assert_equal_to_runtime(tmp_path, net.model("y")))
    assert counts["LayerNormalization"] == 1
    assert not {"ReduceMean", "AveragePool", "Sub", "Sqrt", "Div"} & set(counts)


def test_scale_and_bias_go_into_the_operator(tmp_path):
    net = Network()
    y = of_torch(net, net.input("x", [2, 5, 6]), [-1])
    net.node("Add", net.node("Mul", y, net.weights(6)), net.weights(6), output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y"))) == {"LayerNormalization": 1}


def test_instance_normalization(tmp_path):
    net = Network()
    y = of_torch(net, net.input("x", [1, 4, 5, 6]), [2, 3])
    net.node("Mul", y, net.weights(4, 1, 1), output="y")
    counts = operators(assert_equal_to_runtime(tmp_path, net.model("y")))
    assert counts == {"LayerNormalization": 1, "Reshape": 2, "Mul": 1}


@pytest.mark.parametrize("shape", [(1, 4, 4), (2, 4, 2, 2), (1, 6, 3, 2)])
def test_factors_of_channels_are_no_factors_of_lines_of_that_length(tmp_path, shape):
    """Lines have as many elements as there are channels: factors of channels fit a line, but mean another axis."""
    net = Network()
    scale, offset = net.weights(shape[1]), net.weights(shape[1])
    net.node("InstanceNormalization", net.input("x", list(shape)), scale, offset, output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y")))["MulAdd"] == 1


def group_normalization_of_keras(net, axes):
    """Groups of the channels of a convolution, in the order of TensorFlow, as tf2onnx writes them."""
    x = net.node("Conv", net.input("x", [1, 3, 6, 5]), net.weights(8, 3, 1, 1))
    groups = net.node("Transpose", x, perm=[0, 2, 3, 1])
    groups = net.node("Reshape", groups, net.constant(np.array([1, 6, 5, 4, 2])))
    y = of_keras_with_negated_mean(net, groups, axes, (1, 1, 1, 4, 2))
    y = net.node("Reshape", y, net.constant(np.array([1, 6, 5, 8])))
    net.node("Neg", net.node("Transpose", y, perm=[0, 3, 1, 2]), output="y")
    return net.model("y")


def test_group_normalization_of_keras(tmp_path):
    counts = operators(assert_equal_to_runtime(tmp_path, group_normalization_of_keras(Network(), [1, 2, 4])))
    assert {name: count for name, count in counts.items() if name != "Reshape"} == {
        "Conv": 1,
        "LayerNormalization": 1,
        "MulAdd": 1,
        "Neg": 1,
    }


def test_instance_normalization_with_channels_last(tmp_path):
    net = Network()
    x = net.node("Conv", net.input("x", [1, 3, 6, 5]), net.weights(8, 3, 1, 1))
    y = of_keras_with_negated_mean(net, net.node("Transpose", x, perm=[0, 2, 3, 1]), [1, 2], (8,))
    net.node("Neg", net.node("Transpose", y, perm=[0, 3, 1, 2]), output="y")
    counts = operators(assert_equal_to_runtime(tmp_path, net.model("y")))
    assert counts["LayerNormalization"] == 1
    assert not {"ReduceMean", "AveragePool", "Sub", "Sqrt", "Reciprocal"} & set(counts)


def test_groups_whose_elements_lie_apart_stay(tmp_path):
    counts = operators(assert_equal_to_runtime(tmp_path, group_normalization_of_keras(Network(), [1, 2, 3])))
    assert "LayerNormalization" not in counts


def test_root_mean_square(tmp_path):
    net = Network()
    x = net.input("x", [2, 5, 6])
    y = net.node("Mul", x, net.node("Reciprocal", net.deviation(net.node("Pow", x, net.scalar(2)), [2])))
    net.node("Mul", net.weights(6), y, output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y"))) == {"RMSNormalization": 1}


def test_statistics_of_other_axes_stay(tmp_path):
    net = Network()
    net.node("Neg", of_torch(net, net.input("x", [2, 5, 6]), [1]), output="y")
    assert "LayerNormalization" not in operators(assert_equal_to_runtime(tmp_path, net.model("y")))


def test_a_mean_of_another_tensor_is_no_normalization(tmp_path):
    net = Network()
    x = net.input("x", [2, 5, 6])
    centred = net.node("Sub", x, net.mean(net.node("Abs", x), [2]))
    net.node("Div", centred, net.deviation(net.node("Mul", centred, centred), [2]), output="y")
    counts = operators(assert_equal_to_runtime(tmp_path, net.model("y")))
    assert "LayerNormalization" not in counts
    assert counts["RMSNormalization"] == 1


@pytest.mark.parametrize(("shape", "axes"), [((1, 5, 6, 4), [1, 2]), ((1, 7, 4), [1]), ((2, 3, 5, 4, 6), [1, 2, 3])])
def test_a_mean_over_all_positions_of_the_last_axis_is_a_global_pool(tmp_path, shape, axes):
    net = Network()
    net.node("ReduceMean", net.input("x", list(shape)), axes=axes, keepdims=0, output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y"))) == {
        "Transpose": 1,
        "AveragePool": 1,
        "Reshape": 1,
    }


def test_a_mean_over_all_positions_is_a_global_pool(tmp_path):
    net = Network()
    net.node("ReduceMean", net.input("x", [1, 4, 5, 6]), axes=[-1, -2], keepdims=0, output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y"))) == {"AveragePool": 1, "Reshape": 1}
