"""All operators by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NoReturn

from tilewright.base.errors import not_supported
from tilewright.graph import Attributes, Graph, Node
from tilewright.operators.attributes import attributes_from
from tilewright.operators.binary import BINARY
from tilewright.operators.breadth import BREADTH
from tilewright.operators.conv import CONV
from tilewright.operators.integer_norm import INTEGER_NORM
from tilewright.operators.integer_reduction import INTEGER_REDUCTION
from tilewright.operators.integer_softmax import INTEGER_SOFTMAX
from tilewright.operators.matmul import MATMUL
from tilewright.operators.movement import MOVEMENT
from tilewright.operators.norm import NORM
from tilewright.operators.operator import Operator
from tilewright.operators.pooling import POOLING
from tilewright.operators.quantization import QUANTIZATION
from tilewright.operators.softmax import SOFTMAX
from tilewright.operators.unary import UNARY

_INTEGER = (*INTEGER_NORM, *INTEGER_REDUCTION, *INTEGER_SOFTMAX)
_ALL = (CONV, MATMUL, *BINARY, *UNARY, *POOLING, SOFTMAX, *NORM, *MOVEMENT, *QUANTIZATION, *_INTEGER)

OPERATORS: Mapping[str, Operator] = MappingProxyType({operator.name: operator for operator in (*_ALL, *BREADTH)})


def operator_of(node: Node, graph: Graph | None = None) -> Operator:
    """The declaration of a node's operator: Tilewright's, or the one that the graph brings along.

    Raises:
        TilewrightError (not supported): no operator of that name, with the node's name.
    """
    extensions = graph.extensions if graph is not None else {}
    operator = OPERATORS.get(node.operator, extensions.get(node.operator))
    if not isinstance(operator, Operator):
        raise not_supported(
            "unknown-operator",
            f"operator '{node.operator}' is not supported",
            at=f"node '{node.name}'",
            help="supported: " + ", ".join(sorted(OPERATORS)),
        )
    return operator


def declared(node: Node, extensions: Mapping[str, object] = MappingProxyType({})) -> Operator:
    """The declaration of a node's operator, Tilewright's or one of ``extensions``.

    Of operators that neither knows (while a model is read, those of the project) it is one that
    allows nothing: every field has its default, and nest and reference raise KeyError.
    """
    operator = OPERATORS.get(node.operator, extensions.get(node.operator))
    return operator if isinstance(operator, Operator) else Operator(node.operator, _undeclared, _undeclared)


def _undeclared(node: Node, *_: object) -> NoReturn:
    raise KeyError(node.operator)


def attributes_for(operator: str, values: Mapping[str, Any]) -> Attributes:
    """The attributes of one of Tilewright's operators from their values by name; LookupError if there is none."""
    return attributes_from(OPERATORS[operator].attributes, values)
