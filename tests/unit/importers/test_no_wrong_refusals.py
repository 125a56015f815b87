"""Models that were refused without reason: they give what onnxruntime gives, and have kernels."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from onnxruntime.quantization import QuantType, quantize_dynamic
from support.host_runs import generated, host_outputs
from support.onnx_models import ModelBuilder, assert_equal_to_runtime, imported
from tilewright.base.errors import TilewrightError

RNG = np.random.default_rng(14)


def agrees(folder: Path, model: onnx.ModelProto, **options: object) -> None:
    """The importer's graph gives what onnxruntime gives, and every node has a kernel."""
    assert_equal_to_runtime(folder, model, **options)
    assert generated(model, folder / "c").files


def agrees_with_reference(folder: Path, model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> None:
    """The C gives the bits that ONNX's reference evaluator gives."""
    wanted = ReferenceEvaluator(model).run(None, feeds)
    got = host_outputs(generated(model, folder / "c"), feeds, folder / "net")
    for array, want in zip(got.values(), wanted, strict=True):
        assert array.dtype == want.dtype
        np.testing.assert_array_equal(array, want)


def weights(*shape: int) -> np.ndarray:
    return RNG.integers(-100, 100, shape).astype(np.int8)


def stored(builder: ModelBuilder, y: str, scale: float, zero_point: int = 0) -> onnx.ModelProto:
    quantized = builder.quantize(y, scale, zero_point)
    return builder.model(quantized, dtypes={quantized: np.int8})


def convolution_of_volumes() -> onnx.ModelProto:
    builder = ModelBuilder()
    x = builder.requantized(builder.input("x", [1, 2, 4, 5, 6]), 0.05, 3)
    w = builder.dequantize(builder.constant(weights(3, 2, 2, 3, 3)), 0.01)
    b = builder.dequantize(builder.constant(np.arange(3, dtype=np.int32)), 0.0005, 0, np.int32)
    y = builder.node("Conv", x, w, b, kernel_shape=[2, 3, 3], pads=[0, 1, 1, 1, 1, 1])
    return stored(builder, builder.node("Relu", y), 0.1, -5)


def pooling_of_volumes(operator: str) -> onnx.ModelProto:
    builder = ModelBuilder()
    x = builder.requantized(builder.input("x", [1, 2, 4, 5, 6]), 0.05, 3)
    y = builder.node(operator, x, kernel_shape=[2, 2, 3], strides=[1, 2, 1])
    return stored(builder, y, 0.05, 3)


def product_of_batches(a: tuple[int, ...], b: tuple[int, ...], constant: bool) -> onnx.ModelProto:
    builder = ModelBuilder()
    left = builder.requantized(builder.input("a", a), 0.05, 3)
    if constant:
        right = builder.dequantize(builder.constant(weights(*b)), 0.02)
    else:
        right = builder.requantized(builder.input("b", b), 0.02, -1)
    return stored(builder, builder.node("MatMul", left, right), 0.1)


def product_of_floats() -> onnx.ModelProto:
    builder = ModelBuilder()
    a, b = builder.input("a", [2, 1, 3, 2, 4]), builder.input("b", [2, 3, 4, 5])
    return builder.model(builder.node("MatMul", a, b))


def gemm(alpha: float, beta: float) -> onnx.ModelProto:
    builder = ModelBuilder()
    x = builder.requantized(builder.input("x", [3, 8]), 0.05, 3)
    w = builder.dequantize(builder.constant(weights(8, 5)), 0.02)
    c = builder.dequantize(builder.constant(np.arange(5, dtype=np.int32)), 0.001, 0, np.int32)
    return stored(builder, builder.node("Gemm", x, w, c, alpha=alpha, beta=beta), 0.1)


def integer_gemm(alpha: float, beta: float) -> onnx.ModelProto:
    builder = ModelBuilder()
    a, b = builder.input("a", [3, 4], np.int32), builder.constant(np.arange(20, dtype=np.int32).reshape(4, 5))
    c = builder.constant(np.arange(5, dtype=np.int32))
    y = builder.node("Gemm", a, b, c, alpha=alpha, beta=beta)
    return builder.model(y, dtypes={y: np.int32})


def scalar_bias() -> onnx.ModelProto:
    builder = ModelBuilder()
    x = builder.quantize(builder.input("x", [3, 8]), 0.05, 3)
    constants = [np.float32(0.05), np.int8(3), weights(8, 5), np.float32(0.02), np.int8(0), np.asarray(7, np.int32)]
    names = [builder.constant(value) for value in (*constants, np.float32(0.1), np.int8(2))]
    y = builder.node("QGemm", x, *names, domain="com.microsoft")
    return builder.model(y, dtypes={y: np.int8})


def group_normalization(opset: int) -> onnx.ModelProto:
    builder = ModelBuilder(opset)
    count = 2 if opset < 21 else 4
    scale, bias = (builder.constant(RNG.normal(size=count).astype(np.float32)) for _ in range(2))
    return builder.model(
        builder.node("GroupNormalization", builder.input("x", [2, 4, 3, 3]), scale, bias, num_groups=2)
    )


MODELS = {
    "Conv of volumes": convolution_of_volumes(),
    "AveragePool of volumes": pooling_of_volumes("AveragePool"),
    "MaxPool of volumes": pooling_of_volumes("MaxPool"),
    "MatMul of three batch axes": product_of_batches((2, 1, 3, 2, 4), (2, 3, 4, 5), False),
    "MatMul of three batch axes by one matrix": product_of_batches((2, 1, 3, 2, 4), (4, 5), True),
    "MatMul of three batch axes by constants": product_of_batches((2, 1, 3, 2, 4), (3, 4, 5), True),
    "MatMul of float batches": product_of_floats(),
    "Gemm by factors": gemm(0.5, 2.0),
    "QGemm with one bias": scalar_bias(),
    "GroupNormalization of opset 18": group_normalization(18),
    "GroupNormalization of opset 21": group_normalization(21),
}


@pytest.mark.parametrize("name", MODELS)
def test_it_is_computed(name: str, tmp_path: Path) -> None:
    agrees(tmp_path, MODELS[name], steps=1)


def gemm_of_batches(
    a: tuple[int, ...], b: tuple[int, ...], c: tuple[int, ...], **attributes: float
) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A float Gemm of matrices along leading axes, and inputs for it."""
    builder = ModelBuilder()
    names = builder.input("a", a), builder.constant(RNG.normal(size=b).astype(np.float32)), builder.input("c", c)
    model = builder.model(builder.node("Gemm", *names, **attributes))
    return model, {"a": RNG.normal(size=a).astype(np.float32), "c": RNG.normal(size=c).astype(np.float32)}


@pytest.mark.parametrize(
    ("a", "b", "c", "attributes"),
    [
        ((1, 6, 8), (1, 8, 5), (5,), {}),
        ((2, 6, 8), (2, 8, 5), (6, 5), {"alpha": 0.5, "beta": 2.0}),
        ((2, 3, 8, 6), (2, 3, 5, 8), (1,), {"transA": 1, "transB": 1}),
        ((3, 6, 8), (3, 8, 5), (3, 6, 5), {"beta": -1.0}),
    ],
)
def test_gemm_of_batches_is_computed(
    a: tuple[int, ...], b: tuple[int, ...], c: tuple[int, ...], attributes: dict[str, float], tmp_path: Path
) -> None:
    """ONNX knows Gemm of two axes only; Deeploy's networks have it with leading axes."""
    model, feeds = gemm_of_batches(a, b, c, **attributes)
    weights_ = onnx.numpy_helper.to_array(model.graph.initializer[0])
    left = feeds["a"].swapaxes(-1, -2) if attributes.get("transA") else feeds["a"]
    right = weights_.swapaxes(-1, -2) if attributes.get("transB") else weights_
    wanted = attributes.get("alpha", 1.0) * (left @ right) + attributes.get("beta", 1.0) * feeds["c"]
    (got,) = host_outputs(generated(model, tmp_path / "c"), feeds, tmp_path / "net").values()
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("a", "b", "c"), [((2, 6, 8), (3, 8, 5), (5,)), ((2, 6, 8), (8, 5), (5,)), ((2, 6, 8), (2, 8, 5), (4,))]
)
def test_gemm_of_batches_that_differ_is_refused(
    a: tuple[int, ...], b: tuple[int, ...], c: tuple[int, ...], tmp_path: Path
) -> None:
    model, _ = gemm_of_batches(a, b, c)
    with pytest.raises(TilewrightError, match=r"has shape|C of shape|do not broadcast"):
        imported(tmp_path, model)


