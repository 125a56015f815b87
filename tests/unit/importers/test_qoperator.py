"""QOperator format and operators of com.microsoft against onnxruntime.

Results may differ by one step where the exact value lies next to a rounding tie.
"""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from numpy.lib import NumpyVersion
from support.onnx_models import ModelBuilder, assert_equal_to_runtime, imported, operators, outputs_of, runtime_outputs
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.graph import DType, Requantize
from tilewright.rewrites.passes import optimise

MICROSOFT = "com.microsoft"
DTYPES = [np.int8, np.uint8]


def points(dtype):
    return (3, -5) if dtype is np.int8 else (131, 120)


def whole(dtype, shape, seed=0):
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype, endpoint=True)


class Builder(ModelBuilder):
    """Builds models whose scales and zero points are constants."""

    def parameters(self, scale, zero_point, dtype):
        return [self.constant(np.float32(scale)), self.constant(np.asarray(zero_point, dtype))]


def within_a_step(folder, build, dtype, feeds, wanted=None):
    """The optimised graph, after comparison with onnxruntime; at most a hundredth may be off by one."""
    model = build.model("y", dtypes={"y": dtype})
    graph = assert_equal_to_runtime(folder, model, steps=1, feeds=feeds)
    (want,) = runtime_outputs(model, feeds).values()
    off = int((outputs_of(graph, feeds)[0] != want).sum())
    assert off * 100 <= want.size
    assert len(np.unique(want)) > 4
    if wanted is not None:
        assert operators(graph) == wanted
    return graph


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("group", [1, 4])
def test_convolution(tmp_path, dtype, per_channel, group):
    x_point, y_point = points(dtype)
    build = Builder()
    build.input("x", [1, 4, 7, 6], dtype)
    scales = np.float32(np.linspace(0.002, 0.005, 8)) if per_channel else 0.003
    w_points = np.zeros(8) if per_channel else 0
    w_dtype = np.int8
    inputs = [
        *build.parameters(0.04, x_point, dtype),
        build.constant(whole(w_dtype, (8, 4 // group, 3, 3), 1)),
        *build.parameters(scales, w_points, w_dtype),
        *build.parameters(0.11, y_point, dtype),
        build.constant(np.random.default_rng(2).integers(-9000, 9000, 8, np.int32)),
    ]
    attributes = {"group": group, "pads": [1, 0, 1, 2], "strides": [2, 1]}
    build.node("QLinearConv", "x", *inputs, output="y", **attributes)
    graph = within_a_step(tmp_path, build, dtype, {"x": whole(dtype, (1, 4, 7, 6))}, {"Conv": 1})
    assert isinstance(graph.nodes[0].epilogue, Requantize)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("constant", [False, True])
def test_matrix_product(tmp_path, dtype, constant):
    x_point, y_point = points(dtype)
    build = Builder()
    build.input("x", [2, 5, 12], dtype)
    b = whole(np.int8, (12, 7), 1) if constant else whole(np.int8, (2, 12, 7), 1)
    feeds = {"x": whole(dtype, (2, 5, 12))}
    if constant:
        name = build.constant(b)
    else:
        name = build.input("b", b.shape, np.int8)
        feeds["b"] = b
    others = [*build.parameters(0.003, 0 if constant else 7, np.int8), *build.parameters(0.13, y_point, dtype)]
    build.node("QLinearMatMul", "x", *build.parameters(0.04, x_point, dtype), name, *others, output="y")
    within_a_step(tmp_path, build, dtype, feeds, {"MatMul": 1})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_gemm(tmp_path, dtype, transposed, quantized, alpha):
    x_point, y_point = points(dtype)
    build = Builder()
    build.input("x", [3, 20], dtype)
    shape = (9, 20) if transposed else (20, 9)
    inputs = [
        *build.parameters(0.04, x_point, dtype),
        build.constant(whole(np.int8, shape, 1)),
        *build.parameters(np.float32(np.linspace(0.002, 0.004, 9)), np.zeros(9), np.int8),
        build.constant(np.random.default_rng(2).integers(-3000, 3000, 9, np.int32)),
        *(build.parameters(0.2, y_point, dtype) if quantized else []),
    ]
    build.node("QGemm", "x", *inputs, output="y", domain=MICROSOFT, transB=transposed, alpha=alpha)
    feeds = {"x": whole(dtype, (3, 20))}
    if quantized:
        wanted = {"MatMul": 1} if alpha == 1.0 else None
        within_a_step(tmp_path, build, dtype, feeds, wanted)
    else:
        assert_equal_to_runtime(tmp_path, build.model("y"), feeds=feeds)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operator", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("other", [(2, 3, 5), (3, 1), ()], ids=str)
def test_two_operands(tmp_path, dtype, operator, other):
    a_point, b_point = points(dtype)
    build = Builder()
    build.input("a", [2, 3, 5], dtype)
    build.input("b", other, dtype)
    # These scales have no quotient that puts many results on a rounding tie.
    scale = 0.0913 if operator == "QLinearAdd" else 0.1217
    inputs = ["b", *build.parameters(0.06, b_point, dtype), *build.parameters(scale, a_point, dtype)]
    build.node(operator, "a", *build.parameters(0.05, a_point, dtype), *inputs, output="y", domain=MICROSOFT)
    feeds = {"a": whole(dtype, (2, 3, 5)), "b": whole(dtype, other, 1)}
    within_a_step(tmp_path, build, dtype, feeds, {operator[7:]: 1})


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [0, 1, 0, 1]])
def test_average_pools_that_end_behind_the_input(tmp_path, last, pads):
    """ONNX Runtime divides by all taps of the last window, which PyTorch's count_include_pad asks for."""
    shape = (1, 9, 8, 5) if last else (1, 5, 9, 8)
    build = Builder()
    build.input("x", shape, np.uint8)
    parameters = [*build.parameters(0.05, 131, np.uint8), *build.parameters(0.0317, 120, np.uint8)]
    window = {"kernel_shape": [2, 3], "strides": [2, 2], "pads": pads, "ceil_mode": 1, "count_include_pad": 1}
    build.node("QLinearAveragePool", "x", *parameters, output="y", domain=MICROSOFT, channels_last=last, **window)
    within_a_step(tmp_path, build, np.uint8, {"x": whole(np.uint8, shape)})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("whole_extent", [False, True])
def test_average_pools(tmp_path, dtype, last, whole_extent):
    x_point, y_point = points(dtype)
    shape = (1, 8, 6, 5) if last else (1, 5, 8, 6)
    build = Builder()
    build.input("x", shape, dtype)
    parameters = [*build.parameters(0.05, x_point, dtype), *build.parameters(0.0317, y_point, dtype)]
    window = {"kernel_shape": [2, 3], "strides": [2, 2], "pads": [0, 1, 0, 1], "count_include_pad": 1}
    operator = "QLinearGlobalAveragePool" if whole_extent else "QLinearAveragePool"
    attributes = {"channels_last": last, **({} if whole_extent else window)}
    build.node(operator, "x", *parameters, output="y", domain=MICROSOFT, **attributes)
    graph = within_a_step(tmp_path, build, dtype, {"x": whole(dtype, shape)})
    assert operators(graph)["AveragePool"] == 1
    assert set(operators(graph)) <= {"AveragePool", "Transpose"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("operator", "attributes", "scale"), [("QLinearSigmoid", {}, 1 / 256), ("QLinearLeakyRelu", {"alpha": 0.2}, 0.04)]
)
def test_functions(tmp_path, dtype, operator, attributes, scale):
    x_point, y_point = points(dtype)
    build = Builder()
    build.input("x", [1, 256], dtype)
    y_point = (-128 if dtype is np.int8 else 0) if operator == "QLinearSigmoid" else y_point
    parameters = [*build.parameters(0.05, x_point, dtype), *build.parameters(scale, y_point, dtype)]
    build.node(operator, "x", *parameters, output="y", domain=MICROSOFT, **attributes)
    limits = np.iinfo(dtype)
    feeds = {"x": np.arange(limits.min, limits.max + 1).astype(dtype).reshape(1, 256)}
    within_a_step(tmp_path, build, dtype, feeds, {"Lookup": 1})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("opset", "axis"), [(13, -1), (12, 1)])
