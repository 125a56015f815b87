"""Tells model files apart by their first bytes, and says what to do with those that are no model."""

from __future__ import annotations

import stat
from enum import Enum
from pathlib import Path

from tilewright.base.errors import bad_input
from tilewright.importers.tflite.schema import IDENTIFIER

_HEAD_BYTES = 512


class FileKind(Enum):
    """The formats that are read."""

    ONNX = "onnx"
    LITE = "tflite"


def kind_of(path: Path) -> FileKind:
    """The format of a model file; ONNX, which has no identifier, where no other format is recognised.

    A file that cannot be read counts as ONNX too: its reader says why.

    Raises:
        TilewrightError (bad input): a file of a kind that is often taken for a model.
    """
    head = _head(path)
    if head[4:8] == IDENTIFIER:
        return FileKind.LITE
    if head.startswith(b"version https://git-lfs"):
        _refuse(path, "a Git LFS pointer, not the model itself", "git lfs pull")
    if head.lstrip().lower().startswith((b"<!doctype html", b"<html")):
        _refuse(path, "a web page", "download the file itself, not the page that shows it")
    if head.startswith(b"PK\x03\x04"):
        what = "a zip archive, as PyTorch saves models (.pt, .pth) and Keras (.keras)"
        _refuse(path, what, "export it: torch.onnx.export, or tf.lite.TFLiteConverter")
    if head.startswith(b"\x89HDF\r\n"):
        _refuse(path, "an HDF5 file, as Keras saves models (.h5)", "convert it: tf.lite.TFLiteConverter")
    return FileKind.ONNX


def _head(path: Path) -> bytes:
    """The first bytes of a regular file; none of any other."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return b""
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError:
        return b""


def _refuse(path: Path, what: str, help: str) -> None:
    raise bad_input("model-format", f"the file is {what}", at=str(path), help=help)
