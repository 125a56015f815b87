"""A generation that is killed at any moment, under load, leaves every file whole: the earlier or the new one."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from tilewright.cli import main

MODEL = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"
WORDS = ["generate", "--model", str(MODEL), "--platform", "qemu-virt-rv32", "--name", "digits", "--output-dir"]
CHANGED = ["--static-pools", "--profile"]
RUN = "from tilewright.cli import main; import sys; sys.exit(main(sys.argv[1:]))"
IN_PLACE = """
import sys, time
from tilewright.base import outputs
def replace(directory, contents):
    for name, content in contents:
        with (directory / name).open("wb") as stream:
            stream.write(content[: len(content) // 2])
            stream.flush()
            time.sleep(0.1)
            stream.write(content[len(content) // 2 :])
outputs._replace = replace
from tilewright.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""Writes each file over the earlier one, a half at a time."""

Files = Mapping[str, bytes]


def files(folder: Path) -> dict[str, bytes]:
    """Name to content of the files that a user sees."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Files, Files]:
    """What two generations write that differ in options."""
    found = []
    for extra in ([], CHANGED):
        folder = tmp_path_factory.mktemp("version")
        assert main([*WORDS, str(folder), *extra]) == 0
        found.append(files(folder))
    return found[0], found[1]


@contextmanager
def load() -> Iterator[None]:
    """Another process that takes what a processor has."""
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        busy.kill()
        busy.wait()


def killed(script: str, folder: Path, seconds: float) -> bool:
    """Start the second generation and kill it; whether it was still running."""
    command = [sys.executable, "-c", script, *WORDS, str(folder), *CHANGED]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
    process.wait()
    return process.returncode != 0


def broken(folder: Path, earlier: Files, later: Files) -> list[str]:
    """Names of files that are neither version, and of earlier ones that are gone without a new manifest."""
    now = files(folder)
    halves = [name for name, content in now.items() if content not in (earlier.get(name), later.get(name))]
    return halves + [name for name in earlier if name not in now]


def seconds_of_one(folder: Path, earlier: Files) -> float:
    """How long the second generation takes here and now."""
    write(folder, earlier)
    start = time.monotonic()
    assert not killed(RUN, folder, 120)
    return time.monotonic() - start


def write(folder: Path, contents: Files) -> None:
    for path in folder.iterdir():
        path.unlink()
    for name, content in contents.items():
        (folder / name).write_bytes(content)


@pytest.mark.parametrize("moments", [3, pytest.param(50, marks=pytest.mark.long)])
def test_every_file_stays_whole(versions: tuple[Files, Files], moments: int, tmp_path: Path) -> None:
    earlier, later = versions
    draw = random.Random(moments)
    with load():
        whole = seconds_of_one(tmp_path, earlier)
        assert broken(tmp_path, later, later) == []
        ended_early = tries = 0
        while ended_early < moments and tries < 10 * moments:
            write(tmp_path, earlier)
            # Files are written in the last part of the time.
            seconds = draw.uniform(0.5, 1.05) * whole
            tries += 1
            if killed(RUN, tmp_path, seconds):
                ended_early += 1
            else:
                # The machine has become faster, or the moment came too late.
                whole = min(whole, seconds)
            assert broken(tmp_path, earlier, later) == []
    assert ended_early == moments
    # What is left of a killed process does not stop the next one.
    assert not killed(RUN, tmp_path, 120)
    assert broken(tmp_path, later, later) == []


def test_a_file_that_is_written_in_place_is_noticed(versions: tuple[Files, Files], tmp_path: Path) -> None:
    earlier, later = versions
    write(tmp_path, earlier)
    command = [sys.executable, "-c", IN_PLACE, *WORDS, str(tmp_path), *CHANGED]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while not broken(tmp_path, earlier, later) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
    finally:
        process.kill()
        process.wait()
    assert broken(tmp_path, earlier, later) != []
