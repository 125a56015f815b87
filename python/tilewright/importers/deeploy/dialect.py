"""The Deeploy dialect: integers stored in float tensors, requantised by RequantShift.

The translation first reads the graph as if it were float32. Here every tensor gets the
integer type that its values have, and RequantShift moves into the operator before it.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.base.errors import TilewrightError, not_supported
from tilewright.graph import DType, Graph
from tilewright.graph.edit import GraphEditor
from tilewright.importers.deeploy.requantisation import fuse_requantization
from tilewright.importers.deeploy.retype import NoMeaning, retype
from tilewright.importers.onnx.source import SourceModel

OPERATORS = frozenset(
    (
        "RequantShift iLayerNorm iRMSNorm iNoNorm iGELU iHardswish iLeakyReLU iSoftmax ITAMax ITAPartialMax "
        "IntegerDiv IntegerMean TrueIntegerDiv RequantizediGELU RequantizediHardswish RQIntegerDiv "
        "RequantizedConv RequantizedGemm RequantizedMatMul RequantizedAdd"
    ).split()
)


def is_dialect(model: SourceModel, types: Mapping[str, DType]) -> bool:
    """Whether the model has an operator of the dialect, or ``types`` gives a float input an integer type."""
    if any(node.operator in OPERATORS for node in model.nodes):
        return True
    stored = {value.name: value.element_type for value in model.inputs}
    return any(dtype.is_integer and dtype.value != stored.get(name) for name, dtype in types.items())


def read_integers(graph: Graph, types: Mapping[str, DType]) -> Graph:
    """The graph with integer tensors and fused requantisation.

    An input has its type in ``types``, else its own integer type, else int8. Weights get the
    narrowest of int8, int16 and int32 that holds them, biases int32; sums are int32 until a
    node requantises them.

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
            retype(editor, node)
        except NoMeaning as problem:
            problems.append(f"node '{node.name}' ({node.operator}): {problem}")
    if problems:
        raise _refusal(problems)
    fuse_requantization(editor)
    return editor.graph()


def _refusal(problems: list[str]) -> TilewrightError:
    more = [f"and {len(problems) - 20} more"] if len(problems) > 20 else []
    return not_supported(
        "dialect",
        "the model is read as the Deeploy dialect (integers in float tensors), which does not define all its nodes",
        at=tuple(problems[:20] + more),
        help="quantise with QuantizeLinear and DequantizeLinear, or leave out TYPES for a float model",
    )
