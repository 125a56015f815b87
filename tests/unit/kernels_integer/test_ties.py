"""Where rounding half up and half to even store different results, against every sum one by one."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from random import Random

import pytest
from tilewright.kernels.ties import ties_differ


def brute_force(pair: tuple[int, int], largest: int, zero_point: int, minimum: int, maximum: int) -> bool:
    factor = Fraction(pair[0], 1 << pair[1])
    for total in range(-largest, largest + 1):
        product = total * factor
        up, even = floor(product + Fraction(1, 2)), round(product)
        stored = [min(max(value + zero_point, minimum), maximum) for value in (up, even)]
        if stored[0] != stored[1]:
            return True
    return False


def test_every_sum() -> None:
    random, found = Random(5), []
    for _ in range(3000):
        multiplier = random.choice((1, 3, 5, 9, 17, 135, 270, 1024, 4099)) * random.choice((1, -1))
        case = (multiplier << random.randint(0, 3), random.randint(0, 14)), random.randint(0, 300)
        zero_point = random.choice((-128, -3, 0, 4, 127))
        clip = zero_point, random.choice((-128, zero_point)), random.randint(max(zero_point, 0), 127)
        found.append(ties_differ(*case, *clip))
        assert found[-1] == brute_force(*case, *clip), (case, clip)
    assert 500 < sum(found) < 2500


@pytest.mark.parametrize(
    ("numerator", "largest", "clip", "differs"),
    [
        (135, 4096, (-128, -128, 127), False),  # 67.5 becomes 68 either way, -67.5 is clipped
        (135, 4096, (0, -128, 127), True),  # -67.5 becomes -67 or -68
        (133, 4096, (-128, -128, 127), True),  # 66.5 becomes 67 or 66
        (135, 3 * 4096, (-128, -128, 127), True),  # 202.5 becomes 203 or 202
        (135, 3 * 4096, (0, 0, 127), False),  # both are beyond 127
        (8300, 1 << 20, (0, -128, 127), False),  # 1037.5 is, too
    ],
)
def test_ties_that_are_clipped_away(numerator: int, largest: int, clip: tuple[int, int, int], differs: bool) -> None:
    assert ties_differ((numerator << 10, 13 + 10), largest, *clip) is differs
