"""What ONNX's shape inference says of a model's nodes, apart from what the file declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from math import prod

import numpy as np
import onnx
import onnx.shape_inference
from onnx import helper, numpy_helper

from tilewright.graph import Array, Tensor

_MOST_ELEMENTS = 256
"""Constants up to here may decide shapes and are handed over with their values, larger ones with their type only."""
_POOLING = ("AveragePool", "LpPool", "MaxPool")
_UNTYPED = "expected to have type but instead is null"
"""The inference's message for a node behind an operator that it does not know, which is no contradiction."""
_CONTRADICTION = ("[ShapeInferenceError]", "[TypeInferenceError]")


def inferred(
    proto: onnx.ModelProto, tensors: Mapping[str, Tensor], constants: Mapping[str, Array], *, strict: bool
) -> tuple[onnx.ValueInfoProto, ...]:
    """Types and shapes of what the nodes write, as far as ONNX's inference finds them.

    Args:
        tensors: what the model was translated to: inputs, and outputs of nodes that the inference gets wrong.
        constants: arrays by name: initializers, inputs that became constants, what was computed from them.
        strict: an operator whose operands contradict each other raises; else nothing is said of its outputs.

    Raises:
        ValueError: the contradiction, in the inference's words.
    """
    bare = _bare(proto, tensors, constants)
    try:
        result = onnx.shape_inference.infer_shapes(bare, strict_mode=strict)
    except onnx.shape_inference.InferenceError as error:
        if strict and _UNTYPED in str(error):
            return inferred(proto, tensors, constants, strict=False)
        if strict and any(mark in str(error) for mark in _CONTRADICTION):
            raise ValueError(_words(str(error))) from None
        return ()
    except (RuntimeError, ValueError):
        return ()
    return tuple({info.name: info for info in (*result.graph.output, *result.graph.value_info)}.values())


def _is_followed(node: onnx.NodeProto) -> bool:
    """False where the inference differs from the specification, or speaks of what does not run.

    Branches of If that are not taken need not fit; onnxruntime broadcasts the ellipses of Einsum; a window that
    would start in the end padding does not count, but the inference counts it; the output of ConvTranspose may be
    smaller than its input; STFT gives half of the frequencies, but the inference counts all.
    """
    given = {attribute.name: attribute for attribute in node.attribute}
    if any(entry.type == onnx.AttributeProto.GRAPH for entry in node.attribute):
        return False
    if node.op_type == "ConvTranspose" and "output_shape" in given:
        return False
    if node.op_type == "STFT":
        return False
    if node.op_type == "Einsum":
        return b"..." not in given["equation"].s
    return node.op_type not in _POOLING or "ceil_mode" not in given or given["ceil_mode"].i == 0


def _is_of_batches(node: onnx.NodeProto, extents: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether a node is a Gemm of operands with leading axes, which the inference refuses."""
    return node.op_type == "Gemm" and all(len(extents.get(name, ())) > 2 for name in node.input[:2])


def _bare(proto: onnx.ModelProto, tensors: Mapping[str, Tensor], constants: Mapping[str, Array]) -> onnx.ModelProto:
    """The nodes that the inference is asked of, with what they read as inputs and constants.

    Nodes that were computed at compile time are left out, and their results given.
    """
    run = [node for node in proto.graph.node if not all(name in constants for name in node.output if name)]
    extents = {name: tensor.shape for name, tensor in tensors.items()}
    extents |= {name: array.shape for name, array in constants.items()}
    nodes = _in_order([node for node in run if _is_followed(node) and not _is_of_batches(node, extents)])
    written = {name for node in nodes for name in node.output}
    read = dict.fromkeys(name for node in nodes for name in node.input if name and name not in written)
    small = {name: constants[name] for name in read if name in constants and constants[name].size <= _MOST_ELEMENTS}
    given = {
        name: constants[name] if name in constants else tensors[name]
        for name in read
        if name not in small and (name in constants or name in tensors)
    }
    graph = helper.make_graph(
        nodes,
        "guard",
        [helper.make_tensor_value_info(name, _element_type(value), value.shape) for name, value in given.items()],
        [onnx.ValueInfoProto(name=name) for name in chain.from_iterable(node.output for node in nodes) if name],
        [numpy_helper.from_array(array, name) for name, array in small.items()],
    )
    opsets = list(proto.opset_import)
    missing = {node.domain for node in nodes} - {entry.domain for entry in opsets} - {"", "ai.onnx"}
    return helper.make_model(graph, opset_imports=opsets + [helper.make_opsetid(name, 1) for name in sorted(missing)])


def _element_type(value: Array | Tensor) -> int:
    return helper.np_dtype_to_tensor_dtype(value.dtype.numpy if isinstance(value, Tensor) else value.dtype)


def _in_order(nodes: Sequence[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """Nodes so that producers come first; the names form no circle."""
    waiting = {name for node in nodes for name in node.output}
    ordered: list[onnx.NodeProto] = []
    left = list(nodes)
    while left:
        behind = []
        for node in left:
            if waiting.intersection(node.input):
                behind.append(node)
                continue
            ordered.append(node)
            waiting.difference_update(node.output)
        if len(behind) == len(left):
            return [*ordered, *behind]
        left = behind
    return ordered


def _words(text: str) -> str:
    """The first contradiction of a list, on one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0].removeprefix("[ShapeInferenceError] Inference error(s): ") if lines else "a contradiction"


def require_bytes(model: onnx.ModelProto, feeds: Mapping[str, Array], most_bytes: int) -> None:
    """Ask the inference how large the outputs of a model without shapes are, before it is run.

    Raises:
        ValueError: more than ``most_bytes``.
    """
    asked = onnx.ModelProto()
    asked.CopyFrom(model)
    for info in asked.graph.input:
        array = feeds[info.name]
        info.CopyFrom(helper.make_tensor_value_info(info.name, _element_type(array), array.shape))
        if array.size <= _MOST_ELEMENTS:
            asked.graph.initializer.append(numpy_helper.from_array(array, info.name))
    try:
        result = onnx.shape_inference.infer_shapes(asked, strict_mode=False)
    except (RuntimeError, ValueError, onnx.shape_inference.InferenceError):
        return
    total = sum(_least_bytes(info) for info in result.graph.output)
    if total > most_bytes:
        raise ValueError(f"it would take {total:,} bytes; {most_bytes:,} are left for what is computed here")


def _least_bytes(info: onnx.ValueInfoProto) -> int:
    """The bytes of a tensor, extents that are not known counted as 1."""
    tensor = info.type.tensor_type
    if not tensor.elem_type:
        return 0
    extents = [max(int(dim.dim_value), 0) if dim.HasField("dim_value") else 1 for dim in tensor.shape.dim]
    return prod(extents) * int(np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type)).itemsize)
