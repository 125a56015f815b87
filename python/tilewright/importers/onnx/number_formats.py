"""Number formats that kernels lack: float16 and bfloat16 become float32, weights of four and two bits become bytes.

Before:  x float16, w float16 -> Conv -> y float16;   w int4 -> DequantizeLinear
After:   x float32, w float32 -> Conv -> y float32;   w int8 -> DequantizeLinear

Every float16 and bfloat16 is a float32, so constants keep their values; results are rounded less often. Integers of
a few bits stay as they are where anything but DequantizeLinear reads them, for it alone gives them a meaning that
does not depend on their width.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

_HALVES = frozenset({int(TensorProto.FLOAT16), int(TensorProto.BFLOAT16)})
_BYTES: Mapping[int, int] = MappingProxyType(
    {
        int(TensorProto.INT4): int(TensorProto.INT8),
        int(TensorProto.UINT4): int(TensorProto.UINT8),
        int(TensorProto.INT2): int(TensorProto.INT8),
        int(TensorProto.UINT2): int(TensorProto.UINT8),
    }
)
_TYPE_ATTRIBUTES = frozenset({"to", "dtype", "output_dtype", "output_datatype", "stash_type", "softmax_precision"})
_DEQUANTIZED = (0, 2)
"""Inputs of DequantizeLinear that hold stored integers: values and zero points."""


def with_known_formats(proto: ModelProto) -> ModelProto:
    """The model in float32 and bytes; the model itself if it has none of these formats."""
    if not any(_needs_change(graph) for graph in _graphs(proto.graph)):
        return proto
    changed = ModelProto()
    changed.CopyFrom(proto)
    for graph in _graphs(changed.graph):
        _change(graph)
    return changed


def _graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and the bodies in it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _graphs(attribute.g)


def _needs_change(graph: GraphProto) -> bool:
    known = _HALVES | set(_BYTES)
    return (
        any(value.type.tensor_type.elem_type in known for value in _values(graph))
        or any(tensor.data_type in known for tensor in graph.initializer)
        or any(_holds(attribute, known) for node in graph.node for attribute in node.attribute)
    )


def _values(graph: GraphProto) -> Iterator[onnx.ValueInfoProto]:
    yield from graph.input
    yield from graph.output
    yield from graph.value_info


def _holds(attribute: AttributeProto, types: frozenset[int] | set[int]) -> bool:
    if attribute.type == AttributeProto.TENSOR:
        return attribute.t.data_type in types
    return attribute.name in _TYPE_ATTRIBUTES and attribute.i in types


def _change(graph: GraphProto) -> None:
    stored = _only_dequantized(graph)
    for value in _values(graph):
        if value.type.tensor_type.elem_type in _HALVES:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
        if value.name in stored and value.type.tensor_type.elem_type in _BYTES:
            value.type.tensor_type.elem_type = _BYTES[value.type.tensor_type.elem_type]
    for tensor in graph.initializer:
        _change_tensor(tensor, tensor.name in stored)
    for node in graph.node:
        for attribute in node.attribute:
            _change_attribute(node, attribute, stored)


def _change_attribute(node: NodeProto, attribute: AttributeProto, stored: frozenset[str]) -> None:
    if attribute.type == AttributeProto.TENSOR:
        _change_tensor(attribute.t, node.op_type == "Constant" and node.output[0] in stored)
    elif attribute.name in _TYPE_ATTRIBUTES and attribute.i in _HALVES:
        attribute.i = TensorProto.FLOAT


def _change_tensor(tensor: TensorProto, stored: bool) -> None:
    if tensor.data_type in _HALVES:
        array = np.asarray(numpy_helper.to_array(tensor)).astype(np.float32)
    elif stored and tensor.data_type in _BYTES:
        wanted = onnx.helper.tensor_dtype_to_np_dtype(_BYTES[tensor.data_type])
        array = np.asarray(numpy_helper.to_array(tensor)).astype(wanted)
    else:
        return
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _only_dequantized(graph: GraphProto) -> frozenset[str]:
    """Names of tensors that DequantizeLinear alone reads, as values or zero points."""
    read: set[str] = set()
    others = {value.name for value in graph.output}
    for node in graph.node:
        for position, name in enumerate(node.input):
            fits = node.op_type == "DequantizeLinear" and position in _DEQUANTIZED
            (read if fits else others).add(name)
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                others.update(name for body in _graphs(attribute.g) for inner in body.node for name in inner.input)
    return frozenset(read - others)
