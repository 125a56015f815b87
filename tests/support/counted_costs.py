"""What tiles cost, counted load by load and call by call: the oracle of the tests of the tiles' choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np
from tilewright.graph import packed_strides_bytes
from tilewright.operators.nest import axis_range, clipped, tile_extent
from tilewright.plan.copies import copy_commands, link_commands
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem


def loads(problem: TilingProblem, operand: TileOperand, steps: Mapping[str, int], order: tuple[str, ...]) -> list[int]:
    """Elements of every load of the operand when tiles are walked in ``order``.

    Where only the innermost index that moves the tile advanced, rows of a ring stay.
    """
    spans = [range(0, problem.extents[name], steps[name]) for name in order]
    moving = [name for name in order if name in operand.dimensions]
    rings = {operand.view[axis] for axis in problem.kernel.ring_axes} if operand is problem.operands[0] else set()
    last: dict[str, int] | None = None
    moved: list[int] = []
    before: list[tuple[int, int]] = []
    for lowers in product(*spans):
        tile = {name: low for name, low in zip(order, lowers, strict=True) if name in operand.dimensions}
        if tile == last:
            continue
        advanced = last is not None and [name for name in tile if tile[name] != last[name]] == moving[-1:]
        last = tile
        starts = {name: tile.get(name, 0) for name in problem.extents}
        box = {name: (low, min(low + steps[name], problem.extents[name])) for name, low in starts.items()}
        areas = [
            clipped(axis_range(axis, extent, {}), box)
            for axis, extent in zip(operand.axes, operand.extents, strict=True)
        ]
        lengths = [upper - lower for lower, upper in areas]
        changed = [axis for axis, (new, old) in enumerate(zip(areas, before, strict=False)) if new != old]
        if advanced and len(changed) == 1 and changed[0] in rings and tile[moving[-1]] > 0:
            (axis,) = changed
            lengths[axis] = areas[axis][1] - max(areas[axis][0], before[axis][1])
        before = areas
        moved.append(prod(lengths))
    return moved


def ring_of(problem: TilingProblem, steps: Mapping[str, int], order: tuple[str, ...]) -> int | None:
    """The axis of the first operand's view along which its rows stay in a ring."""
    operand = problem.operands[0]
    no_rings = replace(
        problem, kernel=replace(problem.kernel, kernel=replace(problem.kernel.kernel, ring_axes=frozenset()))
    )
    if sum(loads(problem, operand, steps, order)) == sum(loads(no_rings, operand, steps, order)):
        return None
    moving = next(name for name in reversed(order) if name in operand.dimensions)
    (axis,) = (number for number, axis in enumerate(operand.axes) if moving in dict(axis.terms))
    return operand.view.index(axis)


def shape_of(operand: TileOperand, steps: Mapping[str, int]) -> tuple[int, ...]:
    axes = zip(operand.axes, operand.extents, strict=True)
    return tuple(tile_extent(axis_range(axis, extent, {}), steps) for axis, extent in axes)


def cost(problem: TilingProblem, steps: Mapping[str, int], order: tuple[str, ...]) -> tuple[float, int, int]:
    """Cycles without overlap, bytes moved and bytes used, counted load by load."""
    cycles, ring = 0.0, ring_of(problem, steps, order)
    for lowers in product(*(range(0, problem.extents[name], steps[name]) for name in order)):
        ends = {name: problem.extents[name] - low for name, low in zip(order, lowers, strict=True)}
        tile = {**steps, **{name: min(steps[name], end) for name, end in ends.items()}}
        cycles += problem.kernel.cycles(tile) + problem.kernel.parts(tile, ring).ring
    moved = 0
    used = problem.scratch_bytes(steps)
    for operand in problem.operands:
        assert operand.link is not None
        shape = shape_of(operand, steps)
        used += -(-prod(shape) * operand.element_bytes // operand.align_bytes) * operand.align_bytes
        home = packed_strides_bytes(operand.extents, operand.order, operand.element_bytes)
        tile = packed_strides_bytes(shape, operand.order, operand.element_bytes)
        start = link_cost(operand, *copy_commands(shape, home, tile, operand.element_bytes))
        for elements in loads(problem, operand, steps, order):
            size = elements * operand.element_bytes
            moved += size
            cycles += start + size / operand.link.bytes_per_cycle
    return cycles, moved, used


def link_cost(operand: TileOperand, copies: int, lines: int, line_bytes: int) -> int:
    """Cycles of a transfer without its bytes."""
    assert operand.link is not None
    counts = [np.asarray(count) for count in (copies, lines, line_bytes)]
    commands = link_commands(operand.link.dimensions, operand.link.max_bytes, *counts)
    return int(commands) * operand.link.setup_cycles + copies * lines * operand.link.line_cycles
