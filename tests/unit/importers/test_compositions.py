"""Operators that become simpler ones: they give what onnxruntime gives, and what they cannot give is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from support.host_runs import generated, host_outputs
from support.onnx_models import ModelBuilder, assert_equal_to_runtime, imported, outputs_of
from tilewright.base.errors import TilewrightError

RNG = np.random.default_rng(28)


def refusal(folder: Path, model: onnx.ModelProto) -> str:
    with pytest.raises(TilewrightError) as caught:
        imported(folder, model)
    return str(caught.value)


def deformed(groups: int = 1, offset_groups: int = 1, *, mask: bool = False, **given: object) -> onnx.ModelProto:
    builder = ModelBuilder(19)
    x = builder.input("x", [2, 4, 6, 5])
    w = builder.constant(RNG.normal(size=(6, 4 // groups, 3, 2)).astype(np.float32))
    rows, columns = (4, 4) if "pads" not in given else (3, 3)
    offset = builder.input("offset", [2, offset_groups * 12, rows, columns])
    more = [builder.constant(RNG.normal(size=6).astype(np.float32))]
    more += [builder.input("mask", [2, offset_groups * 6, rows, columns])] if mask else []
    y = builder.node("DeformConv", x, w, offset, *more, group=groups, offset_group=offset_groups, **given)
    return builder.model(y)


@pytest.mark.parametrize(
    "model",
    [
        deformed(),
        deformed(groups=2, offset_groups=2, mask=True),
        deformed(offset_groups=4, pads=[1, 1, 0, 1], strides=[2, 2], dilations=[1, 2]),
    ],
)
def test_deformed_convolutions(model: onnx.ModelProto, tmp_path: Path) -> None:
    """Offsets reach about three elements, so that some of the places that are read lie outside the input."""
    graph = imported(tmp_path, model)
    shapes = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in model.graph.input}
    feeds = {name: RNG.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    (wanted,) = ReferenceEvaluator(model).run(None, feeds)
    np.testing.assert_allclose(outputs_of(graph, feeds)[0], wanted, rtol=1e-4, atol=1e-5)


def test_offsets_for_other_places_are_refused(tmp_path: Path) -> None:
    model = deformed()
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("pads", [1, 0, 1, 0]))
    assert "offsets for 4 places where there are 6" in refusal(tmp_path, model)


def regions(opset: int, **given: object) -> onnx.ModelProto:
    builder = ModelBuilder(opset)
    corners = np.array([[0, 0, 6, 5], [2, 3, 4, 9], [-4, -3, 3, 2], [5, 5, 5, 5]], np.float32)
    rois, batches = builder.constant(corners), builder.constant(np.array([0, 1, 1, 0]))
    return builder.model(
        builder.node(
            "RoiAlign", builder.input("x", [2, 3, 7, 8]), rois, batches, output_height=3, output_width=2, **given
        )
    )


@pytest.mark.parametrize("opset", [10, 16])
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_regions(opset: int, mode: str, tmp_path: Path) -> None:
    assert_equal_to_runtime(tmp_path, regions(opset, mode=mode, sampling_ratio=2, spatial_scale=0.75))


@pytest.mark.parametrize("opset", [10, 16])
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_a_number_of_samples_that_follows_the_region(opset: int, mode: str, tmp_path: Path) -> None:
    """A region has from 1 to 4 samples; with opset 16 the last region has none."""
    assert_equal_to_runtime(tmp_path, regions(opset, mode=mode, sampling_ratio=0))
    assert_equal_to_runtime(tmp_path, regions(opset, mode=mode, spatial_scale=1.3))


def test_a_number_of_samples_that_follows_a_computed_region_is_refused(tmp_path: Path) -> None:
    builder = ModelBuilder(16)
    rois, batches = builder.input("rois", [3, 4]), builder.constant(np.array([0, 1, 1]))
    model = builder.model(builder.node("RoiAlign", builder.input("x", [2, 3, 7, 8]), rois, batches))
    assert "sampling_ratio 0" in refusal(tmp_path, model)


def grid_of(size: list[int], theta: bool, **given: object) -> onnx.ModelProto:
    """AffineGrid for images of a size; ``theta``: whether the matrices are an input, not a constant."""
    builder = ModelBuilder(20)
    axes = len(size) - 2
    shape = [size[0], axes, axes + 1]
    places = builder.input("x", shape) if theta else builder.constant(RNG.normal(size=shape).astype(np.float32))
    y = builder.node("AffineGrid", places, builder.constant(np.array(size)), **given)
    return builder.model(y if theta else builder.node("Add", y, builder.input("x", [1])))


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("theta", [True, False])
@pytest.mark.parametrize("size", [[1, 2, 4, 3], [2, 1, 3, 5], [1, 1, 2, 3, 4], [2, 1, 3, 2, 2]])
def test_grids(size: list[int], theta: bool, corners: int, tmp_path: Path) -> None:
    """One of the sizes is a batch of one image, whose batch axis ONNX's function body loses."""
    assert_equal_to_runtime(tmp_path, grid_of(size, theta, align_corners=corners))


