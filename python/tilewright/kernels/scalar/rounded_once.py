"""Two roundings as one, with the same results for every reachable accumulator.

Before:  rule TWICE, v = sum * m / 2^31 rounded half up, then v / 2^s rounded half away from zero
After:   rule HIGH, one product and one shift, where no channel has results on both sides of the zero point
         rule AWAY, where some channel has: as HIGH, and one less for negative accumulators

Results grow with the accumulator, so two rules agree if each result begins at the same accumulator. The accumulators
at which results above the zero point begin lie on a line, those of results below it on a parallel line a little
higher: half of what v is in, above and below. No integer addend holds that half. But a bias that is larger by d adds
d * m to the product, whose part behind the point may be any number: for some d it is next to the half. Whether it is
near enough, the first accumulators of all results tell.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array
from tilewright.kernels.requantization import Finish, Rule

_INT32_MAX = (1 << 31) - 1
_WORD = 1 << 32
_MOST_SHIFT = 21
"""The largest shift for which first accumulators fit 64 bits: 2^9 * 2^21 * 2^32."""

_TRIED = ((6, 8), (9, 32))
"""For each turn of the search, how many raises are looked at, as a power: 2^(2 * it + 1); and the nearest ones, which
are tried."""


@dataclass(frozen=True, slots=True)
class _Channels:
    """What is wanted of some channels, and the rule that is to compute it; int64[channels] where not said otherwise.

    Attributes:
        largest: the largest magnitude of the finished sum, bias included.
        shifts: of the rule.
        units: what a product grows by with the accumulator, as 2^-32.
        halves: what bias and addend must add beyond the zero point and the half that rounds, as 2^-32.
        results: int64[results], each but the lowest one.
        zero_point: one for all channels.
        first: int64[channels, results], the smallest reachable accumulator that gives each result, or a larger one.
    """

    rule: Rule
    largest: Array
    shifts: Array
    units: Array
    halves: Array
    results: Array
    zero_point: int
    first: Array

    def some(self, which: Array) -> _Channels:
        """The channels for which ``which`` is true, or whose numbers it has."""
        rest = (self.largest[which], self.shifts[which], self.units[which], self.halves[which])
        return _Channels(self.rule, *rest, self.results, self.zero_point, self.first[which])


def rounded_once(finish: Finish, largest: Array) -> Finish | None:
    """The finish with rule HIGH or AWAY instead of TWICE; None if neither gives the same results.

    Args:
        largest: int64[channels], the largest magnitude of the finished sum, bias included.
    """
    shifts = finish.rows[:, 3]
    if int(shifts.max()) > _MOST_SHIFT or int(shifts.min()) < 2:
        return None
    for rule in (Rule.HIGH, Rule.AWAY):
        channels = _wanted(finish, largest, rule)
        found = None if channels is None else _search(channels)
        if channels is None or found is None:
            continue
        raised, addends = found
        bias, last = finish.rows[:, 0] + raised, channels.shifts
        if rule is Rule.AWAY:
            last = last | raised << 8
        if int(np.abs(bias).max()) <= _INT32_MAX:
            words = np.stack([bias, channels.units, addends, last], axis=1) % _WORD
            return replace(finish, rule=rule, rows=words.astype(np.uint32).view(np.int32))
    return None


def _wanted(finish: Finish, largest: Array, rule: Rule) -> _Channels | None:
    """What rule TWICE computes; None if ``rule`` is HIGH and some channel reaches results on both sides."""
    _, doubled, addends, shifts = finish.rows.astype(np.int64).T
    units = doubled % _WORD
    zero_point = int(addends[0] - (1 << (shifts[0] - 1)) >> shifts[0])
    results = np.arange(finish.minimum, finish.maximum, dtype=np.int64) + 1
    steps = results - zero_point
    # Numbers below zero are rounded away from it: they reach one more.
    products = ((2 * steps - 1)[None, :] << (shifts - 1)[:, None]) + (steps <= 0)[None, :]
    first = _limited(_first((products << 32) - (1 << 31), units), largest)
    if rule is Rule.AWAY:
        return _Channels(rule, largest, shifts, units, np.full_like(shifts, 1 << 31), results, zero_point, first)
    reached = (first > -largest[:, None]) & (first <= largest[:, None])
    above, below = (reached[:, side].any(axis=1) for side in (steps > 0, steps <= 0))
    if bool((above & below).any()):
        return None
    halves = np.where(below, -(1 << 30), 1 << 30)
    return _Channels(rule, largest, shifts - 1, units // 2, halves, results, zero_point, first)


def _first(products: Array, units: Array) -> Array:
    """The smallest accumulators whose products, as 2^-32, are at least ``products``: int64[channels, results].

    A unit of 0 never leads to a product above 0, and always to any other.
    """
    live = (units != 0)[:, None]
    quotients = -(-products // np.where(live, units[:, None], 1))
    found: Array = np.where(live, quotients, np.where(products > 0, _WORD, -_WORD))
    return found


def _limited(first: Array, largest: Array) -> Array:
    """Accumulators, with those out of reach as the next ones beyond it."""
    limited: Array = np.clip(first, -largest[:, None], largest[:, None] + 1)
    return limited


def _search(channels: _Channels) -> tuple[Array, Array] | None:
    """By what biases are raised, and the addends, int64[channels] each; None if some channel has no such pair."""
    raised, addends = np.zeros_like(channels.shifts), np.zeros_like(channels.shifts)
    left = np.arange(len(channels.shifts))
    for power, count in _TRIED:
        nearest = _nearest(channels.some(left), power, count)
        for turn in range(count):
            some, raises = channels.some(left), nearest[:, turn]
            tried = _addends(some, raises)
            agree = _agrees(some, raises, tried)
            raised[left[agree]], addends[left[agree]] = raises[agree], tried[agree]
            left, nearest = left[~agree], nearest[~agree]
            if not len(left):
                return raised, addends
    return None


def _nearest(channels: _Channels, power: int, count: int) -> Array:
    """The ``count`` raises whose products come nearest to the halves, nearest first, int64[channels, count].

    A raise is i + 2^power * j. For each j the i is looked up whose product brings that of j next to the half.
    """
    size = 1 << power
    rows = np.arange(len(channels.units))[:, None]
    parts = np.arange(size) * channels.units[:, None] % _WORD
    order = parts.argsort(axis=1, kind="stable")
    parts = np.take_along_axis(parts, order, axis=1)
    larger = np.arange(-size, size) << power
    rest = (channels.halves[:, None] - larger * channels.units[:, None]) % _WORD
    # One search for all channels: the products of each lie in a range of their own.
    apart = 2 * _WORD * rows
    found = np.searchsorted((parts + apart).ravel(), (rest + apart).ravel()).reshape(rest.shape) - size * rows
    places = np.concatenate([found % size, (found - 1) % size], axis=1)
    errors = np.take_along_axis(parts, places, axis=1) - np.concatenate([rest, rest], axis=1)
    errors = np.abs((errors + _WORD // 2) % _WORD - _WORD // 2)
    raises = np.take_along_axis(order, places, axis=1) + np.concatenate([larger, larger])
    nearest: Array = np.take_along_axis(raises, errors.argsort(axis=1, kind="stable")[:, :count], axis=1)
    return nearest


def _addends(channels: _Channels, raised: Array) -> Array:
    """The addends for biases that are raised so, int64[channels]."""
    whole = (2 * channels.zero_point + 1) << (channels.shifts - 1)
    rest = channels.halves - raised * channels.units
    addends: Array = whole + ((rest + _WORD // 2) >> 32)
    return addends


def _agrees(channels: _Channels, raised: Array, addends: Array) -> Array:
    """Whether all results begin where they should, and 32 bits suffice, bool[channels]."""
    units = channels.units
    products = (channels.results[None, :] << channels.shifts[:, None]) - addends[:, None]
    offset = (raised * units)[:, None]
    first = _first((products << 32) - offset, units)
    if channels.rule is Rule.AWAY:
        # Negative accumulators have to reach one more.
        negative = _first((products + 1 << 32) - offset, units)
        first = np.where(negative < 0, negative, np.maximum(first, 0))
    reach = channels.largest + np.abs(raised)
    fits = (reach <= _INT32_MAX) & ((reach * (units >> 1) >> 31) + 2 + np.abs(addends) <= _INT32_MAX)
    agrees: Array = fits & (_limited(first, channels.largest) == channels.first).all(axis=1)
    return agrees
