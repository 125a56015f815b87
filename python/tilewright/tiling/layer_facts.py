"""The facts of a tiled operator for reports: tiles, bytes, operations and predicted cycles."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from tilewright.plan import KernelOffer, LayerFacts, LayerReasons, LayerWork, LinkLoad
from tilewright.tiling.choice import TileChoice
from tilewright.tiling.cost import transfer_shape
from tilewright.tiling.footprint import Counts, moved_elements, needed_elements, rounds
from tilewright.tiling.hints import idle_cores, idle_lanes
from tilewright.tiling.problem import TilingProblem, tile_lengths


def layer_facts(problem: TilingProblem, choice: TileChoice, others: tuple[KernelOffer, ...] = ()) -> LayerFacts:
    """A layer's tiles, bytes over each link (moved, and compulsory under any tiling), operations, predicted cycles.

    ``others`` are the kernels that were not taken.
    """
    extents = problem.extents
    counts = _counts(problem, choice)
    moved: dict[str, int] = {}
    compulsory: dict[str, int] = {}
    for position, operand in enumerate(problem.operands):
        if operand.link is None:
            continue
        once = needed_elements(operand, problem.cuttable, extents) * operand.element_bytes
        for far, staging in zip(operand.far_links, choice.staging(position), strict=True):
            moved[far.name] = moved.get(far.name, 0) + staging.link_bytes
            compulsory[far.name] = compulsory.get(far.name, 0) + once
        distinct = prod(int(counts[name]) for name in operand.dimensions if name in counts)
        loads = int(rounds(choice.order, counts, operand))
        link = operand.link.name
        elements = moved_elements(operand, choice.steps, extents, choice.kept_along(position), choice.shift)
        total = elements * operand.element_bytes * loads // distinct
        moved[link] = moved.get(link, 0) + total
        compulsory[link] = compulsory.get(link, 0) + once
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
        compulsory_link_bytes=tuple(sorted(compulsory.items())),
        predicted_cycles=choice.predicted_cycles,
        work=_work(problem, choice, moved),
        reasons=_reasons(problem, choice, others),
        symbol=problem.kernel.symbol if problem.kernel.called else "",
    )


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
    """Calls of the kernel, and commands and lines of each link as the cost model counts them."""
    core_split = problem.core_split(choice.steps)
    tiles = list(tile_lengths(problem, choice.steps))
    calls = sum(times for _, times in tiles)
    steps = {name: np.asarray(step, dtype=np.int64) for name, step in choice.steps.items()}
    counts = _counts(problem, choice)
    totals: dict[str, tuple[int, int]] = {}
    for position, operand in enumerate(problem.operands):
        if operand.link is None:
            continue
        loads = int(rounds(choice.order, counts, operand))
        # A ring is filled up to its end and then from its start; line by line that is no command more.
        parts = 2 if choice.kept_along(position) and operand.link.dimensions > 1 else 1
        lines, commands = transfer_shape(operand, operand.link, steps)
        before = totals.get(operand.link.name, (0, 0))
        totals[operand.link.name] = (before[0] + parts * loads * int(commands), before[1] + loads * int(lines))
    return LayerWork(
        calls=calls,
        split_calls=calls if core_split is not None else 0,
        kernel_work=round(sum(problem.work(lengths, core_split) * times for lengths, times in tiles)),
        loads=tuple(LinkLoad(link, *totals[link], moved[link]) for link in sorted(totals)),
    )