@pytest.mark.parametrize("factors", [(1.0, 1.0), (2.0, 3.0), (-1.0, 0.0)])
def test_integers_are_multiplied(factors: tuple[float, float], tmp_path: Path) -> None:
    model = integer_gemm(*factors)
    agrees_with_reference(tmp_path, model, {"a": RNG.integers(-1000, 1000, (3, 4), np.int32)})


def test_other_factors_are_noticed(tmp_path: Path) -> None:
    feeds = {"a": RNG.integers(-1000, 1000, (3, 4), np.int32)}
    (wanted,) = ReferenceEvaluator(integer_gemm(2.0, 1.0)).run(None, feeds)
    (got,) = host_outputs(generated(integer_gemm(1.0, 1.0), tmp_path / "c"), feeds, tmp_path / "net").values()
    assert not np.array_equal(got, wanted)


def test_fractions_on_integers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match=r"alpha = 0\.5 on integers"):
        imported(tmp_path, integer_gemm(0.5, 1.0))


@pytest.mark.parametrize(("a", "b"), [((2, 1, 3, 4), (5, 4, 2)), ((4,), (2, 4, 3)), ((3, 4), (4,))])
def test_matrices_of_integers(a: tuple[int, ...], b: tuple[int, ...], tmp_path: Path) -> None:
    builder = ModelBuilder()
    y = builder.node("MatMul", builder.input("a", a, np.int64), builder.input("b", b, np.int64))
    feeds = {name: RNG.integers(-(2**40), 2**40, shape) for name, shape in (("a", a), ("b", b))}
    agrees_with_reference(tmp_path, builder.model(y, dtypes={y: np.int64}), feeds)


