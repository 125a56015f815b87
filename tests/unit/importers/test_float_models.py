"""Float32 operators in the forms that they had over the opsets, against onnxruntime."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.onnx_models import (
    ModelBuilder,
    assert_equal_to_runtime,
    imported,
    operators,
    outputs_of,
    random_feeds,
    runtime_outputs,
)

RANDOM = np.random.default_rng(7)


def weights(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def one_node(operator, shape, *constants, opset=13, **attributes):
    build = ModelBuilder(opset)
    x = build.input("x", shape)
    names = ["" if constant is None else build.constant(constant) for constant in constants]
    build.node(operator, x, *names, output="y", **attributes)
    return build.model("y")


def ints(*values):
    return np.array(values, np.int64)


FORMS = {
    "relu": one_node("Relu", [2, 3]),
    **{
        f"{operator} of no axes": one_node(operator, [2, 3, 4], opset=18, noop_with_empty_axes=1)
        for operator in ("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceSum", "ReduceMax")
    },
    "resize of opset 10 up and down": one_node(
        "Resize", [1, 1, 4, 7], np.array([1, 1, 2.3, 0.7], np.float32), opset=10, mode="nearest"
    ),
    "clip attributes": one_node("Clip", [2, 3], opset=7, min=-0.5, max=0.5),
    "clip inputs": one_node("Clip", [2, 3], np.float32(-0.5), np.float32(0.5)),
    "clip maximum only": one_node("Clip", [2, 3], None, np.float32(0.25)),
    "leaky relu default": one_node("LeakyRelu", [2, 3]),
    "hard sigmoid": one_node("HardSigmoid", [2, 3], alpha=0.3),
    "hard swish": one_node("HardSwish", [2, 3], opset=14),
    "sigmoid": one_node("Sigmoid", [2, 3]),
    "tanh": one_node("Tanh", [2, 3]),
    "reshape -1 and 0": one_node("Reshape", [2, 3, 4], ints(0, -1)),
    "flatten negative": one_node("Flatten", [2, 3, 4], axis=-1),
    "flatten 0": one_node("Flatten", [2, 3], axis=0),
    "squeeze attribute": one_node("Squeeze", [2, 1, 4], opset=9, axes=[1]),
    "squeeze input": one_node("Squeeze", [2, 1, 4], ints(-2)),
    "squeeze all": one_node("Squeeze", [1, 3, 1]),
    "unsqueeze attribute": one_node("Unsqueeze", [2, 3], opset=9, axes=[0, 3]),
    "unsqueeze input": one_node("Unsqueeze", [2, 3], ints(-1, 1)),
    "identity": one_node("Identity", [2, 3]),
    "transpose default": one_node("Transpose", [2, 3, 4]),
    "transpose": one_node("Transpose", [2, 3, 4], perm=[1, 0, 2]),
    "slice attributes": one_node("Slice", [5, 6], opset=9, starts=[1], ends=[-1], axes=[1]),
    "slice inputs": one_node("Slice", [5, 6], ints(1, -4), ints(9999, -1), ints(0, -1), ints(2, 1)),
    "slice backwards": one_node("Slice", [5, 6], ints(-1), ints(-9999), ints(1), ints(-2)),
    "slice without axes": one_node("Slice", [4, 6], ints(0), ints(3)),
    "pad attributes": one_node("Pad", [2, 3], opset=10, pads=[1, 0, 0, 2], value=1.5),
    "pad inputs": one_node("Pad", [2, 3], ints(0, 1, 2, 0), np.float32(-1.0)),
    "pad axes": one_node("Pad", [2, 3, 4], ints(1, 2), None, ints(-1), opset=18),
    "pad crops": one_node("Pad", [4, 5], ints(-1, 1, 0, -2)),
    "softmax last": one_node("Softmax", [2, 3, 4]),
    "softmax axis": one_node("Softmax", [2, 3, 4], axis=1),
    "softmax flattening": one_node("Softmax", [2, 3, 4], opset=11, axis=1),
    "softmax flattening unit axes": one_node("Softmax", [2, 5, 1, 1], opset=11),
    "dropout": one_node("Dropout", [2, 3], opset=12),
    "dropout attribute": one_node("Dropout", [2, 3], opset=7, ratio=0.5),
    "conv 1d": one_node("Conv", [1, 4, 9], weights(3, 4, 3), weights(3), pads=[2, 0], dilations=[2]),
    "conv same upper": one_node("Conv", [1, 2, 7, 8], weights(3, 2, 3, 4), auto_pad="SAME_UPPER", strides=[2, 3]),
    "conv same lower": one_node("Conv", [1, 2, 7, 8], weights(3, 2, 4, 2), auto_pad="SAME_LOWER", strides=[1, 2]),
    "conv valid": one_node("Conv", [1, 2, 7, 8], weights(3, 2, 3, 3), auto_pad="VALID"),
    "conv groups": one_node("Conv", [2, 4, 6, 6], weights(6, 2, 3, 3), group=2, pads=[1, 0, 1, 2]),
    "conv depthwise": one_node("Conv", [1, 4, 6, 6], weights(4, 1, 3, 3), group=4),
    "max pool": one_node("MaxPool", [1, 2, 7, 7], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    "max pool ceil": one_node("MaxPool", [1, 2, 8, 7], kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1),
    "max pool ceil pads": one_node("MaxPool", [1, 1, 5], kernel_shape=[2], strides=[3], pads=[1, 1], ceil_mode=1),
    "average pool": one_node("AveragePool", [1, 2, 7, 7], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    "average pool counts pads": one_node("AveragePool", [1, 2, 7], kernel_shape=[3], pads=[2, 0], count_include_pad=1),
    "average pool ceil": one_node("AveragePool", [1, 2, 8], kernel_shape=[3], strides=[2], ceil_mode=1),
    "average pool same": one_node("AveragePool", [1, 2, 7], kernel_shape=[4], strides=[2], auto_pad="SAME_UPPER"),
    "global average pool": one_node("GlobalAveragePool", [2, 3, 4, 5]),
    "global max pool": one_node("GlobalMaxPool", [2, 3, 4]),
    "gemm": one_node("Gemm", [3, 4], weights(4, 5), weights(5)),
    "gemm factors": one_node("Gemm", [4, 3], weights(5, 4), weights(1, 5), alpha=0.5, beta=2.0, transA=1, transB=1),
    "gemm scalar C": one_node("Gemm", [3, 4], weights(4, 5), weights(1)),
    "gemm full C": one_node("Gemm", [3, 4], weights(4, 5), weights(3, 5), beta=0.5),
    "gemm without C": one_node("Gemm", [3, 4], weights(4, 5), opset=11),
    "matmul": one_node("MatMul", [2, 3, 4], weights(4, 5)),
    "matmul batch": one_node("MatMul", [2, 3, 4], weights(2, 4, 5)),
    "matmul vector": one_node("MatMul", [2, 3, 4], weights(4)),
    "matmul of five axes by one matrix": one_node("MatMul", [1, 1, 1, 3, 4], weights(4, 5)),
    "matmul from vector to five axes": one_node("MatMul", [4], weights(1, 1, 1, 4, 5)),
    "matmul from vector": one_node("MatMul", [4], weights(4, 5)),
    "add broadcast": one_node("Add", [2, 3, 4], weights(3, 1)),
    "sub": one_node("Sub", [3], weights(2, 3)),
    "mul scalar": one_node("Mul", [2, 3], np.float32(3.0)),
    "div": one_node("Div", [2, 3], weights(3)),
    "sum": one_node("Sum", [2, 3], weights(3), weights(2, 1)),
    "concat": one_node("Concat", [2, 3], weights(2, 1), axis=-1),
    "batch normalization": one_node(
        "BatchNormalization", [2, 3, 4], weights(3), weights(3), weights(3), np.abs(weights(3)), epsilon=1e-3
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_operator_equals_onnxruntime(form, tmp_path):
    assert_equal_to_runtime(tmp_path, FORMS[form])


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("states", [True, False])
@pytest.mark.parametrize("batch", [1, 3])
def test_one_step_of_lstm_becomes_a_product_and_functions(tmp_path, biased, states, batch):
    build = ModelBuilder(14)
    names = [build.input("x", (1, batch, 5)), build.constant(weights(1, 16, 5)), build.constant(weights(1, 16, 4))]
    names.append(build.constant(weights(1, 32)) if biased else "")
    names += ["", build.input("h", (1, batch, 4)), build.input("c", (1, batch, 4))] if states else []
    model = build.model(*build.node("LSTM", *names, outputs=3, output="y", hidden_size=4))
    graph = assert_equal_to_runtime(tmp_path, model)
    assert operators(graph)["MatMul"] == 1
    assert "LSTM" not in operators(graph)


@pytest.mark.parametrize("attributes", [{"clip": 0.5}, {"direction": "reverse"}])
def test_other_steps_of_lstm_stay_whole(tmp_path, attributes):
    build = ModelBuilder(14)
    names = [build.input("x", (1, 2, 5)), build.constant(weights(1, 16, 5)), build.constant(weights(1, 16, 4))]
    model = build.model(*build.node("LSTM", *names, outputs=3, output="y", hidden_size=4, **attributes))
    assert operators(imported(tmp_path, model))["LSTM"] == 1


def test_a_wrong_expectation_is_noticed(tmp_path):
    model = FORMS["clip inputs"]
    feeds = random_feeds(model)
    got = outputs_of(imported(tmp_path, model), feeds)[0]
    other = runtime_outputs(FORMS["clip attributes"], {"x": feeds["x"] + 1})["y"]
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(got, other)


def test_split_becomes_slices(tmp_path):
    build = ModelBuilder()
    x = build.input("x", [5, 4])
    parts = build.node("Split", x, build.constant(ints(2, 3)), outputs=2, output="a", axis=0)
    graph = assert_equal_to_runtime(tmp_path, build.model(*parts))
    assert operators(graph) == {"Slice": 2}


def test_shapes_computed_in_the_graph_fold(tmp_path):
    build = ModelBuilder()
    x = build.input("x", [2, 3, 4])
    batch = build.node("Gather", build.node("Shape", x), build.constant(ints(0)))
    shape = build.node("Concat", batch, build.constant(ints(-1)), axis=0)
    build.node("Reshape", x, shape, output="y")
    graph = imported(tmp_path, build.model("y"))
    assert operators(graph) == {"Reshape": 1}
    assert graph.tensor("y").shape == (2, 12)


def test_constant_nodes_and_initializers_listed_as_inputs(tmp_path):
    build = ModelBuilder(opset=12)
    x = build.input("x", [2, 3])
    one = build.node("Constant", value_floats=[1.0, 2.0, 3.0])
    w = build.constant(weights(3), "w")
    build.input("w", [3])
    build.node("Mul", build.node("Add", x, one), w, output="y")
    model = build.model("y")
    feeds = {"x": np.ones((2, 3), np.float32)}
    graph = assert_equal_to_runtime(tmp_path, model, feeds=feeds)
    assert graph.inputs == ("x",)


def test_nodes_may_stand_in_any_order(tmp_path):
    build = ModelBuilder()
    x = build.input("x", [2, 3])
    h = build.node("Relu", x)
    build.node("Tanh", h, output="y")
    model = build.model("y")
    model.graph.node.reverse()
    graph = imported(tmp_path, model)
    assert [node.operator for node in graph.nodes] == ["Clip", "Tanh"]


@pytest.mark.parametrize("key", ["batch", "symbol"])
def test_dynamic_dimensions_take_values(tmp_path, key):
    build = ModelBuilder()
    x = build.input("x", [None if key == "batch" else "n", 3])
    build.node("Relu", x, output="y")
    graph = imported(tmp_path, build.model("y"), dims={"x.0" if key == "batch" else "n": 4})
    assert graph.tensor("y").shape == (4, 3)


def test_one_value_for_every_dynamic_dimension(tmp_path):
    build = ModelBuilder()
    build.node("Add", build.input("x", ["unk__31", "n", 3]), build.input("z", [None, 1, 1]), output="y")
    graph = imported(tmp_path, build.model("y"), dims={"*": 1, "n": 4})
    assert graph.tensor("y").shape == (1, 4, 3)


def test_an_output_that_is_an_input_or_a_constant_is_copied(tmp_path):
    build = ModelBuilder()
    x = build.input("x", [2, 3])
    c = build.constant(weights(2, 2), "c")
    build.node("Relu", x, output="y")
    graph = imported(tmp_path, build.model("y", "x", "c"))
    assert operators(graph) == {"Clip": 1, "Copy": 2}
    assert not set(graph.inputs) & set(graph.outputs)
    feeds = {"x": np.float32([[1, -2, 3], [4, 5, -6]])}
    y, same, constant = outputs_of(graph, feeds)
    np.testing.assert_array_equal(y, np.maximum(feeds["x"], 0))
    np.testing.assert_array_equal(same, feeds["x"])
    assert constant.shape == (2, 2)
    assert c == "c"


def test_erfc_of_tf2onnx(tmp_path):
    """ONNX has no Erfc, but Keras's GELU arrives with it: 1 - Erf."""
    build = ModelBuilder(15)
    x = build.input("x", [2, 7])
    graph = imported(tmp_path, build.model(build.node("Erfc", x, output="y")))
    values = np.linspace(-3.0, 3.0, 14, dtype=np.float32).reshape(2, 7)
    wanted = [[math.erfc(value) for value in row] for row in values.tolist()]
    np.testing.assert_allclose(outputs_of(graph, {"x": values})[0], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("sizes", "attributes", "counts"),
    [
        ((1, 3, 8, 15), {}, {"Repeat": 1}),
        ((1, 3, 4, 10), {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, {"Repeat": 1}),
        ((1, 3, 7, 10), {}, {"Gather": 1, "Repeat": 1}),
        ((1, 3, 9, 11), {"coordinate_transformation_mode": "align_corners"}, {"Gather": 2}),
    ],
)
def test_nearest_elements_several_times_are_a_repeat(tmp_path, sizes, attributes, counts):
    model = one_node("Resize", [1, 3, 4, 5], None, None, ints(*sizes), mode="nearest", **attributes)
    found = operators(assert_equal_to_runtime(tmp_path, model))
    assert {name: found[name] for name in counts} == counts
    assert ("Gather" in found) == ("Gather" in counts)


@pytest.mark.parametrize(("indices", "name"), [([0, 0, 1, 1, 2, 2], "Repeat"), ([0, 0, 1, 2, 2, 2], "Gather")])
def test_indices_that_repeat_elements_are_a_repeat(tmp_path, indices, name):
    """As PyTorch writes nearest upsampling by indices."""
    model = one_node("Gather", [1, 4, 3, 5], ints(*indices), axis=2)
    assert operators(assert_equal_to_runtime(tmp_path, model))[name] == 1
