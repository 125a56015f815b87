"""Ties of requantised sums: products with the multiplier that lie exactly between two integers."""

from __future__ import annotations


def ties_differ(pair: tuple[int, int], largest: int, zero_point: int, minimum: int, maximum: int) -> bool:
    """Whether half up and half to even give different results for a sum of magnitude ``largest`` or less.

    A tie is acc * m = odd * 2^(s-1). With v trailing zeros of m, acc is then an odd multiple of 2^(s-1-v), and the
    product, in units of 2^(s-1), an odd multiple of m / 2^v. Results are clipped: few of these multiples are left.

    Example: m / 2^s = 135 / 2^13, acc = 4096 * k. The product 67.5 rounds to 68 either way, and -67.5 to -67 or -68,
    which a Relu clips to 0; 202.5 is beyond 127, as all others are.

    Args:
        pair: (m, s) of the multiplier m / 2^s.
        zero_point, minimum, maximum: the result is clip(rounded + zero_point, minimum, maximum).
    """
    multiplier, shift = pair
    zeros = (multiplier & -multiplier).bit_length() - 1
    if multiplier == 0 or zeros >= shift:
        return False
    least, factor = 1 << (shift - 1 - zeros), abs(multiplier) >> zeros
    beyond = 2 * max(abs(minimum - zero_point), abs(maximum - zero_point)) + 2
    multiples = range(1, min(largest // least, beyond // factor) + 1, 2)
    halves = [sign * count * factor for count in multiples for sign in (1, -1)]
    return any(
        _clipped(up, zero_point, minimum, maximum) != _clipped(up - up % 2, zero_point, minimum, maximum)
        for up in ((half + 1) // 2 for half in halves)
    )


def _clipped(rounded: int, zero_point: int, minimum: int, maximum: int) -> int:
    return min(max(rounded + zero_point, minimum), maximum)