def test_softmax(tmp_path, dtype, opset, axis):
    if dtype is np.int8 and opset == 13 and NumpyVersion(onnxruntime.__version__) < "1.24.0":
        pytest.skip("onnxruntime before 1.24 wraps an int8 result of 1 to the lowest value")
    build = Builder()
    build.input("x", [3, 4, 6], dtype)
    low = -128 if dtype is np.int8 else 0
    parameters = [*build.parameters(0.05, 0, dtype), *build.parameters(1 / 256, low, dtype)]
    build.node("QLinearSoftmax", "x", *parameters, output="y", domain=MICROSOFT, opset=opset, axis=axis)
    graph = within_a_step(tmp_path, build, dtype, {"x": whole(dtype, (3, 4, 6))})
    assert set(operators(graph)) <= {"Softmax", "Reshape"}


@pytest.mark.parametrize("scale", [1 / 127, 0.0039, 0.00787402])
def test_softmax_counts_whole_units(tmp_path, scale):
    """ONNX Runtime multiplies by floor(1 / scale); multiplied by 1 / scale, a sixth of results are a step larger."""
    build = Builder()
    build.input("x", [60, 7], np.uint8)
    parameters = [*build.parameters(0.03, 128, np.uint8), *build.parameters(scale, 0, np.uint8)]
    build.node("QLinearSoftmax", "x", *parameters, output="y", domain=MICROSOFT, opset=13, axis=1)
    within_a_step(tmp_path, build, np.uint8, {"x": whole(np.uint8, (60, 7))})


