"""Processes that run one case after the other, and what is told of a case that ends one of them."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

MOST_SECONDS = 10
"""Processor time of one case."""

MOST_BYTES = 1 << 30
"""Resident memory of one case, what the process had before left out."""

LONGEST_SECONDS = 180
"""Time of one case on the clock: one that waits for something takes no processor time."""

_LOOK_SECONDS = 2
_SAFETY_BYTES = 6 << 30
_STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Ended:
    """What became of a case: the answer of the work, or how its process ended."""

    number: int
    answer: object = None
    problem: str = ""
    seconds: float = 0.0
    bytes_used: int = 0


Work = Callable[[int], object]


def run_all(work: Work, numbers: Sequence[int], processes: int) -> Iterator[Ended]:
    """The end of each case, in the order in which they end; a hanging or dying process is replaced."""
    waiting = list(reversed(numbers))
    running: list[_Worker] = []
    try:
        for _ in range(min(processes, len(waiting))):
            running.append(_Worker(work, running))
            running[-1].begin(waiting.pop())
        while running:
            ready = wait([worker.pipe for worker in running], timeout=_LOOK_SECONDS)
            for worker in [one for one in running if one.pipe in ready or one.is_late()]:
                yield worker.end(stuck=worker.pipe not in ready)
                if waiting:
                    worker.begin(waiting.pop())
                else:
                    running.remove(worker)
                    worker.stop()
    finally:
        for worker in running:
            worker.stop()


class _Worker:
    """A process with a pipe; it is started again after a case that ended it."""

    def __init__(self, work: Work, others: Sequence[_Worker]) -> None:
        self._work = work
        self._others = others
        self._number = -1
        self._began = 0.0
        self._process: BaseProcess
        self.pipe: Connection
        self._start()

    def begin(self, number: int) -> None:
        self._number = number
        self._began = time.monotonic()
        self.pipe.send(number)

    def is_late(self) -> bool:
        return time.monotonic() - self._began > LONGEST_SECONDS

    def end(self, *, stuck: bool) -> Ended:
        if not stuck:
            try:
                ended: Ended = self.pipe.recv()
                return ended
            except (EOFError, OSError):
                pass
        elif self._process.pid is not None:
            os.kill(
                self._process.pid, signal.SIGABRT
            )  # the process prints its stack: nothing else says what the process waits for
        self.stop()
        code = self._process.exitcode or 0
        self._start()
        return Ended(self._number, problem=_how_it_ended(code, stuck=stuck))

    def stop(self) -> None:
        self.pipe.close()
        self._process.join(timeout=1)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, other = context.Pipe()
        # A forked process has our ends too; while one of them is open, no closed pipe is noticed.
        ours = [self.pipe, *(worker.pipe for worker in self._others if worker is not self)]
        self._process = context.Process(target=_serve, args=(self._work, other, ours), daemon=True)
        self._process.start()
        other.close()


def _how_it_ended(code: int, *, stuck: bool) -> str:
    if stuck:
        return f"waits: no end within {LONGEST_SECONDS} s on the clock"
    if code in (-signal.SIGPROF, -signal.SIGKILL):
        return f"still at work after {MOST_SECONDS} s"
    return f"ended by signal {-code}"


def _serve(work: Work, pipe: Connection, ours: Sequence[Connection]) -> None:
    for connection in ours:
        if not connection.closed:
            connection.close()
    resource.setrlimit(resource.RLIMIT_DATA, (_SAFETY_BYTES, _SAFETY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    faulthandler.enable(2)
    while True:
        try:
            number = pipe.recv()
        except EOFError:
            os._exit(0)
        pipe.send(_measured(work, number))


def _measured(work: Work, number: int) -> Ended:
    """The case with its processor time and memory; over the time the process is ended by a signal."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = _resident("VmRSS")
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    try:
        answer = work(number)
    finally:
        left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
    used = _resident("VmHWM") - before
    problem = f"took {used >> 20} MiB" if used > MOST_BYTES else ""
    return Ended(number, answer, problem, MOST_SECONDS - left, used)


def _resident(key: str) -> int:
    """The size in bytes that a line of /proc/<pid>/status gives."""
    for line in _STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) << 10
    raise LookupError(key)
