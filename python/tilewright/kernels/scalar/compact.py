"""Rows of constants no longer than their rule needs, for kernels with a row for each channel.

Before:  rule SHIFT, rows {bias, multiplier, addend, shift}
After:   rule FOLDED, rows {multiplier, addend + bias * multiplier}, the shift an attribute
Before:  rule HIGH, rows {bias, multiplier, addend, shift}
After:   rule LAYER, rows {bias, multiplier}, addend and shift attributes, if one shift gives the same
         results for every reachable accumulator of every channel
Before:  rule TWICE
After:   rule HIGH or AWAY, if one rounding gives the same results (rounded_once.py)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.graph import Array
from tilewright.kernels.requantization import WORDS, Finish, Rule
from tilewright.kernels.scalar.rounded_once import rounded_once

_INT32_MAX = (1 << 31) - 1
_LARGEST_SHIFT = 52
"""The largest shift for which thresholds fit 64 bits: 2^10 * 2^52."""


def compact(finish: Finish, largest: Array) -> Finish:
    """The finish with the cheapest rule and rows that give the same results for every reachable accumulator.

    Args:
        largest: int64[channels], the largest magnitude of the finished sum, bias included.
    """
    if finish.rule is Rule.NONE:
        return replace(finish, rows=np.ascontiguousarray(finish.rows[:, : WORDS[Rule.NONE]]))
    if finish.rule is Rule.RESCALE:
        return replace(finish, rows=np.ascontiguousarray(finish.rows[:, : WORDS[Rule.RESCALE]]))
    if finish.rule is Rule.SHIFT:
        return _folded(finish)
    if finish.rule in (Rule.HIGH, Rule.EVEN):
        return _of_layer(finish, largest) or finish
    if finish.rule is Rule.TWICE:
        return rounded_once(finish, largest) or finish
    return finish


def _folded(finish: Finish) -> Finish:
    """Rule FOLDED. Addends may wrap around in 32 bits, since the finished value fits 32 bits."""
    bias, multiplier, addend, shift = finish.rows.astype(np.int64).T
    folded = (addend + bias * multiplier) & 0xFFFFFFFF
    rows = np.stack([multiplier.astype(np.int32), folded.astype(np.uint32).view(np.int32)], axis=1)
    return replace(finish, rule=Rule.FOLDED, rows=np.ascontiguousarray(rows), shift=int(shift[0]))


def _of_layer(finish: Finish, largest: Array) -> Finish | None:
    """Rule LAYER or LAYER_EVEN; None if one shift is not exact for all channels."""
    bias, multipliers, addends, words = finish.rows.astype(np.int64).T
    right, left = words & 31, words >> 8 & 31
    shifts = right - left + 32
    zero_point = int(addends[0] - (1 << (right[0] - 1)) >> right[0])
    live = multipliers != 0
    if (multipliers < 0).any() or not live.any() or shifts.max() > _LARGEST_SHIFT:
        return None
    shift = int(shifts[live].min())
    steps = np.arange(finish.minimum - zero_point, finish.maximum - zero_point, dtype=np.int64)
    wanted = _thresholds(np.where(live, multipliers, 1), shifts, steps, even=True)
    reachable = (np.abs(wanted) <= largest[:, None] + 1) & live[:, None]
    nearest = np.where(live, _rounded(multipliers, shifts - shift), 0)
    for rule in (Rule.LAYER, Rule.LAYER_EVEN):
        constants = _constants(rule, shift, zero_point)
        if constants is None or not _fits(nearest, constants, largest):
            continue
        even = rule is Rule.LAYER_EVEN
        got = _thresholds(np.maximum(nearest, 1), np.full_like(shifts, shift), steps, even=even)
        if bool((got == wanted)[reachable].all()) and bool(_stays_out(got, wanted, largest, live).all()):
            rows = np.ascontiguousarray(np.stack([bias, nearest], axis=1).astype(np.int32))
            return replace(finish, rule=rule, rows=rows, addend=constants[0], shift=constants[1])
    return None


def _thresholds(multipliers: Array, shifts: Array, steps: Array, *, even: bool) -> Array:
    """The smallest accumulator whose rounded product exceeds each step, int64[channels, steps].

    acc * m / 2^s rounds to more than k from k + 1/2 on; with ``even``, exactly k + 1/2 does so only
    where k + 1 is even.
    """
    halves = (2 * steps + 1)[None, :] << (shifts - 1)[:, None]
    quotient, rest = np.divmod(halves, multipliers[:, None])
    strict = even & (steps % 2 == 0)[None, :]
    thresholds: Array = quotient + ((rest != 0) | strict)
    return thresholds


def _stays_out(got: Array, wanted: Array, largest: Array, live: Array) -> Array:
    """Whether thresholds out of every accumulator's reach stay out of reach with the new constants."""
    beyond = np.abs(wanted) > largest[:, None] + 1
    same_side: Array = (np.abs(got) > largest[:, None]) & ((got > 0) == (wanted > 0))
    return ~beyond | same_side | ~live[:, None]


def _rounded(values: Array, shifts: Array) -> Array:
    """values / 2^shifts, rounded half up; shifts are not negative where it matters."""
    positive = np.maximum(shifts, 0)
    rounded: Array = (values + ((np.int64(1) << positive) >> 1)) >> positive
    return rounded


def _constants(rule: Rule, shift: int, zero_point: int) -> tuple[int, int] | None:
    """The layer's addend and shift as C reads them; None if the rule cannot express the shift."""
    left = max(0, 33 - shift)
    right = shift + left - 32
    if right > 30 or left > 30 or (rule is Rule.LAYER and left != 0):
        return None
    addend = (1 << (right - 1)) + (zero_point << right)
    word = right if rule is Rule.LAYER else right | left << 8 | (zero_point & 1) << 16
    return addend, word


def _fits(multipliers: Array, constants: tuple[int, int], largest: Array) -> bool:
    """Whether 32 bits suffice for every accumulator."""
    addend, word = constants
    left = word >> 8 & 31
    if int(multipliers.max()) > _INT32_MAX or int(largest.max()) << left > _INT32_MAX:
        return False
    reach = [(int(bound) << left) * int(m) >> 32 for bound, m in zip(largest, multipliers, strict=True)]
    return max(reach) + 1 + abs(addend) <= _INT32_MAX
