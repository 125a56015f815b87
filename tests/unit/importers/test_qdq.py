"""Quantised patterns as tf2onnx and onnxruntime write them become integer operators."""

from __future__ import annotations

import numpy as np
import onnxruntime.quantization as quantization
import pytest
from support.onnx_models import ModelBuilder, assert_equal_to_runtime, imported, operators, random_feeds
from tilewright.base.errors import TilewrightError
from tilewright.graph import DType, Requantize, Rescale

SIGNED = (np.int8, 3)
UNSIGNED = (np.uint8, 131)
BOTH = pytest.mark.parametrize(("dtype", "zero_point"), [SIGNED, UNSIGNED], ids=["int8", "uint8"])
RANDOM = np.random.default_rng(11)


def integers(*shape, dtype=np.int8):
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max, shape, dtype, endpoint=True)


class Pattern:
    """An 8-bit input, dequantised; and an output to be quantised."""

    def __init__(self, shape, dtype=np.int8, zero_point=3, scale=0.05, opset=13):
        self.build = ModelBuilder(opset)
        self.dtype, self.scale, self.zero_point = dtype, scale, zero_point
        self.build.input("x", shape, dtype)
        self.x = self.build.dequantize("x", scale, zero_point, dtype)

    def another(self, name, shape, scale, zero_point):
        self.build.input(name, shape, self.dtype)
        return self.build.dequantize(name, scale, zero_point, self.dtype)

    def weights(self, data, scale, zero_point=0, axis=None):
        count = np.size(scale)
        points = np.full(count, zero_point) if np.ndim(scale) else zero_point
        attributes = {} if axis is None else {"axis": axis}
        return self.build.dequantize(self.build.constant(data), scale, points, data.dtype, **attributes)

    def finish(self, tensor, scale=0.1, zero_point=None, dtype=None):
        zero_point = self.zero_point if zero_point is None else zero_point
        self.build.quantize(tensor, scale, zero_point, dtype or self.dtype, output="y")
        return self.build.model("y", dtypes={"y": dtype or self.dtype})


@BOTH
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("clip", [None, "Relu", "Clip"])
def test_conv(tmp_path, dtype, zero_point, per_channel, clip):
    pattern = Pattern([1, 4, 7, 7], dtype, zero_point)
    scale = np.linspace(0.001, 0.003, 6) if per_channel else 0.002
    w = pattern.weights(integers(6, 4, 3, 3), scale, axis=0 if per_channel else None)
    bias_scale = np.float32(pattern.scale) * np.float32(scale)
    b = pattern.weights(RANDOM.integers(-2000, 2000, 6).astype(np.int32), bias_scale, axis=0 if per_channel else None)
    y = pattern.build.node("Conv", pattern.x, w, b, pads=[1, 0, 1, 1], strides=[2, 1])
    if clip == "Relu":
        y = pattern.build.node("Relu", y)
    if clip == "Clip":
        y = pattern.build.node(
            "Clip", y, pattern.build.constant(np.float32(-0.33)), pattern.build.constant(np.float32(0.47))
        )
    graph = assert_equal_to_runtime(tmp_path, pattern.finish(y, 0.011), steps=1)
    (node,) = graph.nodes
    assert isinstance(node.epilogue, Requantize)
    assert len(node.epilogue.multiplier) == (6 if per_channel else 1)
    assert node.attributes.x_zero_point == zero_point
    assert graph.tensor(node.inputs[2]).dtype is DType.INT32


@BOTH
def test_unsigned_weights_become_signed(tmp_path, dtype, zero_point):
    pattern = Pattern([1, 4, 7], dtype, zero_point)
    w = pattern.weights(integers(6, 4, 3, dtype=np.uint8), 0.002, 120)
    graph = assert_equal_to_runtime(tmp_path, pattern.finish(pattern.build.node("Conv", pattern.x, w), 0.03), steps=1)
    (node,) = graph.nodes
    assert graph.tensor(node.inputs[1]).dtype is DType.INT8
    assert node.attributes.w_zero_point == (-8,)


