"""One run at a time writes a study's table: two would each write away the rows of the other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tilewright.base.errors import bad_input
from tilewright.base.outputs import unwritable

try:
    import fcntl
except ImportError:  # where the system has no such locks, nobody is refused
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked_table(table: Path) -> Iterator[None]:
    """Hold the table while the context lasts; a run that was killed holds nothing.

    The lock is a file ``<table>.lock`` beside it, since the table itself is replaced when it is written.

    Raises:
        TilewrightError: ``study-busy`` if another run writes the table; ``cannot-write`` if the folder takes no files.
    """
    path = table.with_name(f"{table.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise unwritable(table, error) from error
    with file:
        if not _taken(file.fileno(), path):
            remedy = "wait until it has ended, or give this one another --output"
            raise bad_input("study-busy", "another run writes this table", at=str(table), help=remedy)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _taken(descriptor: int, path: Path) -> bool:
    """Take the lock, which processes that plan points do not inherit.

    The file must still be the one of that name: who held it before removed it at its end.
    """
    if fcntl is None:
        return True
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
