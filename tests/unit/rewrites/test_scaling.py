"""Scales and shifts in front of convolutions and products, and behind Concat, fold into weights and biases."""

from __future__ import annotations

import numpy as np
import pytest
from support.onnx_models import ModelBuilder, assert_equal_to_runtime, operators

RANDOM = np.random.default_rng(31)


class Network(ModelBuilder):
    """Operators with random constants."""

    def weights(self, *shape):
        return self.constant(RANDOM.normal(size=shape).astype(np.float32))

    def normalized(self, x, shape):
        """Normalization of Keras: a difference, then a factor."""
        return self.node("Mul", self.node("Sub", x, self.weights(*shape)), self.weights(*shape))


@pytest.mark.parametrize(("groups", "shape"), [(1, (4, 1, 1)), (2, (1, 4, 1, 1)), (4, ()), (1, (1,))])
def test_scale_and_shift_go_into_a_convolution(tmp_path, groups, shape):
    net = Network()
    x = net.normalized(net.input("x", [1, 4, 7, 7]), shape)
    net.node("Conv", x, net.weights(8, 4 // groups, 3, 3), net.weights(8), group=groups, output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y"))) == {"Conv": 1}


def test_a_shift_in_front_of_padding_stays(tmp_path):
    net = Network()
    x = net.normalized(net.input("x", [1, 4, 7, 7]), (4, 1, 1))
    net.node("Conv", x, net.weights(8, 4, 3, 3), pads=[1] * 4, output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y"))) == {"Sub": 1, "Conv": 1}


def test_a_factor_of_zero_in_front_of_a_shift_stays(tmp_path):
    """To move the factor behind the shift, the shift would have to be divided by zero."""
    net = Network()
    x = net.node("Mul", net.input("x", [1, 2, 7, 7]), net.constant(np.float32([[[0]], [[2]]])))
    net.node("Conv", net.node("Add", x, net.weights(2, 1, 1)), net.weights(8, 2, 3, 3), pads=[1] * 4, output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y"))) == {"MulAdd": 1, "Conv": 1}


@pytest.mark.parametrize(("pads", "left"), [(0, {}), (1, {"Add": 1})])
def test_preprocessing_of_keras_goes_into_a_convolution(tmp_path, pads, left):
    """Rescaling and Normalization scale, shift and scale channels that are last, in front of a Transpose.

    Where the convolution pads, one shift is left of the three.
    """
    net = Network()
    x = net.node("Mul", net.input("x", [1, 7, 7, 3]), net.constant(np.float32(1 / 127.5)))
    x = net.node("Mul", net.node("Add", x, net.weights(1, 1, 1, 3)), net.weights(1, 1, 1, 3))
    x = net.node("Transpose", x, perm=[0, 3, 1, 2])
    net.node("Conv", x, net.weights(8, 3, 3, 3), pads=[pads] * 4, output="y")
    graph = assert_equal_to_runtime(tmp_path, net.model("y"))
    assert operators(graph) == {"Transpose": 1, "Conv": 1, **left}


@pytest.mark.parametrize("transposed", [0, 1])
def test_scale_and_shift_go_into_a_product(tmp_path, transposed):
    net = Network()
    x = net.normalized(net.input("x", [3, 6]), (6,))
    net.node("Gemm", x, net.weights(*((5, 6) if transposed else (6, 5))), net.weights(5), transB=transposed, output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y"))) == {"MatMul": 1}


@pytest.mark.parametrize("shape", [(3, 1), (3, 6)])
def test_scales_of_rows_stay(tmp_path, shape):
    net = Network()
    net.node("MatMul", net.node("Mul", net.input("x", [3, 6]), net.weights(*shape)), net.weights(6, 5), output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y"))) == {"Mul": 1, "MatMul": 1}


def batch_normalized(net, x, channels):
    constants = [net.weights(channels) for _ in range(3)]
    return net.node("BatchNormalization", x, *constants, net.constant(np.full(channels, 0.7, np.float32)))


def test_batch_normalization_behind_concat(tmp_path):
    net = Network()
    x = net.input("x", [1, 4, 7, 7])
    parts = [net.node("Conv", x, net.weights(count, 4, 1, 1)) for count in (3, 5)]
    net.node("Relu", batch_normalized(net, net.node("Concat", *parts, axis=1), 8), output="y")
    counts = operators(assert_equal_to_runtime(tmp_path, net.model("y")))
    assert counts["Conv"] == 2
    assert not {"Mul", "Add", "MulAdd"} & set(counts)


def test_batch_normalization_behind_a_concat_of_an_input_stays(tmp_path):
    net = Network()
    x = net.input("x", [1, 4, 7, 7])
    both = net.node("Concat", net.node("Conv", x, net.weights(3, 4, 1, 1)), x, axis=1)
    net.node("Neg", batch_normalized(net, both, 7), output="y")
    counts = operators(assert_equal_to_runtime(tmp_path, net.model("y")))
    assert counts["MulAdd"] == 1


@pytest.mark.parametrize(("groups", "left"), [(1, 0), (2, 1)])
def test_batch_normalization_behind_a_transposed_convolution(tmp_path, groups, left):
    net = Network()
    y = net.node("ConvTranspose", net.input("x", [1, 4, 5, 5]), net.weights(4, 6 // groups, 3, 3), group=groups)
    net.node("Neg", batch_normalized(net, y, 6), output="y")
    counts = operators(assert_equal_to_runtime(tmp_path, net.model("y")))
    assert counts["ConvTranspose"] == 1
    assert counts["MulAdd"] == left
