"""Checks of nodes against ONNX's descriptions of their operators: number of operands, attributes and their types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np
import onnx
import onnx.defs

from tilewright.base.lazy_dataclass import dataclass

_LAST_VERSION = 2**31 - 1
"""The greatest version that ONNX's interface accepts; real opset versions are far below."""
_TYPE_NAMES = {number: name for name, number in onnx.AttributeProto.AttributeType.items()}


def schema_of(node: onnx.NodeProto, versions: Mapping[str, int]) -> onnx.defs.OpSchema | None:
    """ONNX's description of the operator in the opset that the model takes; None if there is none.

    Args:
        versions: opset version by domain; the standard domain is the empty name.
    """
    domain = "" if node.domain == "ai.onnx" else node.domain
    if not 0 < versions.get(domain, 0) <= _LAST_VERSION:
        return None
    try:
        return onnx.defs.get_schema(node.op_type, versions[domain], domain)
    except onnx.defs.SchemaError:
        return None


def is_unchanged(proto: onnx.ModelProto, opset: int) -> bool:
    """Whether each operator of ONNX's own domain has the same description in the model's opset as in another one."""
    versions = versions_of(proto)
    later = {**versions, "": opset}
    pairs = [
        (schema_of(node, versions), schema_of(node, later))
        for node in nodes_of(proto.graph)
        if node.domain in ("", "ai.onnx")
    ]
    return all(old and new and old.since_version == new.since_version for old, new in pairs)


def schema_problems(proto: onnx.ModelProto) -> list[tuple[str, str]]:
    """(Node, fault) of every node that contradicts its operator's description, bodies included."""
    versions = versions_of(proto)
    return [
        (_place(node), problem)
        for node in nodes_of(proto.graph)
        for problem in _problems(node, schema_of(node, versions) or _newest_schema(node))
    ]


def _newest_schema(node: onnx.NodeProto) -> onnx.defs.OpSchema | None:
    """The description of an operator that the model's opset does not have yet; None if no opset has it."""
    try:
        return onnx.defs.get_schema(node.op_type, "" if node.domain == "ai.onnx" else node.domain)
    except onnx.defs.SchemaError:
        return None


def versions_of(proto: onnx.ModelProto) -> dict[str, int]:
    """Opset version by domain; the standard domain is the empty name."""
    return {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in proto.opset_import}


def _place(node: onnx.NodeProto) -> str:
    name = f"'{node.name}'" if node.name else f"of '{', '.join(node.output)}'"
    return f"node {name} ({node.op_type})"


def nodes_of(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    """The nodes of a graph or a function, each followed by those of its bodies."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from nodes_of(attribute.g)


def _problems(node: onnx.NodeProto, schema: onnx.defs.OpSchema | None) -> Iterator[str]:
    names = [attribute.name for attribute in node.attribute]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"attribute '{name}' is given twice"
    if schema is None:
        return
    # Deeploy's exporter writes Pad with the attributes of older opsets.
    least = 1 if node.op_type == "Pad" and "pads" in names else schema.min_input
    yield from _count("inputs", len(node.input), least, schema.max_input)
    yield from _count("outputs", len(node.output), schema.min_output, schema.max_output)
    for attribute in node.attribute:
        known = schema.attributes.get(attribute.name)
        # The package's stubs lack the members of the enumeration.
        wanted = int(getattr(known.type, "value")) if known is not None else attribute.type  # noqa: B009
        if wanted != attribute.type and not attribute.ref_attr_name:
            given = _TYPE_NAMES.get(attribute.type, str(attribute.type))
            yield f"attribute '{attribute.name}' is of type {given}, {_TYPE_NAMES[wanted]} is wanted"
    for name, known in sorted(schema.attributes.items()):
        if known.required and name not in names:
            yield f"attribute '{name}' is missing"
    parts = [attribute.i for attribute in node.attribute if attribute.name == "num_outputs"]
    if node.op_type == "Split" and parts and parts[0] != len(node.output):
        # The inference counts on that, and would read outside the list of outputs.
        yield f"attribute 'num_outputs' is {parts[0]}, of {len(node.output)} outputs"


def _count(what: str, count: int, least: int, most: int) -> Iterator[str]:
    if not least <= count <= most:
        yield f"{count} {what}; the operator has " + (f"{least}" if least == most else f"{least} to {most}")


@dataclass(frozen=True, slots=True)
class FormalInput:
    """An input as ONNX describes it.

    Attributes:
        types: NumPy's names of the element types that it may have; empty where ONNX names a type that NumPy has not.
        same: the name of its type; inputs of one name have one type. Empty where each input has its own.
    """

    name: str
    types: frozenset[str]
    same: str
    variadic: bool


@lru_cache(maxsize=1024)
def formal_inputs(operator: str, opset: int) -> tuple[FormalInput, ...]:
    """The inputs of a standard operator; empty if ONNX has no such operator."""
    try:
        schema = onnx.defs.get_schema(operator, opset, "")
    except onnx.defs.SchemaError:
        try:
            schema = onnx.defs.get_schema(operator, "")
        except onnx.defs.SchemaError:
            return ()
    allowed = {entry.type_param_str: entry.allowed_type_strs for entry in schema.type_constraints}
    return tuple(
        FormalInput(
            entry.name,
            frozenset(filter(None, (_numpy_name(text) for text in allowed.get(entry.type_str, [entry.type_str])))),
            entry.type_str if entry.type_str in allowed and entry.is_homogeneous else "",
            entry.option == onnx.defs.OpSchema.FormalParameterOption.Variadic,
        )
        for entry in schema.inputs
    )


def _numpy_name(text: str) -> str:
    """NumPy's name of ``tensor(...)``; empty for what is no tensor of numbers."""
    number = getattr(onnx.TensorProto, text.removeprefix("tensor(").removesuffix(")").upper(), None)
    if not text.startswith("tensor(") or number is None:
        return ""
    return str(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number)).name)
