"""The declaration that binary and unary float32 kernels share; such kernels walk over the output's box."""

from __future__ import annotations

from tilewright.graph import Graph, Node
from tilewright.kernels.attributes import CStruct
from tilewright.kernels.float_common import CALL_CYCLES, points, trailing_operand
from tilewright.kernels.kernel import KernelChoice, TileSteps, elementwise_over
from tilewright.operators.elementwise import nest as elementwise_nest
from tilewright.operators.operator import NestOf


def elementwise(
    node: Node,
    graph: Graph,
    stem: str,
    attributes: CStruct,
    element_cycles: float,
    nest_of: NestOf = elementwise_nest,
) -> KernelChoice:
    """The kernel ``tilewright_<stem>`` on the node's nest; operands are its inputs, then its output."""
    nest = nest_of(node, graph)
    operands = zip(node.inputs, nest.reads, strict=True)
    reads = tuple(trailing_operand(graph, name, axes) for name, axes in operands if name)

    def cycles(steps: TileSteps) -> float:
        return CALL_CYCLES + points(nest, steps) * element_cycles

    return KernelChoice(
        symbol=f"tilewright_{stem}",
        sources=(f"{stem}.c", "walk.c"),
        nest=nest,
        reads=reads,
        writes=(trailing_operand(graph, node.outputs[0], nest.writes[0]),),
        attributes=attributes,
        cycles=cycles,
        stores=elementwise_over(*range(len(reads))),
    )
