"""Chains that exporters write for one activation become one operator; other chains stay."""

from __future__ import annotations

import numpy as np
import pytest
from support.onnx_models import ModelBuilder, assert_equal_to_runtime, operators


class Network(ModelBuilder):
    """Operators with constants of one element, as exporters write activations."""

    def scalar(self, value):
        return self.constant(np.float32(value))

    def shifted_clip(self, x):
        return self.node("Clip", self.node("Add", x, self.scalar(3)), self.scalar(0), self.scalar(6))


def silu_of_keras(net, x):
    return net.node("Mul", x, net.node("Sigmoid", x))


def silu_by_exponential(net, x):
    exponential = net.node("Exp", net.node("Neg", x))
    return net.node("Div", x, net.node("Add", exponential, net.scalar(1)))


def hard_swish_of_mobilenet_v3(net, x):
    return net.node("Div", net.node("Mul", x, net.shifted_clip(x)), net.scalar(6))


def hard_swish_of_keras(net, x):
    return net.node("Mul", x, net.node("Mul", net.shifted_clip(x), net.scalar(1 / 6)))


def hard_swish_by_hard_sigmoid(net, x):
    return net.node("Mul", net.node("HardSigmoid", x, alpha=1 / 6, beta=0.5), x)


def gelu_of_torch(net, x):
    one_more = net.node("Add", net.node("Erf", net.node("Div", x, net.scalar(np.sqrt(2)))), net.scalar(1))
    return net.node("Mul", net.node("Mul", x, one_more), net.scalar(0.5))


def gelu_of_tf2onnx(net, x):
    one_more = net.node("Add", net.scalar(1), net.node("Erf", net.node("Mul", x, net.scalar(np.sqrt(0.5)))))
    return net.node("Mul", net.node("Mul", net.scalar(0.5), one_more), x)


def gelu_of_a_negative_argument(net, x):
    """As Keras 3 computes it: x / 2 * (1 - erf(-x / sqrt 2))."""
    error = net.node("Erf", net.node("Mul", net.node("Neg", x), net.scalar(np.sqrt(0.5))))
    return net.node("Mul", net.node("Mul", net.scalar(0.5), x), net.node("Sub", net.scalar(1), error))


def mish_of_keras(net, x):
    return net.node("Mul", net.node("Tanh", net.node("Softplus", x)), x)


def gelu_by_tanh_of_keras(net, x):
    cube = net.node("Mul", net.scalar(0.044715), net.node("Pow", x, net.scalar(3)))
    tanh = net.node("Tanh", net.node("Mul", net.scalar(np.sqrt(2 / np.pi)), net.node("Add", x, cube)))
    return net.node("Mul", net.node("Mul", x, net.scalar(0.5)), net.node("Add", net.scalar(1), tanh))


