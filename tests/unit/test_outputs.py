from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tilewright.base.errors import TilewrightError
from tilewright.base.outputs import write_all, write_file


def manifest(*names: str) -> bytes:
    return json.dumps({"files": dict.fromkeys(names, "")}).encode()


def test_only_changed_files_are_written(tmp_path: Path) -> None:
    assert write_all(tmp_path / "new" / "folder", {"a.c": b"1", "b.c": b"2"}) == ("a.c", "b.c")
    folder = tmp_path / "new" / "folder"
    os.utime(folder / "a.c", ns=(1, 1))
    assert write_all(folder, {"a.c": b"1", "b.c": b"3"}) == ("b.c",)
    assert (folder / "a.c").stat().st_mtime_ns == 1
    assert (folder / "b.c").read_bytes() == b"3"
    assert sorted(path.name for path in folder.iterdir()) == ["a.c", "b.c"]


def test_what_the_earlier_manifest_lists_is_removed(tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text("")
    write_all(tmp_path, {"a.c": b"", "b.c": b"", "m.json": manifest("a.c", "b.c", "../mine.c")}, manifest="m.json")
    write_all(tmp_path, {"b.c": b"", "m.json": manifest("b.c")}, manifest="m.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.c", "m.json", "mine.c"]


@pytest.mark.parametrize("content", [b"", b"[]", b'{"files": 3}', b"\xff"])
def test_a_broken_manifest_lists_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m.json").write_bytes(content)
    write_all(tmp_path, {"a.c": b"", "m.json": manifest("a.c")}, manifest="m.json")
    assert (tmp_path / "a.c").is_file()


def test_an_error_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_all(tmp_path, {"a.c": b"old", "b.c": b"old"})
    write_bytes = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if "b.c" in path.name:
            write_bytes(path, content[:1])
            raise OSError(28, "No space left on device", str(path))
        return write_bytes(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(TilewrightError, match="No space left on device"):
        write_all(tmp_path, {"a.c": b"new", "b.c": b"new"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.c": b"old", "b.c": b"old"}


def test_a_file_in_the_way_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("")
    with pytest.raises(TilewrightError, match="cannot write") as error:
        write_file(tmp_path / "folder" / "a.c", b"")
    assert error.value.code == "cannot-write"
