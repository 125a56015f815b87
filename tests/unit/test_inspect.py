"""`tilewright inspect` and `tilewright platforms`: facts before a platform is chosen."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.onnx_models import ModelBuilder
from tilewright.cli.main import main


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A quantised input, a convolution of 1,152 multiply-accumulates (4 outputs of 2 channels under 3x3), and Relu."""
    build = ModelBuilder()
    x = build.dequantize(build.input("x", ["batch", 2, 4, 4], np.int8), 0.5, 3)
    w = build.constant(np.ones((8, 2, 3, 3), np.float32))
    build.node("Relu", build.node("Conv", x, w), output="y")
    path = tmp_path / "small.onnx"
    path.write_bytes(build.model("y").SerializeToString())
    return path


def test_inspect_as_json(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(model), "--dim", "*=1", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["macs"] == 4 * 8 * 2 * 9
    assert data["parameters"] == 8 * 2 * 9
    assert data["operators"]["Conv"] == 1
    assert data["inputs"][0]["quantization"]["scale"] == [0.5]
    assert data["io_bytes"] == 32 + 8 * 4 * 4
    assert data["constant_bytes"] >= 8 * 2 * 9 * 4
    assert data["activation_bytes"] >= data["activation_bound_bytes"] > 0


def test_inspect_as_text(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(model), "--dim", "batch=1"]) == 0
    text = capsys.readouterr().out
    assert "small.onnx: 2 layers, 576 multiply-accumulates, 144 parameters" in text
    assert "1x2x4x4" in text


def test_inspect_refuses_like_generate(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(model)]) == 4
    assert "DIMS *=1" in capsys.readouterr().err


def test_platforms(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["platforms"]) == 0
    assert "qemu-virt-rv32-single" in capsys.readouterr().out
    assert main(["platforms", "--format", "json"]) == 0
    shipped = {item["name"]: item for item in json.loads(capsys.readouterr().out)}
    assert shipped["host"]["simulator"] == "this machine"
    assert shipped["pulp-open"]["cores"] == 8
