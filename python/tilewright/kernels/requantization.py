"""From an epilogue to the constants and the rule with which a C kernel finishes its sums.

Before:  y = clip(round_half_even(acc * 0.00173) + 3, -128, 127), |acc| at most 120,000
After:   rule HIGH, row {bias, 1902242653, 2^7 + (3 << 8), 8}: y = clip((high_word(acc * m) + a) >> s)

Half up, as the short rules round, and half even differ only where acc * multiplier is exactly
between two integers. Whether any reachable accumulator is there is known here, channel by channel (ties.py).
"""

from __future__ import annotations

import struct
from dataclasses import replace
from enum import Enum
from math import frexp, isfinite
from types import MappingProxyType
from typing import Annotated, TypeVar

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, DType, Epilogue, Requantize, RequantizeShift, RequantizeTwice, Rescale
from tilewright.kernels.c_structs import PREFIX, CStruct, Int32
from tilewright.kernels.ties import ties_differ

ROW_WORDS = 4
"""Words of the longest row, and of every row where one loop over rows serves all rules."""
_INT32_MAX = (1 << 31) - 1
_FLOAT_MAX = float(np.finfo(np.float32).max)
_LARGEST_SHIFT = 62
_RIGHT_SHIFT, _LEFT_SHIFT = 0x1F, 0x1F00
"""Bits of the last word of Rule.EVEN."""
ROUNDS_EVEN = 1 << 15
"""The bit of the last word of Rule.EVEN that marks a channel for which Rule.HIGH is not exact."""

_DEAD = 0, 33
"""The multiplier and the shift of a channel whose results are the zero point."""

_DEAD_SHIFT = 2
"""The shift of such a channel where two roundings are wanted: one that one rounding may have too (rounded_once.py)."""

Number = TypeVar("Number", int, float)
Row = tuple[int, int, int]


class Rule(Enum):
    """How C finishes a sum; the value ends the kernel's symbol (runtime/.../integer_core.h)."""

    NONE = "none"
    SHIFT = "shift"
    FOLDED = "folded"
    HIGH = "high"
    LAYER = "layer"
    LONG = "long"
    EVEN = "even"
    LAYER_EVEN = "layer_even"
    EXACT = "exact"
    RESCALE = "rescale"
    AWAY = "away"
    TWICE = "twice"
    TWICE_ANY = "twice_any"
    TWICE_HALF = "twice_half"
    TWICE_WORD = "twice_word"


WORDS = MappingProxyType(
    {
        Rule.NONE: 1,
        Rule.FOLDED: 2,
        Rule.HIGH: 4,
        Rule.LAYER: 2,
        Rule.LONG: 4,
        Rule.EVEN: 4,
        Rule.LAYER_EVEN: 2,
        Rule.EXACT: 4,
        Rule.RESCALE: 2,
        Rule.AWAY: 4,
        Rule.TWICE: 4,
        Rule.TWICE_ANY: 4,
        Rule.TWICE_HALF: 4,
        Rule.TWICE_WORD: 4,
    }
)
"""Words of a channel's row, by rule (compact.py)."""

WIDE_RULES = MappingProxyType({DType.INT16: Rule.TWICE_HALF, DType.INT32: Rule.TWICE_WORD})
"""Rules of elementwise kernels alone, by the element type that they store."""

CHANNEL_RULES = tuple(rule for rule in Rule if rule not in (Rule.SHIFT, *WIDE_RULES.values()))
"""Rules of kernels that have a row of constants for each channel."""

VALUE_RULES = tuple(
    rule for rule in Rule if rule not in (Rule.FOLDED, Rule.LAYER, Rule.LAYER_EVEN, Rule.AWAY, *WIDE_RULES.values())
)
"""Rules of kernels whose rows hold all constants."""


_SLOWER = MappingProxyType({"even": 6.5, "exact": 43.0})
"""Instructions for each element that the long rules take beyond those of the short ones (RV32IMAC)."""


def rule_cycles(pointer: str) -> float:
    """Instructions for each element beyond those of rule LAYER; ``pointer`` is the C name of a rule or its finish."""
    return _SLOWER.get(pointer.rpartition("_")[2], 0.0)


@dataclass(frozen=True, slots=True)
class Limits(CStruct):
    """The clamp of a finish."""

    minimum: Annotated[Int32, "the bits of a float: rule rescale"]
    maximum: Int32


