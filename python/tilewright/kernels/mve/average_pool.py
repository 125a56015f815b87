"""AveragePool of 8-bit tensors over large windows, by vectors of eight taps (runtime/kernels/pool_integer.c)."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tilewright.graph import Graph, Node, RoundAway
from tilewright.kernels.integer import steps_product
from tilewright.kernels.kernel import Declaration, KernelChoice, TileSteps
from tilewright.kernels.scalar.pool_integer import AVERAGE, average_pool
from tilewright.operators.pooling import AveragePoolAttributes

WORD_TAPS = 32
"""Taps of the largest windows that C adds up by words, four channels at a time, and not by vectors."""


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    pixels = steps_product(choice.nest, steps, "n", "oh", "ow")
    taps = steps_product(choice.nest, steps, "kh", "kw")
    return 100.0 + pixels * (295.0 + steps_product(choice.nest, steps, "c") * (54.0 + 0.72 * taps))


def _choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel at the price of vectors; none for windows that have another one."""
    if prod(node.given(AveragePoolAttributes).kernel) <= WORD_TAPS or isinstance(node.epilogue, RoundAway):
        return ()
    return tuple(replace(choice, kernel=_KERNEL) for choice in average_pool(node, graph))


_KERNEL = replace(AVERAGE, cycles=_cycles)

DECLARATION = Declaration(
    operators={"AveragePool": _choices}, kernels=(_KERNEL,), numbers={"POOL_WORD_TAPS": WORD_TAPS}
)
