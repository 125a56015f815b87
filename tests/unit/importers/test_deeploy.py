"""The Deeploy dialect: integers in float tensors."""

from __future__ import annotations

import numpy as np
import pytest
from support.onnx_models import ModelBuilder, imported, operators, outputs_of
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.graph import DType, RequantizeShift
from tilewright.operators.integer_norm import ShiftAttributes
from tilewright.rewrites.passes import optimise

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
    w, c = RANDOM.integers(-64, 64, (5, 8)), RANDOM.integers(-500, 500, 5)
    mul, add = RANDOM.integers(1, 900, mul_shape), RANDOM.integers(-900, 900, mul_shape)
    constants = [build.constant(values.astype(np.float32)) for values in (w, c)]
    y = build.node("Gemm", "x", *constants, transB=1, alpha=2.0, beta=3.0)
    requant(build, y, mul, add, div=1024.0, output="y", levels="n_levels")
    graph = imported(tmp_path, build.model("y"))
    assert operators(graph) == ({"MatMul": 1} if fused else {"MatMul": 1, "Requantize": 1})
    x = RANDOM.integers(-128, 128, (3, 8), np.int8)
    accumulator = 2 * x.astype(np.int64) @ w.T + 3 * c
    np.testing.assert_array_equal(outputs_of(graph, {"x": x})[0], expected(accumulator, mul, add, 10, True))


@pytest.mark.parametrize("batches", [(), (2,)], ids=["matrix", "batches"])
def test_a_factor_of_gemm_leaves_weights_of_8_bits(tmp_path, batches):
    build = ModelBuilder(opset=10)
    build.input("x", [*batches, 3, 8])
    w, c = RANDOM.integers(-128, 128, (*batches, 5, 8)), RANDOM.integers(-500, 500, (3, 5))
    constants = [build.constant(values.astype(np.float32)) for values in (w, c)]
    y = build.node("Gemm", "x", *constants, transB=1, alpha=2.0, beta=3.0)
    requant(build, y, 700, -80, div=1024.0, output="y", levels="n_levels")
    graph = imported(tmp_path, build.model("y"))
    (product,) = [node for node in graph.nodes if node.operator == "MatMul"]
    assert graph.tensor(product.inputs[1]).dtype is DType.INT8
    x = RANDOM.integers(-128, 128, (*batches, 3, 8), np.int8)
    sums = 2 * x.astype(np.int64) @ w.swapaxes(-1, -2) + 3 * c
    np.testing.assert_array_equal(outputs_of(graph, {"x": x})[0], expected(sums, 700, -80, 10, True))


def test_add_pool_and_views(tmp_path):
    build = ModelBuilder(opset=10)
    build.input("x", [1, 4, 4, 4])
    half = requant(build, "x", 1, 0, div=2.0)
    both = requant(build, build.node("Add", half, "x"), [[[3]], [[5]], [[7]], [[9]]], 0, div=8.0, signed=0)
    pooled = build.node("MaxPool", both, kernel_shape=[2, 2], strides=[2, 2])
    build.node("Flatten", pooled, output="y")
    graph = optimise(imported(tmp_path, build.model("y"), types={"x": DType.UINT8}))
    # Elementwise kernels have one multiplier, so that of channels stays a node.
    assert operators(graph) == {"Requantize": 2, "Add": 1, "MaxPool": 1, "Reshape": 1}
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


def run_one(tmp_path, x, operator, *constants, x_type=None, rest=(), **attributes):
    """The optimised graph of one node and its output for x."""
    build = ModelBuilder(opset=13)
    build.input("x", x.shape)
    build.node(operator, "x", *(build.constant(np.asarray(c, np.float32)) for c in constants), output="y", **attributes)
    for follow in rest:
        follow(build)
    name = build.nodes[-1].output[0]
    graph = optimise(imported(tmp_path, build.model(name), types={"x": x_type or DType(x.dtype.name)}))
    return graph, outputs_of(graph, {"x": x})[0]


def test_integer_norms(tmp_path):
    x = RANDOM.integers(-128, 128, (1, 5, 16), np.int8)
    w, b = RANDOM.integers(-90000, 90000, 16), RANDOM.integers(-9000, 9000, 16)
    graph, y = run_one(tmp_path, x, "iLayerNorm", w, b, D=build_tensor([16384.0]), n_levels=build_tensor([256.0]))
    assert operators(graph) == {"iLayerNorm": 1}
    assert graph.tensor(graph.nodes[0].inputs[1]).dtype is DType.INT32
    assert y.dtype == np.int8
    graph, y = run_one(tmp_path, x, "iRMSNorm", w, D=16384, n_levels=256)
    assert graph.nodes[0].attributes == ShiftAttributes(14)


