"""Names and types of the interface as the user asks for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.firmware import needs_host_compiler
from support.host_runs import generated, host_outputs
from support.onnx_models import ModelBuilder, runtime_outputs
from tilewright.base.errors import TilewrightError

X = "serving_default_input_1:0;" + "FusedBatchNormV3/" * 9
SCALE = 0.05


def quantized() -> ModelBuilder:
    """x int8 -> Relu -> y int8, with a long name of x."""
    build = ModelBuilder()
    x = build.dequantize(build.input(X, [1, 4], np.int8), SCALE, 3)
    build.quantize(build.node("Relu", x), SCALE, 3, output="y")
    return build


def model() -> object:
    return quantized().model("y", dtypes={"y": np.int8})


def test_names_of_the_interface_are_the_users(tmp_path: Path) -> None:
    made = generated(model(), tmp_path, interface=[f"{X}=audio", "y=scores"])
    header = made.files["net.h"].decode()
    assert "const int8_t *audio;" in header
    assert "NET_OUTPUT_SCORES_COUNT 4u" in header
    assert [item.name for item in made.plan.inputs] == [X]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interface": ["z=audio"]}, "INTERFACE names 'z', which is no input or output of the model"),
        ({"interface": ["y=int"]}, "INTERFACE y=int: 'int' cannot be part of C names"),
        ({"interface": ["y=a__b"]}, "for example 'a_b'"),
        ({"float_io": True, "quantized_io": True}, "QUANTIZED_IO and FLOAT_IO contradict each other"),
    ],
)
def test_misuse_is_told(options: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(TilewrightError) as caught:
        generated(model(), tmp_path, **options)
    assert message in str(caught.value)


def test_two_tensors_of_one_name_are_told_of_the_way_out(tmp_path: Path) -> None:
    build = ModelBuilder()
    build.node("Add", build.input("a.b", [2]), build.input("a_b", [2]), output="y")
    with pytest.raises(TilewrightError, match="INTERFACE 'a_b'=<identifier> gives one of them another"):
        generated(build.model("y"), tmp_path)
    made = generated(build.model("y"), tmp_path, interface=["a_b=other"])
    assert [item.identifier for item in made.plan.inputs] == ["a_b", "other"]


@needs_host_compiler
def test_float_io_converts_what_is_quantised(tmp_path: Path) -> None:
    made = generated(model(), tmp_path, float_io=True)
    assert [item.dtype for item in (*made.plan.inputs, *made.plan.outputs)] == ["float32", "float32"]
    real = np.float32([[-1.0, 0.3, 2.5, 9.0]])
    stored = np.clip(np.rint(real / np.float32(SCALE)) + 3, -128, 127).astype(np.int8)
    (wanted,) = runtime_outputs(model(), {X: stored}).values()
    got = host_outputs(made, {X: real}, tmp_path / "run")["y"]
    np.testing.assert_array_equal(got, (wanted.astype(np.float32) - 3) * np.float32(SCALE))
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(got, wanted)


def test_float_io_leaves_integers_without_a_scale(tmp_path: Path) -> None:
    build = ModelBuilder()
    build.node("Gather", build.constant(np.float32([[1], [2]])), build.input("at", [1], np.int64), output="y")
    made = generated(build.model("y"), tmp_path, float_io=True)
    assert [item.dtype for item in made.plan.inputs] == ["int64"]
