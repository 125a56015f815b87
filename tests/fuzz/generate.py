"""Compiles a spoilt model as the command line does, and its C with all warnings as errors."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tilewright import cli
from tilewright.base.errors import ExitStatus

from fuzz.cases import FuzzCase

RUNTIME = Path(__file__).resolve().parents[2] / "runtime"
_WARNINGS = (
    "-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wcast-qual -Wmissing-prototypes "
    "-Wstrict-prototypes -Werror -fsyntax-only"
).split()
_COMPILER_SECONDS = 180
_NARROW = re.compile(rb"^\s*pointer_bytes\s*=\s*4\s*(#.*)?$", re.MULTILINE)
_TOLD = re.compile(r"^error\[[a-z0-9-]+\]: \S", re.MULTILINE)


@dataclass(frozen=True)
class Answer:
    """The exit status, what is wrong with the answer (empty: nothing), and what was written to standard error."""

    status: int
    problem: str
    text: str
    folder: Path


def generate(case: FuzzCase, folder: Path) -> Answer:
    """Run ``tilewright generate``; its C stays in the folder if there is any."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model = folder / "model.onnx"
    model.write_bytes(case.content)
    output, errors = io.StringIO(), io.StringIO()
    words = ["--debug", "generate", "--model", str(model), "--name", "net", "--output-dir", str(folder / "c")]
    if case.platform:
        (folder / "board.toml").write_bytes(case.platform)
        words += ["--platform", str(folder / "board.toml")]
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        status = cli.main([*words, *case.words])
    answer = Answer(status, _problem(status, output.getvalue(), errors.getvalue()), errors.getvalue(), folder)
    if not answer.problem and status != ExitStatus.DONE:
        shutil.rmtree(folder)
    return answer


def _problem(status: int, output: str, errors: str) -> str:
    if status == ExitStatus.DONE:
        return "" if output else "nothing is said"
    if status not in (ExitStatus.BAD_INPUT, ExitStatus.DOES_NOT_FIT, ExitStatus.NOT_SUPPORTED):
        return f"exit status {status}"
    try:
        errors.encode("utf-8")
    except UnicodeEncodeError:
        return "the message cannot be written"
    return "" if _TOLD.search(errors) else "the message says nothing"


def uncompilable(folders: Sequence[Path]) -> dict[Path, str]:
    """Folders whose C the compiler refuses, and its words; many at once, as starting it costs most."""
    batches = [
        some[first : first + 25]
        for narrow in (False, True)
        for some in [[folder for folder in folders if _is_narrow(folder) is narrow]]
        for first in range(0, len(some), 25)
    ]
    with ThreadPoolExecutor(2) as pool:
        bad = [
            folder
            for found, batch in zip(pool.map(_refused, batches), batches, strict=True)
            if found
            for folder in batch
        ]
        words = pool.map(lambda folder: _refused([folder]), bad)
    return {folder: text for folder, text in zip(bad, words, strict=True) if text}


def _is_narrow(folder: Path) -> bool:
    """Whether the folder's platform has pointers of 4 bytes, as its C asserts."""
    board = folder / "board.toml"
    return board.exists() and _NARROW.search(board.read_bytes()) is not None


def _refused(folders: Sequence[Path]) -> str:
    """Standard error of the compiler; empty if it takes all of the files."""
    sources = [str(path) for folder in folders for path in sorted((folder / "c").glob("*.c"))]
    if not sources:
        return "no C file was written"
    narrow = ["-m32", "-ffreestanding"] if _is_narrow(folders[0]) else []
    command = ["gcc", *_WARNINGS, *narrow, f"-I{RUNTIME / 'include'}", *sources]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_COMPILER_SECONDS)
    except subprocess.TimeoutExpired:
        return f"the compiler was still at work after {_COMPILER_SECONDS} s"
    return done.stderr[-3000:] if done.returncode else ""
