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
import time
from collections.abc import Iterator, Mapping, Sequence
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

    ``args`` are appended to the simulator's command, which runs in an empty folder of its own.
    Returns the firmware's exit status, 128 + n if signal n ended the simulator, or
    TIMEOUT_STATUS after ``timeout_s`` seconds; no process of the simulator is left in any case.
    Raises bad_input if the platform names no simulator, or the simulator or the program is missing.
    """
    program = Path(elf).resolve()
    if not program.is_file():
        raise bad_input("program-missing", "there is no program to run", at=str(elf))
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        work_dir = Path(folder)
        environment = simulator_environment(platform, os.environ)
        commands = simulator_commands(platform, program, work_dir, args)
        sys.stdout.flush()
        sys.stderr.flush()
        end = time.monotonic() + timeout_s
        status = 0
        with _terminating_signals_raise():
            for command in commands:
                status = _run(command, work_dir, environment, end, timeout_s)
                if status:
                    break
        return status


def simulator_environment(platform: Platform, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of the simulator: an installation's programs and libraries come first."""
    changed = dict(environment)
    variable = platform.simulator.install_dir if platform.simulator is not None else None
    if variable is None or not changed.get(variable):
        return changed
    for name, folder in (("PATH", "bin"), ("LD_LIBRARY_PATH", "lib")):
        before = changed.get(name)
        changed[name] = os.pathsep.join([str(Path(changed[variable]) / folder), *([before] if before else [])])
    return changed


def simulator_commands(platform: Platform, elf: Path, work_dir: Path, args: Sequence[str] = ()) -> list[list[str]]:
    """The command lines, in order. Raises bad_input if there is no simulator, naming the program."""
    simulator = platform.simulator
    if simulator is None:
        what = f"platform '{platform.name}' has no [simulator]"
        raise bad_input("simulator-none", what, help="add [simulator] command to the platform file")
    path = simulator_environment(platform, os.environ).get("PATH")
    for program in simulator.programs:
        if shutil.which(program, path=path) is None:
            what = f"simulator '{program}' of platform '{platform.name}' is not installed"
            named = f", or set {simulator.install_dir} to its installation" if simulator.install_dir else ""
            raise bad_input("simulator-missing", what, help=f"install {program}, or put its folder on PATH{named}")
    lines = [words for words in (simulator.prepare, (*simulator.command, *args)) if words]
    return [[word.replace("{elf}", str(elf)).replace("{work_dir}", str(work_dir)) for word in words] for words in lines]


def _run(command: list[str], work_dir: Path, environment: Mapping[str, str], end: float, timeout_s: float) -> int:
    program = str(Path(shutil.which(command[0], path=environment.get("PATH")) or command[0]).absolute())
    try:
        process = subprocess.Popen(
            [program, *command[1:]],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            cwd=work_dir,
            env=environment,
        )
    except OSError as error:
        what = f"cannot start '{command[0]}': {error.strerror or error}"
        raise bad_input("simulator-missing", what) from error
    try:
        status = process.wait(timeout=max(0.0, end - time.monotonic()))
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
