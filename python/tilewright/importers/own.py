"""Nodes of operators that a firmware project brings along."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Attributes, DType, Tensor
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.source import SourceNode
from tilewright.operators.attributes import attributes_from

Outputs = Sequence[tuple[Sequence[int], DType]]
Infer = Callable[[Sequence["Tensor | None"], Any], Outputs]


@dataclass(frozen=True, slots=True)
class OwnImport:
    """The facts about an operator of the firmware project that the importer needs.

    Attributes:
        infer: shape and element type of a node's outputs; ValueError says why a node is not taken.
        attributes: the type in which the graph and ``infer`` get the node's attributes.
    """

    infer: Infer
    attributes: type[Attributes]


OwnOperators = Mapping[tuple[str, str], OwnImport]
"""(Domain, name) of ONNX nodes to the project's operator."""


def own_name(domain: str, operator: str) -> str:
    """The operator's name in the graph: <domain>.<operator>, or the operator alone in ONNX's own domain."""
    return f"{domain}.{operator}" if domain not in ("", "ai.onnx") else operator


def own_operator(node: SourceNode, own: OwnOperators) -> OwnImport | None:
    """The project's facts about the node's operator; None if the operator is not the project's own."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    return own.get((domain, node.operator))


def translate_own(call: Call, own: OwnImport) -> None:
    """Take the node over as it is."""
    node = call.node
    inputs = [call.input(index) if call.has(index) else None for index in range(len(node.inputs))]
    try:
        given = attributes_from(own.attributes, node.attributes)
    except TypeError as error:
        raise Unsupported(str(error), "give the node the attributes that its operator declares") from None
    try:
        outputs = own.infer(inputs, given)
    except ValueError as error:
        raise Unsupported(str(error) or "its declaration does not take it") from None
    if len(outputs) < len(node.outputs):
        raise Unsupported(f"{len(node.outputs)} outputs, {len(outputs)} are declared")
    names = [tensor.name if tensor is not None else "" for tensor in inputs]
    call.emit_all(own_name(node.domain, node.operator), names, outputs, given)
