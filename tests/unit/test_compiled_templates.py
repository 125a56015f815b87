"""Compiled templates are kept as Python keeps compiled modules, and count for what they were compiled from."""

from __future__ import annotations

import sys
from pathlib import Path

import jinja2
import pytest
from tilewright.report.compiled_templates import CompiledTemplates


def text_of(folder: Path) -> str:
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(folder), bytecode_cache=CompiledTemplates())
    return environment.get_template("page.j2").render(name="n")


def compiled_in(folder: Path) -> list[Path]:
    return sorted((folder / "__pycache__").glob("*"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    (tmp_path / "page.j2").write_text("of {{ name }}", encoding="utf-8")
    return tmp_path


def test_a_template_is_compiled_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert text_of(folder) == "of n"
    assert len(compiled_in(folder)) == 1
    monkeypatch.setattr(jinja2.Environment, "_compile", None)
    assert text_of(folder) == "of n"


def test_a_changed_template_is_compiled_anew(folder: Path) -> None:
    text_of(folder)
    (folder / "page.j2").write_text("for {{ name }}", encoding="utf-8")
    assert text_of(folder) == "for n"
    assert len(compiled_in(folder)) == 1


def test_another_jinja_compiles_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text_of(folder)
    before = compiled_in(folder)[0].read_bytes()
    monkeypatch.setattr(jinja2, "__version__", "0.0")
    assert text_of(folder) == "of n"
    assert compiled_in(folder)[0].read_bytes() != before


@pytest.mark.parametrize("kept", [0, 10, 60, -1])
def test_half_a_file_is_compiled_anew(folder: Path, kept: int) -> None:
    text_of(folder)
    (file,) = compiled_in(folder)
    whole = file.read_bytes()
    file.write_bytes(whole[:kept])
    assert text_of(folder) == "of n"
    assert compiled_in(folder)[0].read_bytes() == whole


def test_nothing_is_written_where_python_writes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert text_of(folder) == "of n"
    assert compiled_in(folder) == []


def test_a_folder_that_takes_no_file_is_no_mistake(folder: Path) -> None:
    (folder / "__pycache__").write_text("", encoding="utf-8")
    assert text_of(folder) == "of n"
