"""Feed: an input that the caller gives row by row, as the tensor that the model's first operators read."""

from __future__ import annotations

from tilewright.graph import Array, Graph, Node
from tilewright.operators import elementwise
from tilewright.operators.operator import Arrays, Operator, operand


def feed(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """The elements of x."""
    return [operand(arrays, 0)]


OPERATORS = (Operator("Feed", elementwise.nest, feed),)
