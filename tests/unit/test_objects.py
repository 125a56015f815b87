"""Objects that tests keep follow what they are made of."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support import objects
from support.firmware import needs_host_compiler

pytestmark = needs_host_compiler


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one source and one header."""
    monkeypatch.setattr(objects, "ROOT", tmp_path)
    monkeypatch.setattr(objects, "FOLDER", tmp_path / "build" / "objects")
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "one.h").write_text("#define ONE 1\n", encoding="utf-8")
    (tmp_path / "runtime" / "one.c").write_text('#include "one.h"\nint one(void);\nint one(void) { return ONE; }\n')
    objects._headers.cache_clear()
    yield tmp_path
    objects._headers.cache_clear()


def made(project: Path, *words: str) -> str:
    (found,) = objects.kept(["cc", *words], [project / "runtime" / "one.c"])
    return found


def test_an_object_is_made_once(project: Path) -> None:
    first = made(project)
    before = Path(first).stat().st_mtime_ns
    assert made(project) == first
    assert Path(first).stat().st_mtime_ns == before


def test_another_option_source_or_header_makes_another_object(project: Path) -> None:
    found = {made(project), made(project, "-O2")}
    source = project / "runtime" / "one.c"
    source.write_text(source.read_text(encoding="utf-8").replace("ONE;", "ONE + 1;"), encoding="utf-8")
    found.add(made(project))
    (project / "runtime" / "one.h").write_text("#define ONE 2\n", encoding="utf-8")
    objects._headers.cache_clear()
    found.add(made(project))
    assert len(found) == 4


def test_a_source_with_a_warning_is_refused(project: Path) -> None:
    (project / "runtime" / "one.c").write_text("int one(void) { int unused; return 1; }\n", encoding="utf-8")
    with pytest.raises(subprocess.CalledProcessError) as caught:
        made(project, "-Wall")
    assert "unused" in caught.value.stderr
    assert list(objects.FOLDER.iterdir()) == []


def test_files_of_others_are_left_to_the_linking_command(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other") / "net.c"
    assert objects.kept(["cc"], [other]) == [str(other)]
