"""The order of tensors in memory, and copies where views cannot be."""

from __future__ import annotations

import numpy as np
import pytest
from support.layouts import assert_layout_sound
from support.onnx_models import ModelBuilder, imported, operators, outputs_of, random_feeds, runtime_outputs
from tilewright.graph import DType, Graph, channels_last_order, identity_order, variable
from tilewright.graph.edit import make_node
from tilewright.kernels.liked_orders import Layout
from tilewright.kernels.registry import all_declarations
from tilewright.rewrites.passes import optimise

RANDOM = np.random.default_rng(3)


class Network(ModelBuilder):
    """Operators with random constants."""

    def weights(self, *shape):
        return self.constant(RANDOM.normal(size=shape).astype(np.float32))

    def conv(self, x, channels, before, **given):
        return self.node("Conv", x, self.weights(channels, before, 3, 3), pads=[1, 1, 1, 1], **given)

    def reshape(self, x, *shape, output=None):
        return self.node("Reshape", x, self.constant(np.array(shape)), output=output)


def optimised(folder, model):
    graph = optimise(imported(folder, model))
    assert_layout_sound(graph)
    feeds = random_feeds(model)
    for got, want in zip(outputs_of(graph, feeds), runtime_outputs(model, feeds).values(), strict=True):
        np.testing.assert_allclose(got, want, atol=2e-6 * float(np.abs(want).max()), rtol=1e-6)
    return graph


def order_of(graph, operator, index=0):
    nodes = [node for node in graph.nodes if node.operator == operator]
    return graph.tensor(nodes[index].outputs[0]).order


def test_convolutions_talk_channels_last(tmp_path):
    net = Network()
    x = net.input("x", [1, 3, 8, 8])
    a = net.node("Tanh", net.conv(x, 4, 3))
    b = net.node("MaxPool", net.conv(a, 4, 4), kernel_shape=[2, 2])
    net.node("Relu", net.conv(b, 2, 4), output="y")
    graph = optimised(tmp_path, net.model("y"))
    assert order_of(graph, "Conv") == order_of(graph, "Tanh") == order_of(graph, "MaxPool") == channels_last_order(4)
    assert order_of(graph, "Conv", 2) == identity_order(4)
    assert not {"Copy", "Transpose"} & set(operators(graph))


def test_the_order_is_that_of_the_kernels(tmp_path):
    net = Network()
    net.conv(net.node("Tanh", net.input("x", [1, 3, 8, 8])), 4, 3, output="y")
    graph = imported(tmp_path, net.model("y"))
    assert order_of(optimise(graph), "Tanh") == channels_last_order(4)
    assert order_of(optimise(graph, families=()), "Tanh") == identity_order(4)


def test_kernels_that_like_an_order_say_what_another_one_costs():
    kernels = [kernel for family in all_declarations().values() for declared in family for kernel in declared.kernels]
    assert {kernel.likes.layout for kernel in kernels} == set(Layout)
    for kernel in kernels:
        assert (kernel.likes.layout is Layout.ANY) == (kernel.likes.misread_cost == 0), kernel.symbol


def test_a_channels_last_model_needs_no_transpose(tmp_path):
    net = Network()
    x = net.input("x", [1, 8, 8, 3])
    a = net.conv(net.node("Transpose", x, perm=[0, 3, 1, 2]), 4, 3)
    net.node("Transpose", a, perm=[0, 2, 3, 1], output="y")
    graph = optimised(tmp_path, net.model("y"))
    conv = next(node for node in graph.nodes if node.operator == "Conv")
    assert graph.tensor(conv.inputs[0]).order == graph.tensor(conv.outputs[0]).order == channels_last_order(4)
    assert operators(graph) == {"Transpose": 2, "Conv": 1}


def test_the_producer_of_a_flattened_tensor_writes_row_major(tmp_path):
    net = Network()
    x = net.input("x", [1, 3, 8, 8])
    net.node("MatMul", net.node("Flatten", net.conv(x, 4, 3)), net.weights(256, 5), output="y")
    graph = optimised(tmp_path, net.model("y"))
    assert order_of(graph, "Conv") == identity_order(4)
    assert operators(graph) == {"Conv": 1, "Reshape": 1, "MatMul": 1}


def test_a_tensor_that_a_convolution_also_reads_is_copied(tmp_path):
    net = Network()
    x = net.input("x", [1, 3, 8, 8])
    a = net.conv(x, 4, 3)
    net.node("MatMul", net.node("Flatten", a), net.weights(256, 5), output="y")
    net.conv(a, 2, 4, output="z")
    graph = optimised(tmp_path, net.model("y", "z"))
    assert order_of(graph, "Conv") == channels_last_order(4)
    assert operators(graph) == {"Conv": 2, "Copy": 1, "Reshape": 1, "MatMul": 1}


def test_spatial_axes_may_merge_channels_last(tmp_path):
    net = Network()
    x = net.input("x", [1, 3, 8, 8])
    rows = net.reshape(net.conv(x, 4, 3), 1, 4, 64)
    net.node("Conv", rows, net.weights(2, 4, 3), output="y")
    graph = optimised(tmp_path, net.model("y"))
    assert order_of(graph, "Conv") == channels_last_order(4)
    assert order_of(graph, "Reshape") == channels_last_order(3)
    assert "Copy" not in operators(graph)


def test_axes_of_extent_one_do_not_matter(tmp_path):
    net = Network()
    x = net.input("x", [1, 1, 8, 8])
    pooled = net.node("GlobalAveragePool", net.conv(x, 4, 1))
    net.node("MatMul", net.node("Flatten", pooled), net.weights(4, 5), output="y")
    graph = optimised(tmp_path, net.model("y"))
    assert order_of(graph, "Conv") == channels_last_order(4)
    assert "Copy" not in operators(graph)


@pytest.mark.parametrize("depth", [1, 2])
def test_outputs_that_would_share_storage_are_copied(tmp_path, depth):
    net = Network()
    x = net.input("x", [2, 6])
    net.reshape(x, 3, 4, output="a")
    h = net.node("Tanh", x)
    for _ in range(depth - 1):
        h = net.reshape(h, 6, 2)
    net.reshape(h, 12, output="b")
    net.reshape(h, 4, 3, output="c")
    net.node("Transpose", "c", perm=[1, 0], output="d")
    graph = optimised(tmp_path, net.model("a", "b", "c", "d"))
    assert operators(graph)["Copy"] == 2


def test_an_output_that_others_read_as_a_view(tmp_path):
    net = Network()
    x = net.input("x", [1, 3, 8, 8])
    net.conv(x, 4, 3, output="a")
    net.reshape("a", 4, 64, output="b")
    net.conv("a", 2, 4, output="c")
    graph = optimised(tmp_path, net.model("a", "b", "c"))
    assert operators(graph) == {"Conv": 2, "Reshape": 1, "Copy": 1}


def test_transposes_between_interface_tensors_move_bytes(tmp_path):
    net = Network()
    net.node("Transpose", net.input("x", [3, 4]), perm=[1, 0], output="y")
    assert operators(optimised(tmp_path, net.model("y"))) == {"Transpose": 1}


def test_shared_storage_is_noticed():
    tensors = {name: variable(name, DType.INT8, shape) for name, shape in (("x", (2, 6)), ("y", (12,)))}
    graph = Graph("g", (make_node("Reshape", ["x"], ["y"]),), tensors, ("x",), ("y",))
    with pytest.raises(AssertionError, match="share storage"):
        assert_layout_sound(graph)
