"""A progress bar on a terminal, drawn from the records of ``tilewright.base.progress``."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO

from tilewright.base.progress import LOGGER

PLACES = ("own", "caller", "none")
"""Whose terminal shows the bar: ``own`` is the one on which this process writes its standard error, ``caller`` that of
the process that started this one (CMake, say, which captures what this one writes); ``none`` shows no bar."""


@contextmanager
def shown_progress(place: str = "own") -> Iterator[None]:
    """Show a bar while stages run, if ``place`` (one of PLACES) has a terminal that can move its cursor."""
    with ExitStack() as stack:
        terminal = None if place == "none" or os.environ.get("TERM") == "dumb" else _terminal(place, stack)
        if terminal is not None:
            stack.enter_context(_drawn_on(terminal))
        yield


def _terminal(place: str, stack: ExitStack) -> TextIO | None:
    """The terminal behind the standard error of this process (``own``) or of the process that started it (``caller``).

    None where standard error is no terminal, or the system does not tell (``caller`` needs Linux' /proc). A terminal
    that is opened here is closed by ``stack``.
    """
    if place == "own":
        return sys.stderr if sys.stderr.isatty() else None
    try:
        path = Path(f"/proc/{os.getppid()}/fd/2").resolve(strict=True)
        terminal = stack.enter_context(path.open("w", encoding="utf-8")) if path.is_char_device() else None
    except OSError:
        return None
    return terminal if terminal is not None and terminal.isatty() else None


@contextmanager
def _drawn_on(terminal: TextIO) -> Iterator[None]:
    logger = logging.getLogger(LOGGER)
    handler = _Bar(terminal)
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]
        handler.close()


class _Bar(logging.Handler):
    """A bar on one line for the stage that runs; the line is wiped when the stage ends, or the command does."""

    def __init__(self, terminal: TextIO) -> None:
        super().__init__(logging.DEBUG)
        self._terminal = terminal
        self._stage = ""
        self._bar: Any = None

    def emit(self, record: logging.LogRecord) -> None:
        """Move the bar to what a record of ``tilewright.base.progress`` says: stage, steps done, steps in all."""
        facts = record.__dict__
        if self._bar is None or facts["stage"] != self._stage:
            self._begin(facts["stage"], facts["total"])
        self._bar.update(facts["done"] - self._bar.n)
        self._bar.refresh()
        if facts["done"] >= facts["total"]:
            # The command may print its result next, on this line.
            self._wipe()

    def close(self) -> None:
        """Wipe the line."""
        self._wipe()
        super().close()

    def _wipe(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _begin(self, stage: str, total: int) -> None:
        from tqdm import tqdm

        self._wipe()
        self._stage = stage
        form = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}]"
        # Pseudo-terminals whose size was never set have 0 columns.
        columns = os.get_terminal_size(self._terminal.fileno()).columns or 80
        self._bar = tqdm(
            total=total, desc=stage, file=self._terminal, leave=False, bar_format=form, ncols=columns, nrows=20
        )
