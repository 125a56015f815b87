"""Declarations of float32 kernels that walk over the output's box."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import takewhile
from math import inf

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Clamp, Graph, Node
from tilewright.kernels.c_structs import PREFIX, CStruct
from tilewright.kernels.float_common import ClampF32, clamp_attributes, per_point, per_row, trailing_operand
from tilewright.kernels.kernel import Kernel, KernelChoice, elementwise_over_tensors
from tilewright.operators.elementwise import nest as elementwise_nest
from tilewright.operators.operator import NestOf

_ROW_CYCLES = 60.0
_RAISED_CYCLES = 3.0
"""Cycles of a row besides its elements, and of the lower bound of an element that has no upper one."""


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
    """``elementwise`` for a kernel with a clamp."""
    is_light = clamp_attributes(clamp) == ClampF32()
    return elementwise(node, graph, kernels.unbounded if is_light else kernels.bounded, attributes)


@dataclass(frozen=True, slots=True)
class Broadcasting:
    """The cost of a C function over operands that broadcast, whose attributes are bounds of its results.

    Attributes:
        stem: the symbol behind ``tilewright_``, and the name of the file.
        bounded: cycles of an element with an upper bound.
        light: the same without one, where elements lie side by side.
    """

    stem: str
    bounded: float
    light: float

    def kernel(self, clamp: ClampF32, row: tuple[str, ...] = ()) -> Kernel:
        """The kernel for results with these bounds; ``row``: the dimensions of a row, if an operand is read again."""
        if clamp.maximum != inf:
            return _broadcasting_kernel(self.stem, self.bounded, row)
        raised = _RAISED_CYCLES if clamp.minimum != -inf else 0.0
        return _broadcasting_kernel(self.stem, self.light + raised, row)


def broadcasting_elementwise(node: Node, graph: Graph, costs: Broadcasting, clamp: ClampF32) -> KernelChoice:
    """``elementwise`` for a function over operands that broadcast."""
    choice = elementwise(node, graph, costs.kernel(clamp), clamp)
    row = _repeated_row(choice, graph.tensor(node.outputs[0]).order)
    return replace(choice, kernel=costs.kernel(clamp, row)) if row else choice


@cache
def _broadcasting_kernel(stem: str, element_cycles: float, row: tuple[str, ...]) -> Kernel:
    kernel = elementwise_kernel(stem, ClampF32, element_cycles)
    return replace(kernel, cycles=per_row(element_cycles, row, _ROW_CYCLES)) if row else kernel


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


def _repeated_row(choice: KernelChoice, order: tuple[int, ...]) -> tuple[str, ...]:
    """The dimensions, innermost first, of the longest row that no operand repeats within; empty if none repeats.

    Example: y [n, c, h, w] in the order n, h, w, c, and a factor for each channel: ("d1",).
    """
    extents = {dimension.name: dimension.extent for dimension in choice.nest.dimensions}
    inwards = [f"d{axis}" for axis in reversed(order) if extents[f"d{axis}"] > 1]
    moves = ({name for axis in operand.axes for name, _ in axis.terms} & set(inwards) for operand in choice.reads)
    rows = (tuple(takewhile(names.__contains__, inwards)) for names in moves if len(names) < len(inwards))
    return min((row for row in rows if row), key=len, default=())
