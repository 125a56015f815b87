"""A process that has imported Tilewright and forks for each start of it: the other end of ``warm_tool.c``.

    python tests/support/warm_tool.py start <folder>    makes <folder>/python, which a process in the background serves
    python tests/support/warm_tool.py end <folder>      ends that process, and prints the CPU seconds that it took

A fork takes a hundredth of the 0.6 s of CPU that Python takes to import everything. It has folder, words,
variables and standard files of whoever asks; its exit status goes back.
"""

from __future__ import annotations

import array
import gc
import os
import resource
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

IDLE_SECONDS = 900
"""After so long without a request nobody will send another one."""

_FILES = 3
_END = b"end\0"


def serve(folder: Path, ending: int | None) -> None:
    """Answer requests until ``ending`` is readable, somebody asks for the end, or none has come for long."""
    _import_everything()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # A socket's path is at most 107 bytes long.
    os.chdir(folder)
    Path("socket").unlink(missing_ok=True)
    listener.bind("unfinished")
    listener.listen(64)
    Path("unfinished").rename("socket")
    heard = [listener, *([] if ending is None else [ending])]
    try:
        while (ready := select.select(heard, [], [], IDLE_SECONDS)[0]) and ending not in ready:
            connection, _ = listener.accept()
            with connection:
                if not _answer(connection, listener):
                    break
            _reap(os.WNOHANG)
    finally:
        Path("socket").unlink(missing_ok=True)
    _reap(0)


def _import_everything() -> None:
    """What the commands import, and what they import only when they need it."""
    import ortools.sat.python.cp_model  # noqa: F401
    import tilewright.cli
    import tilewright.importers.tflite.convert
    import tilewright.importers.tflite.reading
    import tilewright.pipeline  # noqa: F401
    from tilewright.cli.main import _modules, _parser

    _parser(_modules(()))

    gc.collect()
    gc.freeze()


def _reap(options: int) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, options)[0]:
            pass


def _answer(connection: socket.socket, listener: socket.socket) -> bool:
    """Fork for a request; False where it asks for the end."""
    _, ancillary, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(_FILES * 4))
    files = array.array("i")
    for _, _, data in ancillary:
        files.frombytes(data)
    (length,) = struct.unpack("=I", _exactly(connection, 4))
    content = _exactly(connection, length)
    if content == _END:
        _reap(0)
        taken = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        seconds = sum(item.ru_utime + item.ru_stime for item in taken)
        connection.sendall(struct.pack("=i", round(seconds * 1000)))
        return False
    if os.fork() == 0:
        listener.close()
        _run_and_exit(connection, list(files), content.split(b"\0")[:-1])
    for file in files:
        os.close(file)
    return True


def _exactly(connection: socket.socket, length: int) -> bytes:
    content = b""
    while len(content) < length:
        part = connection.recv(length - len(content))
        if not part:
            raise EOFError
        content += part
    return content


def _run_and_exit(connection: socket.socket, files: list[int], strings: list[bytes]) -> NoReturn:
    """Be the process that was asked for, and send its exit status."""
    status = 1
    try:
        folder, count, *rest = strings
        words, variables = rest[: int(count)], rest[int(count) :]
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(folder)
        os.environ.clear()
        os.environb.update(dict(variable.split(b"=", 1) for variable in variables))
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            lines = number == 2 or (number == 1 and os.isatty(1))
            at_once = "PYTHONUNBUFFERED" in os.environ
            errors = "backslashreplace" if number == 2 else "strict"
            mode = "r" if number == 0 else "w"
            stream = open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
            stream.reconfigure(line_buffering=lines, write_through=at_once)
            setattr(sys, name, stream)
        status = _run([os.fsdecode(word) for word in words])
        _join_threads()
    finally:
        connection.sendall(struct.pack("=i", status))
        os._exit(status)


def _join_threads() -> None:
    """Wait as the interpreter's end does: a pool that is shut down ends its processes in a thread of its own."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _run(words: list[str]) -> int:
    """The exit status of ``python <words>``."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    is_module = words[1] == "-m"
    first = str(Path.cwd()) if is_module else str(Path(words[1]).parent)
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [first, *filter(None, given), *sys.path[1:]]
    sys.argv[:] = words[2:] if is_module else words[1:]
    status = 0
    try:
        if is_module:
            runpy.run_module(words[2], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(words[1], run_name="__main__")
    except SystemExit as end:
        status = _status(end.code)
    except BaseException:
        traceback.print_exc()
        status = 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    return status


def _status(code: object) -> int:
    """The exit status with which Python ends after sys.exit(code)."""
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def make(folder: Path) -> Path:
    """Make the interpreter of a folder; no process listens there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "interpreter").write_text(f"{sys.executable}\n", encoding="utf-8")
    program = folder / "python"
    source = Path(__file__).with_suffix(".c")
    options = "-std=c11 -O1 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror".split()
    subprocess.run(["cc", *options, str(source), "-o", str(program)], check=True)
    return program


@contextmanager
def listening(folder: Path) -> Iterator[Path]:
    """The interpreter of a folder in which a process listens, as long as the context lasts."""
    program = make(folder)
    with subprocess.Popen([sys.executable, __file__, "listen", str(folder)], stdin=subprocess.PIPE) as process:
        _wait_for_socket(folder, process)
        yield program


def start(folder: Path) -> None:
    """Let a process listen in the background; returns when it does."""
    make(folder)
    with (folder / "messages").open("wb") as messages:
        process = subprocess.Popen(
            [sys.executable, __file__, "stay", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=messages,
            stderr=messages,
            start_new_session=True,
        )
    _wait_for_socket(folder, process)


def _wait_for_socket(folder: Path, process: subprocess.Popen[bytes]) -> None:
    while not (folder / "socket").exists():
        if process.poll() is not None:
            raise RuntimeError("the process that should listen has ended")
        time.sleep(0.02)


def end(folder: Path) -> float:
    """Ask the process that listens in a folder to end; the CPU seconds that it and its forks took."""
    os.chdir(folder)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked:
        asked.connect("socket")
        asked.sendall(b"\0" + struct.pack("=I", len(_END)) + _END)
        (milliseconds,) = struct.unpack("=i", _exactly(asked, 4))
    return float(milliseconds) / 1000


def main(action: str, folder: str) -> None:
    """Do what the words of the command line say."""
    place = Path(folder).resolve()
    if action == "end":
        sys.stdout.write(f"{end(place):.1f} s of CPU in warm starts\n")
    elif action == "start":
        start(place)
    else:
        serve(place, sys.stdin.fileno() if action == "listen" else None)


if __name__ == "__main__":
    main(*sys.argv[1:])
