"""``tilewright verify``, and golden tests whose vectors are made: the judge is named, a difference is an error."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.firmware import needs_host_compiler, needs_riscv
from support.lite_cases import lite_case
from support.onnx_models import ModelBuilder
from tilewright.cli import main
from tilewright.graph import Array
from tilewright.plan import Plan
from tilewright.tools import verification, verification_target
from tilewright.tools.manifest import file_sha256, sha256_hex


def network(folder: Path) -> Path:
    """An ONNX model of two operators."""
    build = ModelBuilder()
    build.node("Relu", build.node("Neg", build.input("x", [2, 5])), output="y")
    path = folder / "net.onnx"
    onnx.save(build.model("y"), path)
    return path


@needs_host_compiler
def test_stored_integers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.tflite").write_bytes(lite_case("relu_int16").content)
    assert main(["verify", str(tmp_path / "net.tflite"), "--runs", "2", "--tolerance", "0:0"]) == 0
    text = capsys.readouterr().out
    assert "judge: TensorFlow Lite Micro" in text or "judge: Tilewright's references" in text
    assert "0 of 108 elements differ, largest entry at the same place in 2 of 2 runs" in text


def test_a_difference_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def one_more(program: Path, plan: Plan, feeds: list[list[Array]]) -> list[list[Array]]:
        return [[np.maximum(-array, 0) + np.float32(0.5) for array in run] for run in feeds]

    monkeypatch.setattr(verification, "_built", lambda *given: tmp_path)
    monkeypatch.setattr(verification, "_computed", one_more)
    command = ["verify", str(network(tmp_path)), "--runs", "3"]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert text.startswith("judge: ONNX Runtime ")
    assert "y: largest error 0.5, 30 of 30 elements differ" in text
    assert main([*command, "--tolerance", "0.1:0"]) == 2
    assert "verify-differs" in capsys.readouterr().err


@needs_host_compiler
def test_the_comparison_is_written_for_programs(tmp_path: Path) -> None:
    model, file = network(tmp_path), tmp_path / "net.verify.json"
    command = ["verify", str(model), "--runs", "2", "--seed", "7", "--json", str(file)]
    assert main([*command, "--tolerance", "0:0"]) == 0
    written = file.read_bytes()
    found = json.loads(written)
    assert found["model"] == {"file": "net.onnx", "sha256": file_sha256(model)}
    assert found["agrees"] is True
    assert (found["seed"], found["tolerance"]) == (7, {"abs": 0.0, "rel": 0.0})
    assert found["judge"].startswith("ONNX Runtime ")
    drawn = np.random.default_rng(7).normal(0.0, 1.0, (2, 2, 5)).astype(np.float32)
    assert found["inputs_sha256"] == [sha256_hex(drawn.tobytes())]
    [output] = found["outputs"]
    assert (output["name"], output["largest_error"], output["different"], output["elements"]) == ("y", 0.0, 0, 20)
    generated = tmp_path / "generated"
    words = ["--platform", "host", "--name", "model", "--static-pools", "--output-dir", str(generated)]
    assert main(["generate", "--model", str(model), *words]) == 0
    for path in generated.iterdir():
        assert found["files"][path.name] == file_sha256(path)
    assert main([*command, "--tolerance", "0:0"]) == 0
    assert file.read_bytes() == written
    assert main(["verify", str(model), "--runs", "2", "--seed", "8", "--json", str(file)]) == 0
    other = json.loads(file.read_text())
    assert other["inputs_sha256"] != found["inputs_sha256"]
    assert other["agrees"] is None


def test_a_difference_is_written_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def infinite(program: Path, plan: Plan, feeds: list[list[Array]]) -> list[list[Array]]:
        return [[np.full_like(array, np.inf) for array in run] for run in feeds]

    monkeypatch.setattr(verification, "_built", lambda *given: tmp_path)
    monkeypatch.setattr(verification, "_computed", infinite)
    file = tmp_path / "net.verify.json"
    assert main(["verify", str(network(tmp_path)), "--runs", "3", "--tolerance", "1:0", "--json", str(file)]) == 2
    found = json.loads(file.read_text())
    assert found["agrees"] is False
    assert (found["outputs"][0]["largest_error"], found["outputs"][0]["different"]) == (None, 30)


@needs_host_compiler
def test_inputs_are_taken_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = tmp_path / "inputs.npz"
    np.savez(inputs, x=np.full((3, 2, 5), -2, np.float32))
    assert main(["verify", str(network(tmp_path)), "--inputs", str(inputs), "--tolerance", "0:0"]) == 0
    assert "0 of 30 elements differ, largest entry at the same place in 3 of 3 runs" in capsys.readouterr().out


@pytest.mark.parametrize("word", ["--runs", "--seed"])
def test_random_inputs_and_a_file_of_inputs_are_refused(
    word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["verify", str(network(tmp_path)), "--inputs", str(tmp_path / "inputs.npz"), word, "3"]
    assert main(command) == 2
    assert f"{word} is for random inputs" in capsys.readouterr().err


@needs_riscv
def test_stored_integers_in_a_simulator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.tflite").write_bytes(lite_case("svdf").content)
    words = ["--platform", "qemu-virt-rv32", "--pool", "l1=1200", "--runs", "3", "--tolerance", "0:0"]
    assert main(["verify", str(tmp_path / "net.tflite"), *words]) == 0
    assert "0 of 36 elements differ, largest entry at the same place in 3 of 3 runs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("lines", "problem"),
    [(["00" * 40, "00" * 40], "verify-differs"), (["00" * 40], "0 bytes of output 'y'"), (["0" * 78], "39 bytes")],
    ids=["other values", "a run is missing", "a byte is missing"],
)
def test_what_a_simulator_prints_is_compared(
    lines: list[str],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    printed = "".join(f"bytes {line}\n" for line in lines)
    monkeypatch.setattr(verification_target, "printed_by", lambda *given: f"started\n{printed}")
    command = ["verify", str(network(tmp_path)), "--platform", "qemu-virt-rv32", "--runs", "2", "--tolerance", "0:0"]
    assert main(command) == 2
    assert problem in capsys.readouterr().err


def test_a_platform_without_a_simulator_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(network(tmp_path)), "--platform", "nrf52840"]) == 4
    assert "platform 'nrf52840' has no simulator" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--weights", "external"], ["--feed", "x"], ["--io-in-pools"], ["--profile"]])
def test_options_that_the_program_cannot_serve_are_refused(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(network(tmp_path)), *words]) == 4
    assert "error[verify-option]" in capsys.readouterr().err


def test_a_compiler_that_is_missing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", str(tmp_path / "nowhere"))
    assert main(["verify", str(network(tmp_path)), "--runs", "1"]) == 2
    assert "cannot be started" in capsys.readouterr().err


def test_vectors_are_made(tmp_path: Path) -> None:
    words = ["--model", str(network(tmp_path)), "--platform", "host", "--name", "net"]
    assert main(["generate", *words, "--output-dir", str(tmp_path)]) == 0
    plan = str(tmp_path / "net_plan.json")
    folder = tmp_path / "golden"
    command = ["golden", "--plan", plan, "--output-dir", str(folder), *(f"--generate={word}" for word in words)]
    assert main(command) == 0
    assert json.loads((folder / "golden_manifest.json").read_text())["judge"].startswith("ONNX Runtime")
    with np.load(folder / "made_inputs.npz") as inputs, np.load(folder / "made_outputs.npz") as outputs:
        np.testing.assert_array_equal(np.maximum(-inputs["arr_0"], 0), outputs["arr_0"])


def test_vectors_without_a_model_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--model", str(network(tmp_path)), "--platform", "host", "--name", "net"]
    assert main(["generate", *words, "--output-dir", str(tmp_path)]) == 0
    assert main(["golden", "--plan", str(tmp_path / "net_plan.json"), "--output-dir", str(tmp_path)]) == 2
    assert "--generate" in capsys.readouterr().err
