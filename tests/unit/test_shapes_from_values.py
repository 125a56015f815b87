"""Everything that cannot be done is said at once; shapes are decided by DIMS and by frozen inputs, in C."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support.firmware import needs_host_compiler
from support.host_runs import TILED, generated, host_outputs
from support.onnx_models import ModelBuilder, random_feeds, runtime_outputs
from tilewright import cli
from tilewright.base.errors import ExitStatus, TilewrightError


def _impossible():
    """An operator, an attribute value, a type, a rank, a dynamic dimension and a shape from a value: all refused."""
    build = ModelBuilder()
    x = build.input("x", [1, 2, 4, 4])
    build.node("NonZero", x, output="places")
    build.node("Frobnicate", x, domain="custom.domain", output="own")
    build.node("Pad", x, build.constant(np.array([0] * 8)), mode="mirror", output="padded")
    build.node("Relu", build.input("wide", [2, 3], np.float64), output="relu")
    deep = build.input("deep", [1, 2, 3, 3, 3, 3])
    build.node("Conv", deep, build.constant(np.zeros((2, 2, 1, 1, 1, 1), np.float32)), output="conv")
    build.node("Relu", build.input("dynamic", ["batch", 3]), output="later")
    build.node("Reshape", x, build.input("shape", [2], np.int64), output="formed")
    return build.model("places", "own", "padded", "relu", "conv", "later", "formed")


def test_everything_that_is_not_supported_is_said_at_once(tmp_path, capsys):
    path = tmp_path / "net.onnx"
    path.write_bytes(_impossible().SerializeToString())
    words = ["generate", "--model", str(path), "--platform", "host", "--output-dir", str(tmp_path / "c")]
    assert cli.main(words) == ExitStatus.NOT_SUPPORTED == 4
    assert not (tmp_path / "c").exists()
    told = capsys.readouterr().err
    assert "7 places" in told
    places = re.findall(r"^ *at: (.*)$", told, re.MULTILINE)
    assert len(places) == 7
    for node, reason in {
        "(NonZero)": "how many elements NonZero gives",
        "(Frobnicate)": "custom.domain",
        "(Pad)": "mirror",
        "'wide'": "float64",
        "(Conv)": "axes",
        "'dynamic'": "dynamic dimension batch",
        "(Reshape)": "computed at run time",
    }.items():
        assert any(node in place and reason in place for place in places), (node, reason)
    assert "DIMS batch=<n>" in told
    assert "freeze" in told


def _sequence():
    """Batch and length are symbols, from which other shapes are computed."""
    build = ModelBuilder(opset=18)
    x = build.input("x", ["batch", "seq", 6])
    shape = build.node("Shape", x)
    first = build.node("Gather", shape, build.constant(np.array([0])))
    wanted = build.node("Concat", first, build.constant(np.array([-1])), axis=0)
    flat = build.node("Reshape", x, wanted, output="flat")
    half = build.node("Div", build.node("Size", x), build.constant(np.array(2)))
    build.node("Expand", build.node("ReduceMean", flat), build.node("Unsqueeze", half, build.constant(np.array([0]))))
    build.node("Softmax", flat, output="y")
    return build.model("flat", "y")


@needs_host_compiler
@pytest.mark.parametrize(("batch", "length"), [(1, 16), (3, 5)])
def test_dimensions_given_by_the_user(tmp_path, batch, length):
    model = _sequence()
    x = np.random.default_rng(0).normal(size=(batch, length, 6)).astype(np.float32)
    built = generated(model, tmp_path, TILED, pools=["l1=1024"], dims={"batch": batch, "seq": length})
    outputs = host_outputs(built, {"x": x}, tmp_path)
    for name, wanted in runtime_outputs(model, {"x": x}).items():
        np.testing.assert_allclose(outputs[name], wanted, rtol=1e-5, atol=1e-6)


def test_dimensions_that_are_missing_are_all_named(tmp_path):
    with pytest.raises(TilewrightError) as caught:
        generated(_sequence(), tmp_path)
    assert caught.value.status is ExitStatus.NOT_SUPPORTED
    assert "DIMS batch=<n> seq=<n>, or DIMS *=1" in str(caught.value)


def _decided_by_inputs():
    build = ModelBuilder(opset=18)
    x = build.input("x", [2, 3, 8])
    shape, repeats = build.input("shape", [2], np.int64), build.input("repeats", [2], np.int64)
    pads, start = build.input("pads", [4], np.int64), build.input("start", [1], np.int64)
    tiled = build.node("Tile", build.node("Reshape", x, shape), repeats)
    padded = build.node("Pad", tiled, pads)
    ends, axes = build.constant(np.array([100])), build.constant(np.array([1]))
    build.node("Slice", padded, start, ends, axes, output="y")
    return build.model("y")


@needs_host_compiler
def test_frozen_inputs_decide_shapes(tmp_path):
    model = _decided_by_inputs()
    frozen = {
        "shape": np.array([6, -1]),
        "repeats": np.array([1, 2]),
        "pads": np.array([0, 1, 2, 0]),
        "start": np.array([3]),
    }
    np.savez(tmp_path / "frozen.npz", **frozen)
    x = random_feeds(model)["x"]
    built = generated(model, tmp_path, TILED, pools=["l1=512"], freeze=tmp_path / "frozen.npz")
    assert [item.name for item in built.plan.inputs] == ["x"]
    (got,) = host_outputs(built, {"x": x}, tmp_path).values()
    (wanted,) = runtime_outputs(model, {"x": x, **frozen}).values()
    np.testing.assert_array_equal(got, wanted)


def test_inputs_that_decide_shapes_are_to_be_frozen(tmp_path):
    with pytest.raises(TilewrightError, match="computed at run time") as caught:
        generated(_decided_by_inputs(), tmp_path)
    assert any("freeze" in remedy for remedy in caught.value.help)
