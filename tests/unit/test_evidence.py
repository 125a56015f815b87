"""The folder of evidence: whole, the same for the same build wherever it lies, and refused where something is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.linked import EXAMPLE
from tilewright.base.errors import TilewrightError
from tilewright.cli import main
from tilewright.tools.evidence_files import evidence_files

VERDICT = {"agrees": True, "findings": [], "memory": {"line": "chip", "stack": 592}, "models": []}


@pytest.fixture
def build(tmp_path: Path) -> Path:
    return built(tmp_path / "build")


def built(folder: Path) -> Path:
    """A build folder with one model, and the verdict and profile of one program."""
    words = ["--platform", "host", "--name", "digits", "--output-dir", str(folder / "tilewright" / "model")]
    assert main(["generate", "--model", str(EXAMPLE), *words]) == 0
    (folder / "digits.check.json").write_text(json.dumps(VERDICT), encoding="utf-8")
    (folder / "digits_profile.json").write_text("{}", encoding="utf-8")
    return folder


def test_everything_is_there(build: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evidence", str(build), "--output-dir", str(tmp_path / "evidence")]) == 0
    assert capsys.readouterr().out.endswith(f"7 files of evidence in {tmp_path / 'evidence'}\n")
    summary = json.loads((tmp_path / "evidence" / "summary.json").read_text(encoding="utf-8"))
    assert set(summary["models"]) == {"tilewright_model"}
    assert summary["programs"] == {"digits.check.json": VERDICT["memory"]}
    checker = json.loads((tmp_path / "evidence/models/tilewright_model/checker.json").read_text(encoding="utf-8"))
    assert checker["sound"]
    assert "overlap" in checker["rules"]
    for name in summary["files"]:
        assert (tmp_path / "evidence" / name).is_file()


def test_the_same_build_gives_the_same_bytes(build: Path, tmp_path: Path) -> None:
    other = evidence_files(built(tmp_path / "another place"))
    assert evidence_files(build) == other
    assert all(str(tmp_path).encode() not in content for content in other.values())


def test_what_is_refused(build: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(TilewrightError) as raised:
        evidence_files(tmp_path / "empty")
    assert raised.value.code == "evidence-none"
    (build / "digits.check.json").write_text(json.dumps({**VERDICT, "agrees": False}), encoding="utf-8")
    with pytest.raises(TilewrightError) as raised:
        evidence_files(build)
    assert raised.value.code == "evidence-firmware"
    header = build / "tilewright" / "model" / "digits.h"
    header.write_text(header.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    with pytest.raises(TilewrightError) as raised:
        evidence_files(build)
    assert raised.value.code == "evidence-stale"