@BOTH
@pytest.mark.parametrize("form", ["matmul add", "gemm", "gemm transposed", "float bias", "int8 bias", "no bias"])
def test_matmul(tmp_path, dtype, zero_point, form):
    pattern = Pattern([2, 16], dtype, zero_point)
    build = pattern.build
    data = integers(16, 5)
    w = pattern.weights(data.T.copy() if form == "gemm transposed" else data, 0.004)
    int32_bias = RANDOM.integers(-3000, 3000, 5).astype(np.int32)
    bias = {
        "float bias": lambda: build.constant((int32_bias * 0.0002).astype(np.float32)),
        "int8 bias": lambda: pattern.weights(integers(5), 0.0123, 17),
    }.get(form, lambda: pattern.weights(int32_bias, np.float32(pattern.scale) * np.float32(0.004)))()
    if form.startswith("gemm"):
        y = build.node("Gemm", pattern.x, w, bias, transB=int(form == "gemm transposed"))
    else:
        y = build.node("MatMul", pattern.x, w)
        y = y if form == "no bias" else build.node("Add", y, bias)
    graph = assert_equal_to_runtime(tmp_path, pattern.finish(y, 0.02), steps=1)
    assert operators(graph) == {"MatMul": 1}


def test_matmul_of_two_activations(tmp_path):
    pattern = Pattern([2, 3, 8])
    other = pattern.another("z", [2, 8, 4], 0.02, -7)
    graph = assert_equal_to_runtime(
        tmp_path, pattern.finish(pattern.build.node("MatMul", pattern.x, other), 0.07), steps=1
    )
    (node,) = graph.nodes
    assert node.attributes.b_zero_point == (-7,)


@BOTH
@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul"])
@pytest.mark.parametrize("shape", [[2, 3, 4], [3, 1]])
def test_elementwise(tmp_path, dtype, zero_point, operator, shape):
    pattern = Pattern([2, 3, 4], dtype, zero_point)
    other = pattern.another("z", shape, 0.037, zero_point - 2)
    y = pattern.build.node("Relu", pattern.build.node(operator, pattern.x, other))
    graph = assert_equal_to_runtime(tmp_path, pattern.finish(y, 0.061), steps=1)
    (node,) = graph.nodes
    assert isinstance(node.epilogue, Requantize)


def test_elementwise_with_a_quantised_constant(tmp_path):
    pattern = Pattern([2, 3, 4])
    y = pattern.build.node("Add", pattern.weights(integers(4), 0.02, 5), pattern.x)
    assert operators(assert_equal_to_runtime(tmp_path, pattern.finish(y), steps=1)) == {"Add": 1}


@BOTH
@pytest.mark.parametrize(
    ("operator", "attributes"),
    [
        ("AveragePool", {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 0]}),
        ("AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
        ("GlobalAveragePool", {}),
        ("Softmax", {"axis": 1}),
    ],
)
def test_one_operand(tmp_path, dtype, zero_point, operator, attributes):
    pattern = Pattern([1, 4, 6, 6], dtype, zero_point)
    y = pattern.build.node(operator, pattern.x, **attributes)
    graph = assert_equal_to_runtime(tmp_path, pattern.finish(y, 0.013), steps=1)
    assert len(graph.nodes) == 1


@BOTH
@pytest.mark.parametrize(("shape", "axes"), [([1, 6, 5, 4], [1, 2]), ([1, 9, 4], [1])])
def test_a_mean_over_all_positions_of_the_last_axis(tmp_path, dtype, zero_point, shape, axes):
    pattern = Pattern(shape, dtype, zero_point)
    y = pattern.build.node("ReduceMean", pattern.x, axes=axes, keepdims=0)
    graph = assert_equal_to_runtime(tmp_path, pattern.finish(y, 0.013), steps=1)
    assert operators(graph) == {"Transpose": 1, "AveragePool": 1, "Reshape": 1}
    assert all(tensor.dtype is not DType.FLOAT32 for tensor in graph.tensors.values())


