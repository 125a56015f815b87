"""Blocks of two channels whose taps are cut into runs, of which one 32-bit multiplication gives products of two pixels.

Before:  weights int8[channels, taps]
After:   pairs of channels; for each how often the three loops of a C core go round, for the same taps of both

A word holds elements of two pixels, the second one times 2^16. The products of a run are added up in one 32-bit sum;
the first pixel's sum must stay within int16, or it would reach into the second's by more than the core takes back.
Elements are -128 to 127, so this depends on the weights alone; a weight of 9 bits always fits alone. Taps behind the
rounds of the loops are runs of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from typing import Any

import numpy as np

from tilewright.graph import Array

COLUMNS = 2
"""Channels of a block."""

LOOPS = 3
"""Loops of a core, each with rounds of its own."""

HEAD = COLUMNS + LOOPS
"""Bytes in front of a block's weights."""

WINDOW = 128
"""Channels among which the order may change, so that differences of positions fit int8."""

_MOST_ROUNDS = 255
"""What a byte counts."""

_WEIGHTS_AT_ONCE = 1 << 17
"""Weights whose sums are held at one time, some tens of bytes for each."""

_MOST_KNOWN = 512
"""Counts that are kept: a model's layers are planned several times, with the same weights."""

_known: dict[tuple[object, ...], tuple[Array, Array]] = {}

_LOWEST, _HIGHEST = -(1 << 15), (1 << 15) - 1

_TAP_CYCLES, _RUN_CYCLES, _ROUND_CYCLES = 17.0, 18.0, 3.0
"""Instructions for a tap, a run and a round, of two channels and six pixels (RV32IMAC, GCC 12.2, -O2)."""


