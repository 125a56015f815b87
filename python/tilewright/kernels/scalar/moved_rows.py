"""What it costs to move elements row by row: words where rows of input and output lie side by side, else elements.

Before:  x [1, 23, 1, 64] of int8 -> Slice of its first 22 rows -> y, both in the order of their axes
After:   one row of 1,408 bytes, moved by words: 1,800 instructions, where 6 for each element were 8,500
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tilewright.graph import Graph, Node, Tensor
from tilewright.kernels.float_common import points, step_of
from tilewright.kernels.kernel import CyclesOf, Kernel, KernelChoice, TileSteps

_CALL_CYCLES = 790.0
"""Instructions of a walk over one input beside its rows, on RV32IMAC."""

_ROW_CYCLES = 50.0
"""Instructions of a row beside its bytes."""

_BYTE_OF_WORDS_CYCLES, _BYTE_CYCLES = 0.8, 3.3
"""Instructions of a byte of a row that lies side by side, in whole words and else."""

_APART_CYCLES = 6.0
"""Instructions of an element whose neighbours lie elsewhere."""


def joined_axes(
    node: Node, graph: Graph, steps: Sequence[int] = (), source_axes: Sequence[int] = ()
) -> tuple[int, ...]:
    """Axes of the output, the innermost first, whose elements lie in one row in all inputs and in the output.

    Args:
        steps: of the input for each axis of the output; 1 where there are none.
        source_axes: the axis of the input for each axis of the output; the same where there are none.
    """
    y = graph.tensor(node.outputs[0])
    sources = [graph.tensor(name) for name in node.inputs if name]
    same = source_axes or range(len(y.shape))
    inner = [_moving(x) for x in sources]
    joined: list[int] = []
    for place, axis in enumerate(_moving(y)):
        if any(len(axes) <= place or axes[place] != same[axis] for axes in inner) or (steps and steps[axis] != 1):
            break
        joined.append(axis)
        if any(x.shape[same[axis]] != y.shape[axis] for x in sources):
            break
    return tuple(joined)


def _moving(tensor: Tensor) -> list[int]:
    """Axes of more than one element, the innermost in memory first."""
    return [axis for axis in reversed(tensor.order) if tensor.shape[axis] > 1]


def in_rows(
    kernel: Kernel, axes: Sequence[int], element_bytes: int, parts: Sequence[int] = (), axis: int = 0
) -> Kernel:
    """The kernel with the cost of rows along ``axes`` of the output; dimension ``d<axis>`` of the nest follows each.

    Args:
        parts: extents along ``axis`` of the inputs that stand one behind the other there; none for a single input.
    """
    call, cut = _CALL_CYCLES * max(len(parts), 1), parts if axis in axes else ()
    return replace(kernel, cycles=_row_cycles(axes, element_bytes, call, cut))


def _row_cycles(axes: Sequence[int], element_bytes: int, call: float, parts: Sequence[int]) -> CyclesOf:
    """``cycles`` of a kernel whose rows are tiles along ``axes``, each of as many rows of inputs as there are parts."""
    names = [f"d{axis}" for axis in axes]
    if not names:
        return lambda choice, steps: call + points(choice.nest, steps) * _APART_CYCLES

    def cycles(choice: KernelChoice, steps: TileSteps) -> float:
        row, elements = prod(step_of(choice.nest, steps, name) for name in names), points(choice.nest, steps)
        lengths = [row * part // sum(parts) * element_bytes for part in parts] or [row * element_bytes]
        each = sum(
            _ROW_CYCLES + length * (_BYTE_OF_WORDS_CYCLES if length % 4 == 0 else _BYTE_CYCLES) for length in lengths
        )
        return call + elements / row * each

    return cycles
