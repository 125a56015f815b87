"""How many nodes a model has once its own functions stand in place of their calls.

Forty functions, each of which calls the one before twice, are 2**40 nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import onnx

from tilewright.base.errors import bad_input
from tilewright.importers.construction import COMPUTED_FACTOR, LEAST_COMPUTED_BYTES
from tilewright.importers.onnx.schema_checks import nodes_of

_MOST_NODES = 1 << 16
_Name = tuple[str, str, str]
_Size = tuple[int, int]
"""Nodes and their bytes in the file."""


def require_few_calls(proto: onnx.ModelProto, path: Path) -> None:
    """Refuse a model that would grow too large. Functions that call themselves are left to ONNX's inliner.

    Raises:
        TilewrightError (bad input): more than 65,536 nodes, or more bytes than a model's constants may grow by.
    """
    functions = {(item.domain, item.name, item.overload): item for item in proto.functions}
    sizes: dict[_Name, _Size] = {}
    for name in functions:
        _measure(name, functions, sizes)
    nodes, size_bytes = _size(proto.graph, functions, sizes)
    most_bytes = LEAST_COMPUTED_BYTES + COMPUTED_FACTOR * proto.ByteSize()
    if nodes > _MOST_NODES or size_bytes > most_bytes:
        what = f"the functions of the model become {nodes:,} nodes of {size_bytes:,} bytes in place of their calls"
        most = f"at most {_MOST_NODES:,} nodes and {most_bytes:,} bytes are read"
        raise bad_input("model-broken", what, at=str(path), help=f"{most}; export the model again without functions")


def _measure(first: _Name, functions: Mapping[_Name, onnx.FunctionProto], sizes: dict[_Name, _Size]) -> None:
    """Add the sizes of a function and of all that it calls, those first that others call."""
    waiting, begun = [first], set[_Name]()
    while waiting:
        name = waiting[-1]
        called = [] if name in sizes or name in begun else _called(functions[name], functions)
        begun.add(name)
        missing = [item for item in called if item not in sizes and item not in begun]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        if name not in sizes:
            sizes[name] = _size(functions[name], functions, sizes)


def _called(function: onnx.FunctionProto, functions: Mapping[_Name, onnx.FunctionProto]) -> list[_Name]:
    names = dict.fromkeys((node.domain, node.op_type, node.overload) for node in nodes_of(function))
    return [name for name in names if name in functions]


def _size(
    graph: onnx.GraphProto | onnx.FunctionProto,
    functions: Mapping[_Name, onnx.FunctionProto],
    sizes: Mapping[_Name, _Size],
) -> _Size:
    """Of a graph whose calls are replaced; a function that is not measured yet calls itself."""
    nodes, size_bytes = 0, 0
    for node in nodes_of(graph):
        name = (node.domain, node.op_type, node.overload)
        own = sizes.get(name, (0, 0)) if name in functions else (1, node.ByteSize())
        nodes, size_bytes = nodes + own[0], size_bytes + own[1]
    return nodes, size_bytes
