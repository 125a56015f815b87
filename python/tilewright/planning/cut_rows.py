"""Float normalisations of rows that are too long for the pool of tiles become operators that take parts of rows.

Before:  y = LayerNormalization(x [64, 1024], scale, bias), with 4,000 bytes of l1
After:   mean = ReduceMean(x), d = x - mean, squares = ReduceSumSquare(d), y = d / root * scale + bias,
         where root = sqrt(squares / 1024 + epsilon); the sums are made part by part
"""

from __future__ import annotations

import numpy as np

from tilewright.graph import Attributes, DType, Graph, Node
from tilewright.graph.edit import NO_ATTRIBUTES, GraphEditor, make_node
from tilewright.operators.binary import BinaryAttributes
from tilewright.operators.norm import NormAttributes
from tilewright.operators.reduction import ReductionAttributes
from tilewright.plan import BufferKind
from tilewright.platform import Platform
from tilewright.storage.joining import may_group
from tilewright.tiling.homed_operand import constant_home
from tilewright.tiling.paths import near_pool

NORMS = ("LayerNormalization", "RMSNormalization")


def with_cut_rows(graph: Graph, platform: Platform) -> Graph:
    """The graph without normalisations of which not even one row fits near the core, where tensors travel there."""
    if may_group(platform):
        return graph
    room = platform.pool(near_pool(platform, BufferKind.TILE)).usable_bytes
    constants_travel = platform.access_cycles(constant_home(platform)) is None if _has_constants(graph) else True
    long = [node for node in graph.nodes if room is not None and _row_bytes(graph, node, constants_travel) > room]
    if not long:
        return graph
    editor = GraphEditor(graph)
    for node in long:
        _take_apart(editor, node)
    return editor.graph()


def _has_constants(graph: Graph) -> bool:
    return any(tensor.is_constant for tensor in graph.tensors.values())


def _row_bytes(graph: Graph, node: Node, constants_travel: bool) -> int:
    """Bytes near the core for a row of x and an element of all else; 0 for other operators and other types."""
    if node.operator not in NORMS or node.epilogue is not None or node.given(NormAttributes).epsilon < 0:
        return 0
    tensors = [graph.tensor(name) for name in (*node.inputs, *node.outputs) if name]
    if any(tensor.dtype is not DType.FLOAT32 for tensor in tensors):
        return 0
    travelling = [tensor for tensor in tensors if constants_travel or not tensor.is_constant]
    return (tensors[0].shape[-1] + len(travelling) - 1) * DType.FLOAT32.size_bytes


def _take_apart(editor: GraphEditor, node: Node) -> None:
    """Put the operators that take parts of rows in the place of a normalisation."""
    x = editor.tensors[node.inputs[0]]
    last, column = len(x.shape) - 1, (*x.shape[:-1], 1)
    editor.remove(node)

    def emit(operator: str, inputs: list[str], part: str, *, narrow: bool = False, output: str = "") -> str:
        name = f"{node.name}.{part}"
        made = output or editor.variable(x, name, **({"shape": column} if narrow else {})).name
        attributes: Attributes = NO_ATTRIBUTES if operator == "Sqrt" else BinaryAttributes()
        if operator.startswith("Reduce"):
            attributes = ReductionAttributes((last,), keepdims=True)
        sources = (*node.sources, node.name)
        editor.add(make_node(operator, inputs, [made], name=name, attributes=attributes, sources=sources))
        return made

    def scalar(value: float, part: str) -> str:
        return editor.constant(f"{node.name}.{part}", np.full((1,) * len(x.shape), value, np.float32)).name

    centred = x.name
    if node.operator == "LayerNormalization":
        centred = emit("Sub", [x.name, emit("ReduceMean", [x.name], "mean", narrow=True)], "centred")
    squares = emit("ReduceSumSquare", [centred], "squares", narrow=True)
    variance = emit("Mul", [squares, scalar(1.0 / x.shape[-1], "count")], "variance", narrow=True)
    raised = emit("Add", [variance, scalar(node.given(NormAttributes).epsilon, "epsilon")], "raised", narrow=True)
    root = emit("Sqrt", [raised], "root", narrow=True)
    normal = emit("Div", [centred, root], "normal")
    bias = node.inputs[2] if len(node.inputs) > 2 and node.inputs[2] else ""
    scaled = emit("Mul", [normal, node.inputs[1]], "scaled", output="" if bias else node.outputs[0])
    if bias:
        emit("Add", [scaled, bias], "shifted", output=node.outputs[0])
