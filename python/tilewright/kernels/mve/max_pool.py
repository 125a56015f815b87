"""MaxPool of 8-bit tensors, sixteen channels of a vector at a time (runtime/kernels/largest_bytes.c)."""

from __future__ import annotations

from dataclasses import replace

from tilewright.kernels.integer import steps_product
from tilewright.kernels.kernel import Declaration, KernelChoice, TileSteps
from tilewright.kernels.scalar.pool_integer import MAX, max_pool_beside, window_cycles

VECTOR = 16


def _cycles(choice: KernelChoice, steps: TileSteps) -> float:
    """Instructions of a call on a tile; channels of the last vector may be missing."""
    vectors = -(-steps_product(choice.nest, steps, "c") // VECTOR)
    vector = window_cycles(choice, steps, 9.0, 20.0, 5.2)
    return 100.0 + steps_product(choice.nest, steps, "n", "oh", "ow") * (110.0 + vectors * vector)


_KERNEL = replace(MAX, cycles=_cycles)

DECLARATION = Declaration(
    operators={"MaxPool": lambda node, graph: max_pool_beside(node, graph, _KERNEL)}, kernels=(_KERNEL,)
)
