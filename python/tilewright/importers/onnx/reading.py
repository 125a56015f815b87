"""Reading ONNX files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.defs
import onnx.external_data_helper
import onnx.inliner
import onnx.shape_inference
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import numpy_helper

from tilewright.base.errors import TilewrightError, bad_input, not_supported
from tilewright.base.inputs import read_content
from tilewright.graph import Array
from tilewright.importers.onnx.function_bodies import with_function_bodies
from tilewright.importers.onnx.function_calls import require_few_calls
from tilewright.importers.onnx.inference import inferred, require_bytes
from tilewright.importers.onnx.number_formats import with_known_formats
from tilewright.importers.onnx.schema_checks import is_unchanged, nodes_of, schema_problems
from tilewright.importers.onnx.source import NO_CLAIM, SourceGraph, SourceModel, SourceNode, SourceValue
from tilewright.importers.problems import listed

OLDEST_OPSET = 7
_HELP_BROKEN = "export the model again, or fetch it again if it came over a network"


def read_model(path: Path, known: Collection[str] = ()) -> SourceModel:
    """The content of a model file.

    Args:
        known: operators that are read as they are. Others that ONNX defines as functions of
            simpler ones become these, once ``known`` is not empty.

    Raises:
        TilewrightError (bad input): missing, empty, truncated or not ONNX; external data missing.
        TilewrightError (not supported): opset, sparse initializers.
    """
    proto = _parsed(path)
    _check_values(proto.graph, path)
    _load_external_data(proto, path)
    if proto.functions:
        proto = _without_functions(proto, path)
    opset = _opset(proto, path)
    _check_nodes(proto, path)
    proto = _with_known_formats(proto, path)
    if known:
        proto = _with_known_formats(with_function_bodies(proto, known), path)
    graph = proto.graph
    if graph.sparse_initializer:
        raise not_supported("sparse-initializer", "sparse initializers", at=str(path), help="store them densely")
    constants = {tensor.name: _array(tensor, path) for tensor in graph.initializer}
    inputs = tuple(_value(info) for info in graph.input if info.name not in constants)
    return SourceModel(
        graph.name or "model",
        str(path),
        opset,
        tuple(_node(node, path) for node in graph.node),
        constants,
        inputs,
        tuple(info.name for info in graph.output),
        lambda node, arrays, most_bytes: _evaluate(node, arrays, opset, most_bytes),
        tuple(_value(info) for info in (*graph.output, *graph.value_info)),
        lambda given, arrays, strict: tuple(_value(info) for info in inferred(proto, given, arrays, strict=strict)),
        tuple(_value(info) for info in graph.input if info.name in constants),
    )


def _with_known_formats(proto: onnx.ModelProto, path: Path) -> onnx.ModelProto:
    try:
        return with_known_formats(proto)
    except (ValueError, TypeError, KeyError) as error:
        raise _broken(path, f"the data of a constant does not match its shape and type: {error}") from None


def _parsed(path: Path) -> onnx.ModelProto:
    if path.exists() and not path.is_file():
        what = f"'{path}' is no regular file; a model is read more than once, which pipes and devices do not allow"
        raise bad_input("model-unreadable", what, help="store the model in a file")
    try:
        content = read_content(path)
    except FileNotFoundError:
        raise bad_input("model-missing", f"there is no file '{path}'", help="check MODEL") from None
    except OSError as error:
        raise bad_input("model-unreadable", f"cannot read '{path}': {error.strerror}", help="check MODEL") from None
    if not content:
        raise bad_input("model-empty", "the model file is empty", at=str(path), help=_HELP_BROKEN)
    try:
        proto: onnx.ModelProto = onnx.ModelProto.FromString(content)
    except DecodeError:
        raise _broken(path, "the file is not ONNX, or is cut off") from None
    if not _is_text(proto):
        raise _broken(path, "a name in the file is not UTF-8")
    if not proto.HasField("graph") or not proto.graph.output or not proto.opset_import:
        raise _broken(path, "the file is not ONNX, or is cut off: it has no graph with outputs, or no opset")
    return proto


def _is_text(message: Any) -> bool:
    """Whether all strings of a message can be decoded; protobuf gives bytes where they cannot."""
    for field, value in message.ListFields():
        if field.type not in (field.TYPE_STRING, field.TYPE_MESSAGE):
            continue
        for item in value if isinstance(value, Sequence) and not isinstance(value, str) else (value,):
            if not (isinstance(item, str) if field.type == field.TYPE_STRING else _is_text(item)):
                return False
    return True


def _broken(path: Path, what: str) -> TilewrightError:
    return bad_input("model-broken", what, at=str(path), help=_HELP_BROKEN)


def _without_functions(proto: onnx.ModelProto, path: Path) -> onnx.ModelProto:
    """The model with its own functions put in place of their calls."""
    require_few_calls(proto, path)
    try:
        return onnx.inliner.inline_local_functions(proto)
    except (RuntimeError, onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise _broken(path, f"the functions of the model cannot be put in place of their calls: {error}") from None


def _stored(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """Every constant of a graph."""
    yield from graph.initializer
    for node in nodes_of(graph):
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                yield attribute.t
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from attribute.g.initializer


def _load_external_data(proto: onnx.ModelProto, path: Path) -> None:
    for tensor in _stored(proto.graph):
        if not onnx.external_data_helper.uses_external_data(tensor):
            continue
        try:
            onnx.external_data_helper.load_external_data_for_tensor(tensor, str(path.parent))
        except (OSError, onnx.checker.ValidationError, ValueError, RuntimeError):
            location = next((entry.value for entry in tensor.external_data if entry.key == "location"), "?")
            raise bad_input(
                "external-data-missing",
                f"'{tensor.name}' is stored in '{location}', which cannot be read",
                at=str(path),
                help=f"put '{location}' beside the model, or save the model with its data inside",
            ) from None
        tensor.data_location = onnx.TensorProto.DEFAULT
        del tensor.external_data[:]


def _opset(proto: onnx.ModelProto, path: Path) -> int:
    versions = [entry.version for entry in proto.opset_import if entry.domain in ("", "ai.onnx")]
    newest = onnx.defs.onnx_opset_version()
    if not versions and any(node.domain in ("", "ai.onnx") for node in nodes_of(proto.graph)):
        raise _broken(path, "the model does not say which ONNX opset it uses")
    if not versions:
        # Operators of other domains only, each of which is read or refused by its name.
        return int(newest)
    if versions[0] < OLDEST_OPSET and is_unchanged(proto, OLDEST_OPSET):
        return OLDEST_OPSET
    if not OLDEST_OPSET <= versions[0] <= newest:
        raise not_supported(
            "opset",
            f"ONNX opset {versions[0]}; {OLDEST_OPSET} to {newest} are supported",
            at=str(path),
            help="convert with onnx.version_converter"
            + ("" if versions[0] < OLDEST_OPSET else ", or install a newer onnx package"),
        )
    return int(versions[0])


def _check_nodes(proto: onnx.ModelProto, path: Path) -> None:
    problems = schema_problems(proto)
    if not problems:
        return
    places = listed([f"{place}: {problem}" for place, problem in problems])
    what = f"{len(problems)} contradictions to what ONNX says of the operators in '{path}'"
    raise bad_input("model-broken", what, at=places, help=_HELP_BROKEN)


def _check_values(graph: onnx.GraphProto, path: Path) -> None:
    """Inputs, outputs and initializers have names: an empty one stands for an operand that is absent."""
    kinds = (("input", graph.input), ("output", graph.output), ("initializer", graph.initializer))
    for what, values in kinds:
        for number, value in enumerate(values):
            if not value.name:
                raise _broken(path, f"{what} {number} of the graph has no name")
    for tensor in _stored(graph):
        if any(extent < 0 for extent in tensor.dims):
            raise _broken(path, f"'{tensor.name}' has shape {list(tensor.dims)}: no extent of a constant is negative")


def _array(tensor: onnx.TensorProto, path: Path) -> Array:
    try:
        return np.asarray(numpy_helper.to_array(tensor))
    except (ValueError, TypeError, KeyError) as error:
        raise _broken(path, f"the data of '{tensor.name}' does not match its shape and type: {error}") from None


def _value(info: onnx.ValueInfoProto) -> SourceValue:
    kind = info.type.WhichOneof("value")
    if kind != "tensor_type":
        return SourceValue(info.name, kind or NO_CLAIM, None)
    tensor = info.type.tensor_type
    try:
        element_type = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)).name
    except (KeyError, TypeError):
        element_type = f"type {tensor.elem_type}" if tensor.elem_type else NO_CLAIM
    if not tensor.HasField("shape"):
        return SourceValue(info.name, element_type, None)
    return SourceValue(info.name, element_type, tuple(_extent(dim) for dim in tensor.shape.dim))


def _extent(dim: onnx.TensorShapeProto.Dimension) -> int | str | None:
    kind = dim.WhichOneof("value")
    if kind == "dim_value" and dim.dim_value >= 0:
        return int(dim.dim_value)
    return str(dim.dim_param) if kind == "dim_param" and dim.dim_param else None


def _node(node: onnx.NodeProto, path: Path) -> SourceNode:
    if not node.output or not node.op_type:
        raise _broken(path, f"node '{node.name}' has no operator or no output")
    attributes = {attribute.name: _attribute(attribute, path) for attribute in node.attribute}
    return SourceNode(node.name, node.op_type, node.domain, tuple(node.input), tuple(node.output), attributes)


def _attribute(attribute: onnx.AttributeProto, path: Path) -> Any:
    if attribute.ref_attr_name:
        what = f"attribute '{attribute.name}' is attribute '{attribute.ref_attr_name}' of a function, but in none"
        raise _broken(path, what)
    value = onnx.helper.get_attribute_value(attribute)
    if attribute.type == onnx.AttributeProto.TENSOR:
        return _array(value, path)
    if attribute.type == onnx.AttributeProto.GRAPH:
        return _body(value, path)
    if attribute.type == onnx.AttributeProto.STRING:
        return value.decode("utf-8", "replace")
    if attribute.type == onnx.AttributeProto.STRINGS:
        return [text.decode("utf-8", "replace") for text in value]
    if attribute.type in (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS):
        return list(value)
    return value


def _body(graph: onnx.GraphProto, path: Path) -> SourceGraph:
    return SourceGraph(
        tuple(_node(node, path) for node in graph.node),
        {tensor.name: _array(tensor, path) for tensor in graph.initializer},
        tuple(info.name for info in graph.input),
        tuple(info.name for info in graph.output),
    )


def _evaluate(node: SourceNode, arrays: Sequence[Array | None], opset: int, most_bytes: int) -> list[Array]:
    """Run one node on constants with onnx's reference implementation. ValueError if the results would be too large."""
    # Importing this takes a twentieth of the tool's start, and most models have nothing to fold.
    from onnx.reference import ReferenceEvaluator

    names = [f"i{number}" if array is not None else "" for number, array in enumerate(arrays)]
    outputs = [f"o{number}" if name else "" for number, name in enumerate(node.outputs)]
    attributes = {
        key: numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
        for key, value in node.attributes.items()
    }
    try:
        proto = onnx.helper.make_node(node.operator, names, outputs, **attributes)
        graph = onnx.helper.make_graph(
            [proto],
            "constant",
            [onnx.ValueInfoProto(name=name) for name in names if name],
            [onnx.ValueInfoProto(name=name) for name in outputs if name],
        )
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
        feeds = {name: array for name, array in zip(names, arrays, strict=True) if array is not None}
        require_bytes(model, feeds, most_bytes)
        results = iter(ReferenceEvaluator(model).run(None, feeds))
        return [np.asarray(next(results)) if name else np.zeros(0) for name in outputs]
    except Exception as error:  # whatever the reference raises, the node cannot be folded
        raise ValueError(str(error) or type(error).__name__) from error
