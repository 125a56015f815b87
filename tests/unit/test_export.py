"""A plan stands alone: what was exported gives the same files, without model, importer or solver."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support.chains import conv_chain
from tilewright import cli

WITHOUT = """
import sys
for name in ("onnx", "ortools", "onnxruntime"):
    sys.modules[name] = None
from tilewright.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What was generated in folder ``first``, and what was exported of the same model in ``export``."""
    folder = tmp_path_factory.mktemp("export")
    model = folder / "net.onnx"
    model.write_bytes(conv_chain(layers=3, channels=6))
    words = ["--model", str(model), "--platform", "l3-chain", "--name", "net", "--pool=l2=2400", "--pool=l1=1400"]
    assert cli.main(["generate", *words, "--static-pools", "--output-dir", str(folder / "first")]) == 0
    assert cli.main(["export", *words, "--static-pools", "--output-dir", str(folder / "export")]) == 0
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    """A folder of the exported files, to be spoilt."""
    for name, content in files(made / "export").items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_the_same_files_come_of_it_without_model_and_solver(made: Path, tmp_path: Path) -> None:
    words = ["generate", "--from", str(made / "export"), "--output-dir", str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", WITHOUT, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert files(tmp_path) == files(made / "first")
    assert "net.c" in files(tmp_path)


def test_exports_are_the_same_every_time(made: Path, tmp_path: Path) -> None:
    words = ["--model", str(made / "net.onnx"), "--platform", "l3-chain", "--name", "net", "--pool=l2=2400"]
    assert cli.main(["export", *words, "--pool=l1=1400", "--static-pools", "--output-dir", str(tmp_path)]) == 0
    assert files(tmp_path) == files(made / "export")


def refused(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    assert cli.main(["generate", "--from", str(folder), "--output-dir", str(folder / "out"), *more]) == 2
    assert not (folder / "out").exists()
    return capsys.readouterr().err


def test_other_constants_are_refused(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with np.load(copy / "constants.npz") as arrays:
        changed = {name: array + array.dtype.type(1) for name, array in arrays.items()}
    np.savez(copy / "constants.npz", **changed)
    assert "another one" in refused(copy, capsys)


def test_missing_and_damaged_files_are_refused(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / "constants.npz").write_bytes(b"no archive")
    assert "error[export]" in refused(copy, capsys)
    with zipfile.ZipFile(copy / "constants.npz", "w"):
        pass
    assert "is missing" in refused(copy, capsys)
    (copy / "constants.npz").unlink()
    assert "error[export]" in refused(copy, capsys)
    (copy / "plan.json").unlink()
    assert "plan.json" in refused(copy, capsys)


def test_another_plan_is_refused(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = copy / "plan.json"
    text = plan.read_text(encoding="utf-8")
    document = json.loads(text)
    document["layers"][0]["predicted_cycles"] += 1
    plan.write_text(json.dumps(document), encoding="utf-8")
    assert "does not give the files" in refused(copy, capsys)
    plan.write_text(text.replace('"tool_version": "', '"tool_version": "9'), encoding="utf-8")
    assert "this is" in refused(copy, capsys)
    plan.write_text(text, encoding="utf-8")
    facts = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    (copy / "manifest.json").write_text(json.dumps(facts["files"]), encoding="utf-8")
    assert "no manifest" in refused(copy, capsys)


def test_an_unsound_plan_is_refused(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = copy / "plan.json"
    document = json.loads(plan.read_text(encoding="utf-8"))
    document["placements"][0]["offset_bytes"] = document["placements"][0].get("offset_bytes", 0) + 16
    plan.write_text(json.dumps(document), encoding="utf-8")
    assert "not sound" in refused(copy, capsys)


def test_options_beside_it_are_refused(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "beside --from" in refused(copy, capsys, "--platform", "host")
    assert "beside --from" in refused(copy, capsys, "--set", "order=model")
