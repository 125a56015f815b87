"""References of the Deeploy dialect against the same rules, element by element on Python's integers."""

from __future__ import annotations

from math import isqrt

import numpy as np
import pytest
from support.single_node import random_array, run, single_node


def toward_zero(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def low_byte(value: int) -> int:
    return (value + 128) % 256 - 128


def layer_norm(x: list[int], w: list[int], b: list[int], shift: int) -> list[int]:
    mean = toward_zero(sum(x), len(x))
    centred = [value - mean for value in x]
    deviation = isqrt(toward_zero(sum(c * c for c in centred), len(x)) + 1)
    return [low_byte((toward_zero(c * v, deviation) + a) >> shift) for c, v, a in zip(centred, w, b, strict=True)]


def rms_norm(x: list[int], w: list[int], shift: int) -> list[int]:
    deviation = isqrt(toward_zero(sum(value * value for value in x), len(x)) + 1)
    return [min(max(toward_zero(a * v, deviation) >> shift, -128), 127) for a, v in zip(x, w, strict=True)]


def soft_max(x: list[int], a: int, b: int, c: int, log2: int, levels: int) -> list[int]:
    powers = []
    for value in x:
        below = value - max(x)
        halvings = min(max(-toward_zero(below, log2), 0), 31)
        rest = below + halvings * log2
        powers.append((a * (rest + b) ** 2 + c) >> halvings)
    return [power * (levels - 1) // sum(powers) for power in powers]


def ita_max(x: list[int], levels: int) -> list[int]:
    shifts = [(max(x) - value + 16) >> 5 for value in x]
    inverse = (levels - 1) * 256 // sum(256 >> shift for shift in shifts)
    return [inverse >> shift for shift in shifts]


def ita_partial_max(x: list[int], group: int, levels: int) -> list[int]:
    largest, total = -128, 0
    for first in range(0, len(x), group):
        part = x[first : first + group]
        if max(part) > largest:
            total >>= (max(part) - largest + 16) >> 5
            largest = max(part)
        total += sum(256 >> ((largest - value + 16) >> 5) for value in part)
    inverse = (levels // 2 - 1) * 256 // total
    return [inverse >> ((largest - value + 16) >> 5) for value in x]


def rows(x: np.ndarray) -> list[list[int]]:
    return [[int(value) for value in row] for row in x.reshape(-1, x.shape[-1])]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_norms(dtype: str) -> None:
    x = random_array(1, (3, 4, 23), dtype)
    w = np.random.default_rng(2).integers(-300_000, 300_000, 23).astype(np.int32)
    b = np.random.default_rng(3).integers(-90_000, 90_000, 23).astype(np.int32)
    arrays = [x, w, b]
    got = run(single_node("iLayerNorm", arrays, {"shift": 14}, x.shape, "int8"), arrays)
    assert rows(got) == [layer_norm(row, w.tolist(), b.tolist(), 14) for row in rows(x)]
    arrays = [x, w]
    got = run(single_node("iRMSNorm", arrays, {"shift": 12}, x.shape, "int8"), arrays)
    assert rows(got) == [rms_norm(row, w.tolist(), 12) for row in rows(x)]


def test_no_norm_wraps() -> None:
    x, w = random_array(1, (3, 8), "int8"), random_array(2, (3, 8), "int8")
    b = np.arange(-4, 4).astype(np.int32) * 900
    arrays = [x, w, b]
    got = run(single_node("iNoNorm", arrays, {"multiplier": 425, "shift": 14}, x.shape, "int8"), arrays)
    exact = ((x.astype(int) * w + b) * 425) >> 14
    assert np.abs(exact).max() > 128
    np.testing.assert_array_equal(got, np.vectorize(low_byte)(exact))


@pytest.mark.parametrize("levels", [256, 64])
def test_probabilities(levels: int) -> None:
    x = random_array(4, (2, 3, 32), "int8")
    coefficients = {"a": 1, "b": 68, "c": 2418, "log2": 50}
    got = run(single_node("iSoftmax", [x], {**coefficients, "levels": levels}, x.shape, "uint8"), [x])
    assert rows(got) == [soft_max(row, **coefficients, levels=levels) for row in rows(x)]
    got = run(single_node("ITAMax", [x], {"levels": levels}, x.shape, "uint8"), [x])
    assert rows(got) == [ita_max(row, levels) for row in rows(x)]
    got = run(single_node("ITAPartialMax", [x], {"levels": levels, "group": 8}, x.shape, "uint8"), [x])
    assert rows(got) == [ita_partial_max(row, 8, levels) for row in rows(x)]


@pytest.mark.parametrize("count", [8, 5])
def test_means_round_halves(count: int) -> None:
    """Up for a power of two, else away from zero."""
    x = np.stack([np.full(count, 0), np.arange(count) - 4, -np.arange(count)]).astype(np.int8)
    x[0, 0] = -count // 2
    got = run(single_node("IntegerMean", [x], {"axes": (1,), "keepdims": False}, (3,), "int8"), [x])
    sums = [int(value) for value in x.astype(int).sum(axis=1)]
    if count == 8:
        assert got.tolist() == [(value + 4) >> 3 for value in sums]
    else:
        assert got.tolist() == [toward_zero(value + (2 if value >= 0 else -2), 5) for value in sums]


def test_sums() -> None:
    x = random_array(5, (2, 3, 4, 5), "uint8")
    got = run(single_node("IntegerSum", [x], {"axes": (1, 3), "keepdims": True}, (2, 1, 4, 1), "int32"), [x])
    np.testing.assert_array_equal(got, x.astype(int).sum(axis=(1, 3), keepdims=True))


def test_quotients() -> None:
    a, b = random_array(6, (4, 6), "int8"), random_array(7, (4, 1), "uint8")
    b[0] = 0
    attributes = {"numerator": 16384 * 2000, "eta": 2000, "epsilon": 0}
    got = run(single_node("IntegerDiv", [a, b], attributes, a.shape, "int32"), [a, b])
    for (row, column), value in np.ndenumerate(a):
        divisor = 2000 * int(b[row, 0])
        dividend = 16384 * 2000 * int(value)
        half = divisor // 2 if dividend >= 0 else -(divisor // 2)
        assert got[row, column] == (toward_zero(dividend + half, divisor) if divisor else 0)


def test_rounding_down_would_be_noticed() -> None:
    """The sum of a row is negative and no multiple of its length: its mean differs by one."""
    x = np.asarray([[-3, -3, -3, -4]], np.int8)
    w, b = np.full(4, 1 << 16, np.int32), np.zeros(4, np.int32)
    got = run(single_node("iLayerNorm", [x, w, b], {"shift": 16}, x.shape, "int8"), [x, w, b])
    down = [value - sum(x[0].tolist()) // 4 for value in x[0].tolist()]
    assert got[0].tolist() == [0, 0, 0, -1]
    assert got[0].tolist() != down
