"""What is uploaded: wheels with and without the extension, and the release script's refusals."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import pytest
from tilewright.base.toml_file import tomllib

ROOT = Path(__file__).parents[2]
REQUIREMENTS = ROOT / "cmake" / "requirements"
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


def without_blanks(lines: Iterable[str]) -> set[str]:
    """Requirements, in one notation."""
    return {line.replace(" ", "") for line in lines}


def requirements(name: str) -> set[str]:
    """What a configure installs."""
    return without_blanks((REQUIREMENTS / f"{name}.in").read_text(encoding="utf-8").splitlines())


def test_a_configure_installs_what_the_package_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert requirements("generation") | requirements("solver") == without_blanks(project["project"]["dependencies"])
    assert requirements("extension") == without_blanks(project["build-system"]["requires"])


@pytest.mark.parametrize("name", ["generation", "extension", "solver"])
def test_every_package_has_one_version_for_each_python_and_hashes(name: str) -> None:
    text = (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8")
    entries = [entry.split() for entry in text.replace("\\\n", " ").splitlines()]
    assert all("==" in entry[0] for entry in entries)
    assert all(any(word.startswith("--hash=sha256:") for word in entry) for entry in entries)
    named = {re.split("[=<>]", line)[0] for line in requirements(name)}
    assert named <= {entry[0].split("==")[0] for entry in entries}


def pinned(name: str) -> dict[str, set[str]]:
    """The versions of each package of a set, over all versions of Python."""
    versions: dict[str, set[str]] = {}
    for line in (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if "==" in line and not line.startswith(" "):
            versions.setdefault(line.split("==")[0], set()).add(line.split(" ")[0])
    return versions


def test_packages_that_two_sets_have_are_of_one_version() -> None:
    for one, other in combinations([pinned(name) for name in ("generation", "extension", "solver")], 2):
        shared = one.keys() & other.keys()
        assert {name: one[name] for name in shared} == {name: other[name] for name in shared}
    assert {"numpy", "protobuf"} <= pinned("generation").keys() & pinned("solver").keys()
