"""Averages of whole windows by one product of 32 bits."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tilewright.graph import Array
from tilewright.kernels.scalar.whole_averages import Average, WholeAverage, whole_average

QUARTER = Average(taps=4, multiplier=1 << 30, left=3, shift=1, zero_point=3, limits=(-128, 127))
"""The mean of four elements of one scale: a multiplier of 2^30 * 2^3 / 2^33, and ties."""
ODD = replace(QUARTER, taps=9, zero_point=-7)
SCALED = replace(QUARTER, multiplier=1518500250, left=2, zero_point=0)


def in_c(found: WholeAverage, wanted: Average, sums: Array) -> Array:
    """What C computes with the numbers that were found."""
    values = sums * found.whole_multiplier + found.whole_addend
    assert np.abs(values).max() < 1 << 31
    rounded = values >> found.whole_shift
    if found.whole_half:
        rounded = (values + found.whole_half + (rounded & 1) >> found.whole_shift) + wanted.zero_point
    return np.clip(rounded, *wanted.limits)


def by_fractions(wanted: Average, sums: Array) -> list[int]:
    factor = Fraction(wanted.multiplier << wanted.left, wanted.taps << (32 + wanted.shift))
    low, high = wanted.limits
    return [min(max(round(int(total) * factor) + wanted.zero_point, low), high) for total in sums]


@pytest.mark.parametrize("wanted", [QUARTER, ODD, SCALED], ids=["ties", "no ties", "scaled"])
def test_all_sums_are_right(wanted: Average) -> None:
    least, most = -255 * wanted.taps, 255 * wanted.taps
    sums = np.arange(least, most + 1, dtype=np.int64)
    found = whole_average(wanted, least, most)
    assert found.whole_shift > 0
    assert (found.whole_half > 0) == (wanted is QUARTER)
    assert wanted.of(sums).tolist() == by_fractions(wanted, sums)
    assert (in_c(found, wanted, sums) == wanted.of(sums)).all()


def test_a_wrong_number_is_seen() -> None:
    sums = np.arange(-255 * 9, 255 * 9 + 1, dtype=np.int64)
    found = whole_average(ODD, int(sums[0]), int(sums[-1]))
    spoilt = replace(found, whole_multiplier=found.whole_multiplier + found.whole_multiplier // 100)
    assert (in_c(spoilt, ODD, sums) != ODD.of(sums)).any()


def test_no_numbers_are_found_where_none_are_exact() -> None:
    """Ties of six elements are no exact product, and those of half a million sums too close to one another."""
    assert whole_average(replace(QUARTER, taps=6), -255 * 6, 255 * 6) == WholeAverage()
    assert whole_average(replace(SCALED, taps=1024), -255 * 1024, 255 * 1024) == WholeAverage()
