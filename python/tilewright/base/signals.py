"""Signals that end a command: KeyboardInterrupt, raised again until the command unwinds.

Once is not enough. Python runs a signal's handler in the main thread, between two bytecodes. In a
destructor or a callback of the garbage collector the exception is printed and forgotten; right
before a call that blocks the handler waits until that call returns. A thread beside sends the
signal to the main thread again, which ends such a call, until the command is left.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

AGAIN_SECONDS = 0.2
"""Seconds between a signal and the same signal sent again."""

_ENDING = (signal.SIGINT, signal.SIGTERM)
_STOP = 0
"""Ends the thread that sends signals again; no signal has this number."""


@contextlib.contextmanager
def ending_signals_raise() -> Iterator[None]:
    """Inside, SIGTERM and SIGINT raise KeyboardInterrupt; a signal that is ignored (by nohup, say) stays ignored.

    In another thread than the main one nothing changes: Python runs handlers of signals in the main thread only.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heeded = [number for number in _ENDING if signal.getsignal(number) != signal.SIG_IGN]
    earlier = {number: signal.signal(number, _interrupt) for number in heeded}
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    watcher = threading.Thread(target=_insist, args=(reader, threading.get_ident()), daemon=True)
    watcher.start()
    noted = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(noted)
        # Closing the pipe would not end the thread: a forked process may have it open.
        os.write(writer, bytes([_STOP]))
        watcher.join()
        for number, handler in earlier.items():
            signal.signal(number, handler)
        os.close(writer)
        os.close(reader)


def leave_signals_to_parent() -> None:
    """In a forked process: stop writing its signals to the pipe of its parent, which would take them for its own."""
    signal.set_wakeup_fd(-1)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, unless the command is unwinding already: its cleaning up must not be cut short."""
    error = sys.exc_info()[1]
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return
        error = error.__context__
    raise KeyboardInterrupt


def _insist(reader: int, main: int) -> None:
    """Send each signal that ``reader`` tells of and ``_interrupt`` handles to the main thread again and again."""
    pending: int | None = None
    while True:
        told, _, _ = select.select([reader], [], [], None if pending is None else AGAIN_SECONDS)
        if told:
            numbers = os.read(reader, 64)
            if _STOP in numbers:
                return
            # For a while other code, such as a launcher of simulators, has handlers of its own.
            ours = [number for number in numbers if signal.getsignal(number) is _interrupt]
            pending = ours[-1] if ours else pending
        elif pending is not None and signal.getsignal(pending) is _interrupt:
            signal.pthread_kill(main, pending)
