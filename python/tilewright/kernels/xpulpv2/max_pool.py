"""MaxPool of 8-bit tensors, four channels of a word at a time (runtime/kernels/max_pool_xpulpv2.c)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tilewright.kernels.kernel import Declaration
from tilewright.kernels.scalar.pool_integer import MAX, max_pool, pooling_cycles

SOURCES = ("max_pool_xpulpv2.c",)

_WORDS = replace(MAX, symbol="tilewright_max_pool_xpulpv2_words", cycles=pooling_cycles(0.75, 8.0))

DECLARATION = Declaration(operators={"MaxPool": partial(max_pool, kernel=_WORDS, sources=SOURCES)}, kernels=(_WORDS,))
