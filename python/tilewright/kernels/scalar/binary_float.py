"""Float32 Add, Sub, Mul and Div with broadcasting by stride 0."""

from __future__ import annotations

from tilewright.graph import Graph, Node
from tilewright.kernels.float_common import ClampF32, clamp_attributes, float_clamp
from tilewright.kernels.kernel import Declaration, KernelChoice
from tilewright.kernels.scalar.elementwise_float import elementwise

_STEMS = {"Add": "add_f32", "Sub": "sub_f32", "Mul": "mul_f32", "Div": "div_f32"}
_ELEMENT_CYCLES = 10.0
_DIVIDE_CYCLES = 28.0


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for a float32 node of at most six axes; empty for other nodes."""
    clamp = float_clamp(node, graph)
    stem = _STEMS.get(node.operator)
    if clamp is None or stem is None:
        return ()
    cycles = _DIVIDE_CYCLES if node.operator == "Div" else _ELEMENT_CYCLES
    return (elementwise(node, graph, stem, clamp_attributes(clamp), cycles),)


DECLARATION = Declaration(
    operators=dict.fromkeys(_STEMS, choices),
    functions=dict.fromkeys(_STEMS.values(), ClampF32),
)
