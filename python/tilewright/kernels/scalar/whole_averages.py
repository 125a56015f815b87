"""Averages of whole windows by one product, an addend and a shift in 32 bits (runtime/kernels/pool_integer.c).

Before:  y = round(sum * 0.37 / 4) + 3, limited, with a product of 64 bits and a division
After:   y = (sum * 3103785 + 117440511) >> 25, limited: equal for all sums of four elements of int8
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.scalar.add_products import LARGEST, NEAR, fitting_addend, fitting_shift

_MOST_SUMS = 1 << 17
"""Of more different sums, no multiplier of 32 bits is exact enough."""


@dataclass(frozen=True, slots=True)
class Average:
    """What average_pool_integer computes of a sum: round half even of (sum << left) * multiplier / 2^(32 + shift) /
    taps, + zero point, limited.
    """

    taps: int
    multiplier: int
    left: int
    shift: int
    zero_point: int
    limits: tuple[int, int]

    def of(self, sums: Array) -> Array:
        """The elements of y for sums, int64."""
        bits = 32 + self.shift
        product = (sums << self.left) * self.multiplier
        quotient, remainder = np.divmod(product >> bits, self.taps)
        # The fraction is (remainder + low / 2^bits) / taps, and low is below 2^bits.
        low, twice = product & ((1 << bits) - 1), 2 * remainder - self.taps
        half = np.where(twice == 0, 0, 1 << (bits - 1))
        above = (twice > 0) | ((twice >= -1) & (low > half))
        is_tie = (twice <= 0) & (twice >= -1) & (low == half)
        rounded = quotient + above + (is_tie & (quotient & 1 == 1))
        limited: Array = np.clip(rounded + self.zero_point, *self.limits)
        return limited


@dataclass(frozen=True, slots=True)
class WholeAverage(CStruct):
    """y = limit((sum * multiplier + addend) >> shift). With ``half``, by which ties go to the even neighbour, y =
    limit(((v + half + the lowest bit of v >> shift) >> shift) + zero point), v = sum * multiplier.
    """

    whole_multiplier: Int32 = 0
    whole_addend: Int32 = 0
    whole_shift: Annotated[Int32, "0: there are no such numbers"] = 0
    whole_half: Int32 = 0


def whole_average(wanted: Average, least: int, most: int) -> WholeAverage:
    """What gives ``wanted`` in C for all sums from ``least`` to ``most``; the default if nothing does."""
    if most - least >= _MOST_SUMS:
        return WholeAverage()
    sums = np.arange(least, most + 1, dtype=np.int64)
    found = wanted.of(sums)
    factor = float(wanted.multiplier) * 2.0 ** (wanted.left - 32 - wanted.shift) / wanted.taps
    reach = max(-least, most) * factor + abs(wanted.zero_point) + 1.0
    return _without_ties(wanted, sums, found, factor, reach) or _with_ties(wanted, sums, found, factor, reach)


def _without_ties(wanted: Average, sums: Array, found: Array, factor: float, reach: float) -> WholeAverage | None:
    shift = fitting_shift(reach)
    for near in NEAR:
        multiplier = round(factor * 2.0**shift) + near
        addend = fitting_addend(sums * multiplier, found, shift, wanted.limits)
        if addend is not None and shift > 0:
            return WholeAverage(multiplier, addend, shift)
    return None


def _with_ties(wanted: Average, sums: Array, found: Array, factor: float, reach: float) -> WholeAverage:
    """Where the factor is exact in few bits, as that of 4 elements of one scale is."""
    shift = next((bits for bits in range(2, 16) if factor * 2.0**bits % 1.0 == 0.0), 0)
    if shift == 0 or reach * 2.0 ** (shift + 1) > LARGEST:
        return WholeAverage()
    multiplier, half = round(factor * 2.0**shift), (1 << (shift - 1)) - 1
    values = sums * multiplier
    rounded = np.clip((values + half + (values >> shift & 1) >> shift) + wanted.zero_point, *wanted.limits)
    return WholeAverage(multiplier, 0, shift, half) if (rounded == found).all() else WholeAverage()
