# SPDX-License-Identifier: Apache-2.0
"""Handwritten digits, classified by a compiled model."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

_library = ctypes.CDLL(str(Path(__file__).with_name("digits.so")))
_image = ctypes.c_float * 64


def classify(image: Sequence[float]) -> int:
    """The digit on an image of 8x8 numbers from 0 to 16, row by row."""
    return int(_library.classify(_image(*image)))
