"""Logistic and tanh of int16 by LiteRT's table of 256 values of the logistic function."""

from __future__ import annotations

import numpy as np

from tilewright.graph import Array

_RAISED = (
    *(4, 8, 12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31, 33, 34, 35, 37, 39, 40, 41, 43, 44, 45),
    *(46, 49, 50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255),
)
"""Positions at which LiteRT's table is one above the rounded value."""


def sigmoid_table() -> Array:
    """logistic(i / 24) * 2^16 for i from 0 to 255, uint16[256]."""
    values = np.floor(65536.0 / (1.0 + np.exp(-np.arange(256) / 24.0)) + 0.5)
    values[list(_RAISED)] += 1
    return np.minimum(values, 65535).astype(np.uint16)


def logistic_halves(x: Array, multiplier: int, shift: int) -> Array:
    """logistic(x * multiplier / 2^shift / 3 / 2^12) as Q0.15; x int64 that holds int16."""
    scaled = _scaled(x, multiplier, shift)
    size = np.abs(scaled)
    at = size >> 9
    table = sigmoid_table().astype(np.int64)
    below, above = table[np.minimum(at, 254)], table[np.minimum(at, 254) + 1]
    result = np.where(at >= 255, 0x7FFF << 10, (below << 9) + (size & 0x1FF) * (above - below))
    mirrored = (1 << 25) - result + (1 << 9) - 1
    halves: Array = np.where(scaled >= 0, result + (1 << 9), mirrored) >> 10
    return halves


def tanh_halves(x: Array, multiplier: int, shift: int) -> Array:
    """tanh(x * multiplier / 2^shift / 3 / 2^12) as Q0.15; x int64 that holds int16."""
    scaled = _scaled(x, multiplier, shift)
    size = np.abs(scaled)
    at = size >> 8
    table = sigmoid_table().astype(np.int64)
    below, above = table[np.minimum(at, 254)], table[np.minimum(at, 254) + 1]
    result = np.where(at >= 255, 0xFFFF << 8, (below << 8) + (size & 0xFF) * (above - below))
    mirrored = -result + (1 << 23) + (1 << 7) - 1
    halves: Array = np.where(scaled >= 0, result - (1 << 23) + (1 << 7), mirrored) >> 8
    return halves


def _scaled(x: Array, multiplier: int, shift: int) -> Array:
    half = 1 << (shift - 1) if shift > 0 else 0
    scaled: Array = (x * multiplier + half) >> shift
    return scaled