@BOTH
@pytest.mark.parametrize("scale", [0.05, 0.08])
@pytest.mark.parametrize("shape", [(4, 1, 1), (1,), (6,)])
def test_prelu_is_the_larger_of_two_tensors(tmp_path, dtype, zero_point, scale, shape):
    pattern = Pattern([1, 4, 6, 6], dtype, zero_point, opset=16)
    slopes = pattern.build.constant(np.linspace(0.0, 1.0, int(np.prod(shape))).astype(np.float32).reshape(shape))
    model = pattern.finish(pattern.build.node("PRelu", pattern.x, slopes), scale)
    graph = assert_equal_to_runtime(tmp_path, model, steps=1)
    assert all(tensor.dtype is not DType.FLOAT32 for tensor in graph.tensors.values())
    rest = {} if shape == (1,) else {"Requantize": 1, "Max": 1}
    assert operators(graph) == (rest | ({"Lookup": 1} if scale != 0.05 or not rest else {}))


@pytest.mark.parametrize("slopes", [[0.5, 1.5, 0.2, 0.1], [-0.5, 0.5, 0.2, 0.1]])
def test_prelu_of_other_slopes_stays(tmp_path, slopes):
    pattern = Pattern([1, 4, 6, 6], opset=16)
    constant = pattern.build.constant(np.array(slopes, np.float32).reshape(4, 1, 1))
    graph = assert_equal_to_runtime(tmp_path, pattern.finish(pattern.build.node("PRelu", pattern.x, constant), 0.08))
    assert operators(graph)["PRelu"] == 1


@BOTH
@pytest.mark.parametrize(
    ("operator", "attributes"),
    [
        ("MaxPool", {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 0]}),
        ("GlobalMaxPool", {}),
        ("Transpose", {"perm": [0, 2, 3, 1]}),
        ("Flatten", {}),
    ],
)
@pytest.mark.parametrize("scale", [0.05, 0.08])
def test_movement_stays_in_integers(tmp_path, dtype, zero_point, operator, attributes, scale):
    pattern = Pattern([1, 4, 6, 6], dtype, zero_point)
    y = pattern.build.node(operator, pattern.x, **attributes)
    graph = assert_equal_to_runtime(tmp_path, pattern.finish(y, scale))
    assert all(tensor.dtype is not DType.FLOAT32 for tensor in graph.tensors.values())
    assert ("Lookup" in operators(graph)) == (scale != 0.05)


def test_pad_concat_and_slice(tmp_path):
    pattern = Pattern([2, 3])
    build = pattern.build
    padded = build.node("Pad", pattern.x, build.constant(np.array([0, 1, 0, 0])))
    other = pattern.another("z", [2, 4], 0.09, 9)
    both = build.node("Concat", padded, other, axis=1)
    ends = [build.constant(np.array([value])) for value in (1, 7, 1)]
    graph = assert_equal_to_runtime(tmp_path, pattern.finish(build.node("Slice", both, *ends), 0.05))
    assert operators(graph) == {"Pad": 1, "Concat": 1, "Slice": 2, "Lookup": 1}


@pytest.mark.parametrize("operator", ["Sigmoid", "Tanh", "HardSigmoid", "LeakyRelu", "Relu", "HardSwish"])
@BOTH
def test_functions_become_tables(tmp_path, dtype, zero_point, operator):
    pattern = Pattern([64], dtype, zero_point, opset=14)
    y = pattern.build.node(operator, pattern.x)
    graph = assert_equal_to_runtime(tmp_path, pattern.finish(y, 0.03), steps=1)
    assert operators(graph) == {"Lookup": 1}


def test_chains_of_one_tensor_become_one_table(tmp_path):
    pattern = Pattern([256], zero_point=0)
    build = pattern.build
    scaled = build.node(
        "Div", build.node("Add", pattern.x, build.constant(np.float32(3.0))), build.constant(np.float32(6))
    )
    y = build.node(
        "Mul", pattern.x, build.node("Clip", scaled, build.constant(np.float32(0)), build.constant(np.float32(1)))
    )
    feeds = {"x": np.arange(-128, 128, dtype=np.int8)}
    graph = assert_equal_to_runtime(tmp_path, pattern.finish(y, 0.04), feeds=feeds)
    assert operators(graph) == {"Lookup": 1}