def in_halves(dtype: object) -> onnx.ModelProto:
    """Convolution, a sum with a constant and a mean in float16 or bfloat16."""
    dtype = np.dtype(dtype)
    builder = ModelBuilder(13)
    x = builder.input("x", [1, 2, 6, 6], dtype)
    w = builder.constant(RNG.normal(size=(3, 2, 3, 3)).astype(dtype))
    y = builder.node("Conv", x, w, kernel_shape=[3, 3])
    y = builder.node("Add", y, builder.constant(np.asarray(0.5, dtype)))
    y = builder.node("Relu", builder.node("GlobalAveragePool", y))
    return builder.model(y, dtypes={y: dtype})


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_computed_in_float32(dtype: object, tmp_path: Path) -> None:
    model = in_halves(dtype)
    x = RNG.normal(size=(1, 2, 6, 6)).astype(np.float32)
    built = generated(model, tmp_path / "c")
    assert {item.dtype for item in (*built.plan.inputs, *built.plan.outputs)} == {"float32"}
    (wanted,) = ReferenceEvaluator(model).run(None, {"x": x.astype(dtype)})
    (got,) = host_outputs(built, {"x": x}, tmp_path / "net").values()
    np.testing.assert_allclose(got, wanted.astype(np.float32), rtol=0, atol=0.05)


