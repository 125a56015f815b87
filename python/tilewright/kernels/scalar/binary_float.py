"""Float32 Add, Sub, Mul and Div with broadcasting by stride 0."""

from __future__ import annotations

from tilewright.graph import Graph, Node
from tilewright.kernels.float_common import ClampF32, clamp_attributes, float_clamp
from tilewright.kernels.kernel import Declaration, KernelChoice
from tilewright.kernels.scalar.elementwise_float import Broadcasting, broadcasting_elementwise

_COSTS = {
    "Add": Broadcasting("add_f32", 10.0, 5.5),
    "Sub": Broadcasting("sub_f32", 10.0, 5.5),
    "Mul": Broadcasting("mul_f32", 10.0, 5.5),
    "Div": Broadcasting("div_f32", 28.0, 23.5),
}


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for a float32 node of at most six axes; empty for other nodes."""
    clamp = float_clamp(node, graph)
    if clamp is None:
        return ()
    return (broadcasting_elementwise(node, graph, _COSTS[node.operator], clamp_attributes(clamp)),)


DECLARATION = Declaration(
    operators=dict.fromkeys(_COSTS, choices),
    kernels=tuple(costs.kernel(ClampF32()) for costs in _COSTS.values()),
)
