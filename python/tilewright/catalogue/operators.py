"""All operators by name.

A file of ``operators/``, or of a family of kernels, declares its operators in ``OPERATORS``. Every file
of these folders is read, so that a new operator needs no entry in a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any, NoReturn

from tilewright import operators
from tilewright.base.errors import not_supported
from tilewright.graph import Attributes, Graph, Node
from tilewright.kernels import dsp, mve, rvv, scalar, xpulpv2
from tilewright.operators.attributes import attributes_from
from tilewright.operators.operator import Operator


def _found() -> Iterator[Operator]:
    for folder in (operators, scalar, xpulpv2, rvv, dsp, mve):
        for name in sorted(module.name for module in iter_modules(folder.__path__)):
            yield from getattr(import_module(f"{folder.__name__}.{name}"), "OPERATORS", ())


OPERATORS: Mapping[str, Operator] = MappingProxyType({operator.name: operator for operator in _found()})


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
