"""The facts of a tiled operator for reports: tiles, bytes, operations and predicted cycles."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from tilewright.operators.nest import axis_range
from tilewright.plan import KernelOffer, LayerFacts, LayerReasons, LayerWork, LinkLoad
from tilewright.tiling.cost import rectangle_counts, rectangle_shape
from tilewright.tiling.footprint import Counts, moved_elements, needed_elements, plain_shape, rounds, tile_shape
from tilewright.tiling.hints import idle_cores, idle_lanes
from tilewright.tiling.kept import ring_axis, ring_pieces, ring_place
from tilewright.tiling.problem import TilingProblem, tile_lengths
from tilewright.tiling.tile_choice import TileChoice


def layer_facts(problem: TilingProblem, choice: TileChoice, others: tuple[KernelOffer, ...] = ()) -> LayerFacts:
    """A layer's tiles, bytes over each link (moved, and compulsory under any tiling), operations, predicted cycles.

    ``others`` are the kernels that were not taken.
    """
    extents = problem.extents
    counts = _counts(problem, choice)
    moved = link_bytes(problem, choice)
    nest = problem.kernel.nest
    return LayerFacts(
        name=problem.node.name,
        operator=problem.node.operator,
        kernel=problem.kernel.name,
        macs=nest.macs,
        operations=nest.operations,
        tiles=prod(int(count) for count in counts.values()),
        tile=tuple((name, step, extents[name]) for name, step in choice.steps.items()),
        copies=tuple(
            (operand.name, copies) for operand, copies in zip(problem.operands, choice.copies, strict=True) if copies
        ),
        link_bytes=tuple(sorted(moved.items())),
        compulsory_link_bytes=tuple(sorted(_compulsory_bytes(problem).items())),
        predicted_cycles=choice.predicted_cycles,
        work=_work(problem, choice, moved),
        reasons=_reasons(problem, choice, others),
        symbol=problem.kernel.symbol if problem.kernel.called else "",
    )


def link_bytes(problem: TilingProblem, choice: TileChoice) -> dict[str, int]:
    """Bytes that the layer's tiles move over each link."""
    counts = _counts(problem, choice)
    moved: dict[str, int] = {}
    for position, operand in enumerate(problem.operands):
        if operand.link is None:
            continue
        for far, staging in zip(operand.far_links, choice.staging(position), strict=True):
            moved[far.name] = moved.get(far.name, 0) + staging.link_bytes
        distinct = prod(int(counts[name]) for name in operand.dimensions if name in counts)
        loads = int(rounds(choice.order, counts, operand))
        elements = moved_elements(operand, choice.steps, problem.extents, choice.kept_along(position), choice.shift)
        total = elements * operand.element_bytes * loads // distinct
        moved[operand.link.name] = moved.get(operand.link.name, 0) + total
    return moved


def _compulsory_bytes(problem: TilingProblem) -> dict[str, int]:
    """Bytes that have to move over each link under any tiling."""
    extents, cuttable = problem.extents, problem.cuttable
    compulsory: dict[str, int] = {}
    for operand in problem.operands:
        links = [] if operand.link is None else [*operand.far_links, operand.link]
        once = needed_elements(operand, cuttable, extents) * operand.element_bytes if links else 0
        for link in links:
            compulsory[link.name] = compulsory.get(link.name, 0) + once
    return compulsory


def _counts(problem: TilingProblem, choice: TileChoice) -> dict[str, Counts]:
    """Tiles along each cut dimension."""
    shift = choice.shift if problem.moves else 0
    return {name: np.asarray(-(-(problem.extents[name] + shift) // choice.steps[name])) for name in choice.order}


def _reasons(problem: TilingProblem, choice: TileChoice, others: tuple[KernelOffer, ...]) -> LayerReasons | None:
    """Why this kernel and these tiles; None where there was nothing to choose and nothing can idle."""
    lanes = idle_lanes(problem, choice.steps)
    cores = idle_cores(problem, choice.steps, problem.core_split(choice.steps))
    found = LayerReasons(others, round(lanes, 4), round(cores, 4), choice.hinted)
    return None if found == LayerReasons() else found


def _work(problem: TilingProblem, choice: TileChoice, moved: Mapping[str, int]) -> LayerWork:
    """Calls of the kernel, and commands and lines of each link."""
    core_split, ring = problem.core_split(choice.steps), ring_place(problem, choice.kept_along(0))
    tiles = list(tile_lengths(problem, choice.steps))
    calls = sum(times for _, times in tiles)
    counts = _counts(problem, choice)
    totals: dict[str, tuple[int, int]] = {}
    for position, operand in enumerate(problem.operands):
        if operand.link is None:
            continue
        loads = int(rounds(choice.order, counts, operand))
        commands, lines = _copies(problem, choice, position, loads)
        before = totals.get(operand.link.name, (0, 0))
        totals[operand.link.name] = (before[0] + commands, before[1] + lines)
    return LayerWork(
        calls=calls,
        split_calls=calls if core_split is not None else 0,
        kernel_work=round(sum(problem.work(lengths, core_split, ring) * times for lengths, times in tiles)),
        loads=tuple(LinkLoad(link, *totals[link], moved[link]) for link in sorted(totals)),
        rows=sum(problem.rows(lengths, core_split) * times for lengths, times in tiles),
    )


def _copies(problem: TilingProblem, choice: TileChoice, position: int, loads: int) -> tuple[int, int]:
    """Commands of the link and lines of so many ``loads`` of an operand.

    Every load counts as the largest tile; of a ring those elements count that each tile adds.
    """
    operand, kept = problem.operands[position], choice.kept_along(position)
    assert operand.link is not None
    number = ring_axis(problem, operand, kept) if kept else None
    if number is None:
        line_count, command_count = rectangle_counts(operand, operand.link, plain_shape(operand, choice.steps))
        return loads * command_count, loads * line_count
    shape = tile_shape(operand, {name: np.asarray(step, dtype=np.int64) for name, step in choice.steps.items()})
    axis, extent, step = operand.axes[number], problem.extents[kept], choice.steps[kept]
    uncut = {name: problem.extents[name] for name, _ in axis.terms if name != kept}
    ranged = axis_range(axis, operand.extents[number], uncut)
    pieces = ring_pieces(ranged, extent, step, choice.shift, int(shape[number]))
    shape[number] = pieces
    lines, commands = rectangle_shape(operand, operand.link, shape)
    rounds_of_tiles = loads // -(-(extent + choice.shift) // step)
    return rounds_of_tiles * int(_total(commands, pieces)), rounds_of_tiles * int(_total(lines, pieces))


def _total(values: Counts, pieces: Counts) -> Counts:
    """The sum over all pieces of what may be one number for all of them."""
    total: Counts = np.broadcast_to(values, pieces.shape).sum()
    return total
