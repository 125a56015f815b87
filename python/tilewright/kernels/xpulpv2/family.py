"""Packing for four products per instruction, and costs, for all kernels of family xpulpv2.

Weights stand as [block of four channels][word][channel][tap of the word], so that a core reads the
weights in their order; a word is four taps whose elements of x lie side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Annotated

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array
from tilewright.kernels.c_structs import BlockFinish, CStruct, CType, Int32
from tilewright.kernels.integer import BLOCK, is_wide, packed_rows, steps_product
from tilewright.kernels.kernel import ConstantOperand, Packing, TileSteps
from tilewright.kernels.requantization import Finish, LayerLimits, Rule, rule_of
from tilewright.operators.nest import AxisMap, Nest, blocks, whole

SOURCES = ("xpulpv2_core.c", "xpulpv2_block.c", "xpulpv2_block_c.c", "integer_core.c", "integer_finish.c")

WORD = 4
"""Taps of a word."""

FINISHED = MappingProxyType({Rule.FOLDED: 110.0, Rule.LAYER: 166.0, Rule.HIGH: 176.0, Rule.AWAY: 250.0})
"""Cycles for a block of four pixels by four channels beside its products, where assembler finishes the sums."""
_RETURNED = 520.0
"""Cycles for a block beside its products, where the rule's C function finishes the sums."""

_WORD_CYCLES = 24.0
_RUN_CYCLES = 16.0


@dataclass(frozen=True, slots=True)
class Finishing(CStruct):
    """The functions that finish blocks, and the rule's constants for them."""

    finish: BlockFinish
    finished: Annotated[str, CType("tilewright_xpulpv2_block *", is_pointer=True), "NULL: sums go to `finish`"]
    row_words: Annotated[Int32, "of the rule"]
    limits: LayerLimits

    @property
    def rule(self) -> Rule:
        """The rule of both functions."""
        return rule_of(self.finish)


def finishing(finish: Finish, is_unsigned: int) -> Finishing:
    """The rule's functions: in C, and in assembler for whole reductions if the rule is in ``FINISHED``."""
    sign = "unsigned" if is_unsigned else "signed"
    finished = f"tilewright_xpulpv2_{finish.rule.value}_{sign}" if finish.rule in FINISHED else "NULL"
    return Finishing(finish.block, finished, finish.row_words, finish.layer_limits)


def packed_words(weights: Array) -> Array:
    """int8[groups, blocks, words, 4, 4] from int64[groups, channels, taps].

    Zeros stand behind the last channel, and behind the last tap of each channel.
    """
    groups, channels, taps = weights.shape
    words = -(-taps // WORD)
    padded = np.zeros((groups, -(-channels // BLOCK) * BLOCK, words * WORD), np.int8)
    padded[:, :channels, :taps] = weights
    return np.ascontiguousarray(np.moveaxis(padded.reshape(groups, -1, BLOCK, words, WORD), 2, 3))


def fits(weights: Array) -> bool:
    """Whether the weights, zero point removed, fit int8."""
    return not is_wide(weights)


def packed_operands(
    weights: Array, finish: Finish, group: AxisMap, channel: str, reduction: str
) -> tuple[ConstantOperand, ConstantOperand]:
    """Weights and per-channel constants; the reduction can be cut where its extent is whole words.

    Args:
        weights: int64[groups, channels, window, inputs] that fit int8.
    """
    groups, channels, window, inputs = map(int, weights.shape)
    flat = weights.reshape(groups, channels, window * inputs)
    constants = packed_constants(finish, groups, group, channel)
    if inputs % WORD != 0:
        return uncut_weights(flat.shape, lambda: flat, group, channel), constants
    shape = (groups, -(-channels // BLOCK), window, inputs // WORD, BLOCK * WORD)
    packing = Packing(shape, np.dtype(np.int8), lambda _: packed_words(flat).reshape(shape))
    axes = (group, blocks(channel, BLOCK), whole(window), blocks(reduction, WORD), whole(BLOCK * WORD))
    return ConstantOperand("weights", packing, axes), constants


def uncut_weights(shape: tuple[int, ...], taps: Callable[[], Array], group: AxisMap, channel: str) -> ConstantOperand:
    """The operand ``weights`` in packed words, for a reduction that is never cut.

    Args:
        shape: (groups, channels, taps).
        taps: gives the weights, int64 of ``shape``.
    """
    groups, channels, count = shape
    words = -(-count // WORD)
    packed = (groups, -(-channels // BLOCK), words, BLOCK, WORD)
    packing = Packing(packed, np.dtype(np.int8), lambda _: packed_words(taps()))
    axes = (group, blocks(channel, BLOCK), whole(words), whole(BLOCK), whole(WORD))
    return ConstantOperand("weights", packing, axes)


def packed_constants(finish: Finish, groups: int, group: AxisMap, channel: str) -> ConstantOperand:
    """The operand ``requantization``: a row of constants for each channel."""
    rows = packed_rows(finish.rows, groups)
    return ConstantOperand("requantization", rows, (group, blocks(channel, BLOCK), whole(BLOCK), whole(rows.shape[3])))


def block_cycles(rule: Rule, words: int, runs: int, share: float = 1.0) -> float:
    """Cycles of a block of four pixels by four channels; ``share`` (0 to 1) of the reduction is in one call."""
    ends = FINISHED.get(rule, _RETURNED) if share >= 1.0 else 250.0 + share * 270.0
    return ends + _RUN_CYCLES * runs + _WORD_CYCLES * words


def channel_blocks(nest: Nest, steps: TileSteps, name: str) -> int:
    """Number of blocks of four channels in a tile."""
    return -(-steps_product(nest, steps, name) // BLOCK)