@dataclass(frozen=True, slots=True)
class LayerLimits(CStruct):
    """The clamp of a finish, with the addend and the shift of rules that have one of each for the layer."""

    limits: Limits
    addend: Annotated[Int32, "of rules with one for the layer"]
    shift: Annotated[Int32, "of rules with one for the layer"]


@dataclass(frozen=True, slots=True)
class Finish:
    """A rule, its constants and its clamp.

    Attributes:
        rows: int32[channels, 4]: bias, multiplier, addend, shift; fewer words where the rule needs fewer (``WORDS``).
        minimum, maximum: the clamp, in stored units.
        lowest, highest: the clamp of rule RESCALE, as reals.
        addend, shift: for rules with one addend and one shift for the layer.
        any_values: whether other weights and multipliers lead to the same rule: then no kernel may depend on them.
    """

    rule: Rule
    rows: Array
    minimum: int = 0
    maximum: int = 0
    lowest: float = 0.0
    highest: float = 0.0
    addend: int = 0
    shift: int = 0
    any_values: bool = False

    @property
    def row_words(self) -> int:
        """Words of a channel's row."""
        return int(self.rows.shape[1])

    @property
    def block(self) -> str:
        """Name of the C function that stores blocks of channels and pixels."""
        return f"{PREFIX}block_{self.rule.value}"

    @property
    def line(self) -> str:
        """Name of the C function that stores the pixels of one channel."""
        return f"{PREFIX}line_{self.rule.value}"

    @property
    def block_rule(self) -> str:
        """Address of the C rule for kernels that finish blocks."""
        return f"&{PREFIX}rule_{self.rule.value}"

    @property
    def line_rule(self) -> str:
        """Address of the C rule for kernels that finish channel by channel."""
        return f"&{PREFIX}line_rule_{self.rule.value}"

    @property
    def limits(self) -> Limits:
        """The clamp, for kernels with one row of constants."""
        if self.rule is Rule.RESCALE:
            return Limits(float_bits(self.lowest), float_bits(self.highest))
        return Limits(self.minimum, self.maximum)

    @property
    def layer_limits(self) -> LayerLimits:
        """The clamp, addend and shift, for kernels with a row of constants for each channel."""
        return LayerLimits(self.limits, self.addend, self.shift)


def rule_of(block: str) -> Rule:
    """The rule of a C function that stores blocks of channels and pixels (``Finish.block``)."""
    return Rule(block.removeprefix(f"{PREFIX}block_"))


def finish_of(
    epilogue: Epilogue | None,
    output: DType,
    bias: Array,
    largest: Array,
    *,
    wide: bool = False,
    any_values: bool = False,
) -> Finish | None:
    """The shortest rule that is exact for every reachable accumulator; None if there is none.

    Args:
        bias: int64[channels], added by C to its sum of products.
        largest: int64[channels], the largest magnitude of the finished sum, bias included.
        wide: whether the kernel stores 16 and 32 bits too.
        any_values: whether the rule must be the same whatever weights and multipliers are.
    """
    found = _finish_of(epilogue, output, bias, largest, wide=wide, any_values=any_values)
    return replace(found, any_values=True) if found is not None and any_values else found


def _finish_of(
    epilogue: Epilogue | None, output: DType, bias: Array, largest: Array, *, wide: bool, any_values: bool
) -> Finish | None:
    if bool((np.abs(bias) > _INT32_MAX).any()) or bool((largest > _INT32_MAX).any()):
        return None
    if epilogue is None:
        return Finish(Rule.NONE, _rows(bias)) if output is DType.INT32 else None
    if isinstance(epilogue, Rescale):
        return _rescale(epilogue, output, bias)
    if wide and output in WIDE_RULES and isinstance(epilogue, RequantizeTwice):
        return _rounded_twice(epilogue, bias, largest, WIDE_RULES[output], any_values=any_values)
    if output not in (DType.INT8, DType.UINT8):
        return None
    if isinstance(epilogue, RequantizeShift):
        return _shifted(epilogue, bias, largest, any_values=any_values)
    if isinstance(epilogue, RequantizeTwice):
        return _rounded_twice(epilogue, bias, largest, any_values=any_values)
    return _requantized(epilogue, bias, largest, any_values=any_values) if isinstance(epilogue, Requantize) else None


