"""The kernel of Feed: ``tilewright_copy``, of which a ring may take the result."""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph import Graph, Node
from tilewright.kernels.float_common import per_point
from tilewright.kernels.kernel import Declaration, Kernel, KernelChoice, elementwise_over_tensors
from tilewright.kernels.scalar.movement import Copy, copy


def feed(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for Feed."""
    return tuple(replace(choice, kernel=_FEED) for choice in copy(node, graph))


_FEED = Kernel("tilewright_copy", Copy, per_point(6.0), elementwise_over_tensors)

DECLARATION = Declaration(operators={"Feed": feed})
