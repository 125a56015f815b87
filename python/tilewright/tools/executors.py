"""Where the points of a study are planned: processes of this machine, a Dask cluster, or any executor.

Each is a context that gives a function without arguments, which starts an executor.
"""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from tilewright.base.errors import bad_input
from tilewright.base.own_code import CannotImport, own_object
from tilewright.base.progress import LOGGER
from tilewright.base.signals import leave_signals_to_parent


def jobs_of(given: int | None) -> int:
    """Processes to start: as given, or one for each core. Raises bad_input for a number below 1."""
    if given is not None and given < 1:
        raise bad_input("usage", "--jobs must be above 0")
    return given or os.cpu_count() or 1


@contextmanager
def processes(count: int) -> Iterator[Callable[[], Executor]]:
    """Processes of this machine."""
    yield lambda: ProcessPoolExecutor(count, initializer=_silent)


def _silent() -> None:
    """In a process of the pool: leave the progress bar and the signals, which a fork inherits, to the parent."""
    leave_signals_to_parent()
    logging.getLogger(LOGGER).disabled = True


@contextmanager
def dask_cluster(address: str) -> Iterator[Callable[[], Executor]]:
    """A Dask cluster by the address of its scheduler, such as ``tcp://10.0.0.1:8786``.

    Workers need Tilewright, and models and platform files at the same paths. Raises bad_input where Dask is not
    installed, or no scheduler answers.
    """
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError as error:
        what = "--scheduler needs the package distributed"
        raise bad_input("no-dask", what, help="pip install distributed") from error
    try:
        client = distributed.Client(address)
    except (OSError, ValueError) as error:
        raise bad_input("no-scheduler", f"no scheduler answers at '{address}': {error}", at="--scheduler") from error
    try:
        yield lambda: _executor(client.get_executor(pure=False))
    finally:
        client.close()


def _executor(found: Any) -> Executor:
    """Dask's executor behaves as one of concurrent.futures, but is none by its class."""
    executor: Executor = found
    return executor


@contextmanager
def named_executor(name: str) -> Iterator[Callable[[], Executor]]:
    """The executor that ``module:callable`` returns; the callable is called, without arguments, for each one started.

    Raises bad_input for a name that leads nowhere, and where the callable gives no executor.
    """
    try:
        found = own_object(name)
    except CannotImport as error:
        what = f"'{name}' is no <module>:<callable>: {error}"
        raise bad_input("unknown-executor", what, at="--executor") from error
    yield lambda: _called(name, found)


def _called(name: str, found: Any) -> Executor:
    """The executor that the callable returns: any object with ``submit`` and ``shutdown``, whatever its class."""
    try:
        executor = found()
    except Exception as error:  # the user's own code may raise anything
        what = f"'{name}' gives no executor: {type(error).__name__}: {error}"
        raise bad_input("unknown-executor", what, at="--executor") from error
    if not (hasattr(executor, "submit") and hasattr(executor, "shutdown")):
        what = f"'{name}' gives no executor: it has no submit and shutdown"
        raise bad_input("unknown-executor", what, at="--executor")
    return _executor(executor)
