"""Continuous integration fails at a test that is skipped without leave."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.skips import unexpected

TESTS = Path(__file__).parents[1]
CASE = """
import pytest

@pytest.mark.skipif(True, reason={reason!r})
def test_left_out():
    pass

def test_passes():
    pass
"""


def run_pytest(folder: Path, reason: str, ci: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_case.py").write_text(CASE.format(reason=reason), encoding="utf-8")
    (folder / "conftest.py").write_text((TESTS / "conftest.py").read_text(encoding="utf-8"), encoding="utf-8")
    environment = {**os.environ, "CI": ci, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("reason", "ci", "status"),
    [("not today", "1", 1), ("not today", "", 0), ("needs riscv64-unknown-elf-gcc and GVSoC", "1", 0)],
)
def test_a_skip_without_leave_fails_continuous_integration(tmp_path: Path, reason: str, ci: str, status: int) -> None:
    done = run_pytest(tmp_path, reason, ci)
    assert done.returncode == status, done.stdout
    assert ("test_left_out" in done.stdout and "not expect" in done.stdout) == bool(status), done.stdout


def test_each_skip_needs_a_reason_that_is_listed() -> None:
    reasons = [("test_a", "Skipped: TILEWRIGHT_CORPUS is not set"), ("test_b", "Skipped: needs cmake")]
    assert unexpected(reasons) == ["test_b: Skipped: needs cmake"]