def test_functions_become_tables(tmp_path):
    x = np.arange(-128, 128, dtype=np.int8).reshape(1, 1, 16, 16)
    graph, y = run_one(tmp_path, x, "iGELU", b=-40, one=1743)
    assert operators(graph) == {"Lookup": 1}
    values = x.astype(int)
    distance = np.minimum(np.abs(values), 40) - 40
    gelu = values * ((1743 + np.sign(values) * (1743 - distance**2)) >> 1)
    np.testing.assert_array_equal(y, gelu)
    graph, y = run_one(
        tmp_path, x, "iHardswish", one_over_six=33, three=765, six=1530, rest=[lambda b: requant(b, "y", 7, 100)]
    )
    assert operators(graph) == {"Lookup": 1}
    assert y.dtype == np.int8
    swish = values * np.clip(values + 765, 0, 1530) * 33
    np.testing.assert_array_equal(y, expected(swish, 7, 100, 16, True))


def test_leaky_relu_keeps_the_type(tmp_path):
    x = np.arange(-128, 128, dtype=np.int8).reshape(1, 1, 16, 16)
    graph, y = run_one(tmp_path, x, "iLeakyReLU", mul=3, shift=4)
    assert operators(graph) == {"Lookup": 1}
    assert y.dtype == np.int8
    values = x.astype(int)
    np.testing.assert_array_equal(y, np.where(values >= 0, values, np.floor(values * 3 / 16)))
    with pytest.raises(TilewrightError, match="its values, -384 to 127, exceed int8"):
        run_one(tmp_path, x, "iLeakyReLU", mul=3, shift=0)


def test_division_by_a_constant_joins_requantisation(tmp_path):
    x = RANDOM.integers(-128, 128, (1, 4, 4), np.int8)
    graph, y = run_one(
        tmp_path, x, "TrueIntegerDiv", Delta=16384, eps=1, eta=200000, y=2, rest=[lambda b: requant(b, "y", 4, 0)]
    )
    assert operators(graph) == {"Requantize": 1}
    factor = 16384 * 200000 // 400001
    np.testing.assert_array_equal(y, expected(x.astype(int) * factor, 4, 0, 16, True))


@pytest.mark.parametrize(
    ("operator", "attributes"),
    [
        ("iSoftmax", {"coeffA": 1, "coeffB": 68, "coeffC": 2418, "log2": 50, "n_levels": 256}),
        ("ITAMax", {"n_levels": 256}),
        ("ITAPartialMax", {"n_levels": 256, "group_width": 16}),
    ],
)
def test_probabilities_are_unsigned(tmp_path, operator, attributes):
    x = RANDOM.integers(-128, 128, (1, 4, 32), np.int8)
    graph, y = run_one(tmp_path, x, operator, **attributes)
    assert operators(graph) == {operator: 1}
    assert y.dtype == np.uint8
    assert y.sum(axis=-1).max() <= 256


