"""Float references against ONNX's own reference evaluator."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from support.single_node import random_array, run, single_node

CONVS = [
    # x, w, strides, dilations, pads, group
    ((1, 3, 8, 9), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1, 1, 1), 1),
    ((2, 4, 9, 7), (6, 2, 3, 2), (2, 1), (1, 2), (2, 0, 1, 1), 2),
    ((1, 5, 10, 6), (5, 1, 3, 3), (2, 2), (1, 1), (0, 0, 1, 1), 5),
    ((1, 4, 6, 6), (8, 1, 3, 3), (1, 1), (2, 2), (2, 2, 2, 2), 4),
    ((2, 3, 5, 5), (2, 3, 1, 1), (3, 2), (1, 1), (0, 0, 0, 0), 1),
    ((1, 1, 49, 10), (8, 1, 10, 4), (2, 2), (1, 1), (4, 1, 5, 1), 1),
    ((2, 3, 20), (4, 3, 5), (2,), (2,), (4, 3), 1),
    ((1, 6, 11), (6, 1, 3), (1,), (4,), (8, 0), 6),
]
POOLS = [
    # x, kernel, strides, dilations, pads
    ((1, 2, 8, 8), (2, 2), (2, 2), (1, 1), (0, 0, 0, 0)),
    ((2, 3, 9, 7), (3, 2), (2, 1), (1, 1), (1, 0, 1, 1)),
    ((1, 2, 9, 9), (3, 3), (1, 2), (2, 2), (1, 1, 0, 1)),
    ((1, 2, 7, 5), (7, 5), (1, 1), (1, 1), (0, 0, 0, 0)),
    ((1, 3, 17), (4,), (3,), (1,), (1, 2)),
]
FUNCTIONS = [
    ("LeakyRelu", {"alpha": 0.2}, {"alpha": 0.2}),
    ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}, {"alpha": 0.3, "beta": 0.4}),
    ("Sigmoid", {}, {}),
    ("Tanh", {}, {}),
    ("HardSwish", {}, {}),
]


def onnx_output(operator, arrays, attributes, opset=18):
    names = [f"x{index}" for index in range(len(arrays))]
    types = [helper.np_dtype_to_tensor_dtype(array.dtype) for array in arrays]
    node = helper.make_node(operator, names, ["y"], **attributes)
    inputs = [helper.make_tensor_value_info(n, t, a.shape) for n, t, a in zip(names, types, arrays, strict=True)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)]
    graph = helper.make_graph([node], "g", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model).run(None, dict(zip(names, arrays, strict=True)))[0]


def assert_same(operator, arrays, attributes, wanted):
    got = run(single_node(operator, arrays, attributes, wanted.shape), arrays)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize(("x", "w", "strides", "dilations", "pads", "group"), CONVS)
def test_conv(x, w, strides, dilations, pads, group, with_bias):
    arrays = [random_array(1, x), random_array(2, w)] + ([random_array(3, w[:1])] if with_bias else [])
    attributes = {"strides": strides, "dilations": dilations, "pads": pads, "group": group}
    assert_same("Conv", arrays, attributes, onnx_output("Conv", arrays, attributes))


def test_a_conv_with_one_pad_moved_differs():
    arrays = [random_array(1, (1, 2, 8, 8)), random_array(2, (2, 2, 3, 3))]
    attributes = {"strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1), "group": 1}
    wanted = onnx_output("Conv", arrays, attributes)
    with pytest.raises(AssertionError):
        assert_same("Conv", arrays, {**attributes, "pads": (2, 1, 0, 1)}, wanted)


@pytest.mark.parametrize(("x", "kernel", "strides", "dilations", "pads"), POOLS)
def test_max_pool(x, kernel, strides, dilations, pads):
    arrays = [random_array(4, x)]
    attributes = {"strides": strides, "dilations": dilations, "pads": pads}
    wanted = onnx_output("MaxPool", arrays, {**attributes, "kernel_shape": kernel})
    assert_same("MaxPool", arrays, {**attributes, "kernel": kernel}, wanted)


@pytest.mark.parametrize("include", [0, 1])
@pytest.mark.parametrize(("x", "kernel", "strides", "dilations", "pads"), POOLS)
def test_average_pool(x, kernel, strides, dilations, pads, include):
    arrays = [random_array(5, x)]
    attributes = {"strides": strides, "dilations": dilations, "pads": pads, "count_include_pad": include}
    wanted = onnx_output("AveragePool", arrays, {**attributes, "kernel_shape": kernel}, opset=19)
    assert_same("AveragePool", arrays, {**attributes, "kernel": kernel}, wanted)


def test_average_pool_rounded_up_counts_pads_but_not_what_lies_behind_them():
    x = np.ones((1, 1, 5), np.float32)
    attributes = {"kernel": (3,), "strides": (2,), "dilations": (1,), "pads": (1, 1), "count_include_pad": 1}
    got = run(single_node("AveragePool", [x], {**attributes, "strides": (3,)}, (1, 1, 3)), [x])
    np.testing.assert_allclose(got, [[[2 / 3, 1.0, 0.0]]])


@pytest.mark.parametrize(("operator", "attributes", "onnx_attributes"), FUNCTIONS)
def test_functions(operator, attributes, onnx_attributes):
    x = np.concatenate([random_array(6, (40,)) * 4, np.float32([0.0, -0.0, 100.0, -100.0])])
    assert_same(operator, [x], attributes, onnx_output(operator, [x], onnx_attributes))


def test_clip_keeps_nan_and_bounds():
    x = np.float32([-3, -0.5, 0, 2, 9, np.nan])
    got = run(single_node("Clip", [x], {"minimum": 0.0, "maximum": 6.0}, x.shape), [x])
    np.testing.assert_array_equal(got, np.float32([0, 0, 0, 2, 6, np.nan]))
    got = run(single_node("Clip", [x], {"minimum": 0.0, "maximum": float("inf")}, x.shape), [x])
    np.testing.assert_array_equal(got, np.float32([0, 0, 0, 2, 9, np.nan]))


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize(("a", "b"), [((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (3, 1)), ((4,), (2, 1, 1)), ((), (3,))])
def test_binary_broadcasts(operator, a, b):
    arrays = [random_array(7, a), random_array(8, b)]
    assert_same(operator, arrays, {}, onnx_output(operator, arrays, {}))


@pytest.mark.parametrize(
    ("a", "b", "transpose_a", "transpose_b"),
    [
        ((4, 5), (5, 6), 0, 0),
        ((5, 4), (5, 6), 1, 0),
        ((4, 5), (6, 5), 0, 1),
        ((5, 4), (6, 5), 1, 1),
        ((2, 3, 4, 5), (5, 6), 0, 0),
        ((2, 1, 4, 5), (3, 5, 6), 0, 0),
        ((3, 5, 4), (1, 6, 5), 1, 1),
    ],
)
def test_matmul(a, b, transpose_a, transpose_b):
    arrays = [random_array(9, a), random_array(10, b)]
    plain = [x.swapaxes(-1, -2) if flag else x for x, flag in zip(arrays, (transpose_a, transpose_b), strict=True)]
    attributes = {"transpose_a": bool(transpose_a), "transpose_b": bool(transpose_b)}
    assert_same("MatMul", arrays, attributes, onnx_output("MatMul", plain, {}))


def test_matmul_with_bias_is_gemm():
    arrays = [random_array(11, (3, 5)), random_array(12, (4, 5)), random_array(13, (4,))]
    wanted = onnx_output("Gemm", arrays, {"transB": 1})
    assert_same("MatMul", arrays, {"transpose_a": False, "transpose_b": True}, wanted)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax(axis):
    x = random_array(14, (3, 4, 5)) * 30
    assert_same("Softmax", [x], {"axis": axis}, onnx_output("Softmax", [x], {"axis": axis}))


def test_movement():
    x, y = random_array(15, (2, 3, 4)), random_array(16, (2, 5, 4))
    assert_same("Concat", [x, y], {"axis": 1}, np.concatenate([x, y], 1))
    assert_same("Slice", [x], {"starts": (1, 2, 3), "steps": (1, -1, -2)}, x[1:, ::-1, ::-2])
    assert_same("Slice", [x], {"starts": (0, 1, 0), "steps": (1, 1, 2)}, x[:1, 1:3, ::2])
    pads = (1, 0, 2, 0, 3, 1)
    wanted = onnx_output("Pad", [x, np.int64(pads), np.float32(7)], {})
    assert_same("Pad", [x], {"pads": pads, "value": 7}, wanted)
    assert_same("Transpose", [x], {"perm": (2, 0, 1)}, x.transpose(2, 0, 1))
    assert_same("Copy", [x], {}, x)
    assert_same("Reshape", [x], {}, x.reshape(4, 6))