def leaky_relu_of_two_relus(net, x):
    negative = net.node("Mul", net.scalar(-0.3), net.node("Relu", net.node("Neg", x)))
    return net.node("Add", net.node("Relu", x), negative)


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (silu_of_keras, "Swish"),
        (silu_by_exponential, "Swish"),
        (hard_swish_of_mobilenet_v3, "HardSwish"),
        (hard_swish_of_keras, "HardSwish"),
        (hard_swish_by_hard_sigmoid, "HardSwish"),
        (gelu_of_torch, "Gelu"),
        (gelu_of_tf2onnx, "Gelu"),
        (gelu_of_a_negative_argument, "Gelu"),
        (gelu_by_tanh_of_keras, "Gelu"),
        (mish_of_keras, "Mish"),
        (leaky_relu_of_two_relus, "LeakyRelu"),
    ],
)
def test_one_operator(tmp_path, write, name):
    net = Network()
    x = net.node("Neg", net.input("x", [2, 30]))
    net.node("Neg", write(net, x), output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y"))) == {"Neg": 2, name: 1}


def gelu_of_keras_behind_transposes(net, x, second=(0, 2, 3, 1)):
    """As tf2onnx writes Keras's GELU behind a convolution: each half of the product in the order of TensorFlow."""
    half = net.node("Transpose", net.node("Mul", net.scalar(0.5), x), perm=[0, 2, 3, 1])
    argument = net.node("Mul", net.node("Neg", x), net.scalar(np.sqrt(0.5)))
    error = net.node("Erf", net.node("Transpose", argument, perm=list(second)))
    return net.node("Mul", half, net.node("Sub", net.scalar(1), error))


def test_transposes_between_the_operators_of_an_activation(tmp_path):
    net = Network()
    x = net.node("Neg", net.input("x", [1, 6, 5, 4]))
    y = net.node("Transpose", gelu_of_keras_behind_transposes(net, x), perm=[0, 3, 1, 2])
    net.node("Neg", y, output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y"))) == {"Neg": 2, "Gelu": 1}


def test_an_activation_in_another_order_is_transposed(tmp_path):
    net = Network()
    x = net.node("Neg", net.input("x", [1, 6, 5, 4]))
    net.node("Neg", gelu_of_keras_behind_transposes(net, x), output="y")
    counts = operators(assert_equal_to_runtime(tmp_path, net.model("y")))
    assert counts == {"Neg": 2, "Gelu": 1, "Transpose": 1}


def test_a_product_of_two_orders_of_axes_stays(tmp_path):
    net = Network()
    x = net.node("Neg", net.input("x", [1, 5, 5, 5]))
    net.node("Neg", gelu_of_keras_behind_transposes(net, x, (0, 3, 2, 1)), output="y")
    assert "Gelu" not in operators(assert_equal_to_runtime(tmp_path, net.model("y")))


def test_the_factor_of_a_swish_is_kept(tmp_path):
    net = Network()
    x = net.input("x", [2, 30])
    net.node("Mul", x, net.node("Sigmoid", net.node("Mul", x, net.scalar(1.702))), output="y")
    (node,) = assert_equal_to_runtime(tmp_path, net.model("y")).nodes
    assert node.attributes.alpha == pytest.approx(1.702)
    assert len(node.sources) == 3


def another_constant(net, x):
    return net.node("Mul", x, net.node("Mul", net.shifted_clip(x), net.scalar(1 / 5)))


def another_tensor(net, x):
    return net.node("Mul", x, net.node("Sigmoid", net.node("Abs", x)))


@pytest.mark.parametrize("write", [another_constant, another_tensor])
def test_other_functions_stay(tmp_path, write):
    net = Network()
    net.node("Neg", write(net, net.input("x", [2, 30])), output="y")
    graph = assert_equal_to_runtime(tmp_path, net.model("y"))
    assert not {"HardSwish", "Swish"} & set(operators(graph))


def test_a_chain_whose_inner_tensor_is_read_stays(tmp_path):
    net = Network()
    x = net.input("x", [2, 30])
    sigmoid = net.node("Sigmoid", x, output="z")
    net.node("Mul", x, sigmoid, output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y", "z"))) == {"Sigmoid": 1, "Mul": 1}


def test_a_gate_that_broadcasts_stays(tmp_path):
    net = Network()
    x = net.input("x", [2, 3, 8])
    gate = net.node("Sigmoid", net.node("ReduceMax", x, axes=[1]))
    net.node("Mul", x, gate, output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y"))) == {"ReduceMax": 1, "Sigmoid": 1, "Mul": 1}


@pytest.mark.parametrize("shape", [(3, 1), (8,)])
def test_prelu_of_two_relus(tmp_path, shape):
    net = Network()
    x = net.input("x", [2, 3, 8])
    slopes = net.constant(-np.random.default_rng(5).uniform(0, 1, shape).astype(np.float32))
    negative = net.node("Mul", slopes, net.node("Relu", net.node("Neg", x)))
    net.node("Add", net.node("Relu", x), negative, output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y"))) == {"PRelu": 1}


@pytest.mark.parametrize(
    ("exponent", "counts"),
    [
        (2, {"Mul": 1}),
        (3, {"Mul": 2}),
        (4, {"Mul": 2}),
        (0.5, {"Sqrt": 1}),
        (-0.5, {"Sqrt": 1, "Reciprocal": 1}),
        (-1, {"Reciprocal": 1}),
        (-2, {"Mul": 1, "Reciprocal": 1}),
        (1.5, {"Pow": 1}),
    ],
)
def test_powers(tmp_path, exponent, counts):
    net = Network()
    x = net.node("Exp", net.input("x", [2, 30]))
    net.node("Pow", x, net.scalar(exponent), output="y")
    assert operators(assert_equal_to_runtime(tmp_path, net.model("y"))) == {"Exp": 1, **counts}
