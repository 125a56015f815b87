"""Progress: a bar on a terminal and nowhere else, also through CMake."""

from __future__ import annotations

import json
import logging
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.firmware import needs_host_compiler
from tilewright.base.progress import LOGGER, progress, tracked
from tilewright.cli.progress_bar import shown_progress

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
WORDS = ["plan", "--model", str(DIGITS), "--platform", "qemu-virt-rv32", "--pool=l1=3072", "--name", "digits"]


def on_a_terminal(command: list[str], **variables: str) -> tuple[int, str]:
    """Exit status, and what a command writes to its terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm", **variables}
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs, env=environment) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # how Linux says that nobody has the terminal open any more
                break
            if not part:
                break
            written += part
    os.close(ours)
    return process.returncode, written.decode()


def tool(folder: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "tilewright", *WORDS, "--output", str(folder / "plan.json"), *words]


def test_stages_are_told_to_those_who_listen(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger=LOGGER):
        assert list(tracked("Counting", "ab")) == ["a", "b"]
        progress("Resting", 0, 1)
    assert caplog.messages == ["Counting: 0 of 2", "Counting: 1 of 2", "Counting: 2 of 2", "Resting: 0 of 1"]


def test_a_terminal_shows_a_bar_that_is_wiped(tmp_path: Path) -> None:
    status, text = on_a_terminal(tool(tmp_path))
    assert status == 0
    for stage in ("Finding kernels", "Choosing tiles", "Placing buffers", "Checking the plan"):
        assert f"\r{stage}: " in text, text
    assert "7/7" in text
    assert re.search(r"\r {40,}\r$", text), "the bar is still there"


def lines_of(written: str) -> list[str]:
    """What a terminal shows in the end: a carriage return goes back to the start of the line, which is written over."""
    shown = []
    for line in written.split("\n"):
        cells: list[str] = []
        for part in line.split("\r"):
            cells[: len(part)] = part
        shown.append("".join(cells).rstrip())
    return shown


def test_what_is_printed_behind_a_bar_has_the_line_for_itself() -> None:
    status, text = on_a_terminal([sys.executable, "-m", "tilewright", *WORDS, "--format", "json"])
    assert status == 0
    assert "\rChecking the plan: 100%" in text
    assert json.loads("\n".join(lines_of(text)))["name"] == "digits"


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_sweep_shows_its_sizes_and_nothing_of_its_processes(jobs: str) -> None:
    words = [*WORDS[1:-3], "--pool=l1=1024:8192", "--steps", "4", "--jobs", jobs]
    command = [sys.executable, "-m", "tilewright", "sweep", *words]
    status, text = on_a_terminal(command)
    assert status == 0, text
    assert [number for number in range(5) if f"| {number}/4 " in text] == [0, 1, 2, 3, 4]
    assert set(re.findall(r"\r(\w[\w ]*): ", text)) == {"Planning sizes"}
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    assert piped.stderr == ""
    assert lines_of(text) == piped.stdout.split("\n")


LONG_SEARCH = """
import tilewright.tools.allocate
from tilewright.cli import main

place = tilewright.tools.allocate.place_with


def slowly(items, pools, algorithm, options):
    options.progress(123456, 7, 50_000)
    options.progress(99, 7, 100_000)
    return place(items, pools, algorithm, options)


tilewright.tools.allocate.place_with = slowly
sys.exit(main(["allocate", sys.argv[1]]))
"""


def test_a_search_for_a_placement_shows_its_peak(tmp_path: Path) -> None:
    problem = tmp_path / "problem.csv"
    problem.write_text("id,lower,upper,size\na,0,2,8\n", encoding="utf-8")
    status, text = on_a_terminal([sys.executable, "-c", f"import sys\n{LONG_SEARCH}", str(problem)])
    assert status == 0, text
    assert "\rpeak 123,456  bound 7  " in text
    assert lines_of(text)[:2] == ["buffers      1", "peak         8 bytes"]
    second = text[: text.index("\r ")]
    assert lines_of(second) == ["peak 99  bound 7  gap 1314.29 %  nodes 100,000"]


def test_nothing_is_shown_where_nobody_looks(tmp_path: Path) -> None:
    done = subprocess.run(tool(tmp_path), capture_output=True, text=True, check=True)
    assert done.stderr == ""
    status, text = on_a_terminal(tool(tmp_path), TERM="dumb")
    assert (status, text) == (0, "")
    with shown_progress():
        assert not logging.getLogger(LOGGER).handlers


def test_the_library_is_not_imported_without_a_terminal() -> None:
    script = f"import sys; from tilewright.cli import main; main({WORDS!r}); sys.exit('tqdm' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_levels_show_it_as_lines(tmp_path: Path) -> None:
    done = subprocess.run(tool(tmp_path, "--log-level", "debug"), capture_output=True, text=True, check=True)
    assert "Choosing tiles: 3 of 7" in done.stderr


@needs_host_compiler
@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
def test_cmake_lets_the_bar_through_and_keeps_the_messages(tmp_path: Path) -> None:
    text = f"""
cmake_minimum_required(VERSION 3.22)
project(p LANGUAGES C)
find_package(Tilewright REQUIRED)
tilewright_add_model(digits MODEL "{DIGITS}" PLATFORM "${{PLATFORM}}")
"""
    (tmp_path / "CMakeLists.txt").write_text(text, encoding="utf-8")
    words = [f"-DTilewright_DIR={ROOT / 'cmake'}", f"-DTILEWRIGHT_PYTHON={sys.executable}"]
    command = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"), *words]
    status, shown = on_a_terminal([*command, "-DPLATFORM=host"])
    assert status == 0, shown
    assert "\rChoosing tiles: " in shown
    assert "-- digits: 7 layers on host; " in shown
    status, shown = on_a_terminal([*command, "-DPLATFORM=hots"])
    assert status == 1
    assert "tilewright_add_model(digits):" in shown
    assert "did you mean 'host'?" in shown