@pytest.mark.parametrize("dtype", DTYPES)
def test_concat(tmp_path, dtype):
    a_point, b_point = points(dtype)
    build = Builder()
    build.input("a", [1, 3, 4], dtype)
    build.input("b", [1, 2, 4], dtype)
    parts = ["a", *build.parameters(0.05, a_point, dtype), "b", *build.parameters(0.07, b_point, dtype)]
    build.node("QLinearConcat", *build.parameters(0.05, a_point, dtype), *parts, output="y", domain=MICROSOFT, axis=1)
    feeds = {"a": whole(dtype, (1, 3, 4)), "b": whole(dtype, (1, 2, 4), 1)}
    within_a_step(tmp_path, build, dtype, feeds, {"Concat": 1, "Lookup": 1})


def test_a_chain_computes_on_integers(tmp_path):
    """Two operators quantise and dequantise the tensor between them alike, so that neither conversion is left."""
    build = Builder()
    build.input("x", [1, 4, 6, 6], np.uint8)
    first = [build.constant(whole(np.int8, (4, 4, 3, 3), 1)), *build.parameters(0.004, 0, np.int8)]
    middle = build.parameters(0.1, 120, np.uint8)
    conv = build.node("QLinearConv", "x", *build.parameters(0.02, 128, np.uint8), *first, *middle, pads=[1] * 4)
    added = ["x", *build.parameters(0.02, 128, np.uint8), *build.parameters(0.1, 128, np.uint8)]
    total = build.node("QLinearAdd", conv, *middle, *added, domain=MICROSOFT)
    build.node("MaxPool", total, kernel_shape=[2, 2], strides=[2, 2], output="y")
    feeds = {"x": whole(np.uint8, (1, 4, 6, 6))}
    within_a_step(tmp_path, build, np.uint8, feeds, {"Conv": 1, "Add": 1, "MaxPool": 1})


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("w_dtype", DTYPES)
def test_convolution_of_integers(tmp_path, dtype, w_dtype):
    build = Builder()
    build.input("x", [1, 3, 6, 5], dtype)
    zero = [build.constant(np.asarray(points(dtype)[0], dtype)), build.constant(np.asarray(2, w_dtype))]
    weights = build.constant(whole(w_dtype, (5, 3, 3, 2), 1))
    build.node("ConvInteger", "x", weights, *zero, output="y", pads=[1, 1, 1, 0])
    feeds = {"x": whole(dtype, (1, 3, 6, 5))}
    if dtype is np.uint8 and w_dtype is np.uint8:
        assert_equal_to_runtime(tmp_path, build.model("y", dtypes={"y": np.int32}), feeds=feeds)
    graph = optimise(imported(tmp_path, build.model("y", dtypes={"y": np.int32})))
    assert operators(graph) == {"Conv": 1}
    assert graph.tensor("y").dtype is DType.INT32


