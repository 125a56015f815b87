"""MaxPool of 8-bit tensors, four channels of a word at a time (runtime/kernels/max_pool_xpulpv2.c)."""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph import Graph, Node
from tilewright.kernels.integer import steps_product
from tilewright.kernels.kernel import Declaration, KernelChoice, TileSteps
from tilewright.kernels.scalar.pool_integer import MAX, MaxPoolInteger, max_pool_by
from tilewright.kernels.xpulpv2.family import WORD

SOURCES = ("max_pool_xpulpv2.c",)

SMALL = 3
"""The most rows and columns of windows whose taps are read without a loop over them."""


def _choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel, whose tiles and parts have whole words of channels."""
    found = max_pool_by(node, graph, _WORDS, SOURCES)
    return tuple(replace(choice, multiples={**choice.multiples, "c": WORD}) for choice in found)


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Cycles of a call on a tile, fitted to measurements on pulp-open: words of channels, and single channels.

    Nine taps of a word, of small windows some more than once, take as long whatever the window.
    """
    rows = steps_product(choice.nest, steps, "kh")
    height, columns = choice.given(MaxPoolInteger).windows.kernel
    some, single = divmod(steps_product(choice.nest, steps, "c"), WORD)
    word = 18.0 if max(height, columns) <= SMALL else rows * (24.0 + 4.0 * columns)
    channel = 20.0 + rows * (20.0 + 15.0 * columns)
    return 100.0 + steps_product(choice.nest, steps, "n", "oh", "ow") * (153.0 + some * word + single * channel)


_WORDS = replace(MAX, symbol="tilewright_max_pool_xpulpv2_words", cycles=_cycles)

DECLARATION = Declaration(operators={"MaxPool": _choices}, kernels=(_WORDS,))
