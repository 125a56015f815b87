"""All operators by name.

A file of ``operators/``, or of a family of kernels, declares its operators in ``OPERATORS``; it is read when
one of them is asked for. scripts/declaration_index.py lists which file declares which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NoReturn

from tilewright.base.errors import not_supported
from tilewright.graph import Attributes, Graph, Node
from tilewright.kernels import index
from tilewright.operators.attributes import attributes_from
from tilewright.operators.operator import Operator


class _Catalogue(Mapping[str, Operator]):
    """Operators by name; a file is read when the first of its operators is."""

    def __init__(self) -> None:
        self._files = {name: file for file, names in index.OPERATORS.items() for name in names}
        self._read = dict[str, Operator]()

    def __getitem__(self, name: str) -> Operator:
        if name not in self._read:
            declared = import_module(f"tilewright.{self._files[name]}").OPERATORS
            self._read |= {operator.name: operator for operator in declared}
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __contains__(self, name: object) -> bool:
        return name in self._files


OPERATORS: Mapping[str, Operator] = _Catalogue()
"""All operators that Tilewright has."""


def operator_of(node: Node, graph: Graph | None = None) -> Operator:
    """The declaration of a node's operator: Tilewright's, or one of the project's in ``graph.extensions``.

    Raises:
        TilewrightError (not supported): there is no operator of that name.
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

    An operator in neither (a project's, while a model is read) gets a declaration that allows
    nothing: every field has its default, and nest and reference raise KeyError.
    """
    operator = OPERATORS.get(node.operator, extensions.get(node.operator))
    return operator if isinstance(operator, Operator) else Operator(node.operator, _undeclared, _undeclared)


def _undeclared(node: Node, *_: object) -> NoReturn:
    raise KeyError(node.operator)


def attributes_for(operator: str, values: Mapping[str, Any]) -> Attributes:
    """The attributes of one of Tilewright's operators from their values by name.

    Raises:
        KeyError: Tilewright has no such operator.
        TypeError: as ``attributes_from``.
    """
    return attributes_from(OPERATORS[operator].attributes, values)