def quantized_weights(dtype: object, block: int) -> onnx.ModelProto:
    builder = ModelBuilder(21)
    limits = ml_dtypes.iinfo(dtype)
    stored = RNG.integers(limits.min, limits.max + 1, (8, 6)).astype(dtype)
    scale = RNG.uniform(0.01, 0.1, (-(-8 // block), 6) if block else (6,)).astype(np.float32)
    zero = np.zeros(scale.shape, dtype)
    names = [builder.constant(array) for array in (stored, scale, zero)]
    w = builder.node("DequantizeLinear", *names, axis=0 if block else 1, **({"block_size": block} if block else {}))
    return builder.model(builder.node("MatMul", builder.input("x", [3, 8]), w))


@pytest.mark.parametrize("block", [0, 4, 3, 16])
@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4])
def test_weights_of_four_bits(dtype: object, block: int, tmp_path: Path) -> None:
    agrees(tmp_path, quantized_weights(dtype, block))


def test_activations_of_four_bits_are_refused(tmp_path: Path) -> None:
    builder = ModelBuilder(21)
    parameters = [builder.constant(np.float32(0.1)), builder.constant(np.asarray(0, ml_dtypes.int4))]
    y = builder.node("QuantizeLinear", builder.input("x", [3, 8]), *parameters)
    with pytest.raises(TilewrightError, match="int4"):
        imported(tmp_path, builder.model(builder.node("DequantizeLinear", y, *parameters)))


def test_float64_constants(tmp_path: Path) -> None:
    builder = ModelBuilder()
    wide = builder.node("Cast", builder.input("x", [3, 8]), to=onnx.TensorProto.DOUBLE)
    y = builder.node("Add", wide, builder.constant(np.linspace(0, 1, 8)))
    agrees(tmp_path, builder.model(builder.node("Cast", y, to=onnx.TensorProto.FLOAT)))


def sampled(shape: list[int], grid: list[int], mode: str, padding: str, corners: int) -> onnx.ModelProto:
    builder = ModelBuilder(20)
    y = builder.node(
        "GridSample",
        builder.input("x", shape),
        builder.input("grid", grid),
        mode=mode,
        padding_mode=padding,
        align_corners=corners,
    )
    return builder.model(y)


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_grids_of_planes(mode: str, padding: str, corners: int, tmp_path: Path) -> None:
    model = sampled([2, 3, 4, 5], [2, 3, 2, 2], mode, padding, corners)
    assert_equal_to_runtime(tmp_path, model, absolute=2e-5)


def test_grids_of_volumes(tmp_path: Path) -> None:
    agrees(tmp_path, sampled([1, 2, 3, 4, 5], [1, 2, 3, 2, 3], "linear", "border", 1), absolute=2e-5)


@pytest.mark.parametrize(("onesided", "inverse", "parts"), [(0, 0, 1), (1, 0, 1), (0, 0, 2), (0, 1, 2)])
def test_transforms(onesided: int, inverse: int, parts: int, tmp_path: Path) -> None:
    builder = ModelBuilder(17)
    x = builder.input("x", [2, 10, 3, parts])
    model = builder.model(builder.node("DFT", x, axis=1, onesided=onesided, inverse=inverse))
    agrees(tmp_path, model, absolute=1e-5)


@pytest.mark.parametrize("shape", [[2, 40, 1], [2, 40]])
def test_transforms_of_frames(shape: list[int], tmp_path: Path) -> None:
    builder = ModelBuilder(17)
    window = builder.constant(np.hanning(8).astype(np.float32))
    y = builder.node("STFT", builder.input("x", shape), builder.constant(np.int64(5)), window, onesided=1)
    agrees(tmp_path, builder.model(y), absolute=1e-5)


def test_a_running_sum_of_constants_whose_axis_has_an_axis(tmp_path: Path) -> None:
    """As PyTorch's older exporter writes torch.diagonal."""
    builder = ModelBuilder(14)
    places = builder.node("CumSum", builder.constant(np.ones((2, 3), np.int64)), builder.constant(np.array([1])))
    agrees(tmp_path, builder.model(builder.node("GatherElements", builder.input("x", [2, 4]), places, axis=1)))


@pytest.mark.parametrize(
    ("image", "block", "given"),
    [
        ([5, 5], [1, 5], {}),
        ([5, 6], [3, 2], {"strides": [2, 2], "pads": [1, 0, 1, 1]}),
        ([6, 6], [2, 2], {"dilations": [1, 5]}),
        ([4, 5, 5], [1, 2, 3], {}),
    ],
)
def test_columns_become_images(image: list[int], block: list[int], given: dict[str, list[int]], tmp_path: Path) -> None:
    rank = len(image)
    pads = np.array(given.get("pads", [0] * (2 * rank)))
    reach = (np.array(block) - 1) * np.array(given.get("dilations", [1] * rank)) + 1
    places = (np.array(image) + pads[:rank] + pads[rank:] - reach) // np.array(given.get("strides", [1] * rank)) + 1
    builder = ModelBuilder(18)
    x = builder.input("x", [2, 3 * int(np.prod(block)), int(np.prod(places))])
    shapes = [builder.constant(np.array(shape)) for shape in (image, block)]
    agrees(tmp_path, builder.model(builder.node("Col2Im", x, *shapes, **given)))


def dynamically_quantized(folder: Path, model: onnx.ModelProto) -> onnx.ModelProto:
    """What onnxruntime's quantiser makes of a float model, with ranges of activations found at run time.

    Weights have 7 bits: with 8 bits its sums saturate on x86 processors without VNNI (docs/reference/judges.md).
    """
    onnx.save(model, folder / "float.onnx")
    files = folder / "float.onnx", folder / "dynamic.onnx"
    quantize_dynamic(*files, weight_type=QuantType.QInt8, reduce_range=True)
    return onnx.load(folder / "dynamic.onnx")


def test_dynamic_products(tmp_path: Path) -> None:
    builder = ModelBuilder(15)
    x = builder.input("x", [3, 8])
    y = builder.node("MatMul", x, builder.constant(RNG.normal(size=(8, 5)).astype(np.float32)))
    model = dynamically_quantized(tmp_path, builder.model(builder.node("Relu", y)))
    assert {"DynamicQuantizeLinear", "MatMulInteger"} <= {node.op_type for node in model.graph.node}
    agrees(tmp_path, model, absolute=1e-5)


def test_dynamic_recurrence(tmp_path: Path) -> None:
    builder = ModelBuilder(15)
    x = builder.input("x", [4, 1, 6])
    shapes = ((1, 12, 6), (1, 12, 3), (1, 24))
    names = [builder.constant((RNG.normal(size=shape) / 3).astype(np.float32)) for shape in shapes]
    y = builder.node("LSTM", x, *names, outputs=3, hidden_size=3)
    model = dynamically_quantized(tmp_path, builder.model(*y))
    assert "DynamicQuantizeLSTM" in {node.op_type for node in model.graph.node}
    # onnxruntime rounds activations to 8 bits too.
    agrees(tmp_path, model, absolute=0.02)
