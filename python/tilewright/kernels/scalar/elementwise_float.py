"""Declarations of float32 kernels that walk over the output's box."""

from __future__ import annotations

from tilewright.graph import Graph, Node
from tilewright.kernels.c_structs import PREFIX, CStruct
from tilewright.kernels.float_common import per_point, trailing_operand
from tilewright.kernels.kernel import Kernel, KernelChoice, elementwise_over_tensors
from tilewright.operators.elementwise import nest as elementwise_nest
from tilewright.operators.operator import NestOf


def elementwise_kernel(stem: str, attributes: type[CStruct], element_cycles: float) -> Kernel:
    """The C function ``tilewright_<stem>``, which loads all elements at a position before it stores the result."""
    return Kernel(f"{PREFIX}{stem}", attributes, per_point(element_cycles), elementwise_over_tensors)


def elementwise(
    node: Node, graph: Graph, kernel: Kernel, attributes: CStruct, nest_of: NestOf = elementwise_nest
) -> KernelChoice:
    """The kernel on the node's nest; operands are its inputs, then its output. Its file is named as its symbol."""
    nest = nest_of(node, graph)
    operands = zip(node.inputs, nest.reads, strict=True)
    reads = tuple(trailing_operand(graph, name, axes) for name, axes in operands if name)
    return KernelChoice(
        kernel=kernel,
        sources=(f"{kernel.symbol.removeprefix(PREFIX)}.c", "walk.c"),
        nest=nest,
        reads=reads,
        writes=(trailing_operand(graph, node.outputs[0], nest.writes[0]),),
        attributes=attributes,
    )
