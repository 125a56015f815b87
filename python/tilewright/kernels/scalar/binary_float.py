"""Float32 Add, Sub, Mul and Div with broadcasting by stride 0."""

from __future__ import annotations

from tilewright.graph import Graph, Node
from tilewright.kernels.float_common import ClampF32, clamp_attributes, float_clamp
from tilewright.kernels.kernel import Declaration, KernelChoice
from tilewright.kernels.scalar.elementwise_float import clamped_elementwise, clamping_kernel

_KERNELS = {
    "Add": clamping_kernel("add_f32", ClampF32, 10.0, 5.5),
    "Sub": clamping_kernel("sub_f32", ClampF32, 10.0, 5.5),
    "Mul": clamping_kernel("mul_f32", ClampF32, 10.0, 5.5),
    "Div": clamping_kernel("div_f32", ClampF32, 28.0, 23.5),
}


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for a float32 node of at most six axes; empty for other nodes."""
    clamp = float_clamp(node, graph)
    if clamp is None:
        return ()
    return (clamped_elementwise(node, graph, _KERNELS[node.operator], clamp_attributes(clamp), clamp),)


DECLARATION = Declaration(
    operators=dict.fromkeys(_KERNELS, choices), kernels=tuple(item.bounded for item in _KERNELS.values())
)
