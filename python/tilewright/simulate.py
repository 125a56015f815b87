"""Runs a program in a platform's simulator and hands back the firmware's exit status."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

from tilewright.errors import bad_input
from tilewright.platform_types import Platform

TIMEOUT_STATUS = 124
"""Exit status of a program that did not end in time, as coreutils' timeout has it."""

_SIGNAL_STATUS = 128
_GRACE_S = 2.0


def simulate(platform: Platform, elf: str | Path, timeout_s: float, args: Sequence[str] = ()) -> int:
    """Run ``elf`` with the platform's simulator; its output goes to ours as it appears.

    ``args`` are appended to the simulator's command. Returns the firmware's exit status,
    128 + n if signal n ended the simulator, or TIMEOUT_STATUS after ``timeout_s`` seconds;
    no process of the simulator is left in any case. Raises bad_input if the platform names
    no simulator, or the simulator or the program is missing.
    """
    program = Path(elf).resolve()
    if not program.is_file():
        raise bad_input("program-missing", "there is no program to run", at=str(elf))
    with tempfile.TemporaryDirectory(prefix="tilewright-") as work_dir:
        command = simulator_command(platform, program, Path(work_dir), args)
        sys.stdout.flush()
        sys.stderr.flush()
        with _terminating_signals_raise():
            return _run(command, timeout_s)


def simulator_command(platform: Platform, elf: Path, work_dir: Path, args: Sequence[str] = ()) -> list[str]:
    """The simulator's command line. Raises bad_input if there is no simulator, naming the program."""
    if platform.simulator is None:
        what = f"platform '{platform.name}' has no [simulator]"
        raise bad_input("simulator-none", what, help="add [simulator] command to the platform file")
    words = [
        word.replace("{elf}", str(elf)).replace("{work_dir}", str(work_dir)) for word in platform.simulator.command
    ]
    if shutil.which(words[0]) is None:
        what = f"simulator '{words[0]}' of platform '{platform.name}' is not installed"
        raise bad_input("simulator-missing", what, help=f"install {words[0]}, or put its folder on PATH")
    return [*words, *args]


def _run(command: list[str], timeout_s: float) -> int:
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        what = f"cannot start '{command[0]}': {error.strerror or error}"
        raise bad_input("simulator-missing", what) from error
    try:
        status = process.wait(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        sys.stderr.write(f"tilewright: killed after {timeout_s:g} s: {Path(command[0]).name}\n")
        return TIMEOUT_STATUS
    finally:
        _kill_group(process)
    return status if status >= 0 else _SIGNAL_STATUS - status


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End whatever is left of the process group, politely first, so that buffers are written."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_GRACE_S)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextlib.contextmanager
def _terminating_signals_raise() -> Iterator[None]:
    """SIGTERM and SIGHUP unwind the stack, so that the simulator does not outlive its launcher."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def unwind(number: int, frame: FrameType | None) -> None:
        raise SystemExit(_SIGNAL_STATUS + number)

    earlier = {number: signal.signal(number, unwind) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
