"""The Deeploy dialect: integers in float tensors."""

from __future__ import annotations

import numpy as np
import pytest
from support.onnx_models import ModelBuilder, imported, operators, outputs_of
from tilewright.errors import ExitStatus, TilewrightError
from tilewright.graph import DType, RequantizeShift
from tilewright.rewrites.pipeline import optimise

RANDOM = np.random.default_rng(5)


def requant(build, x, mul, add, *, div=65536.0, signed=1, output=None, levels="n_levels_out"):
    attributes = {
        "div": build_tensor([div]),
        levels: build_tensor([256.0]),
        "signed": build_tensor([float(signed)]),
    }
    constants = [build.constant(np.asarray(values, np.float32)) for values in (mul, add)]
    return build.node("RequantShift", x, *constants, output=output, domain="PACTOps", **attributes)


def build_tensor(values):
    from onnx import numpy_helper

    return numpy_helper.from_array(np.float32(values))


def expected(accumulator, mul, add, shift, signed):
    low, high = (-128, 127) if signed else (0, 255)
    return np.clip((accumulator * mul + add + (1 << (shift - 1))) >> shift, low, high)


def conv_model(signed=1, mul_shape=(4, 1, 1)):
    build = ModelBuilder(opset=10)
    build.input("x", [1, 2, 3, 3])
    w = RANDOM.integers(-128, 128, (4, 2, 1, 1))
    mul = RANDOM.integers(100, 3000, mul_shape)
    add = RANDOM.integers(-10000, 10000, mul_shape)
    y = build.node("Conv", "x", build.constant(w.astype(np.float32)))
    requant(build, y, mul, add, signed=signed, output="y")
    return build.model("y"), w, mul, add


@pytest.mark.parametrize("signed", [0, 1])
@pytest.mark.parametrize("x_type", [DType.INT8, DType.UINT8])
def test_conv_with_channels(tmp_path, signed, x_type):
    model, w, mul, add = conv_model(signed)
    graph = optimise(imported(tmp_path, model, types={"x": x_type}))
    (node,) = graph.nodes
    assert isinstance(node.epilogue, RequantizeShift)
    assert graph.tensor("x").dtype is x_type
    assert graph.tensor("y").dtype is (DType.INT8 if signed else DType.UINT8)
    assert graph.tensor(node.inputs[1]).dtype is DType.INT8
    limits = np.iinfo(x_type.numpy)
    x = RANDOM.integers(limits.min, limits.max, (1, 2, 3, 3), x_type.numpy, endpoint=True)
    accumulator = np.einsum("mc,nchw->nmhw", w[:, :, 0, 0], x.astype(np.int64))
    np.testing.assert_array_equal(outputs_of(graph, {"x": x})[0], expected(accumulator, mul, add, 16, signed))


def test_inputs_are_int8_by_default(tmp_path):
    graph = imported(tmp_path, conv_model()[0])
    assert graph.tensor("x").dtype is DType.INT8


@pytest.mark.parametrize(
    ("mul_shape", "fused"),
    [((5,), True), ((1, 5), True), ((), True), ((3, 1), False)],
    ids=["columns", "columns of a row", "scalar", "rows"],
)
def test_gemm_fuses_columns_but_not_rows(tmp_path, mul_shape, fused):
    build = ModelBuilder(opset=10)
    build.input("x", [3, 8])
    w, c = RANDOM.integers(-128, 128, (5, 8)), RANDOM.integers(-500, 500, 5)
    mul, add = RANDOM.integers(1, 900, mul_shape), RANDOM.integers(-900, 900, mul_shape)
    constants = [build.constant(values.astype(np.float32)) for values in (w, c)]
    y = build.node("Gemm", "x", *constants, transB=1, alpha=2.0, beta=3.0)
    requant(build, y, mul, add, div=1024.0, output="y", levels="n_levels")
    graph = imported(tmp_path, build.model("y"))
    assert operators(graph) == ({"MatMul": 1} if fused else {"MatMul": 1, "Requantize": 1})
    x = RANDOM.integers(-128, 128, (3, 8), np.int8)
    accumulator = 2 * x.astype(np.int64) @ w.T + 3 * c
    np.testing.assert_array_equal(outputs_of(graph, {"x": x})[0], expected(accumulator, mul, add, 10, True))


def test_add_pool_and_views(tmp_path):
    build = ModelBuilder(opset=10)
    build.input("x", [1, 4, 4, 4])
    half = requant(build, "x", 1, 0, div=2.0)
    both = requant(build, build.node("Add", half, "x"), [[[3]], [[5]], [[7]], [[9]]], 0, div=8.0, signed=0)
    pooled = build.node("MaxPool", both, kernel_shape=[2, 2], strides=[2, 2])
    build.node("Flatten", pooled, output="y")
    graph = optimise(imported(tmp_path, build.model("y"), types={"x": DType.UINT8}))
    assert operators(graph) == {"Requantize": 1, "Add": 1, "MaxPool": 1, "Reshape": 1}
    x = RANDOM.integers(0, 256, (1, 4, 4, 4), np.uint8, endpoint=False).astype(np.uint8)
    halves = expected(x.astype(np.int64), 1, 0, 1, True)
    sums = expected(halves + x, np.array([3, 5, 7, 9]).reshape(1, 4, 1, 1), 0, 3, False)
    pooled = sums.reshape(1, 4, 2, 2, 2, 2).max(axis=(3, 5))
    np.testing.assert_array_equal(outputs_of(graph, {"x": x})[0], pooled.reshape(1, -1))


def test_types_make_a_dialect_of_a_plain_graph(tmp_path):
    build = ModelBuilder()
    build.input("x", [2, 300])
    build.node("MatMul", "x", build.constant(np.full((300, 2), 300, np.float32)), output="y")
    model = build.model("y")
    graph = imported(tmp_path, model, types={"x": DType.INT8})
    assert graph.tensor("y").dtype is DType.INT32
    assert graph.tensor(graph.nodes[0].inputs[1]).dtype is DType.INT16
    assert imported(tmp_path, model).tensor("y").dtype is DType.FLOAT32


@pytest.mark.parametrize("case", ["fraction", "operator", "div", "mean"])
def test_what_the_dialect_does_not_define(tmp_path, case):
    build = ModelBuilder(opset=10)
    build.input("x", [1, 4, 4, 4])
    y = build.node("Add", "x", build.constant(np.full((1,), 0.5 if case == "fraction" else 1, np.float32)))
    if case == "operator":
        y = build.node("iSoftmax", y)
    if case == "mean":
        y = build.node("GlobalAveragePool", y)
    requant(build, y, 1, 0, div=3.0 if case == "div" else 4.0, output="y")
    with pytest.raises(TilewrightError) as caught:
        imported(tmp_path, build.model("y"))
    assert caught.value.status is ExitStatus.NOT_SUPPORTED
    told = {"fraction": "not integers", "operator": "iSoftmax", "div": "power of two", "mean": "AveragePool"}
    assert told[case] in str(caught.value)