def test_operators_between_the_pairs(tmp_path):
    """DequantizeLinear, then Relu, Reshape and pooling before the convolution that reads them."""
    pattern = Pattern([1, 4, 8])
    build = pattern.build
    y = build.node("Relu", pattern.x)
    y = build.node("Reshape", y, build.constant(np.array([1, 4, 2, 4])))
    y = build.node("MaxPool", y, kernel_shape=[1, 2])
    y = build.node("Conv", y, pattern.weights(integers(3, 4, 1, 2), 0.01))
    graph = assert_equal_to_runtime(
        tmp_path, pattern.finish(build.node("Transpose", y, perm=[0, 2, 3, 1]), 0.05), steps=1
    )
    assert operators(graph) == {"Lookup": 1, "Reshape": 1, "MaxPool": 1, "Conv": 1, "Transpose": 1}
    assert all(tensor.dtype is not DType.FLOAT32 for tensor in graph.tensors.values())


def test_transposed_weights_behind_dequantize(tmp_path):
    pattern = Pattern([2, 16])
    w = pattern.weights(integers(5, 16), np.linspace(0.01, 0.02, 5), axis=0)
    y = pattern.build.node("MatMul", pattern.x, pattern.build.node("Transpose", w, perm=[1, 0]))
    graph = assert_equal_to_runtime(tmp_path, pattern.finish(y, 0.3), steps=1)
    assert operators(graph) == {"MatMul": 1}


@pytest.mark.parametrize("relu", [False, True])
def test_a_float_output_is_rescaled(tmp_path, relu):
    pattern = Pattern([2, 16])
    y = pattern.build.node("Gemm", pattern.x, pattern.weights(integers(16, 5), 0.004))
    y = pattern.build.node("Relu", y) if relu else y
    graph = assert_equal_to_runtime(tmp_path, pattern.build.model(y))
    (node,) = graph.nodes
    assert isinstance(node.epilogue, Rescale)
    assert node.epilogue.minimum == (0.0 if relu else float("-inf"))


def test_two_readers_with_different_scales(tmp_path):
    pattern = Pattern([1, 4, 7])
    y = pattern.build.node("Conv", pattern.x, pattern.weights(integers(6, 4, 3), 0.01))
    pattern.build.quantize(y, 0.02, 0, output="a")
    pattern.build.quantize(y, 0.03, 1, output="b")
    model = pattern.build.model("a", "b", dtypes={"a": np.int8, "b": np.int8})
    assert_equal_to_runtime(tmp_path, model, steps=1)


@pytest.mark.parametrize(
    "spoil",
    ["float weights", "per-channel activation", "int16 output", "coarse bias"],
)
def test_what_does_not_fuse_stays_correct(tmp_path, spoil):
    pattern = Pattern([1, 4, 7], opset=21 if spoil == "int16 output" else 13)
    build = pattern.build
    x = pattern.x
    if spoil == "per-channel activation":
        x = build.dequantize("x", np.linspace(0.01, 0.04, 4), np.zeros(4), np.int8, axis=1)
    w = pattern.weights(integers(6, 4, 3), 2.0 if spoil == "coarse bias" else 0.01)
    if spoil == "float weights":
        w = build.constant(RANDOM.normal(size=(6, 4, 3)).astype(np.float32))
    inputs = [x, w]
    if spoil == "coarse bias":
        inputs.append(build.constant(np.full(6, 0.049, np.float32)))
    y = build.node("Conv", *inputs)
    dtype = np.int16 if spoil == "int16 output" else np.int8
    model = pattern.finish(y, 0.1 if spoil == "coarse bias" else 0.02, 0, dtype)
    graph = assert_equal_to_runtime(tmp_path, model, steps=1)
    assert "Quantize" in operators(graph)