def fixed_point(multiplier: float) -> tuple[int, int] | None:
    """(m, s) with m / 2^s nearest to the multiplier, |m| < 2^31, 0 <= s <= 62; None if it is too large.

    m has 31 significant bits, so that the error of a product that is not clipped away
    (|product| < 2^9) stays below 2^-21.
    """
    if not isfinite(multiplier):
        return None
    if multiplier == 0.0:
        return _DEAD
    fraction, exponent = frexp(multiplier)
    shift = 31 - exponent
    if shift > _LARGEST_SHIFT:
        fraction, shift = fraction * 2.0 ** (_LARGEST_SHIFT - shift), _LARGEST_SHIFT
    mantissa = round(fraction * (1 << 31))
    if abs(mantissa) == 1 << 31:
        mantissa, shift = mantissa // 2, shift - 1
    return (mantissa, shift) if shift >= 0 else None


def _requantized(epilogue: Requantize, bias: Array, largest: Array, *, any_values: bool) -> Finish | None:
    channels = len(bias)
    pairs = [fixed_point(value) for value in _each(epilogue.multiplier, channels)]
    bounds = [int(bound) for bound in largest]
    exact = [_live(pair, bound) for pair, bound in zip(pairs, bounds, strict=True) if pair is not None]
    if len(exact) != channels:
        return None
    zero_point = epilogue.zero_point
    even = [] if any_values else [_even_row(pair, zero_point, bound) for pair, bound in zip(exact, bounds, strict=True)]
    short = [row for row in even if row is not None]
    if len(short) == channels and not any_values:
        clip = zero_point, epilogue.minimum, epilogue.maximum
        marks = [
            ROUNDS_EVEN if word & _LEFT_SHIFT or ties_differ(pair, bound, *clip) else 0
            for (_, _, word), pair, bound in zip(short, exact, bounds, strict=True)
        ]
        if any(marks):
            marked = [
                (multiplier, addend, word | mark) for (multiplier, addend, word), mark in zip(short, marks, strict=True)
            ]
            return Finish(Rule.EVEN, _rows(bias, marked), epilogue.minimum, epilogue.maximum)
        high = [(multiplier, addend, word & _RIGHT_SHIFT) for multiplier, addend, word in short]
        return Finish(Rule.HIGH, _rows(bias, high), epilogue.minimum, epilogue.maximum)
    rows = [(multiplier, zero_point, shift) for multiplier, shift in exact]
    return Finish(Rule.EXACT, _rows(bias, rows), epilogue.minimum, epilogue.maximum)


def _live(pair: tuple[int, int], largest: int) -> tuple[int, int]:
    """The pair, or a multiplier of 0 for a channel whose every reachable result is less than a half.

    Trained networks have channels without weights, or with a scale so small that its shift would need 64 bits. The
    rule of such a channel would be that of the whole layer.
    """
    multiplier, shift = pair
    return pair if largest * abs(multiplier) >= 1 << max(shift - 1, 0) else _DEAD


def _even_row(pair: tuple[int, int], zero_point: int, largest: int) -> Row | None:
    """The constants of Rule.EVEN, and but for the last word of Rule.HIGH; None if 32 bits do not suffice.

    The high word of acc * m is of use from s = 33 on; below that acc is shifted left first.
    """
    multiplier, shift = pair
    left = max(0, 33 - shift)
    right = shift + left - 32
    if right > 30 or left > 30 or largest << left > _INT32_MAX:
        return None
    addend = (1 << (right - 1)) + (zero_point << right)
    if ((largest << left) * abs(multiplier) >> 32) + 1 + abs(addend) > _INT32_MAX:
        return None
    return multiplier, addend, right | left << 8 | (zero_point & 1) << 16


def _shifted(epilogue: RequantizeShift, bias: Array, largest: Array, *, any_values: bool) -> Finish | None:
    channels = len(bias)
    multipliers = _each(epilogue.multiplier, channels)
    addends = _each(epilogue.addend, channels)
    if max(map(abs, (*multipliers, *addends))) > _INT32_MAX or not 0 <= epilogue.shift <= _LARGEST_SHIFT:
        return None
    half = (1 << epilogue.shift) >> 1
    reach = max(
        int(bound) * abs(multiplier) + abs(addend + half)
        for bound, multiplier, addend in zip(largest, multipliers, addends, strict=True)
    )
    short = reach <= _INT32_MAX and epilogue.shift <= 31 and not any_values
    extra = half if short else 0
    rows = [(m, a + extra, epilogue.shift) for m, a in zip(multipliers, addends, strict=True)]
    rule = Rule.SHIFT if short else Rule.LONG
    return Finish(rule, _rows(bias, rows), epilogue.minimum, epilogue.maximum)


