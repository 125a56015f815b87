"""What is known about a tiled operator before it runs, for reports."""

from __future__ import annotations

from math import prod

import numpy as np

from tilewright.plan import LayerFacts
from tilewright.tiling.choice import TileChoice
from tilewright.tiling.footprint import moved_elements, needed_elements, rounds
from tilewright.tiling.problem import TilingProblem


def layer_facts(problem: TilingProblem, choice: TileChoice) -> LayerFacts:
    """Tiles, bytes over each link with those that no tiling can save, operations and predicted cycles."""
    extents = problem.extents
    counts = {name: np.asarray(-(-extents[name] // choice.steps[name])) for name in choice.order}
    moved: dict[str, int] = {}
    compulsory: dict[str, int] = {}
    for position, operand in enumerate(problem.operands):
        if operand.link is None:
            continue
        staging = choice.staging(position)
        if staging is not None and operand.far_link is not None:
            far = operand.far_link.name
            moved[far] = moved.get(far, 0) + staging.link_bytes
            once = needed_elements(operand, problem.cuttable, extents) * operand.element_bytes
            compulsory[far] = compulsory.get(far, 0) + once
        distinct = prod(int(counts[name]) for name in operand.dimensions if name in counts)
        loads = int(rounds(choice.order, counts, operand))
        link = operand.link.name
        once = needed_elements(operand, problem.cuttable, extents) * operand.element_bytes
        total = moved_elements(operand, choice.steps, extents) * operand.element_bytes * loads // distinct
        moved[link] = moved.get(link, 0) + total
        compulsory[link] = compulsory.get(link, 0) + once
    nest = problem.kernel.nest
    return LayerFacts(
        name=problem.node.name,
        operator=problem.node.operator,
        kernel=problem.kernel.symbol,
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
    )
