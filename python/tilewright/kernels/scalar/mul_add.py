"""MulAdd of float32: the operator, and its kernel (runtime/kernels/mul_add_f32.c)."""

from __future__ import annotations

from tilewright.graph import Array, Graph, Node
from tilewright.kernels.float_common import ClampF32, clamp_attributes, float_clamp
from tilewright.kernels.kernel import Declaration, KernelChoice
from tilewright.kernels.scalar.elementwise_float import Broadcasting, broadcasting_elementwise
from tilewright.operators import elementwise
from tilewright.operators.epilogue import finish
from tilewright.operators.operator import Arrays, Operator, operand

_COSTS = Broadcasting("mul_add_f32", 13.0, 7.0)


def reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """a * b + c with NumPy's broadcasting; product and sum are rounded to float32."""
    a, b, c = (operand(arrays, number) for number in range(3))
    return finish(node, graph, a * b + c)


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for a float32 node of at most six axes; empty for other nodes."""
    clamp = float_clamp(node, graph)
    if clamp is None:
        return ()
    return (broadcasting_elementwise(node, graph, _COSTS, clamp_attributes(clamp)),)


OPERATORS = (
    Operator(
        "MulAdd",
        elementwise.nest,
        reference,
        takes_clamp=True,
        is_alike=True,
    ),
)

DECLARATION = Declaration(operators={"MulAdd": choices}, kernels=(_COSTS.kernel(ClampF32()),))
