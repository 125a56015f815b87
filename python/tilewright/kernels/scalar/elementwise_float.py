"""Declarations of float32 kernels that walk over the output's box."""

from __future__ import annotations

from tilewright.graph import Graph, Node
from tilewright.kernels.c_structs import PREFIX, CStruct
from tilewright.kernels.float_common import ClampF32, per_point, trailing_operand
from tilewright.kernels.kernel import CyclesOf, Kernel, KernelChoice, TileSteps, elementwise_over_tensors
from tilewright.operators.elementwise import nest as elementwise_nest
from tilewright.operators.operator import NestOf


def elementwise_kernel(
    stem: str, attributes: type[CStruct], element_cycles: float, unclamped_cycles: float | None = None
) -> Kernel:
    """The C function ``tilewright_<stem>``, which loads all elements at a position before it stores the result.

    Args:
        stem: the symbol behind ``tilewright_``, and the name of the file.
        attributes: the C struct.
        element_cycles: cycles of an element.
        unclamped_cycles: the same where results have no bounds; None if C has no loop for that.
    """
    cycles = per_point(element_cycles)
    if unclamped_cycles is not None:
        cycles = _by_clamp(cycles, per_point(unclamped_cycles))
    return Kernel(f"{PREFIX}{stem}", attributes, cycles, elementwise_over_tensors)


def _by_clamp(clamped: CyclesOf, unclamped: CyclesOf) -> CyclesOf:
    """``cycles`` of kernels with a loop for each; their attributes are a ClampF32, or have one as ``clamp``.

    What is read again for other rows, as a factor for each channel is, makes rows short: they cost what a clamp costs.
    """

    def cycles(choice: KernelChoice, steps: TileSteps) -> float:
        clamp = getattr(choice.attributes, "clamp", choice.attributes)
        is_light = clamp == ClampF32() and not _repeats_rows(choice)
        return unclamped(choice, steps) if is_light else clamped(choice, steps)

    return cycles


def _repeats_rows(choice: KernelChoice) -> bool:
    """Whether an operand moves along some of the long dimensions of the output, but not along all."""
    long = {dimension.name for dimension in choice.nest.dimensions if dimension.extent > 1}
    moves = ({name for axis in operand.axes for name, _ in axis.terms} & long for operand in choice.reads)
    return any(0 < len(names) < len(long) for names in moves)


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
