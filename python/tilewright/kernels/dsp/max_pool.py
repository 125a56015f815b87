"""MaxPool of 8-bit tensors, four channels of a word at a time (runtime/kernels/largest_bytes.c)."""

from __future__ import annotations

from tilewright.kernels.kernel import Declaration
from tilewright.kernels.scalar.pool_integer import BesidePrice, max_pool_beside

_KERNEL = BesidePrice(108.0, (7.0, 3.0), (15.0, 10.0, 6.0)).kernel()

DECLARATION = Declaration(
    operators={"MaxPool": lambda node, graph: max_pool_beside(node, graph, _KERNEL)}, kernels=(_KERNEL,)
)
