"""Float32 softmax along one axis, which is never cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Graph, Node
from tilewright.kernels.c_structs import CStruct, Int32
from tilewright.kernels.float_common import ClampF32, clamp_attributes, float_clamp
from tilewright.kernels.kernel import MAX_RANK, Declaration, KernelChoice
from tilewright.kernels.scalar.elementwise_float import elementwise, elementwise_kernel
from tilewright.operators.softmax import SoftmaxAttributes
from tilewright.operators.softmax import nest as nest_of


@dataclass(frozen=True, slots=True)
class SoftmaxF32(CStruct):
    """Operands: x, y."""

    axis: Annotated[Int32, "of the view; whole in every tile"]
    clamp: ClampF32


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for float32 Softmax of at most six axes."""
    clamp = float_clamp(node, graph)
    if clamp is None:
        return ()
    rank = len(graph.tensor(node.inputs[0]).shape)
    axis = node.given(SoftmaxAttributes).axis
    attributes = SoftmaxF32(MAX_RANK - rank + axis, clamp_attributes(clamp))
    choice = elementwise(node, graph, _SOFTMAX, attributes, nest_of)
    return (replace(choice, uncut=frozenset({f"d{axis}"})),)


_SOFTMAX = elementwise_kernel("softmax_f32", SoftmaxF32, 48.0)

DECLARATION = Declaration(operators={"Softmax": choices}, kernels=(_SOFTMAX,))
