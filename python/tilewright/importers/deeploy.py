"""The Deeploy dialect: integers stored in float tensors, requantised by RequantShift.

The translation first reads the graph as if it were float32. Here every tensor gets the
integer type that its values have, and RequantShift moves into the operator before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from tilewright.errors import TilewrightError, not_supported
from tilewright.graph import Array, DType, Graph, Node, RequantizeShift
from tilewright.graph_edit import GraphEditor, joined_sources
from tilewright.importers.source import SourceModel

OPERATORS = frozenset(
    (
        "RequantShift iLayerNorm iRMSNorm iNoNorm iGELU iHardswish iSoftmax ITAMax ITAPartialMax "
        "IntegerDiv IntegerMean TrueIntegerDiv RequantizediGELU RequantizediHardswish RQIntegerDiv "
        "RequantizedConv RequantizedGemm RequantizedMatMul RequantizedAdd"
    ).split()
)
_ACCUMULATING = frozenset({"Conv", "MatMul", "Add", "Sub", "Mul"})
_MOVING = frozenset({"Reshape", "Transpose", "Slice", "Concat", "Pad", "MaxPool", "Copy"})
_WEIGHT_TYPES = (DType.INT8, DType.INT16, DType.INT32)


def is_dialect(model: SourceModel, types: Mapping[str, DType]) -> bool:
    """Whether the model has an operator of the dialect, or ``types`` another integer type for an input."""
    if any(node.operator in OPERATORS for node in model.nodes):
        return True
    stored = {value.name: value.element_type for value in model.inputs}
    return any(dtype.is_integer and dtype.value != stored.get(name) for name, dtype in types.items())


def read_integers(graph: Graph, types: Mapping[str, DType]) -> Graph:
    """The graph with integer tensors and fused requantisation.

    Inputs are of the type in ``types``, else of their own integer type, else int8. Weights get
    the narrowest of int8, int16 and int32 that holds them, biases int32; what an operator
    accumulates is int32 until it is requantised.

    Raises:
        TilewrightError (not supported): operators without integer meaning, constants that are not integers.
    """
    editor = GraphEditor(graph)
    for name in graph.inputs:
        own = editor.tensors[name].dtype
        editor.retype(name, types.get(name, own if own.is_integer else DType.INT8))
    problems: list[str] = []
    for node in graph.nodes:
        try:
            _retype(editor, node)
        except _NoMeaning as problem:
            problems.append(f"node '{node.name}' ({node.operator}): {problem}")
    if problems:
        raise _refusal(problems)
    for node in editor.nodes():
        if node.operator == "Requantize" and editor.has(node):
            _fuse(editor, node)
    return editor.graph()


class _NoMeaning(Exception):
    """A node that the dialect does not define."""


def _refusal(problems: list[str]) -> TilewrightError:
    more = [f"and {len(problems) - 20} more"] if len(problems) > 20 else []
    return not_supported(
        "dialect",
        "the model is read as the Deeploy dialect (integers in float tensors), which does not define all its nodes",
        at=tuple(problems[:20] + more),
        help="quantise with QuantizeLinear and DequantizeLinear, or leave out TYPES for a float model",
    )


def _retype(editor: GraphEditor, node: Node) -> None:
    """Give the node's constants and output their integer types."""
    output = node.outputs[0]
    if node.operator in _ACCUMULATING:
        for position, name in enumerate(node.inputs):
            _integer_constant(editor, name, (DType.INT32,) if position == 2 else _WEIGHT_TYPES)
        editor.retype(output, DType.INT32)
    elif node.operator in _MOVING:
        for name in node.inputs:
            _integer_constant(editor, name, _WEIGHT_TYPES)
        dtypes = {editor.tensors[name].dtype for name in node.inputs}
        if len(dtypes) > 1:
            raise _NoMeaning("inputs of different types: " + ", ".join(sorted(dtype.value for dtype in dtypes)))
        editor.retype(output, dtypes.pop())
        _check_pad(editor, node)
    elif node.operator != "Requantize":
        raise _NoMeaning("no integer meaning in this dialect")


def _integer_constant(editor: GraphEditor, name: str, dtypes: tuple[DType, ...]) -> None:
    """Store a constant in the first type that holds its values. A constant read twice has one type."""
    tensor = editor.tensors[name]
    if tensor.data is None or tensor.dtype in dtypes:
        return
    data = tensor.data
    whole = data.astype(np.int64)
    if not np.array_equal(whole, data):
        raise _NoMeaning(f"constant '{name}' holds values that are not integers")
    for dtype in dtypes:
        limits = np.iinfo(dtype.numpy)
        if limits.min <= whole.min() and whole.max() <= limits.max:
            _store(editor, name, whole.astype(dtype.numpy), dtype)
            return
    raise _NoMeaning(f"constant '{name}' holds values beyond 32 bits")


def _store(editor: GraphEditor, name: str, data: Array, dtype: DType) -> None:
    data.flags.writeable = False
    editor.retype(name, dtype, data=data)


def _check_pad(editor: GraphEditor, node: Node) -> None:
    if node.operator != "Pad":
        return
    value = node.attributes["value"]
    limits = np.iinfo(editor.tensors[node.outputs[0]].dtype.numpy)
    if value != value or value in (float("inf"), float("-inf")) or not limits.min <= value <= limits.max:
        raise _NoMeaning(f"pad value {value}")
    attributes = MappingProxyType({**node.attributes, "value": int(value)})
    editor.replace(node, replace(node, attributes=attributes))


def _fuse(editor: GraphEditor, node: Node) -> None:
    """Requantize after an accumulating operator becomes its epilogue, if channels agree."""
    producer = editor.producer(node.inputs[0])
    if producer is None or producer.operator not in _ACCUMULATING or producer.epilogue is not None:
        return
    if editor.sole_reader(node.inputs[0]) is not node or not _axis_fits(editor, node, producer):
        return
    attributes = dict(producer.attributes)
    if producer.operator in ("Add", "Sub", "Mul"):
        attributes["channel_axis"] = node.attributes["channel_axis"]
    fused = replace(
        producer,
        outputs=node.outputs,
        epilogue=node.epilogue,
        attributes=MappingProxyType(attributes),
        sources=joined_sources(producer, node),
    )
    editor.remove(node)
    editor.replace(producer, fused)


def _axis_fits(editor: GraphEditor, node: Node, producer: Node) -> bool:
    epilogue = node.epilogue
    if isinstance(epilogue, RequantizeShift) and len(epilogue.multiplier) == len(epilogue.addend) == 1:
        return True
    wanted: int = node.attributes["channel_axis"]
    if producer.operator == "Conv":
        return wanted == 1
    return producer.operator != "MatMul" or wanted == len(editor.tensors[node.outputs[0]].shape) - 1
