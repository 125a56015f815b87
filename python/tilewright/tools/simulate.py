"""Runs a program in a platform's simulator and returns the firmware's exit status."""

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType

from tilewright.base.errors import bad_input
from tilewright.platform.types import Platform

TIMEOUT_STATUS = 124
"""Exit status of a program that did not end in time, the same as that of coreutils' ``timeout``."""

PROGRAM_FILE = "program.elf"
"""Name of the program in the simulator's folder, for firmware that reads its own file."""

_SIGNAL_STATUS = 128
_GRACE_S = 2.0

_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_Held = Callable[[], contextlib.AbstractContextManager[None]]
"""A function that makes a context; a signal that would end Tilewright waits until the context ends."""


def simulate(
    platform: Platform,
    elf: str | Path,
    timeout_s: float,
    args: Sequence[str] = (),
    heard: Callable[[str], object] | None = None,
) -> int:
    """Run ``elf`` with the platform's simulator, and pass the simulator's output on as it appears.

    ``args`` are appended to the simulator's command. The command runs in a new folder that has the
    program alone, as PROGRAM_FILE. ``heard`` is called with every line of the simulator's standard
    output, without the line's end.
    Returns the firmware's exit status, 128 + n if signal n ended the simulator, or
    TIMEOUT_STATUS after ``timeout_s`` seconds; no process of the simulator is left in any case.
    Raises bad_input if the platform names no simulator, or the simulator, its Python modules or the
    program are missing.
    """
    program = Path(elf).resolve()
    if not program.is_file():
        raise bad_input("program-missing", "there is no program to run", at=str(elf))
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        work_dir = Path(folder).resolve()
        (work_dir / PROGRAM_FILE).symlink_to(program)
        commands = simulator_commands(platform, program, work_dir, args)
        environment = with_python(platform, simulator_environment(platform, os.environ))
        sys.stdout.flush()
        sys.stderr.flush()
        end = time.monotonic() + timeout_s
        status = 0
        with _terminating_signals_raise() as held:
            for command in commands:
                status = _run(command, work_dir, environment, end, timeout_s, heard, held)
                if status:
                    break
        return status


def simulator_environment(platform: Platform, environment: Mapping[str, str]) -> dict[str, str]:
    """``environment`` with the simulator's own folders first in PATH and LD_LIBRARY_PATH, if it has an installation."""
    changed = dict(environment)
    installation = _installation(platform, environment)
    if installation is None:
        return changed
    for name, folder in (("PATH", "bin"), ("LD_LIBRARY_PATH", "lib")):
        before = changed.get(name)
        changed[name] = os.pathsep.join([str(installation / folder), *([before] if before else [])])
    return changed


def _installation(platform: Platform, environment: Mapping[str, str]) -> Path | None:
    """The folder that the variable ``install_dir`` names, else the folder above the first program's bin, or None."""
    if platform.simulator is None or platform.simulator.install_dir is None:
        return None
    named = environment.get(platform.simulator.install_dir)
    if named:
        return Path(named)
    found = [shutil.which(program, path=environment.get("PATH")) for program in platform.simulator.programs]
    return Path(found[0]).resolve().parent.parent if found and found[0] else None


def with_python(platform: Platform, environment: Mapping[str, str]) -> dict[str, str]:
    """``environment`` with the first python3 of PATH that has the simulator's modules moved to the front.

    A simulator's Python programs run with the first python3 of PATH, which may belong to a virtual
    environment without these modules. Raises bad_input ``simulator-python`` if no python3 has them.
    """
    modules = platform.simulator.python_modules if platform.simulator is not None else ()
    if not modules:
        return dict(environment)
    path = environment.get("PATH", os.defpath)
    for folder in dict.fromkeys(path.split(os.pathsep)):
        python = shutil.which("python3", path=folder) if folder else None
        if python is not None and _has_modules(python, modules, environment):
            return {**environment, "PATH": os.pathsep.join([folder, path])}
    what = f"no python3 on PATH has what the simulator of platform '{platform.name}' needs: {', '.join(modules)}"
    raise bad_input("simulator-python", what, help="put the folder of one that has them on PATH")


def _has_modules(python: str, modules: Sequence[str], environment: Mapping[str, str]) -> bool:
    command = [python, "-c", f"import {', '.join(modules)}"]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        check=False,
    )
    return done.returncode == 0


def simulator_commands(platform: Platform, elf: Path, work_dir: Path, args: Sequence[str] = ()) -> list[list[str]]:
    """The simulator's command lines, in order. Raises bad_input for no simulator or a program not installed."""
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


def _run(
    command: list[str],
    work_dir: Path,
    environment: Mapping[str, str],
    end: float,
    timeout_s: float,
    heard: Callable[[str], object] | None,
    held: _Held,
) -> int:
    process = listener = None
    try:
        with held():
            process = _started(command, work_dir, environment, listened=heard is not None)
        if heard is not None:
            # A thread reads the output, because a read has no timeout and the wait below has one.
            listener = threading.Thread(target=_pass_on, args=(process, heard), daemon=True)
            listener.start()
        status = process.wait(timeout=max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        sys.stderr.write(f"tilewright: killed after {timeout_s:g} s: {Path(command[0]).name}\n")
        return TIMEOUT_STATUS
    finally:
        with held():
            if process is not None:
                _kill_group(process)
            if listener is not None:
                listener.join(_GRACE_S)
    return status if status >= 0 else _SIGNAL_STATUS - status


def _started(
    command: list[str], work_dir: Path, environment: Mapping[str, str], *, listened: bool
) -> subprocess.Popen[bytes]:
    program = str(Path(shutil.which(command[0], path=environment.get("PATH")) or command[0]).absolute())
    try:
        return subprocess.Popen(
            [program, *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if listened else None,
            start_new_session=True,
            cwd=work_dir,
            env=environment,
        )
    except OSError as error:
        what = f"cannot start '{command[0]}': {error.strerror or error}"
        raise bad_input("simulator-missing", what) from error


def _pass_on(process: subprocess.Popen[bytes], heard: Callable[[str], object]) -> None:
    """Write the program's output to stdout, and give it line by line to ``heard``."""
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            sys.stdout.write(line.decode(errors="replace"))
            sys.stdout.flush()
            heard(line.decode(errors="replace").rstrip("\r\n"))


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End all processes of the group: SIGTERM first, so that buffers are written, then SIGKILL."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_GRACE_S)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextlib.contextmanager
def _terminating_signals_raise() -> Iterator[_Held]:
    """SIGINT, SIGTERM and SIGHUP unwind the stack, so that the simulator does not outlive its launcher.

    Within a context of ``held`` the signal waits: an exception there would forget a process that is just
    being started, or leave a process that is being ended. Blocked signals would be blocked in the simulator too.
    """
    if threading.current_thread() is not threading.main_thread():
        yield contextlib.nullcontext
        return
    depth, late = [0], list[BaseException]()

    def unwind(number: int, frame: FrameType | None) -> None:
        late.append(KeyboardInterrupt() if number == signal.SIGINT else SystemExit(_SIGNAL_STATUS + number))
        if not depth[0]:
            raise late[0]

    @contextlib.contextmanager
    def held() -> Iterator[None]:
        depth[0] += 1
        before = len(late)
        try:
            yield
        finally:
            depth[0] -= 1
        if len(late) > before:
            raise late[0]

    # A signal that is ignored (nohup ignores SIGHUP) stays ignored.
    heeded = [number for number in _ENDING_SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    earlier = {number: signal.signal(number, unwind) for number in heeded}
    try:
        yield held
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