@pytest.mark.parametrize(
    ("operator", "dtype"), [("ReduceSum", "int32"), ("ReduceMean", "int8"), ("IntegerMean", "int8")]
)
def test_reductions(tmp_path, operator, dtype):
    x = RANDOM.integers(-128, 128, (1, 6, 8), np.int8)
    given = {"axes": [1]} if operator != "ReduceSum" else {}
    build = ModelBuilder(opset=13)
    build.input("x", x.shape)
    axes = [] if given else [build.constant(np.asarray([1]))]
    build.node(operator, "x", *axes, keepdims=0, output="y", **given)
    graph = optimise(imported(tmp_path, build.model("y"), types={"x": DType.INT8}))
    (y,) = outputs_of(graph, {"x": x})
    total = x.astype(int).sum(axis=1)
    mean = np.sign(total) * ((np.abs(total) + 3) // 6)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y, total if operator == "ReduceSum" else mean)


def test_no_norm_repeats_its_bias(tmp_path):
    x = RANDOM.integers(-128, 128, (1, 4, 6), np.int8)
    w, b = RANDOM.integers(-128, 128, (4, 6)), RANDOM.integers(-5000, 5000, 24)
    _, y = run_one(tmp_path, x, "iNoNorm", w, b, mul=425, D=65536, n_levels=256)
    exact = ((x.astype(int) * w + b.reshape(4, 6)) * 425) >> 16
    np.testing.assert_array_equal(y, exact.astype(np.int8))


def test_integer_quotients(tmp_path):
    build = ModelBuilder(opset=13)
    build.input("a", [2, 3])
    build.input("b", [2, 1])
    build.node("IntegerDiv", "a", "b", Delta=256, eps=1, eta=1000, output="y")
    types = {"a": DType.INT8, "b": DType.UINT8}
    graph = imported(tmp_path, build.model("y"), types=types)
    feeds = {"a": np.asarray([[-7, 0, 9], [1, 2, 3]], np.int8), "b": np.asarray([[200], [3]], np.uint8)}
    divisor = 1000 * feeds["b"].astype(int) + 1
    dividend = 256000 * feeds["a"].astype(int)
    wanted = np.trunc((dividend + np.where(dividend < 0, -1, 1) * (divisor // 2)) / divisor)
    np.testing.assert_array_equal(outputs_of(graph, feeds)[0], wanted)


def test_biases_of_products_are_folded(tmp_path):
    x = RANDOM.integers(-128, 128, (1, 4, 8), np.int8)
    w, bias = RANDOM.integers(-128, 128, (8, 5)), RANDOM.integers(-500, 500, 5)
    build = ModelBuilder(opset=13)
    build.input("x", x.shape)
    product = build.node("MatMul", "x", build.constant(np.asarray(w, np.float32)))
    total = build.node("Add", build.constant(np.asarray(bias, np.float32)), product)
    requant(build, total, 11, 0, output="y")
    graph = optimise(imported(tmp_path, build.model("y")))
    assert operators(graph) == {"MatMul": 1}
    np.testing.assert_array_equal(outputs_of(graph, {"x": x})[0], expected(x.astype(int) @ w + bias, 11, 0, 16, True))


def test_requantisation_that_changes_nothing_vanishes(tmp_path):
    build = ModelBuilder(opset=13)
    build.input("x", [1, 4, 8])
    build.input("cache", [1, 2, 8])
    same = requant(build, "x", 65536, 0)
    build.node("Concat", "cache", same, axis=1, output="kept")
    requant(build, "kept", 65536, 0, output="y")
    graph = optimise(imported(tmp_path, build.model("y")))
    assert operators(graph) == {"Concat": 1}


def test_large_tensors_are_requantised_by_a_table(tmp_path):
    x = RANDOM.integers(0, 256, (1, 512), np.uint8)
    build = ModelBuilder(opset=13)
    build.input("x", x.shape)
    requant(build, "x", 300, -7, div=256.0, output="y")
    graph = optimise(imported(tmp_path, build.model("y"), types={"x": DType.UINT8}))
    assert operators(graph) == {"Lookup": 1}
    np.testing.assert_array_equal(outputs_of(graph, {"x": x})[0], expected(x.astype(int), 300, -7, 8, True))


def test_multipliers_and_addends_of_different_axes(tmp_path):
    x = RANDOM.integers(-128, 128, (1, 3, 4, 5), np.int8)
    mul, add = RANDOM.integers(1, 900, (3, 1, 1)), RANDOM.integers(-900, 900, (1, 5))
    build = ModelBuilder(opset=13)
    build.input("x", x.shape)
    requant(build, "x", mul, add, div=256.0, output="y")
    graph = optimise(imported(tmp_path, build.model("y")))
    np.testing.assert_array_equal(outputs_of(graph, {"x": x})[0], expected(x.astype(int), mul, add, 8, True))


def test_empty_caches_are_dropped(tmp_path):
    build = ModelBuilder(opset=13)
    build.input("x", [1, 4, 8])
    build.input("cache", [1, 0, 8])
    both = build.node("Concat", "cache", "x", axis=1)
    requant(build, both, 100, 0, output="y")
    graph = optimise(imported(tmp_path, build.model("y")))
    assert graph.inputs == ("x",)
    assert operators(graph) == {"Requantize": 1}


def test_an_empty_input_that_is_computed_with_is_named(tmp_path):
    build = ModelBuilder(opset=13)
    build.input("cache", [1, 0, 8])
    build.node("Relu", "cache", output="y")
    with pytest.raises(TilewrightError) as caught:
        imported(tmp_path, build.model("y"))
    assert "DIMS cache.1=<n>" in str(caught.value)
    assert imported(tmp_path, build.model("y"), dims={"cache.1": 3}).tensor("cache").shape == (1, 3, 8)


def test_one_of_several(tmp_path):
    x = RANDOM.integers(-128, 128, (2, 3, 4), np.int8)
    build = ModelBuilder(opset=13)
    build.input("x", x.shape)
    taken = build.node("Gather", "x", build.constant(np.asarray(-1)), axis=1)
    requant(build, taken, 100, 0, div=128.0, output="y")
    graph = optimise(imported(tmp_path, build.model("y")))
    np.testing.assert_array_equal(outputs_of(graph, {"x": x})[0], expected(x[:, 2].astype(int), 100, 0, 7, True))


@pytest.mark.parametrize("wide", [False, True])
def test_relu_of_integers(tmp_path, wide):
    x = RANDOM.integers(-128, 128, (1, 3, 4), np.int8)
    build = ModelBuilder(opset=13)
    build.input("x", x.shape)
    y = build.node("Add", "x", "x") if wide else "x"
    build.node("Clip", y, build.constant(np.float32(-3.5)), build.constant(np.float32(99)), output="y")
    graph = optimise(imported(tmp_path, build.model("y"), types={"x": DType.INT8}))
    assert operators(graph) == ({"Add": 1, "Max": 1, "Min": 1} if wide else {"Lookup": 1})
    values = x.astype(int) * (2 if wide else 1)
    np.testing.assert_array_equal(outputs_of(graph, {"x": x})[0], np.clip(values, -3, 99))


def test_several_of_many(tmp_path):
    x = RANDOM.integers(-128, 128, (2, 9, 4), np.int8)
    build = ModelBuilder(opset=13)
    build.input("x", x.shape)
    build.node("Gather", "x", build.constant(np.asarray([[7, -1], [0, 3]])), axis=1, output="y")
    graph = optimise(imported(tmp_path, build.model("y"), types={"x": DType.INT8}))
    np.testing.assert_array_equal(outputs_of(graph, {"x": x})[0], x[:, [[7, -1], [0, 3]]])


def test_a_fractional_factor_gives_real_numbers(tmp_path):
    x = RANDOM.integers(-128, 128, (1, 3, 4), np.int8)
    build = ModelBuilder(opset=13)
    build.input("x", x.shape)
    centred = build.node("Sub", "x", build.constant(np.float32(3)))
    build.node("Mul", centred, build.constant(np.float32(0.125)), output="y")
    graph = optimise(imported(tmp_path, build.model("y"), types={"x": DType.INT8}))
    assert operators(graph) == {"Dequantize": 1}
    np.testing.assert_array_equal(outputs_of(graph, {"x": x})[0], (x.astype(np.float32) - 3) * np.float32(0.125))


def test_a_constant_in_two_roles_has_two_types(tmp_path):
    x = RANDOM.integers(-128, 128, (1, 5), np.int8)
    build = ModelBuilder(opset=13)
    build.input("x", x.shape)
    shared = build.constant(np.asarray([3, 1, 4, 1, 5], np.float32))
    total = build.node("Add", "x", shared)
    small = requant(build, total, 500, 0, div=1024.0)
    build.node("iRMSNorm", small, shared, D=4, n_levels=256, output="y")
    graph = imported(tmp_path, build.model("y"))
    read = [graph.tensor(name) for node in graph.nodes for name in node.inputs]
    assert {tensor.dtype for tensor in read if tensor.is_constant} == {DType.INT8, DType.INT32}


@pytest.mark.parametrize("case", ["fraction", "operator", "div", "mean", "wide", "groups", "levels"])
def test_what_the_dialect_does_not_define(tmp_path, case):
    build = ModelBuilder(opset=10)
    build.input("x", [1, 4, 4, 4])
    y = build.node("Add", "x", build.constant(np.full((1,), 0.5 if case == "fraction" else 1, np.float32)))
    if case == "operator":
        y = build.node("RequantizedAdd", y)
    if case == "mean":
        y = build.node("GlobalAveragePool", y)
    if case == "wide":
        y = build.node("iGELU", y, b=-40, one=1743)
    if case == "groups":
        y = build.node("ITAPartialMax", y, group_width=3)
    if case == "levels":
        y = build.node("iRMSNorm", y, build.constant(np.ones(4, np.float32)), D=4, n_levels=16)
    requant(build, y, 1, 0, div=3.0 if case == "div" else 4.0, output="y")
    with pytest.raises(TilewrightError) as caught:
        imported(tmp_path, build.model("y"))
    assert caught.value.status is ExitStatus.NOT_SUPPORTED
    told = {
        "fraction": "not integers",
        "operator": "RequantizedAdd",
        "div": "power of two",
        "mean": "AveragePool",
        "wide": "put RequantShift before it",
        "groups": "groups of 3",
        "levels": "16 levels",
    }
    assert told[case] in str(caught.value)
