"""Float32 LayerNormalization and RMSNormalization over the last axis (runtime/kernels/norm_f32.c)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tilewright.graph import Graph, Node
from tilewright.kernels.c_structs import CStruct, Float32, Int32
from tilewright.kernels.float_common import all_float, fits_rank, per_point, trailing_operand
from tilewright.kernels.kernel import Declaration, Kernel, KernelChoice, elementwise_over
from tilewright.operators.integer_norm import last_axis_nest
from tilewright.operators.norm import NormAttributes


@dataclass(frozen=True, slots=True)
class NormF32(CStruct):
    """Operands: x, scale, the bias if there is one, y, with six axes; the last one is whole in every tile."""

    epsilon: Float32
    biased: Annotated[Int32, "the bias is among the operands"]


_ELEMENT_CYCLES = 30.0
_KERNELS = {
    "LayerNormalization": Kernel("tilewright_layer_norm_f32", NormF32, per_point(_ELEMENT_CYCLES), elementwise_over(0)),
    "RMSNormalization": Kernel("tilewright_rms_norm_f32", NormF32, per_point(_ELEMENT_CYCLES), elementwise_over(0)),
}


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for float32 tensors of at most six axes; scale and bias have the last axis only."""
    names = (*node.inputs, *node.outputs)
    if node.epilogue is not None or not all_float(graph, names) or not fits_rank(graph, names):
        return ()
    nest = last_axis_nest(node, graph)
    last = len(graph.tensor(node.outputs[0]).shape) - 1
    given = [(name, axes) for name, axes in zip(node.inputs, nest.reads, strict=True) if name]
    return (
        KernelChoice(
            kernel=_KERNELS[node.operator],
            sources=("norm_f32.c", "walk.c"),
            nest=nest,
            reads=tuple(trailing_operand(graph, name, axes) for name, axes in given),
            writes=(trailing_operand(graph, node.outputs[0], nest.writes[0]),),
            attributes=NormF32(node.given(NormAttributes).epsilon, biased=int(len(given) > 2)),
            uncut=frozenset({f"d{last}"}),
        ),
    )


DECLARATION = Declaration(operators=dict.fromkeys(_KERNELS, choices), kernels=tuple(_KERNELS.values()))
