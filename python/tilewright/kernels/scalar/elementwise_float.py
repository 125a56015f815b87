"""Declarations of float32 kernels that walk over the output's box."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.graph import Clamp, Graph, Node
from tilewright.kernels.c_structs import PREFIX, CStruct
from tilewright.kernels.float_common import ClampF32, clamp_attributes, per_point, trailing_operand
from tilewright.kernels.kernel import Kernel, KernelChoice, elementwise_over_tensors
from tilewright.operators.elementwise import nest as elementwise_nest
from tilewright.operators.operator import NestOf


@dataclass(frozen=True, slots=True)
class Clamping:
    """One C function, by what it costs: where its results have bounds, and where they have none."""

    bounded: Kernel
    unbounded: Kernel


def elementwise_kernel(stem: str, attributes: type[CStruct], element_cycles: float) -> Kernel:
    """The C function ``tilewright_<stem>``, which loads all elements at a position before it stores the result."""
    return Kernel(f"{PREFIX}{stem}", attributes, per_point(element_cycles), elementwise_over_tensors)


def clamping_kernel(
    stem: str, attributes: type[CStruct], element_cycles: float, unbounded_cycles: float | None = None
) -> Clamping:
    """``elementwise_kernel`` of a function with a clamp.

    Args:
        stem: the symbol behind ``tilewright_``, and the name of the file.
        attributes: the C struct.
        element_cycles: cycles of an element.
        unbounded_cycles: the same where results have no bounds; None if C has no loop for that.
    """
    bounded = elementwise_kernel(stem, attributes, element_cycles)
    if unbounded_cycles is None:
        return Clamping(bounded, bounded)
    return Clamping(bounded, elementwise_kernel(stem, attributes, unbounded_cycles))


def clamped_elementwise(node: Node, graph: Graph, kernels: Clamping, attributes: CStruct, clamp: Clamp) -> KernelChoice:
    """``elementwise`` for a kernel with a clamp.

    What is read again for other rows, as a factor for each channel is, makes rows short: they cost what a clamp costs.
    """
    choice = elementwise(node, graph, kernels.bounded, attributes)
    is_light = clamp_attributes(clamp) == ClampF32() and not _repeats_rows(choice)
    return replace(choice, kernel=kernels.unbounded) if is_light else choice


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


def _repeats_rows(choice: KernelChoice) -> bool:
    """Whether an operand moves along some of the long dimensions of the output, but not along all."""
    long = {dimension.name for dimension in choice.nest.dimensions if dimension.extent > 1}
    moves = ({name for axis in operand.axes for name, _ in axis.terms} & long for operand in choice.reads)
    return any(0 < len(names) < len(long) for names in moves)
