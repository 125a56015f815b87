"""Operators that ONNX defines as functions of simpler operators, replaced by their bodies."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import onnx
import onnx.checker
import onnx.defs
import onnx.inliner
import onnx.shape_inference

from tilewright.importers.onnx.schema_checks import nodes_of, schema_of, versions_of


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
        except (RuntimeError, onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
            # Types that ONNX's inference cannot find: the operator is then refused by its name.
            continue
    return proto


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
