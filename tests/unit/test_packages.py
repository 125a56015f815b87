"""What is uploaded: wheels with and without the extension, and the release script's refusals."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = "import sys; from scikit_build_core.build import build_wheel; build_wheel(sys.argv[1])"


def test_the_pure_wheel_has_no_machine_code(tmp_path: Path) -> None:
    environment = {**os.environ, "TILEWRIGHT_PURE": "1"}
    command = [sys.executable, "-c", BUILD, str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    (wheel,) = tmp_path.iterdir()
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "tilewright/pipeline.py" in names
    assert any(name.startswith("tilewright/_data/runtime/") for name in names)
    assert not [name for name in names if name.endswith(".so")]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with the files at which the release script looks."""
    folder = tmp_path / "clone"
    for name in ("scripts/release.sh", "scripts/common.sh", "python/tilewright/__init__.py", "CHANGELOG.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "x"]):
        subprocess.run([*git, *words], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize(
    ("version", "spoil", "told"),
    [
        ("9.9.9", "", "says another version"),
        ("0.1.0", "", "CHANGELOG.md has no section [0.1.0]"),
        ("0.1.0", "new.txt", "commit them first"),
    ],
)
def test_a_release_that_is_not_ready_is_refused(clone: Path, version: str, spoil: str, told: str) -> None:
    if spoil:
        (clone / spoil).write_text("", encoding="utf-8")
    ran = subprocess.run(["bash", "scripts/release.sh", version], cwd=clone, capture_output=True, text=True)
    assert ran.returncode != 0
    assert told in ran.stderr
    assert not (clone / "dist").exists()