def test_convolution_of_integers_with_a_computed_zero_point(tmp_path):
    build = Builder()
    build.input("x", [1, 3, 6, 5], np.uint8)
    build.input("z", [], np.uint8)
    weights = build.constant(whole(np.uint8, (5, 3, 3, 2), 1))
    build.node("ConvInteger", "x", weights, "z", build.constant(np.uint8(100)), output="y", pads=[1, 1, 1, 0])
    feeds = {"x": whole(np.uint8, (1, 3, 6, 5)), "z": np.asarray(77, np.uint8)}
    graph = assert_equal_to_runtime(tmp_path, build.model("y", dtypes={"y": np.int32}), feeds=feeds)
    assert operators(graph) == {"Conv": 1, "Mul": 1, "Sub": 1}


@pytest.mark.parametrize("point", ["constant", "computed", "per row", "none"])
@pytest.mark.parametrize("depth", [16, 300])
def test_matrix_product_of_integers(tmp_path, point, depth):
    build = Builder()
    build.input("a", [4, depth], np.uint8)
    feeds = {"a": whole(np.uint8, (4, depth))}
    points_b = np.arange(6).astype(np.int8)
    inputs = [build.constant(whole(np.int8, (depth, 6), 1))]
    if point == "constant":
        inputs.append(build.constant(np.uint8(9)))
    elif point != "none":
        shape = [] if point == "computed" else [4]
        inputs.append(build.input("z", shape, np.uint8))
        feeds["z"] = np.asarray(9 if point == "computed" else [1, 2, 3, 4], np.uint8)
    if point != "none":
        inputs.append(build.constant(points_b))
    build.node("MatMulInteger", "a", *inputs, output="y")
    model = build.model("y", dtypes={"y": np.int32})
    if point == "per row":  # onnxruntime refuses a zero point for each row.
        graph = optimise(imported(tmp_path, model))
        wanted = (feeds["a"].astype(int) - feeds["z"].reshape(4, 1)) @ (
            whole(np.int8, (depth, 6), 1).astype(int) - points_b
        )
        np.testing.assert_array_equal(outputs_of(graph, feeds)[0], wanted)
    else:
        graph = assert_equal_to_runtime(tmp_path, model, feeds=feeds)
    assert operators(graph)["MatMul"] == 1
    assert ("Sub" in operators(graph)) == (point in ("computed", "per row"))


@pytest.mark.parametrize("depth", [16, 300])
def test_matrix_product_of_computed_integers(tmp_path, depth):
    """Zero points of both operands come at run time: float32 holds sums of 258 products exactly; longer are refused."""
    build = Builder()
    build.input("a", [4, depth], np.uint8)
    build.input("b", [depth, 6], np.uint8)
    zeros = [build.input("za", [], np.uint8), build.input("zb", [], np.uint8)]
    build.node("MatMulInteger", "a", "b", *zeros, output="y")
    model = build.model("y", dtypes={"y": np.int32})
    if depth > 258:
        with pytest.raises(TilewrightError, match="300 products") as caught:
            imported(tmp_path, model)
        assert caught.value.status is ExitStatus.NOT_SUPPORTED
        return
    feeds = {"a": whole(np.uint8, (4, depth)), "b": whole(np.uint8, (depth, 6), 1)}
    feeds |= {"za": np.asarray(7, np.uint8), "zb": np.asarray(200, np.uint8)}
    assert_equal_to_runtime(tmp_path, model, feeds=feeds)


@pytest.mark.parametrize("alpha", [1.0, 0.25])
def test_fused_matrix_product(tmp_path, alpha):
    build = Builder()
    build.input("a", [2, 5, 3])
    build.input("b", [2, 4, 5])
    build.node("FusedMatMul", "a", "b", output="y", domain=MICROSOFT, transA=1, transB=1, alpha=alpha)
    assert_equal_to_runtime(tmp_path, build.model("y"))


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("columns", [0, 1])
def test_fused_matrix_product_of_batches_behind_the_rows(tmp_path, rows, columns):
    """As ONNX Runtime's optimiser writes attention."""
    build = Builder()
    build.input("a", [5, 2, 3, 4] if rows else [4, 2, 3, 5])
    build.input("b", [6, 2, 3, 5] if columns else [5, 2, 3, 6])
    shapes = {"transBatchA": 1, "transBatchB": 1, "transA": rows, "transB": columns}
    build.node("FusedMatMul", "a", "b", output="y", domain=MICROSOFT, **shapes)
    assert_equal_to_runtime(tmp_path, build.model("y"), absolute=1e-5)


