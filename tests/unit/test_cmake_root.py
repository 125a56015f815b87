"""Where scikit-build-core finds the CMake files."""

from __future__ import annotations

import subprocess
from importlib.metadata import EntryPoint
from importlib.resources import files
from pathlib import Path

import pytest
from tilewright.base import resources

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_the_entry_point_gives_the_folder() -> None:
    lines = PYPROJECT.read_text(encoding="utf-8").splitlines()
    line = lines[lines.index('[project.entry-points."cmake.root"]') + 1]
    name, value = (word.strip(' "') for word in line.split("="))
    found = Path(str(files(EntryPoint(name, value, "cmake.root").load())))
    assert found == resources.cmake()
    assert (found / f"{name}Config.cmake").is_file()


@pytest.mark.parametrize("wanted", ["", "0.1 "])
def test_an_old_cmake_is_told_which_one_is_needed(wanted: str, tmp_path: Path) -> None:
    lines = ["cmake_minimum_required(VERSION 3.16...3.31)", "project(p LANGUAGES NONE)", "set(CMAKE_VERSION 3.18.4)"]
    lines.append(f"find_package(Tilewright {wanted}REQUIRED)")
    (tmp_path / "CMakeLists.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DTilewright_DIR={resources.cmake()}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "Tilewright needs CMake 3.22 or newer, this is 3.18.4" in " ".join(done.stderr.split())
