"""Runs of taps of which one 32-bit multiplication gives the products of two channels (products of vectors).

Before:  weights int8[channels, taps]
After:   lengths (8, 12, 4): the products of eight taps, and of the next twelve, can be added up in one word

A word holds weights of two channels, the second one times 2^16. The products of a run are added up in one 32-bit sum;
the first channel's sum must stay within int16, or it would reach into the second's by more than the core takes back.
"""

from __future__ import annotations

import numpy as np

from tilewright.graph import Array
from tilewright.kernels.integer import BLOCK
from tilewright.kernels.requantization import Rule

INLINED = (Rule.FOLDED, Rule.LAYER, Rule.HIGH, Rule.AWAY, Rule.TWICE)
"""Rules that packed cores have inside; for any other a function is called."""

_LONGEST = 252
"""Taps of the longest run of a product of vectors: whole fours that a byte counts."""

_WEIGHTS_AT_ONCE = 1 << 17
"""Weights whose sums are held at one time, some hundred bytes for each."""

_LOWEST, _HIGHEST = -(1 << 15), (1 << 15) - 1


def lengths_of_runs(weights: Array, range_of_x: tuple[int, int]) -> list[tuple[int, ...]]:
    """For each block of channels, the lengths of runs with which products of vectors take the fewest instructions.

    None of the runs can overflow. Of lengths that cost the same, a longer last run is taken.

    Args:
        weights: int64[blocks, channels, taps] that fit int8.
        range_of_x: the smallest and the largest element of x.
    """
    some = max(_WEIGHTS_AT_ONCE // max(weights[0].size, 1), 1)
    parts = (weights[at : at + some] for at in range(0, len(weights), some))
    return [lengths for part in parts for lengths in _lengths_of_some(part, range_of_x)]


def _lengths_of_some(weights: Array, range_of_x: tuple[int, int]) -> list[tuple[int, ...]]:
    """``lengths_of_runs`` of blocks that are few enough for their sums to stand in memory."""
    blocks, _, taps = map(int, weights.shape)
    fitting = _fitting_ends(weights, range_of_x)
    lengths = np.array(sorted(fitting, reverse=True))
    ends_fit = np.stack([fitting[length] for length in lengths], axis=1)
    cost = np.array([vector_run_cycles(length) for length in lengths])
    best = np.zeros((blocks, taps + 1))
    length_to = np.zeros((blocks, taps + 1), np.int64)
    for end in range(1, taps + 1):
        possible = lengths <= end
        before = best[:, end - lengths[possible]] + cost[possible]
        costs = np.where(ends_fit[:, possible, end], before, np.inf)
        taken = costs.argmin(axis=1)
        best[:, end] = np.take_along_axis(costs, taken[:, None], axis=1)[:, 0]
        length_to[:, end] = lengths[possible][taken]
    return [_walked_back(row.tolist()) for row in length_to]


def _walked_back(length_to: list[int]) -> tuple[int, ...]:
    """The lengths of runs, first to last, from the length of the run that ends before each tap."""
    lengths: list[int] = []
    end = len(length_to) - 1
    while end > 0:
        lengths.append(length_to[end])
        end -= lengths[-1]
    return tuple(reversed(lengths))


def _fitting_ends(weights: Array, range_of_x: tuple[int, int]) -> dict[int, Array]:
    """Length of a run to bool[blocks, taps + 1]: whether runs of that length may end before each tap.

    A run that does not fit has no longer one that does, so lengths end where no block has a run that fits.
    """
    low, high = range_of_x
    blocks, _, taps = map(int, weights.shape)
    positive, negative = np.maximum(weights, 0), np.minimum(weights, 0)
    highest, lowest = (_sums_before(high * positive + low * negative), _sums_before(low * positive + high * negative))
    fitting: dict[int, Array] = {}
    for length in (*range(1, BLOCK), *range(BLOCK, min(taps, _LONGEST) + 1, BLOCK)):
        if length > taps:
            break
        fit = (highest[..., length:] - highest[..., :-length] <= _HIGHEST).all(axis=1)
        fit &= (lowest[..., length:] - lowest[..., :-length] >= _LOWEST).all(axis=1)
        if not fit.any():
            break
        fitting[length] = np.concatenate([np.zeros((blocks, length), bool), fit], axis=1)
    return fitting


def _sums_before(values: Array) -> Array:
    """int64[blocks, channels, taps + 1]: the sum of the values before each tap, and of all."""
    none = np.zeros((*values.shape[:-1], 1), np.int64)
    return np.concatenate([none, values.cumsum(axis=-1)], axis=-1)


def vector_run_cycles(length: int) -> float:
    """Instructions of a run of ``length`` taps of eight channels of one vector (RV32IMAC, GCC 12.2, -O2).

    C takes four taps at a time, or single ones in runs of fewer than four.
    """
    if length < BLOCK:
        return 39.0 + 19.0 * length
    return 39.0 + 67.0 * length / BLOCK if length % BLOCK == 0 else np.inf
