"""Predicted cycles of transfers and kernels for many tile shapes at once.

A transfer of a rectangle costs set-up cycles for each command, cycles for each line and
its bytes over the link's width. A line is the longest run that is contiguous in the home.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tilewright.operators.nest import AxisMap, axis_range, clipped
from tilewright.tiling.footprint import Counts, Steps, rounds, tile_shape
from tilewright.tiling.problem import TileOperand

Cycles = npt.NDArray[np.float64]


def moved_bytes(
    operand: TileOperand, steps: Steps, counts: Mapping[str, Counts], order: Sequence[str], extents: Mapping[str, int]
) -> Counts:
    """Bytes over the operand's link for each candidate, walked in ``order``.

    Exact when no axis depends on two cut dimensions at once, else an upper estimate.
    """
    elements: Counts = np.asarray(1, dtype=np.int64)
    distinct: Counts = np.asarray(1, dtype=np.int64)
    for axis, extent in zip(operand.axes, operand.extents, strict=True):
        elements = elements * _axis_total(axis, extent, steps, counts, extents)
    for name in operand.dimensions & set(counts):
        distinct = distinct * counts[name]
    return elements * operand.element_bytes * rounds(order, counts, operand) // distinct


def transfer_cycles(
    operand: TileOperand, steps: Steps, counts: Mapping[str, Counts], order: Sequence[str], extents: Mapping[str, int]
) -> Cycles:
    """Cycles that the operand's link is busy for each candidate; 0 where nothing moves."""
    if operand.link is None:
        return np.zeros(1)
    link = operand.link
    lines, commands = _lines(operand, steps)
    loads = rounds(order, counts, operand)
    per_load = commands * link.setup_cycles + lines * link.line_cycles
    return loads * per_load + moved_bytes(operand, steps, counts, order, extents) / link.bytes_per_cycle


def _axis_total(
    axis: AxisMap, extent: int, steps: Steps, counts: Mapping[str, Counts], extents: Mapping[str, int]
) -> Counts:
    """Elements of one axis summed over the tiles of the dimensions that it depends on."""
    cut = [name for name, _ in axis.terms if name in counts]
    ranged = axis_range(axis, extent, {name: extents[name] for name, _ in axis.terms if name not in cut})
    if not cut:
        lower, upper = clipped(ranged, {})
        return np.asarray(upper - lower, dtype=np.int64)
    if len(cut) == 1:
        name = cut[0]
        distinct, inverse = np.unique(steps[name], return_inverse=True)
        totals = [
            sum(
                upper - lower
                for lower, upper in (
                    clipped(ranged, {name: (first, min(first + step, extents[name]))})
                    for first in range(0, extents[name], int(step))
                )
            )
            for step in distinct.tolist()
        ]
        return np.asarray(totals, dtype=np.int64)[inverse]
    tiles: Counts = np.asarray(1, dtype=np.int64)
    reach: Counts = np.asarray(axis.last_offset - axis.first_offset, dtype=np.int64)
    for name, stride in axis.terms:
        tiles = tiles * (counts[name] if name in counts else 1)
        reach = reach + abs(stride) * (steps[name] - 1)
    return tiles * np.minimum(reach // axis.divisor + 1, extent)


def _lines(operand: TileOperand, steps: Steps) -> tuple[Counts, Counts]:
    """Lines and two-dimensional commands of the largest tile."""
    shape = tile_shape(operand, steps)
    lines: Counts = np.asarray(1, dtype=np.int64)
    commands: Counts = np.asarray(1, dtype=np.int64)
    contiguous = np.asarray(True)
    strided = np.asarray(False)
    for axis in reversed(operand.order):
        outer = np.where(contiguous, 1, shape[axis])
        lines = lines * outer
        commands = commands * np.where(strided, outer, 1)
        strided = strided | (outer > 1)
        contiguous = contiguous & (shape[axis] == operand.extents[axis])
    return lines, commands
