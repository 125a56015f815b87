"""Interleave: an image whose channels lie in planes, as the same image with its channels side by side."""

from __future__ import annotations

from tilewright.graph import Array, Graph, Node
from tilewright.operators import elementwise
from tilewright.operators.operator import Arrays, Operator, operand


def interleave(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """The elements of x."""
    return [operand(arrays, 0)]


OPERATORS = (Operator("Interleave", elementwise.nest, interleave),)