@pytest.mark.parametrize(("activation", "parameters"), [("Relu", []), ("LeakyRelu", [0.3]), ("Clip", [-0.5, 0.75])])
@pytest.mark.parametrize("addend", [False, True])
def test_fused_convolution(tmp_path, activation, parameters, addend):
    build = Builder()
    build.input("x", [1, 3, 5, 5])
    random = np.random.default_rng(3)
    constants = [build.constant(random.normal(size=shape).astype(np.float32)) for shape in ((4, 3, 3, 3), (4,))]
    extra = [build.input("z", [1, 4, 3, 3])] if addend else []
    attributes = {"activation": activation, **({"activation_params": parameters} if parameters else {})}
    build.node("FusedConv", "x", *constants, *extra, output="y", domain=MICROSOFT, **attributes)
    assert_equal_to_runtime(tmp_path, build.model("y"))


def test_fused_gemm(tmp_path):
    build = Builder()
    build.input("x", [3, 8])
    random = np.random.default_rng(3)
    constants = [build.constant(random.normal(size=shape).astype(np.float32)) for shape in ((5, 8), (5,))]
    attributes = {"activation": "LeakyRelu", "activation_alpha": 0.2, "transB": 1}
    build.node("FusedGemm", "x", *constants, output="y", domain=MICROSOFT, **attributes)
    assert_equal_to_runtime(tmp_path, build.model("y"))


@pytest.mark.parametrize("case", ["type", "scales", "activation", "parts"])
def test_refusals_name_the_node(tmp_path, case):
    build = Builder()
    build.input("x", [2, 4], np.int16 if case == "type" else np.float32 if case == "activation" else np.int8)
    one = build.parameters(0.1, 0, np.int8)
    if case == "activation":
        build.node("FusedGemm", "x", "x", output="y", domain=MICROSOFT, transB=1, activation="Elu")
    elif case == "parts":
        build.node("QLinearConcat", *one, "x", *one, "x", output="y", domain=MICROSOFT, axis=0)
    else:
        scale = build.parameters([0.1, 0.2, 0.3, 0.4], [0, 0, 0, 0], np.int8) if case == "scales" else one
        build.node("QLinearSigmoid", "x", *scale, *one, output="y", domain=MICROSOFT)
    with pytest.raises(TilewrightError) as caught:
        imported(tmp_path, build.model("y", dtypes={"y": np.int8}))
    told = {
        "type": "int16",
        "scales": "(x_scale) has shape [4]",
        "activation": "activation 'Elu'",
        "parts": "three for each part",
    }
    assert caught.value.status is ExitStatus.NOT_SUPPORTED
    assert "_y' (" in str(caught.value)
    assert told[case] in str(caught.value)


def test_another_zero_point_is_noticed(tmp_path):
    """The comparison itself."""
    build = Builder()
    build.input("x", [1, 64], np.int8)
    build.node(
        "QLinearLeakyRelu",
        "x",
        *build.parameters(0.1, 3, np.int8),
        *build.parameters(0.1, 3, np.int8),
        output="y",
        domain=MICROSOFT,
        alpha=0.5,
    )
    feeds = {"x": whole(np.int8, (1, 64))}
    (want,) = runtime_outputs(build.model("y", dtypes={"y": np.int8}), feeds).values()
    other = Builder()
    other.input("x", [1, 64], np.int8)
    shifted = [*other.parameters(0.1, 3, np.int8), *other.parameters(0.1, 6, np.int8)]
    other.node("QLinearLeakyRelu", "x", *shifted, output="y", domain=MICROSOFT, alpha=0.5)
    (got,) = outputs_of(imported(tmp_path, other.model("y", dtypes={"y": np.int8})), feeds)
    assert np.abs(got.astype(int) - want.astype(int)).max() > 1
