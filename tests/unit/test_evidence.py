"""The folder of evidence: whole, the same for the same build wherever it lies, and refused where something is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.linked import EXAMPLE
from tilewright.base.errors import TilewrightError
from tilewright.check import Rule
from tilewright.cli import main
from tilewright.tools.evidence_files import evidence_files
from tilewright.tools.manifest import file_sha256
from tilewright.tools.requirements import REQUIREMENTS, requirements_page

VERDICT = {"agrees": True, "findings": [], "memory": {"line": "chip", "stack": 592}, "models": []}

COMPARISON = {
    "agrees": True,
    "judge": "ONNX Runtime 1",
    "model": {"file": "digits.onnx", "sha256": file_sha256(EXAMPLE)},
    "outputs": [{"name": "scores", "largest_error": 0.0}],
    "platform": "host",
    "seed": 3,
    "tolerance": {"abs": 0.0, "rel": 0.0},
}


@pytest.fixture
def build(tmp_path: Path) -> Path:
    return built(tmp_path / "build")


def built(folder: Path) -> Path:
    """A build folder with one model, and the verdict and profile of one program."""
    words = ["--platform", "host", "--name", "digits", "--output-dir", str(folder / "tilewright" / "model")]
    assert main(["generate", "--model", str(EXAMPLE), *words]) == 0
    (folder / "digits.check.json").write_text(json.dumps(VERDICT), encoding="utf-8")
    (folder / "digits.verify.json").write_text(json.dumps(COMPARISON), encoding="utf-8")
    (folder / "digits_profile.json").write_text("{}", encoding="utf-8")
    return folder


def test_everything_is_there(build: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evidence", str(build), "--output-dir", str(tmp_path / "evidence")]) == 0
    assert capsys.readouterr().out.endswith(f"9 files of evidence in {tmp_path / 'evidence'}\n")
    summary = json.loads((tmp_path / "evidence" / "summary.json").read_text(encoding="utf-8"))
    assert set(summary["models"]) == {"tilewright_model"}
    assert summary["programs"] == {"digits.check.json": VERDICT["memory"]}
    assert summary["verified"] == {
        "digits.verify.json": {name: value for name, value in COMPARISON.items() if name != "agrees"}
    }
    assert "verified/digits.verify.json" in summary["files"]
    checker = json.loads((tmp_path / "evidence/models/tilewright_model/checker.json").read_text(encoding="utf-8"))
    assert checker["sound"]
    assert "overlap" in checker["rules"]
    for name in summary["files"]:
        assert (tmp_path / "evidence" / name).is_file()


def test_the_same_build_gives_the_same_bytes(build: Path, tmp_path: Path) -> None:
    other = evidence_files(built(tmp_path / "another place"))
    assert evidence_files(build) == other
    assert all(str(tmp_path).encode() not in content for content in other.values())


def test_every_rule_is_a_requirement_with_tests() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs" / "how-to" / "ship-it.md").read_text(encoding="utf-8")
    table = page.split("| rule | what it demands |")[1].split("\n\n")[0]
    told = [
        name
        for row in table.splitlines()
        if row.startswith("| `")
        for name in re.findall(r"`([a-z-]+)`", row[: row.index("|", 2)])
    ]
    assert sorted(name for item in REQUIREMENTS for name in item.firmware) == sorted(told)
    assert sorted(rule.value for item in REQUIREMENTS for rule in item.rules) == sorted(rule.value for rule in Rule)
    assert [path for item in REQUIREMENTS for path in item.tests if not (root / path).is_file()] == []
    assert all(item.tests and (item.evidence or item.options) for item in REQUIREMENTS)
    assert len(requirements_page().splitlines()) == 6 + len(REQUIREMENTS)


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


@pytest.mark.parametrize(
    ("spoilt", "code", "what"),
    [
        ({"agrees": False}, "evidence-verify", "differs from the judge's outputs"),
        ({"agrees": None}, "evidence-verify", "no tolerance was given"),
        ({"model": {"file": "digits.onnx", "sha256": "0"}}, "evidence-stale", "another content"),
        ({"model": None}, "evidence-verify", "no comparison"),
    ],
)
def test_comparisons_that_show_nothing_are_refused(
    spoilt: dict[str, object], code: str, what: str, build: Path
) -> None:
    (build / "digits.verify.json").write_text(json.dumps({**COMPARISON, **spoilt}), encoding="utf-8")
    with pytest.raises(TilewrightError) as raised:
        evidence_files(build)
    assert raised.value.code == code
    assert what in str(raised.value)
