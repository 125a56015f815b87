"""Estimates of the bytes that kernels read or write of each operand: busy buffers are worth a faster pool.

Before:  y[oc, oh] += w[oc, ic] * x[ic, oh], 8 x 16 outputs, 4 input channels, one byte per element
After:   x 4 * 16 = 64 (gathered once for all oc), w 8 * 16 * 4 = 512 (read again for each oh), y 8 * 16 = 128
"""

from __future__ import annotations

from math import prod

from tilewright.operators.nest import AxisMap, Iteration
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem


def operand_accesses(problem: TilingProblem, operand: TileOperand) -> int:
    """Bytes of an operand that a kernel reads or writes over a run; an estimate.

    A tensor is touched once for each point of the dimensions that its map depends on: kernels
    gather an input for all output channels at once. A constant is walked again for each output
    element, since there are more weights than registers.
    """
    names = set(operand.dimensions)
    if operand.data is not None:
        names |= {item.name for item in problem.kernel.nest.dimensions if item.iteration is Iteration.PARALLEL}
    points = prod(problem.extents[name] for name in names)
    return points * prod(_window(axis) for axis in operand.axes) * operand.element_bytes


def scratch_accesses(problem: TilingProblem) -> int:
    """Bytes of scratch that a kernel touches over a run; an estimate: each gathered byte is written and read once."""
    reads = (item for item in problem.operands if not item.write and item.data is None)
    return 2 * max((operand_accesses(problem, item) for item in reads), default=0)


def _window(axis: AxisMap) -> int:
    """Elements of an axis that one point of the iteration space touches."""
    return (axis.last_offset - axis.first_offset) // axis.divisor + 1
