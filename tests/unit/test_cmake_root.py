"""Where scikit-build-core finds the CMake files."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from importlib.resources import files
from pathlib import Path

from tilewright.base import resources

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_the_entry_point_gives_the_folder() -> None:
    lines = PYPROJECT.read_text(encoding="utf-8").splitlines()
    line = lines[lines.index('[project.entry-points."cmake.root"]') + 1]
    name, value = (word.strip(' "') for word in line.split("="))
    found = Path(str(files(EntryPoint(name, value, "cmake.root").load())))
    assert found == resources.cmake()
    assert (found / f"{name}Config.cmake").is_file()
