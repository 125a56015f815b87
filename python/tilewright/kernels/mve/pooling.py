"""Pooling of 8-bit tensors by vectors: of sixteen channels (runtime/kernels/largest_bytes.c), or of eight taps of
averages of large windows (runtime/kernels/pool_integer.c).
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tilewright.graph import Graph, Node, RoundAway
from tilewright.kernels.integer import steps_product
from tilewright.kernels.kernel import Declaration, KernelChoice, TileSteps
from tilewright.kernels.scalar.pool_integer import AVERAGE, MAX, average_pool, max_pool_beside, window_cycles
from tilewright.operators.pooling import AveragePoolAttributes

VECTOR = 16

WORD_TAPS = 32
"""Taps of the largest windows whose averages are added up by words."""


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile; channels of the last vector may be missing."""
    vectors = -(-steps_product(choice.nest, steps, "c") // VECTOR)
    vector = window_cycles(choice, steps, 9.0, 20.0, 5.2)
    return 100.0 + steps_product(choice.nest, steps, "n", "oh", "ow") * (110.0 + vectors * vector)


def _average_cycles(choice: KernelChoice, steps: TileSteps) -> float:
    pixels = steps_product(choice.nest, steps, "n", "oh", "ow")
    taps = steps_product(choice.nest, steps, "kh", "kw")
    return 100.0 + pixels * (295.0 + steps_product(choice.nest, steps, "c") * (54.0 + 0.72 * taps))


def _averages(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for averages of windows that are not added up by words."""
    if prod(node.given(AveragePoolAttributes).kernel) <= WORD_TAPS or isinstance(node.epilogue, RoundAway):
        return ()
    return tuple(replace(choice, kernel=_AVERAGE) for choice in average_pool(node, graph))


_KERNEL = replace(MAX, cycles=_cycles)
_AVERAGE = replace(AVERAGE, cycles=_average_cycles)

DECLARATION = Declaration(
    operators={
        "AveragePool": _averages,
        "MaxPool": lambda node, graph: max_pool_beside(node, graph, _KERNEL),
    },
    kernels=(_KERNEL, _AVERAGE),
    numbers={"POOL_WORD_TAPS": WORD_TAPS},
)
