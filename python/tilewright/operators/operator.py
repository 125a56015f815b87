"""The declaration of an operator: its loop nest and its reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.base.errors import TilewrightError, not_supported
from tilewright.graph import Array, Graph, Node
from tilewright.operators.nest import Nest

Arrays = Sequence["Array | None"]
"""The node's inputs in order; None stands for an absent optional input."""

NestOf = Callable[[Node, Graph], Nest]
Reference = Callable[[Node, Graph, Arrays], "list[Array]"]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator as docs/reference/graph.md defines it.

    Attributes:
        name: ``Node.operator`` of the nodes that this declares.
        nest: iteration space and accesses of a node, from the shapes of its tensors alone.
        reference: the outputs of a node, in their tensors' dtypes and logical shapes.
    """

    name: str
    nest: NestOf
    reference: Reference


def operand(arrays: Arrays, index: int) -> Array:
    """An input that every node of the operator has; ValueError if it is absent."""
    array = optional_operand(arrays, index)
    if array is None:
        raise ValueError(f"input {index} is absent")
    return array


def optional_operand(arrays: Arrays, index: int) -> Array | None:
    """An input that a node may leave out."""
    return arrays[index] if index < len(arrays) else None


def refuse(node: Node, code: str, reason: str, help: str | tuple[str, ...] = ()) -> TilewrightError:
    """A not_supported error that names the node and its operator."""
    return not_supported(code, f"{node.operator} {reason}", at=f"node '{node.name}' ({node.operator})", help=help)
