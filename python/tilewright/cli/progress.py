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
"""Whose terminal shows the bar: that of our standard error, of our caller's, who may capture ours, or nobody's."""


@contextmanager
def shown_progress(place: str = "own") -> Iterator[None]:
    """Show a bar while stages run, if there is a terminal that can move its cursor."""
    with ExitStack() as stack:
        terminal = None if place == "none" or os.environ.get("TERM") == "dumb" else _terminal(place, stack)
        if terminal is not None:
            stack.enter_context(_drawn_on(terminal))
        yield


def _terminal(place: str, stack: ExitStack) -> TextIO | None:
    """Standard error if it is a terminal; for a caller the terminal to which it has its own, where the system tells."""
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
    """One line, for the stage of the moment; wiped when the stage is done, or all is."""

    def __init__(self, terminal: TextIO) -> None:
        super().__init__(logging.DEBUG)
        self._terminal = terminal
        self._stage = ""
        self._bar: Any = None

    def emit(self, record: logging.LogRecord) -> None:
        """Called by logging."""
        facts = record.__dict__
        if self._bar is None or facts["stage"] != self._stage:
            self._begin(facts["stage"], facts["total"])
        self._bar.update(facts["done"] - self._bar.n)
        self._bar.refresh()
        if facts["done"] >= facts["total"]:
            # What the command prints behind its last stage has the line for itself.
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
        # A terminal that does not know its size, as a pipe in between, says 0.
        columns = os.get_terminal_size(self._terminal.fileno()).columns or 80
        self._bar = tqdm(
            total=total, desc=stage, file=self._terminal, leave=False, bar_format=form, ncols=columns, nrows=20
        )
