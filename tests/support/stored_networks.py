"""Folders with ``network.onnx``, ``inputs.npz`` and ``outputs.npz``, as a corpus has them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike
from tilewright.graph import Array

Tensor = tuple[str, DTypeLike, tuple[int, ...]]
"""Name, type and shape."""


def networks_below(folder: Path) -> list[str]:
    """The folders of networks below one, by their path relative to it, in order."""
    return sorted(str(path.parent.relative_to(folder)) for path in folder.rglob("network.onnx"))


def stored(folder: Path, file: str) -> dict[str, Array]:
    """All arrays of ``inputs.npz`` or ``outputs.npz``."""
    with np.load(folder / file) as arrays:
        return dict(arrays)


def integer_types(folder: Path) -> dict[str, str]:
    """Types of inputs that hold integers, from ``types.json``; none where the stored inputs hold fractions."""
    file = folder / "types.json"
    listed: dict[str, str] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    arrays = stored(folder, "inputs.npz").values()
    return listed if all(np.array_equal(array, np.rint(array)) for array in arrays) else {}


def arrays_of(tensors: Iterable[Tensor], arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays of tensors by name if all names agree, else in order: behind some files' inputs stand weights.

    Integers that are stored as real numbers are converted.
    """
    wanted = list(tensors)
    names = [name for name, _, _ in wanted]
    keys = names if set(names) <= set(arrays) else list(arrays)[: len(names)]
    return {
        name: arrays[key].astype(dtype).reshape(shape) for (name, dtype, shape), key in zip(wanted, keys, strict=True)
    }
