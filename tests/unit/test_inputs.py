"""Files are read whole; pipes and devices as far as the bound allows."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from tilewright import cli
from tilewright.base import inputs
from tilewright.base.errors import TilewrightError
from tilewright.base.inputs import read_content, read_utf8
from tilewright.options import CompileOptions
from tilewright.planning.lock import read_lock
from tilewright.tools.calibrate import read_samples


def test_regular_files_have_no_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MOST_STREAM_BYTES", 3)
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    assert read_content(tmp_path / "file") == read_content(tmp_path / "link") == b"12345"


@pytest.mark.parametrize("content", [b"123", b"1234"])
def test_a_pipe_is_read_up_to_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(inputs, "MOST_STREAM_BYTES", 3)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    if len(content) <= 3:
        assert read_content(pipe) == content
    else:
        with pytest.raises(OSError, match="no regular file and gives more than 3 bytes"):
            read_content(pipe)
    writer.join()


def test_lines_end_in_a_line_feed(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"a\r\nb\n")
    assert read_utf8(tmp_path / "text") == "a\nb\n"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("generate", "--output-dir", "x", "--model", "/dev/zero", "--platform", "host"), "no regular file"),
        (("plan", "--model", "m.onnx", "--platform", "/dev/zero"), "gives more than 67,108,864 bytes"),
        (("plan", "--options", "/dev/zero"), "gives more than 67,108,864 bytes"),
        (("report", "/dev/zero"), "gives more than 67,108,864 bytes"),
        (("allocate", "/dev/zero"), "gives more than 67,108,864 bytes"),
    ],
)
def test_what_never_ends_is_refused(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], part: str) -> None:
    assert cli.main(words) == 2
    assert part in capsys.readouterr().err


def test_a_pipe_is_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is read for its graph and for its hash; the second reading would wait for ever, or hash nothing."""
    os.mkfifo(tmp_path / "m.onnx")
    words = ("plan", "--model", str(tmp_path / "m.onnx"), "--platform", "host")
    assert cli.main(words) == 2
    assert "a model is read more than once" in capsys.readouterr().err


def test_json_that_is_nested_too_deeply(tmp_path: Path) -> None:
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000)
    with pytest.raises(TilewrightError, match="the plan lock is damaged"):
        read_lock(deep, CompileOptions(tmp_path / "m.onnx", "host", "m", plan_lock=deep))
    with pytest.raises(TilewrightError, match="not JSON text"):
        read_samples([deep], "host")