def test_a_scale_that_is_not_finite_is_refused(tmp_path):
    """ONNX Runtime's quantiser gives a mask of -inf the scale inf, with which every result is NaN."""
    pattern = Pattern([1, 4])
    mask = pattern.build.dequantize(pattern.build.constant(np.zeros(4, np.int8)), np.inf)
    with pytest.raises(TilewrightError, match="a scale that is not finite"):
        imported(tmp_path, pattern.finish(pattern.build.node("Add", pattern.x, mask)))


def test_quantized_interface(tmp_path):
    build = ModelBuilder()
    build.input("x", [1, 4, 7])
    x = build.requantized(build.node("Reshape", "x", build.constant(np.array([1, 4, 7, 1]))), 0.02, 3)
    w = build.dequantize(build.constant(integers(6, 4, 3, 1)), 0.01, 0)
    y = build.quantize(build.node("Conv", x, w), 0.05, -4)
    build.dequantize(y, 0.05, -4, output="y")
    model = build.model("y")
    graph = imported(tmp_path, model, quantized_io=True)
    assert (graph.inputs, graph.outputs) == (("x",), ("y",))
    assert operators(graph) == {"Reshape": 1, "Conv": 1}
    assert [graph.tensor(name).dtype for name in ("x", "y")] == [DType.INT8, DType.INT8]
    assert graph.tensor("x").quantization.zero_point == (3,)
    assert graph.tensor("y").quantization.scale == (pytest.approx(0.05),)
    plain = assert_equal_to_runtime(tmp_path, model, absolute=0.0501)
    assert operators(plain) == {"Quantize": 1, "Reshape": 1, "Conv": 1, "Dequantize": 1}


def test_the_meaning_of_integer_inputs_is_kept(tmp_path):
    build = ModelBuilder()
    build.input("x", [4, 2], np.int8)
    flat = build.node("Reshape", "x", build.constant(np.array([8])))
    build.quantize(build.node("Sigmoid", build.dequantize(flat, 0.5, 7)), 0.01, 0, output="y")
    graph = imported(tmp_path, build.model("y", dtypes={"y": np.int8}))
    assert graph.tensor("x").quantization.scale == (0.5,)


class _Reader(quantization.CalibrationDataReader):
    def __init__(self, model):
        self.feeds = iter([random_feeds(model, seed) for seed in range(4)])

    def get_next(self):
        return next(self.feeds, None)


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("kind", ["QInt8", "QUInt8"])
def test_a_network_quantised_by_onnxruntime(tmp_path, kind, per_channel):
    build = ModelBuilder()
    x = build.input("x", [1, 3, 12, 12])
    constant = lambda *shape: build.constant((RANDOM.normal(size=shape) * 0.3).astype(np.float32))  # noqa: E731
    a = build.node("Relu", build.node("Conv", x, constant(8, 3, 3, 3), constant(8), pads=[1, 1, 1, 1]))
    b = build.node("Conv", a, constant(8, 1, 3, 3), constant(8), group=8, pads=[1, 1, 1, 1])
    c = build.node("MaxPool", build.node("Add", a, b), kernel_shape=[2, 2], strides=[2, 2])
    d = build.node("GlobalAveragePool", build.node("Mul", c, build.node("Sigmoid", c)))
    e = build.node("Gemm", build.node("Flatten", d), constant(8, 5), constant(5))
    build.node("Softmax", e, output="y")
    model = build.model("y")
    source, target = tmp_path / "float.onnx", tmp_path / "quantised.onnx"
    source.write_bytes(model.SerializeToString())
    quantization.quantize_static(
        source,
        target,
        _Reader(model),
        per_channel=per_channel,
        activation_type=quantization.QuantType[kind],
        weight_type=quantization.QuantType.QInt8,
    )
    import onnx

    graph = assert_equal_to_runtime(tmp_path, onnx.load(target), absolute=0.0041)
    counts = operators(graph)
    assert counts["Quantize"] == counts["Dequantize"] == 1
    floats = [node for node in graph.nodes if graph.tensor(node.outputs[0]).dtype is DType.FLOAT32]
    assert [node.operator for node in floats] == ["Dequantize"]
