"""Powers with a small constant exponent become products, roots and quotients, which cost a tenth of ``powf``.

Before:  y = Pow(x, 2)       y = Pow(x, -0.5)
After:   y = Mul(x, x)       r = Sqrt(x), y = Reciprocal(r)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from tilewright.graph import DType, Graph, Node
from tilewright.graph.edit import NO_ATTRIBUTES, GraphEditor, make_node
from tilewright.operators.binary import BinaryAttributes

_STEPS: Mapping[float, tuple[str, ...]] = MappingProxyType(
    {
        1.0: ("Reshape",),
        2.0: ("Square",),
        3.0: ("Square", "Times"),
        4.0: ("Square", "Square"),
        0.5: ("Sqrt",),
        -0.5: ("Sqrt", "Reciprocal"),
        -1.0: ("Reciprocal",),
        -2.0: ("Square", "Reciprocal"),
    }
)
"""By exponent: operators one behind the other. Square multiplies a tensor by itself, Times by the power's base."""


def expand_powers(graph: Graph) -> Graph:
    """Pow of float32 tensors by 1, 2, 3, 4, 0.5, -0.5, -1 or -2 as other operators.

    Each step rounds to float32. The square root of negative infinity is NaN, where the power is infinity.
    """
    editor = GraphEditor(graph)
    for node in editor.nodes():
        if node.operator == "Pow" and node.epilogue is None:
            _expand(editor, node)
    return editor.graph()


def _expand(editor: GraphEditor, power: Node) -> None:
    base, exponent = (editor.tensors[name] for name in power.inputs)
    output = editor.tensors[power.outputs[0]]
    if exponent.data is None or exponent.elements != 1 or base.dtype is not DType.FLOAT32:
        return
    steps = _STEPS.get(float(exponent.data.reshape(())))
    if steps is None or output.shape != base.shape:
        return
    editor.remove(power)
    name = base.name
    for number, step in enumerate(steps, start=1):
        last = number == len(steps)
        target = output if last else editor.variable(output, f"{output.name}/{step.lower()}", quantization=None)
        node = _step(step, name, base.name, target.name)
        editor.add(replace(node, name=power.name if last else node.name, sources=power.sources))
        name = target.name


def _step(step: str, name: str, base: str, target: str) -> Node:
    if step not in ("Square", "Times"):
        return make_node(step, [name], [target], attributes=NO_ATTRIBUTES)
    return make_node("Mul", [name, name if step == "Square" else base], [target], attributes=BinaryAttributes())
