"""Inputs that become constants, and mistakes in the values given for them."""

from __future__ import annotations

import numpy as np
import pytest
from support.onnx_models import ModelBuilder, imported, outputs_of
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.importers.freeze import read_frozen
from tilewright.options import build_options


def model():
    build = ModelBuilder()
    x, shape = build.input("x", [2, 3]), build.input("shape", [2], np.int64)
    return build.model(build.node("Reshape", x, shape, output="y"))


def test_a_frozen_input_decides_a_shape(tmp_path):
    graph = imported(tmp_path, model(), freeze={"shape": np.array([3, -1])})
    assert graph.inputs == ("x",)
    assert graph.tensor("y").shape == (3, 2)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(outputs_of(graph, {"x": x})[0], x.reshape(3, 2))


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"shapes": np.array([3, 2])}, "unknown-tensor"),
        ({"shape": np.array([3, 2], np.int32)}, "freeze-type"),
        ({"shape": np.array([3, 2, 1])}, "freeze-type"),
    ],
)
def test_values_that_fit_no_input(tmp_path, values, code):
    with pytest.raises(TilewrightError) as caught:
        imported(tmp_path, model(), freeze=values)
    assert (caught.value.code, caught.value.status) == (code, ExitStatus.BAD_INPUT)


def normalized(shape):
    """(x - mean) / sqrt(variance), whose numbers an exporter left open."""
    build = ModelBuilder()
    x, mean, variance = (build.input(name, shape) for name in ("x", "mean", "variance"))
    scaled = build.node("Div", build.node("Sub", x, mean), build.node("Sqrt", variance))
    return build.model(build.node("Relu", scaled, output="y"))


@pytest.mark.parametrize("shape", [None, ["unk__1", "unk__2"]])
def test_numbers_that_an_exporter_left_open_may_be_frozen(tmp_path, shape):
    with pytest.raises(TilewrightError) as caught:
        imported(tmp_path, normalized(shape))
    text = str(caught.value)
    assert all(f"if '{name}' is a constant that the exporter left open" in text for name in ("mean", "variance"))
    assert "if 'x' is" not in text


def test_open_numbers_are_constants_where_they_are_frozen(tmp_path):
    values = {"mean": np.full((1, 3), 2, np.float32), "variance": np.full((1, 3), 4, np.float32)}
    graph = imported(tmp_path, normalized(["batch", 3]), freeze=values, dims={"batch": 1})
    assert graph.inputs == ("x",)
    np.testing.assert_array_equal(outputs_of(graph, {"x": np.float32([[1, 2, 6]])})[0], [[0, 0, 2]])


def test_files_that_hold_no_arrays(tmp_path):
    with pytest.raises(TilewrightError, match="there is no file"):
        read_frozen(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(TilewrightError, match="not an npz file"):
        read_frozen(tmp_path / "text.npz")


def test_the_fingerprint_follows_the_values(tmp_path):
    hashes = []
    for values in ([3, 2], [3, 2], [2, 3]):
        np.savez(tmp_path / "values.npz", shape=np.array(values))
        options = build_options(("test", {"model": "m.onnx", "platform": "host", "freeze": tmp_path / "values.npz"}))
        hashes.append(options.to_json()["freeze"])
    assert hashes[0] != hashes[2]