class Core(Enum):
    """The C cores: lengths of the runs in a round of each loop, and whether weights need more than 8 bits. The value
    ends the core's name in C.
    """

    TO4 = "to4"
    TO8 = "to8"
    TO16 = "to16"
    WIDE = "wide"

    @property
    def rounds(self) -> tuple[tuple[int, ...], ...]:
        """The lengths of the runs in a round, loop by loop."""
        return _ROUNDS[self]

    @property
    def weight_dtype(self) -> np.dtype[Any]:
        """The element type of a weight, and of what a block's bytes are arrays of."""
        return np.dtype("<i2" if self is Core.WIDE else np.int8)

    @property
    def head(self) -> int:
        """Elements in front of a block's weights."""
        return -(-HEAD // self.weight_dtype.itemsize)


_ROUNDS = {
    Core.TO4: ((2,), (3, 3), (4, 4)),
    Core.TO8: ((2,), (4,), (8,)),
    Core.TO16: ((4,), (8,), (16,)),
    Core.WIDE: ((2,), (3, 3), (4, 4)),
}


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Channels in the order in which C computes them, two at a time.

    Attributes:
        order: int64[groups, blocks, 2], the channels' positions in their group; an odd last one stands twice.
        rounds: int64[groups, blocks, 3], how often each loop goes round, in units.
        unit: rounds of a loop that are counted as one.
        runs, turns: the mean numbers of runs and of rounds of a block.
        cycles: instructions of the loops of all blocks.
    """

    core: Core
    order: Array
    rounds: Array
    unit: int
    runs: float
    turns: float
    cycles: float

    def packed(self, weights: Array) -> Array:
        """int8[groups, blocks, 5 + 2 * taps], of ``Core.WIDE`` int16[groups, blocks, 3 + 2 * taps].

        A block's bytes: how far each channel is from where it would be in order, the rounds, for int16 a zero; weights
        [tap][channel].

        Args:
            weights: int64[groups, channels, taps].
        """
        groups, blocks, _ = self.order.shape
        natural = np.arange(blocks * COLUMNS).reshape(blocks, COLUMNS)
        taken = np.stack([weights[group, self.order[group]] for group in range(groups)])
        taps = np.moveaxis(taken, 2, 3).reshape(groups, blocks, -1)
        dtype = self.core.weight_dtype
        rest = np.zeros((groups, blocks, self.core.head * dtype.itemsize - HEAD), np.uint8)
        head = np.concatenate([(self.order - natural).astype(np.uint8), self.rounds.astype(np.uint8), rest], axis=2)
        return np.concatenate([np.ascontiguousarray(head).view(dtype), taps.astype(dtype)], axis=2)


def core_cycles(weights: Array, core: Core) -> float:
    """Instructions that the loops of a core take for weights int64[channels, taps] of at most 8 bits."""
    return sorted_blocks(weights[None], core).cycles


def sorted_blocks(weights: Array, core: Core) -> Blocks:
    """Blocks of channels that take about as many instructions, so that short runs of one seldom cut another's."""
    groups, channels, taps = map(int, weights.shape)
    cycles = _counted(weights.reshape(-1, 1, taps), core, 1)[1].reshape(groups, channels)
    parts = [np.argsort(cycles[:, at : at + WINDOW], axis=1, kind="stable") + at for at in range(0, channels, WINDOW)]
    return _blocks(weights, core, np.concatenate(parts, axis=1))


def blocks_in_order(weights: Array, core: Core) -> Blocks:
    """Blocks of neighbours, any number of which can be computed alone."""
    groups, channels, _ = map(int, weights.shape)
    return _blocks(weights, core, np.tile(np.arange(channels), (groups, 1)))


def _blocks(weights: Array, core: Core, order: Array) -> Blocks:
    groups, channels, taps = map(int, weights.shape)
    if channels % COLUMNS:
        order = np.concatenate([order, order[:, -1:]], axis=1)
    order = order.reshape(groups, -1, COLUMNS)
    flat = np.stack([weights[group, order[group]] for group in range(groups)]).reshape(-1, COLUMNS, taps)
    unit = 1
    rounds, cycles = _counted(flat, core, unit)
    while rounds.max(initial=0) > _MOST_ROUNDS:
        unit *= 2
        rounds, cycles = _counted(flat, core, unit)
    lengths = np.array([sum(runs) for runs in core.rounds])
    counts = np.array([len(runs) for runs in core.rounds])
    rest = taps - (rounds * lengths * unit).sum(axis=1)
    runs = (rounds * counts * unit).sum(axis=1) + rest
    turns = (rounds * unit).sum(axis=1) + rest
    means = float(runs.mean()), float(turns.mean())
    return Blocks(core, order, rounds.reshape(groups, -1, LOOPS), unit, *means, float(cycles.sum(dtype=np.float64)))


def _counted(weights: Array, core: Core, unit: int) -> tuple[Array, Array]:
    """Units of rounds of each loop [blocks, 3], and instructions [blocks], of weights int64[blocks, channels, taps].

    Counts are kept under a hash of the weights, not with them.
    """
    key = (sha256(weights.astype(np.int16).tobytes()).digest(), weights.shape, core, unit)
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[key] = _counted_in_parts(weights, core, unit)
    return _known[key]


def _counted_in_parts(weights: Array, core: Core, unit: int) -> tuple[Array, Array]:
    """As ``_counted``, computed."""
    some = max(_WEIGHTS_AT_ONCE // max(weights[0].size, 1), 1)
    parts = [_counted_at_once(weights[at : at + some], core, unit) for at in range(0, len(weights), some)]
    return np.concatenate([rounds for rounds, _ in parts]), np.concatenate([cycles for _, cycles in parts])


def _counted_at_once(weights: Array, core: Core, unit: int) -> tuple[Array, Array]:
    """``_counted`` of blocks that are few enough for their sums to stand in memory.

    Loops follow each other, so ``best[tap]`` after a loop is the least of what it was and of whole rounds more.
    """
    blocks, _, taps = map(int, weights.shape)
    fitting = {length: _fitting(weights, length) for length in {run for runs in core.rounds for run in runs}}
    best = np.full((blocks, taps + 1), np.inf, np.float32)
    best[:, 0] = 0
    stages = []
    for runs in core.rounds:
        before, best = best, best.copy()
        length = unit * sum(runs)
        fits = _fitting_rounds(fitting, runs, unit, taps)
        cycles = unit * (_TAP_CYCLES * sum(runs) + _RUN_CYCLES * len(runs) + _ROUND_CYCLES)
        for at in range(length, taps + 1, length):
            end = min(at + length, taps + 1)
            source = slice(at - length, end - length)
            longer = np.where(fits[:, source], best[:, source] + cycles, np.inf)
            best[:, at:end] = np.minimum(best[:, at:end], longer)
        stages.append((before, best, length))
    rest = np.arange(taps, -1, -1, dtype=np.float32) * (_TAP_CYCLES + _RUN_CYCLES + _ROUND_CYCLES)
    ends = (best + rest).argmin(axis=1)
    cycles = (best + rest)[np.arange(blocks), ends]
    counts = [_walked_back(before, after, length, ends) for before, after, length in reversed(stages)]
    return np.stack(counts[::-1], axis=1), cycles


def _walked_back(before: Array, after: Array, length: int, ends: Array) -> Array:
    """How often a loop goes round in each block; ``ends``, the taps behind the loop, become those in front of it."""
    rows = np.arange(len(ends))
    counts = np.zeros(len(ends), np.int64)
    while True:
        is_round = after[rows, ends] < before[rows, ends]
        if not is_round.any():
            return counts
        counts += is_round
        ends -= length * is_round


def _fitting_rounds(fitting: dict[int, Array], runs: tuple[int, ...], unit: int, taps: int) -> Array:
    """bool[blocks, taps + 1]: whether ``unit`` rounds may begin at each tap; False where they would end behind it."""
    first = next(iter(fitting.values()))
    fits = np.ones((len(first), taps + 1), bool)
    at = 0
    for run in runs * unit:
        shifted = np.zeros_like(fits)
        if at <= taps:
            shifted[:, : taps + 1 - at] = fitting[run][:, at:]
        fits &= shifted
        at += run
    return fits


def _fitting(weights: Array, length: int) -> Array:
    """bool[blocks, taps + 1]: whether runs of that length may begin at each tap, for all channels of a block."""
    blocks, _, taps = map(int, weights.shape)
    fits = np.zeros((blocks, taps + 1), bool)
    if length > taps:
        return fits
    positive, negative = (_sums_of_runs(part(weights, 0), length) for part in (np.maximum, np.minimum))
    lowest, highest = 127 * negative - 128 * positive, 127 * positive - 128 * negative
    fits[:, : taps + 1 - length] = ((lowest >= _LOWEST) & (highest <= _HIGHEST)).all(axis=1)
    return fits


def _sums_of_runs(values: Array, length: int) -> Array:
    """int32[blocks, channels, taps + 1 - length]: the sums of ``length`` values from each tap on."""
    none = np.zeros((*values.shape[:-1], 1), np.int32)
    sums = np.concatenate([none, values.cumsum(axis=-1, dtype=np.int32)], axis=-1)
    ends: Array = sums[..., length:] - sums[..., :-length]
    return ends
