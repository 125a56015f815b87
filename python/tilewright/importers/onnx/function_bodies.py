"""Operators that ONNX defines as functions of simpler operators, replaced by their bodies."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import onnx
import onnx.checker
import onnx.defs
import onnx.helper
import onnx.inliner
import onnx.shape_inference

from tilewright.importers.onnx.schema_checks import nodes_of, schema_of, versions_of

_FAILURES = (RuntimeError, onnx.checker.ValidationError, onnx.shape_inference.InferenceError)
_DOMAIN = "tilewright.bodies"


def with_function_bodies(proto: onnx.ModelProto, known: Collection[str]) -> onnx.ModelProto:
    """The model with operators that are not ``known``, but have a body, replaced by it, however deep.

    A model whose operators are known, or have no body, is given back as it is.
    """
    versions = versions_of(proto)
    done: set[tuple[str, str]] = set()
    while (chosen := _next(proto, known, versions, done)) is not None:
        done.add(chosen)
        # One operator at a time: the inliner leaves out attributes that only have a default, so
        # they have to be written down before, those of operators inside a body included.
        filled = onnx.ModelProto()
        filled.CopyFrom(proto)
        for node in nodes_of(filled.graph):
            if (node.domain, node.op_type) == chosen:
                _fill_defaults(node, versions)
        try:
            proto = onnx.inliner.inline_selected_functions(filled, [chosen], inline_schema_functions=True)
        except _FAILURES:
            # The inliner asks for the types of all operands, those that a node leaves out included.
            proto = _with_local_bodies(filled, chosen, versions) or proto
    return proto


def _with_local_bodies(
    proto: onnx.ModelProto, chosen: tuple[str, str], versions: Mapping[str, int]
) -> onnx.ModelProto | None:
    """The model with the bodies of the chosen operator, each made for the operands that its node has.

    None where ONNX cannot find the type of an operand, or has no body for the model's opset: the operator is then
    refused by its name.
    """
    changed = onnx.ModelProto()
    changed.CopyFrom(proto)
    try:
        types = _types(onnx.shape_inference.infer_shapes(proto).graph)
        nodes = [node for node in nodes_of(changed.graph) if (node.domain, node.op_type) == chosen]
        for number, node in enumerate(nodes):
            body = _body(node, types, versions)
            body.name, body.domain = f"{node.op_type}_{number}", _DOMAIN
            changed.functions.append(body)
            node.op_type, node.domain = body.name, _DOMAIN
        changed.opset_import.add(domain=_DOMAIN, version=1)
        inlined = onnx.inliner.inline_local_functions(changed, convert_version=True)
    except _FAILURES:
        return None
    imports = [entry for entry in inlined.opset_import if entry.domain != _DOMAIN]
    del inlined.opset_import[:]
    inlined.opset_import.extend(imports)
    return inlined


def _types(graph: onnx.GraphProto) -> dict[str, onnx.TypeProto]:
    known = {value.name: value.type for value in (*graph.value_info, *graph.output, *graph.input)}
    for tensor in graph.initializer:
        known[tensor.name] = onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
    return known


def _body(node: onnx.NodeProto, types: Mapping[str, onnx.TypeProto], versions: Mapping[str, int]) -> onnx.FunctionProto:
    """ONNX's body of one node, by the newest text that the model's opset allows; RuntimeError if there is none."""
    schema = schema_of(node, versions)
    newest = versions["" if node.domain == "ai.onnx" else node.domain]
    # The package's stubs lack these members.
    offered = [one for one in getattr(schema, "context_dependent_function_opset_versions", ()) if one <= newest]
    if not offered:
        raise RuntimeError(f"no body of {node.op_type}")
    operands = [types.get(name, onnx.TypeProto()).SerializeToString() for name in node.input]
    make = getattr(schema, "get_context_dependent_function_with_opset_version", None)
    if make is None:
        raise RuntimeError("a package without bodies by version")
    body = onnx.FunctionProto()
    body.ParseFromString(make(max(offered), node.SerializeToString(), operands))
    return body


def _next(
    proto: onnx.ModelProto, known: Collection[str], versions: Mapping[str, int], done: Collection[tuple[str, str]]
) -> tuple[str, str] | None:
    """Domain and name of an operator that needs its body."""
    for node in nodes_of(proto.graph):
        if node.op_type in known or (node.domain, node.op_type) in done:
            continue
        schema = schema_of(node, versions)
        if schema is not None and _has_body(schema):
            return node.domain, node.op_type
    return None


def _has_body(schema: onnx.defs.OpSchema) -> bool:
    # The package's stubs lack both properties.
    return bool(getattr(schema, "has_function", False) or getattr(schema, "has_context_dependent_function", False))


def _fill_defaults(node: onnx.NodeProto, versions: Mapping[str, int]) -> None:
    schema = schema_of(node, versions)
    given = {attribute.name for attribute in node.attribute}
    for name, attribute in sorted(schema.attributes.items() if schema is not None else ()):
        if name not in given and attribute.default_value.type != onnx.AttributeProto.UNDEFINED:
            added = node.attribute.add()
            added.CopyFrom(attribute.default_value)
            added.name = name
