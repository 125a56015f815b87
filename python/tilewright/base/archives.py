"""Reads npz archives of numbers, with a bound on what they unpack to."""

from __future__ import annotations

import os
import stat
import zipfile
from io import BytesIO
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from tilewright.base.inputs import read_content

MOST_UNPACKED_BYTES = 2**30
"""The most that the arrays of an archive may take together: a small archive can unpack to any size."""


class ArchiveError(Exception):
    """An archive that cannot be read; the text says why."""


def read_archive(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an npz file by name, in the file's order.

    Raises:
        FileNotFoundError: there is no such file.
        ArchiveError: the file cannot be read, is no archive of numbers, or its arrays take more than
            MOST_UNPACKED_BYTES.
    """
    try:
        with path.open("rb") as file:
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            with zipfile.ZipFile(file if regular else BytesIO(read_content(path))) as archive:
                return _arrays(archive)
    except FileNotFoundError:
        raise
    except zipfile.BadZipFile:
        raise ArchiveError("the file is no npz archive") from None
    # Whatever a broken archive makes zipfile, zlib or NumPy raise.
    except (OSError, ValueError, EOFError, NotImplementedError, RuntimeError, SyntaxError, ArithmeticError) as error:
        raise ArchiveError(f"cannot read the arrays: {error}") from error


def _arrays(archive: zipfile.ZipFile) -> dict[str, npt.NDArray[Any]]:
    members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
    total = sum(info.file_size for info in members)
    if total > MOST_UNPACKED_BYTES:
        raise ArchiveError(f"the arrays take {total:,} bytes; at most {MOST_UNPACKED_BYTES:,} are read")
    arrays = {}
    for info in members:
        with archive.open(info) as member:
            _require_bytes(member, info)
        with archive.open(info) as member:
            array = np.lib.format.read_array(member, allow_pickle=False)
        arrays[info.filename.removesuffix(".npy")] = np.asarray(array)
    return arrays


def _require_bytes(member: IO[bytes], info: zipfile.ZipInfo) -> None:
    """Raise ArchiveError if an array's header promises more bytes than there are: NumPy would allocate them first."""
    version = np.lib.format.read_magic(member)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(member)
    if dtype.hasobject:
        raise ArchiveError(f"'{info.filename}' holds Python objects, not numbers")
    if prod(shape) * dtype.itemsize > info.file_size:
        raise ArchiveError(f"'{info.filename}' is cut off")
