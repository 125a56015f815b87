"""What is uploaded: wheels with and without the extension, and the release script's refusals."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
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


GIT = ("git", "-c", "user.name=x", "-c", "user.email=x@example.org")
SECTION = ("CHANGELOG.md", "## [Unreleased]", "## [0.1.0] - 2027-01-01")
URLS = (
    "pyproject.toml",
    "[project.scripts]",
    "[project.urls]\n"
    + "".join(f'{name} = "https://example.org/{name}"\n' for name in ("Source", "Documentation", "Changelog", "Issues"))
    + "\n[project.scripts]",
)
"""What a maintainer edits for a release: file, old text, new text."""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with the files at which the release script looks."""
    folder = tmp_path / "clone"
    names = "scripts/release.sh scripts/common.sh python/tilewright/__init__.py CHANGELOG.md pyproject.toml"
    for name in names.split():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    subprocess.run([*GIT, "init", "--quiet"], cwd=folder, check=True)
    return folder


def committed(folder: Path, edits: Iterable[tuple[str, str, str]]) -> None:
    """Everything in a folder, after edits, in a commit."""
    for name, old, new in edits:
        text = (folder / name).read_text(encoding="utf-8")
        assert text.count(old) == 1
        (folder / name).write_text(text.replace(old, new), encoding="utf-8")
    for words in (["add", "."], ["commit", "--quiet", "--message", "x"]):
        subprocess.run([*GIT, *words], cwd=folder, check=True)


@pytest.mark.parametrize(
    ("version", "edits", "spoil", "told"),
    [
        ("9.9.9", (), "", "says another version"),
        ("0.1.0", (), "", "CHANGELOG.md has no section [0.1.0]"),
        ("0.1.0", (SECTION,), "", "pyproject.toml has no Source in [project.urls]"),
        ("0.1.0", (SECTION, (*URLS[:2], URLS[2].replace("Issues", "Bugs"))), "", "has no Issues in [project.urls]"),
        ("0.1.0", (SECTION, URLS), "", "twine is missing"),
        ("0.1.0", (SECTION, URLS), "new.txt", "commit them first"),
    ],
)
def test_a_release_that_is_not_ready_is_refused(
    clone: Path, version: str, edits: tuple[tuple[str, str, str], ...], spoil: str, told: str
) -> None:
    committed(clone, edits)
    if spoil:
        (clone / spoil).write_text("", encoding="utf-8")
    ran = subprocess.run(["bash", "scripts/release.sh", version], cwd=clone, capture_output=True, text=True)
    assert ran.returncode != 0
    assert told in ran.stderr
    assert not (clone / "dist").exists()


@pytest.mark.long
def test_a_release_is_made_up_to_the_upload(tmp_path: Path) -> None:
    """From the last commit; twine comes from PyPI, everything else from the environment that runs this."""
    folder = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    committed(folder, (SECTION, URLS))
    subprocess.run([sys.executable, "-m", "venv", folder / ".venv"], check=True)
    (own,) = (folder / ".venv" / "lib").glob("*/site-packages")
    (own / "more.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    subprocess.run([folder / ".venv/bin/python", "-m", "pip", "install", "--quiet", "twine"], check=True)
    ran = subprocess.run(["bash", "scripts/release.sh", "0.1.0"], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    kinds = sorted(re.sub(r"cp\d+-\w+-linux", "own-linux", path.name) for path in (folder / "dist").iterdir())
    names = [re.sub(r"linux_.*", "linux.whl", name) for name in kinds]
    assert names == ["tilewright-0.1.0-own-linux.whl", "tilewright-0.1.0-py3-none-any.whl", "tilewright-0.1.0.tar.gz"]
    assert ran.stdout.count("PASSED") == 3, ran.stdout


def without_blanks(lines: Iterable[str]) -> set[str]:
    """Requirements without their blanks, so that they compare as texts."""
    return {line.replace(" ", "") for line in lines}


def requirements(name: str) -> set[str]:
    """The requirements that a configure installs, from the file of that name."""
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
