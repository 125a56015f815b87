from __future__ import annotations

import json
import os
import threading
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


def test_what_an_earlier_manifest_lists_below_its_folder_is_removed(tmp_path: Path) -> None:
    """But not what lies elsewhere behind a link that stands for a folder."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mine.c").write_bytes(b"mine")
    folder = tmp_path / "generated"
    names = ("below/a.c", "link/mine.c", "below/../../elsewhere/mine.c")
    write_all(folder, {"below/a.c": b"", "m.json": manifest(*names)}, manifest="m.json")
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    write_all(folder, {"m.json": manifest()}, manifest="m.json")
    assert not (folder / "below" / "a.c").exists()
    assert (tmp_path / "elsewhere" / "mine.c").read_bytes() == b"mine"


@pytest.mark.parametrize("content", [b"", b"[]", b'{"files": 3}', b"\xff", b"[" * 100_000])
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


def test_links_stay_and_their_files_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "old.c").write_bytes(b"old")
    (tmp_path / "old.c").symlink_to("far/old.c")
    (tmp_path / "new.c").symlink_to(tmp_path / "far" / "new.c")
    assert write_all(tmp_path, {"old.c": b"1", "new.c": b"2"}) == ("old.c", "new.c")
    assert (tmp_path / "old.c").is_symlink()
    assert (tmp_path / "new.c").is_symlink()
    assert {path.name: path.read_bytes() for path in (tmp_path / "far").iterdir()} == {"old.c": b"1", "new.c": b"2"}
    assert write_all(tmp_path, {"old.c": b"1", "new.c": b"2"}) == ()


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.c").symlink_to("b.c")
    (tmp_path / "b.c").symlink_to("a.c")
    with pytest.raises(TilewrightError, match="symbolic links"):
        write_file(tmp_path / "a.c", b"")
    assert (tmp_path / "a.c").is_symlink()


@pytest.mark.parametrize("by_link", [False, True])
def test_a_pipe_is_written_to(tmp_path: Path, by_link: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to("pipe")
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    assert write_file(tmp_path / "link" if by_link else pipe, b"plan")
    reader.join()
    assert received == [b"plan"]
    assert pipe.is_fifo()
    assert (tmp_path / "link").is_symlink()


def test_a_character_device_is_written_to() -> None:
    master, slave = os.openpty()
    try:
        terminal = Path(os.ttyname(slave))
        assert write_file(terminal, b"plan")
        assert os.read(master, 16) == b"plan"
        assert terminal.is_char_device()
    finally:
        os.close(master)
        os.close(slave)


def test_an_open_pipe_is_written_to() -> None:
    """``/dev/stdout`` is such a link: it leads to no path."""
    source, sink = os.pipe()
    try:
        assert write_file(Path(f"/proc/self/fd/{sink}"), b"plan")
        assert os.read(source, 16) == b"plan"
    finally:
        os.close(source)
        os.close(sink)


def test_a_full_device_leaves_everything_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "b.c").symlink_to("/dev/full")
    write_all(tmp_path, {"a.c": b"old"})
    with pytest.raises(TilewrightError, match="No space left on device"):
        write_all(tmp_path, {"a.c": b"new", "b.c": b"new"})
    assert (tmp_path / "a.c").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.c", "b.c"]


def test_what_is_no_file_is_not_removed(tmp_path: Path) -> None:
    write_all(tmp_path, {"m.json": manifest("pipe", "folder")}, manifest="m.json")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    write_all(tmp_path, {"m.json": manifest()}, manifest="m.json")
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "folder").is_dir()
