"""Computed shapes and types against what the file declares and what ONNX's inference says."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from support.onnx_models import ModelBuilder, imported
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.graph import DType, variable
from tilewright.importers.onnx import guard
from tilewright.importers.onnx.convert import KNOWN_OPERATORS, convert
from tilewright.importers.onnx.reading import read_model


def declared(*shape, kind=TensorProto.FLOAT, between=None):
    """Resize of 9 columns by 0.7, then Relu; declares ``shape`` for y and, if given, ``between`` for Relu's input."""
    build = ModelBuilder()
    x = build.input("x", [1, 1, "rows", 9])
    scales = build.constant(np.float32([1, 1, 0.7, 0.7]))
    resized = build.node("Resize", x, "", scales, output="resized", mode="nearest")
    build.node("Relu", resized, output="y")
    model = build.model("y")
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", kind, shape or None))
    if between is not None:
        model.graph.value_info.append(helper.make_tensor_value_info("resized", TensorProto.FLOAT, between))
    return model


def refused(folder, model, **options):
    with pytest.raises(TilewrightError) as caught:
        imported(folder, model, **options)
    assert (caught.value.code, caught.value.status) == ("model-contradiction", ExitStatus.BAD_INPUT)
    return str(caught.value)


@pytest.mark.parametrize(
    "shape", [(), (1, 1, 6, 6), ("n", 1, "rows_out", 6), (1, 1, 0, 6)], ids=["none", "all", "symbols", "unknown"]
)
def test_declarations_that_agree_are_taken(tmp_path, shape):
    graph = imported(tmp_path, declared(*shape, between=[1, 1, None, 6]), dims={"rows": 9})
    assert graph.tensor("y").shape == (1, 1, 6, 6)


@pytest.mark.parametrize("shape", [(1, 1, 7, 7), (1, 6, 6), (1, 1, "rows", 6)], ids=["extents", "rank", "symbol"])
def test_a_declared_shape_of_an_output_that_is_not_computed(tmp_path, shape):
    text = refused(tmp_path, declared(*shape), dims={"rows": 9})
    assert "'y': the file declares float32[" + ", ".join(map(str, shape)) in text
    assert "its node gives float32[1, 1, 6, 6]" in text


def test_a_declared_type_that_is_not_computed(tmp_path):
    text = refused(tmp_path, declared(1, 1, 6, 6, kind=TensorProto.INT8), dims={"rows": 9})
    assert "'y': the file declares int8[1, 1, 6, 6], its node gives float32[1, 1, 6, 6]" in text


def test_a_declared_shape_of_a_tensor_between_nodes(tmp_path):
    text = refused(tmp_path, declared(between=[1, 1, 7, 6]), dims={"rows": 9})
    assert "'resized': the file declares float32[1, 1, 7, 6]" in text


def test_declared_constants_are_compared_too(tmp_path):
    build = ModelBuilder()
    build.node("Neg", build.constant(np.ones((2, 3), np.float32)), output="y")
    model = build.model("y")
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 2]))
    assert "'y': the file declares float32[3, 2], its node gives float32[2, 3]" in refused(tmp_path, model)


def test_one_element_has_any_number_of_axes(tmp_path):
    build = ModelBuilder()
    build.node("ReduceSum", build.input("x", [2, 3]), output="y", keepdims=0)
    model = build.model("y")
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [1]))
    assert imported(tmp_path, model).tensor("y").shape == ()


def test_the_dialect_compares_shapes_only(tmp_path):
    build = ModelBuilder()
    x, other = build.input("x", [2, 3]), build.constant(np.ones((2, 3), np.float32))
    build.node("Add", x, other, output="y")
    model = build.model("y")
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.INT64, [2, 3]))
    assert imported(tmp_path, model, types={"x": DType.INT8}).tensor("y").dtype is DType.INT32
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.INT64, [2, 4]))
    assert "[2, 4]" in refused(tmp_path, model, types={"x": DType.INT8})


def test_operands_that_the_inference_refuses(tmp_path):
    """A translator refuses operands that contradict each other; what translators miss, ONNX's inference refuses."""
    build = ModelBuilder()
    x, weights = build.input("x", [1, 2, 5, 5]), build.constant(np.ones((1, 3, 3, 3), np.float32))
    build.node("Conv", x, weights, output="y")
    path = tmp_path / "model.onnx"
    path.write_bytes(build.model("y").SerializeToString())
    model = read_model(path, KNOWN_OPERATORS)
    tensors = {"x": variable("x", DType.FLOAT32, (1, 3, 5, 5))}
    (found,) = model.infer(tensors, model.constants, True)
    assert found.shape == (1, 1, 3, 3)
    tensors = {"x": variable("x", DType.FLOAT32, (1, 3, 5))}
    with pytest.raises(ValueError, match="Conv_y"):
        model.infer(tensors, model.constants, True)
    assert model.infer(tensors, model.constants, False)[0].shape is None


def test_a_translation_that_computes_another_shape_is_found(tmp_path, monkeypatch):
    """Where an importer computes a wrong extent, the message has what ONNX's inference gives beside it."""
    model, path = declared(), tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    computed = guard._computed

    def wrong(name, build):
        found = computed(name, build)
        return guard._Computed("float32", (1, 1, 7, 6)) if name == "resized" else found

    monkeypatch.setattr(guard, "_computed", wrong)
    with pytest.raises(TilewrightError) as caught:
        convert(read_model(path, KNOWN_OPERATORS), {"rows": 9})
    assert "'resized': ONNX's shape inference gives float32[1, 1, 6, 6], its node gives float32[1, 1, 7, 6]" in str(
        caught.value
    )