def test_grids_of_one_position(tmp_path: Path) -> None:
    assert_equal_to_runtime(tmp_path, grid_of([1, 1, 1, 3], True))
    assert "align_corners with an extent of 1" in refusal(tmp_path, grid_of([1, 1, 1, 3], True, align_corners=1))


def test_grids_that_take_too_much(tmp_path: Path) -> None:
    assert "are left for this model" in refusal(tmp_path, grid_of([1, 1, 2**14, 2**14], True))


def grams(mode: str, dtype: type[np.generic] = np.int32, **given: object) -> onnx.ModelProto:
    builder = ModelBuilder()
    attributes = {
        "min_gram_length": 1,
        "max_gram_length": 3,
        "max_skip_count": 2,
        "ngram_counts": [0, 3, 7],
        "ngram_indexes": [0, 1, 2, 3, 4, 5],
        "pool_int64s": [2, 3, 5, 1, 2, 2, 3, 1, 2, 3],
        "weights": [0.5, 1.5, 2.0, 3.0, 4.0, 0.25],
        **given,
    }
    present = {name: value for name, value in attributes.items() if value is not None}
    x = builder.input("x", [2, 7], dtype)
    return builder.model(builder.node("TfIdfVectorizer", x, mode=mode, **present))


@pytest.mark.parametrize(
    ("mode", "given"),
    [
        *((mode, given) for mode in ("TF", "IDF", "TFIDF") for given in ({}, {"min_gram_length": 2})),
        ("TFIDF", {"max_gram_length": 1}),
        ("TF", {"ngram_indexes": [5, 0, 1, 1, 2, 3], "weights": None}),
    ],
)
def test_n_grams(mode: str, given: dict[str, object], tmp_path: Path) -> None:
    model = grams(mode, np.int64, **given)
    graph = imported(tmp_path, model)
    x = np.array([[1, 2, 3, 2, 1, 2, 3], [2, 2, 5, 3, 1, 1, 2]])
    np.testing.assert_array_equal(outputs_of(graph, {"x": x})[0], ReferenceEvaluator(model).run(None, {"x": x})[0])


def test_n_grams_of_texts_are_refused(tmp_path: Path) -> None:
    model = grams("TF")
    (pool,) = (item for item in model.graph.node[0].attribute if item.name == "pool_int64s")
    pool.CopyFrom(onnx.helper.make_attribute("pool_strings", ["a"] * 10))
    assert "texts" in refusal(tmp_path, model)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5])
def test_determinants(rows: int, tmp_path: Path) -> None:
    builder = ModelBuilder()
    assert_equal_to_runtime(tmp_path, builder.model(builder.node("Det", builder.input("x", [2, 3, rows, rows]))))


def test_determinants_of_six_rows_are_refused(tmp_path: Path) -> None:
    builder = ModelBuilder()
    model = builder.model(builder.node("Det", builder.input("x", [6, 6])))
    assert "at most 5 rows" in refusal(tmp_path, model)


@pytest.mark.parametrize("length", [None, 9, 10, 4, 15])
def test_inverse_transforms_of_one_half(length: int | None, tmp_path: Path) -> None:
    builder = ModelBuilder(20)
    words = [] if length is None else [builder.constant(np.asarray(length))]
    model = builder.model(
        builder.node(
            "DFT",
            builder.input("x", [2, 6, 3, 2]),
            *(words or [""]),
            builder.constant(np.asarray(1)),
            inverse=1,
            onesided=1,
        )
    )
    x = RNG.normal(size=(2, 6, 3, 2)).astype(np.float32)
    x[:, 0, :, 1] = 0.0
    (got,) = outputs_of(imported(tmp_path, model), {"x": x})
    wanted = np.fft.irfft(x[..., 0] + 1j * x[..., 1], length, axis=1)
    np.testing.assert_allclose(got[..., 0], wanted, atol=1e-5)


@pytest.mark.parametrize(("given", "to"), [(np.float32, np.int32), (np.int32, np.float32), (np.int8, np.uint8)])
def test_bits_in_another_type(given: type[np.generic], to: type[np.generic], tmp_path: Path) -> None:
    builder = ModelBuilder(26)
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(to))
    y = builder.node("BitCast", builder.input("x", [3, 5], given), to=kind)
    model = builder.model(y, dtypes={y: to})
    x = np.frombuffer(RNG.bytes(15 * np.dtype(given).itemsize), given).reshape(3, 5)
    (got,) = host_outputs(generated(model, tmp_path / "c"), {"x": x}, tmp_path / "net").values()
    assert got.tobytes() == x.tobytes()
    assert got.dtype == to


