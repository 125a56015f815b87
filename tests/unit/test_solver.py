"""The solver is brought when a model needs it, once, and by the command that CMake left."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import pytest
from tilewright.base import solver
from tilewright.base.errors import TilewrightError
from tilewright.base.solver import FILE, bring_solver


def environment(folder: Path, code: str) -> Path:
    """An environment whose command is a line of Python."""
    words = {
        "command": [sys.executable, "-c", code],
        "done": str(folder / "solver"),
        "lock": str(folder / "lock"),
    }
    (folder / FILE).write_text(json.dumps(words), encoding="utf-8")
    return folder


def test_it_is_brought_once_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    runs = tmp_path / "runs"
    code = f"open({str(runs)!r}, 'a').write('x')"
    with caplog.at_level(logging.WARNING):
        bring_solver(environment(tmp_path, code))
        bring_solver(tmp_path)
    assert runs.read_text(encoding="utf-8") == "x"
    assert [record.getMessage() for record in caplog.records] == [
        f"installing the solver CP-SAT (OR-Tools), which this model needs, into {tmp_path} (once)"
    ]


def test_a_failure_is_told_and_tried_again(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(TilewrightError) as told:
            bring_solver(environment(tmp_path, "import sys; sys.exit('no network')"))
        assert told.value.code == "no-solver"
        assert "could not be installed: no network" in str(told.value)
        assert "TILEWRIGHT_WHEELS" in str(told.value)
    bring_solver(environment(tmp_path, ""))


def test_an_installation_without_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bring_solver(tmp_path)
    monkeypatch.setattr(solver, "find_spec", lambda name: None)
    with pytest.raises(TilewrightError, match=r"is needed, and it is not installed\n.*pip install ortools"):
        bring_solver(tmp_path)
