"""Reads files whole, and a bounded number of bytes from pipes and devices."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MOST_STREAM_BYTES = 64 * 2**20
"""The most that is read from anything but a regular file: ``/dev/zero`` never ends."""


def read_content(path: Path) -> bytes:
    """The bytes of a regular file, or of a pipe or device that ends within MOST_STREAM_BYTES.

    Raises OSError for what cannot be read, and for a pipe or device that gives more.
    """
    with path.open("rb") as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file.read()
        content = file.read(MOST_STREAM_BYTES + 1)
    if len(content) > MOST_STREAM_BYTES:
        raise OSError(errno.EFBIG, f"it is no regular file and gives more than {MOST_STREAM_BYTES:,} bytes", str(path))
    return content


def read_utf8(path: Path) -> str:
    """``read_content`` as UTF-8 text with lines that end in a line feed. Raises OSError, UnicodeDecodeError."""
    return read_content(path).decode("utf-8").replace("\r\n", "\n")