def _rounded_twice(
    epilogue: RequantizeTwice,
    bias: Array,
    largest: Array,
    general: Rule = Rule.TWICE_ANY,
    *,
    any_values: bool,
) -> Finish | None:
    """Rule TWICE where every channel shifts right and 32 bits suffice, else ``general``; wide rules are general."""
    channels = len(bias)
    bounds = [int(bound) for bound in largest]
    factors = zip(_spread(epilogue.multiplier, channels), _spread(epilogue.shift, channels), strict=True)
    pairs = [_reaching(pair, bound) for pair, bound in zip(factors, bounds, strict=True)]
    if any(bound << max(shift, 0) > _INT32_MAX for bound, (_, shift) in zip(bounds, pairs, strict=True)):
        return None
    zero_point = epilogue.zero_point
    rows = [row for pair, bound in zip(pairs, bounds, strict=True) if (row := _twice_row(pair, zero_point, bound))]
    if len(rows) == channels and general is Rule.TWICE_ANY and not any_values:
        return Finish(Rule.TWICE, _rows(bias, rows), epilogue.minimum, epilogue.maximum)
    rows = [(doubled(q), zero_point, max(-s, 0) | max(s, 0) << 8) for q, s in pairs]
    return Finish(general, _rows(bias, rows), epilogue.minimum, epilogue.maximum)


def _reaching(pair: tuple[int, int], largest: int) -> tuple[int, int]:
    """The pair, or a multiplier of 0 for a channel whose every reachable result is the zero point.

    Such a channel, of weights or a scale next to 0, would decide the rule of the whole layer.
    """
    multiplier, shift = pair
    product = (largest << max(shift, 0)) * multiplier + (1 << 30) >> 31
    return pair if shift >= 0 or product >= 1 << (-shift - 1) else (0, 0)


def _twice_row(pair: tuple[int, int], zero_point: int, largest: int) -> Row | None:
    """The constants of Rule.TWICE; None for a multiplier that does not shift right, or if 32 bits do not suffice."""
    multiplier, shift = pair
    right = -shift if multiplier else _DEAD_SHIFT
    if not 1 <= right <= 30:
        return None
    addend = (1 << (right - 1)) + (zero_point << right)
    if (largest * 2 * multiplier >> 32) + 2 + abs(addend) > _INT32_MAX:
        return None
    return doubled(multiplier), addend, right


def doubled(multiplier: int) -> int:
    """Twice the multiplier, which takes an unsigned word, as the signed word with the same bits."""
    return 2 * multiplier - (1 << 32 if multiplier >> 30 else 0)


def _spread(values: tuple[int, ...], channels: int) -> tuple[int, ...]:
    return values * channels if len(values) == 1 else values


def _rescale(epilogue: Rescale, output: DType, bias: Array) -> Finish | None:
    if output is not DType.FLOAT32:
        return None
    rows = [(float_bits(value), 0, 0) for value in _each(epilogue.multiplier, len(bias))]
    lowest, highest = (min(max(value, -_FLOAT_MAX), _FLOAT_MAX) for value in (epilogue.minimum, epilogue.maximum))
    return Finish(Rule.RESCALE, _rows(bias, rows), 0, 0, lowest, highest)


def float_bits(value: float) -> int:
    """The bits of the nearest float32, as a signed word."""
    word: int = struct.unpack("<i", struct.pack("<f", value))[0]
    return word


def _each(values: tuple[Number, ...], channels: int) -> tuple[Number, ...]:
    return values[:1] * channels if len(set(values)) == 1 else values


def _rows(bias: Array, rest: list[Row] | None = None) -> Array:
    rows = np.zeros((len(bias), ROW_WORDS), np.int32)
    rows[:, 0] = bias
    if rest is not None:
        rows[:, 1:] = rest
    return rows