@pytest.mark.parametrize(("given", "to", "words"), [
    (np.int8, onnx.TensorProto.INT32, "same size"),
    (np.uint8, onnx.TensorProto.BOOL, "compare with 0"),
])  # fmt: skip
def test_bits_that_are_no_elements_are_refused(given: type[np.generic], to: int, words: str, tmp_path: Path) -> None:
    builder = ModelBuilder(26)
    y = builder.node("BitCast", builder.input("x", [4], given), to=to)
    numpy_type = onnx.helper.tensor_dtype_to_np_dtype(to).type
    assert words in refusal(tmp_path, builder.model(y, dtypes={y: numpy_type}))


def test_a_body_of_a_node_that_leaves_operands_out(tmp_path: Path) -> None:
    """Attention has a cache but no mask: ONNX's inliner has no type for the operand left out before the cache."""
    builder = ModelBuilder(23)
    q, k, v = (builder.input(name, [1, 2, 3, 4]) for name in "qkv")
    past = [builder.input(name, [1, 2, 5, 4]) for name in ("past_k", "past_v")]
    y = builder.node("Attention", q, k, v, "", *past, outputs=3, is_causal=1)
    graph = imported(tmp_path, builder.model(*y))
    assert graph.tensor(graph.outputs[1]).shape == (1, 2, 8, 4)


def test_an_input_without_elements_is_a_constant(tmp_path: Path) -> None:
    builder = ModelBuilder()
    y = builder.node("ReduceSum", builder.input("x", [2, "n"]), axes=[1])
    other = builder.node("Add", y, builder.input("z", [2, 1]))
    graph = imported(tmp_path, builder.model(other), dims={"n": 0})
    assert graph.inputs == ("z",)
    z = np.ones((2, 1), np.float32)
    np.testing.assert_array_equal(outputs_of(graph, {"z": z})[0], z)


def test_more_samples_of_a_region_than_tensors_hold(tmp_path: Path) -> None:
    assert "2147483647 samples" in refusal(tmp_path, regions(16, sampling_ratio=2147483647))


def test_dropout_of_nothing(tmp_path: Path) -> None:
    builder = ModelBuilder()
    x = builder.input("x", [2, 3])
    ratios = {0.0: "", 0.5: "training mode"}
    for ratio, words in ratios.items():
        operands = (builder.constant(np.float32(ratio)), builder.constant(np.asarray(True)))
        model = builder.model(builder.node("Dropout", x, *operands))
        if words:
            assert words in refusal(tmp_path, model)
        else:
            assert imported(tmp_path, model).tensor(model.graph.output[0].name).shape == (2, 3)


def test_an_old_opset_whose_operators_are_unchanged(tmp_path: Path) -> None:
    builder = ModelBuilder(1)
    y = builder.node("Not", builder.input("x", [2, 3], np.bool_))
    graph = imported(tmp_path, builder.model(y, dtypes={y: np.bool_}))
    x = np.eye(2, 3, dtype=np.bool_)
    np.testing.assert_array_equal(outputs_of(graph, {"x": x})[0], ~x)
    builder.node("Add", "x", "x", output="z")
    assert "ONNX opset 1;" in refusal(tmp_path, builder.model("z"))


@pytest.mark.parametrize("operator", ["NonZero", "Unique"])
def test_sizes_that_are_found_at_run_time_name_the_inputs_to_freeze(operator: str, tmp_path: Path) -> None:
    builder = ModelBuilder()
    y = builder.node(operator, builder.node("Relu", builder.input("a", [2, 3])))
    model = builder.model(y, dtypes={y: np.int64 if operator == "NonZero" else np.float32})
    said = refusal(tmp_path, model)
    assert f"how many elements {operator} gives is known at run time only" in said
    assert "freeze 'a' (freeze = \"<file.npz>\" in the options file)" in said
    a = np.array([[1, 0, 2], [0, 0, 1]], np.float32)
    graph = imported(tmp_path, model, freeze={"a": a})
    (wanted,) = ReferenceEvaluator(model).run(None, {"a": a})
    np.testing.assert_array_equal(outputs_of(graph, {})[0], wanted)


def test_a_shape_that_is_computed_names_the_inputs_to_freeze(tmp_path: Path) -> None:
    builder = ModelBuilder()
    x, n, m = builder.input("x", [6]), builder.input("n", [1], np.int64), builder.input("m", [1], np.int64)
    y = builder.node("Reshape", x, builder.node("Concat", n, m, axis=0))
    assert "freeze 'm' and 'n'" in refusal(tmp_path, builder.model(y))
