"""Short rows give the results of long ones for every reachable accumulator."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.graph import DType, Requantize, RequantizeShift, RequantizeTwice
from tilewright.kernels.requantization import Finish, Rule, finish_of
from tilewright.kernels.scalar import rounded_once
from tilewright.kernels.scalar.compact import compact
from tilewright.operators.fixed_point import multiplied, quantized_multiplier

Array = np.ndarray


def finished(finish: Finish, channel: int, sums: Array) -> Array:
    """What C computes from sums without bias, in its own arithmetic."""
    row = [int(word) for word in finish.rows[channel]]
    if finish.rule is Rule.FOLDED:
        value = (sums * row[0] + row[1]).astype(np.int64) & 0xFFFFFFFF
        shifted = value.astype(np.uint32).view(np.int32).astype(np.int64) >> finish.shift
        return np.clip(shifted, finish.minimum, finish.maximum)
    acc = sums + row[0]
    addend, word = (finish.addend, finish.shift) if len(row) == 2 else (row[2], row[3])
    if finish.rule is Rule.SHIFT:
        return np.clip((acc * row[1] + addend) >> word, finish.minimum, finish.maximum)
    if finish.rule is Rule.AWAY:
        raised = (acc * (row[1] % (1 << 32)) >> 32) - (acc < word >> 8) + addend
        return np.clip(raised >> (word & 31), finish.minimum, finish.maximum)
    product = (acc << (word >> 8 & 31)) * row[1]
    raised = (product >> 32) + addend
    value = raised >> (word & 31)
    if finish.rule in (Rule.EVEN, Rule.LAYER_EVEN):
        tie = (product & 0xFFFFFFFF == 0) & (raised & ((1 << (word & 31)) - 1) == 0)
        value = value - (tie & ((value ^ (word >> 16)) & 1 == 1))
    return np.clip(value, finish.minimum, finish.maximum)


def pair(
    epilogue: Requantize | RequantizeShift | RequantizeTwice, bias: Array, largest: Array
) -> tuple[Finish, Finish]:
    long = finish_of(epilogue, DType.INT8, bias, largest)
    assert long is not None
    return long, compact(long, largest)


def assert_same(long: Finish, short: Finish, bias: Array, largest: Array) -> None:
    for channel, (start, reach) in enumerate(zip(bias.tolist(), largest.tolist(), strict=True)):
        sums = np.arange(-reach, reach + 1, dtype=np.int64) - start
        np.testing.assert_array_equal(finished(short, channel, sums), finished(long, channel, sums))


@pytest.mark.parametrize("seed", range(12))
def test_multipliers_of_many_sizes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    channels = 24
    spread = (0.1, 1.0, 4.0, 9.0)[seed % 4]
    multipliers = 2.0 ** (rng.uniform(-spread, 0.0, channels) - rng.integers(2, 14))
    if seed % 3 == 0:
        multipliers = multipliers.astype(np.float32).astype(np.float64)
    if seed % 5 == 0:
        multipliers[3] = 0.0
    bias = rng.integers(-5000, 5000, channels)
    largest = np.abs(bias) + rng.integers(1, 60_000, channels)
    epilogue = Requantize(tuple(multipliers.tolist()), int(rng.integers(-128, 128)), -128, 127)
    long, short = pair(epilogue, bias, largest)
    assert_same(long, short, bias, largest)
    if spread <= 1.0 and long.rule is Rule.HIGH:
        assert short.rule is Rule.LAYER


def test_channels_that_never_reach_a_half_do_not_decide_the_rule() -> None:
    bias, largest = np.zeros(4, np.int64), np.array([9000, 0, 9000, 9000])
    multipliers = (0.013, 1.3, 2.0**-39, 1.37 * 2.0**-50)
    long, short = pair(Requantize(multipliers, -128, -128, 127), bias, largest)
    assert (long.rule, short.rule) == (Rule.HIGH, Rule.LAYER)
    assert long.rows[:, 1].astype(bool).tolist() == [True, False, False, False]
    assert_same(long, short, bias, largest)
    # A result of exactly one half is reached, and rounds to the even side.
    reached, _ = pair(Requantize((2.0**-14,), 0, -128, 127), bias[:1], np.array([1 << 13]))
    assert reached.rule is Rule.EVEN


def test_shifts_are_folded_modulo_words() -> None:
    rng = np.random.default_rng(0)
    bias = rng.integers(-60_000, 60_000, 16)
    largest = np.abs(bias) + rng.integers(1, 3000, 16)
    multipliers, addends = rng.integers(1, 30_000, 16), rng.integers(-5000, 5000, 16)
    epilogue = RequantizeShift(tuple(multipliers.tolist()), tuple(addends.tolist()), 16, -128, 127)
    long, short = pair(epilogue, bias, largest)
    assert (long.rule, short.rule, short.row_words) == (Rule.SHIFT, Rule.FOLDED, 2)
    assert_same(long, short, bias, largest)


def test_halves_of_powers_of_two_stay_even() -> None:
    multipliers = (2.0**-9, 2.0**-11, 3 * 2.0**-10, 2.0**-12)
    bias, largest = np.array([0, 7, -100, 3]), np.full(4, 200_000)
    long, short = pair(Requantize(multipliers, 5, -128, 127), bias, largest)
    assert (long.rule, short.rule) == (Rule.EVEN, Rule.LAYER_EVEN)
    assert_same(long, short, bias, largest)


def test_long_rows_stay_where_one_shift_would_change_a_result() -> None:
    bias, largest = np.zeros(2, np.int64), np.full(2, 1 << 24)
    long, short = pair(Requantize((2.0**-3.3, 2.0**-17.7), 0, -128, 127), bias, largest)
    assert short is long


def test_a_multiplier_that_is_off_by_little_is_noticed() -> None:
    bias, largest = np.zeros(1, np.int64), np.full(1, 100_000)
    long, short = pair(Requantize((0.00123,), 0, -128, 127), bias, largest)
    wrong = Finish(
        short.rule, short.rows + np.array([0, 1 << 14], np.int32), -128, 127, addend=short.addend, shift=short.shift
    )
    with pytest.raises(AssertionError):
        assert_same(long, wrong, bias, largest)


def rounded_twice(multipliers: Array, zero_point: int, minimum: int = -128) -> RequantizeTwice:
    factors, shifts = zip(*map(quantized_multiplier, multipliers.tolist()), strict=True)
    return RequantizeTwice(factors, shifts, zero_point, minimum, 127)


def assert_as_twice(finish: Finish, epilogue: RequantizeTwice, bias: Array, largest: Array) -> None:
    """Every reachable accumulator is finished as the reference does."""
    factors = zip(epilogue.multiplier, epilogue.shift, strict=True)
    for channel, (reach, (factor, shift)) in enumerate(zip(largest.tolist(), factors, strict=True)):
        sums = np.arange(-reach, reach + 1, dtype=np.int64)
        wanted = np.clip(multiplied(sums, factor, shift) + epilogue.zero_point, epilogue.minimum, epilogue.maximum)
        np.testing.assert_array_equal(finished(finish, channel, sums - bias[channel]), wanted)


def random_twice(seed: int, minimum: int | None) -> tuple[RequantizeTwice, Array, Array]:
    """Channels with multipliers of many sizes, whose accumulators reach all results and some beyond."""
    rng = np.random.default_rng(seed)
    multipliers = 2.0 ** -rng.uniform(2.0, 11.5, 24)
    zero_point = int(rng.integers(-128, 128))
    bias = rng.integers(-900, 900, 24)
    largest = np.abs(bias) + (rng.uniform(1.0, 500.0, 24) / multipliers).astype(np.int64)
    return rounded_twice(multipliers, zero_point, zero_point if minimum is None else minimum), bias, largest


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("minimum", "rule"), [(None, Rule.HIGH), (-128, Rule.AWAY)])
def test_one_rounding_takes_the_place_of_two(seed: int, minimum: int | None, rule: Rule) -> None:
    epilogue, bias, largest = random_twice(seed, minimum)
    _, short = pair(epilogue, bias, largest)
    assert short.rule is rule
    assert_as_twice(short, epilogue, bias, largest)


def test_results_below_the_zero_point_alone_are_rounded_once() -> None:
    multipliers, bias = np.array([0.0123, 0.0071]), np.array([-50_000, -20_000])
    largest = np.array([60_000, 60_000])
    epilogue = RequantizeTwice(*zip(*map(quantized_multiplier, multipliers.tolist()), strict=True), 127, -128, 127)
    _, short = pair(epilogue, bias, largest)
    assert short.rule is Rule.HIGH
    assert_as_twice(short, epilogue, bias, largest)


def test_a_channel_that_reaches_nothing_does_not_decide_how_often_is_rounded() -> None:
    multipliers, bias = np.array([0.0123, 2.0**-32, 0.0, 0.0071]), np.zeros(4, np.int64)
    epilogue, largest = rounded_twice(multipliers, 3), np.full(4, 30_000)
    long, short = pair(epilogue, bias, largest)
    assert (long.rule, short.rule) == (Rule.TWICE, Rule.AWAY)
    assert_as_twice(short, epilogue, bias, largest)


def test_two_roundings_stay_where_a_rule_that_shifts_less_has_no_room() -> None:
    bias, largest, epilogue = np.zeros(1, np.int64), np.full(1, 3000), rounded_twice(np.array([0.3]), 3)
    long, short = pair(epilogue, bias, largest)
    assert short is long
    assert long.rule is Rule.TWICE


@pytest.mark.parametrize("minimum", [None, -128])
def test_an_addend_that_is_off_by_one_is_noticed(minimum: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    epilogue, bias, largest = random_twice(0, minimum)
    right = rounded_once._addends
    monkeypatch.setattr(rounded_once, "_addends", lambda channels, raised: right(channels, raised) + 1)
    long, short = pair(epilogue, bias, largest)
    assert short is long
