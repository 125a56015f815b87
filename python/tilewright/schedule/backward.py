"""The layers whose kernels walk backward, because the output was placed above the input that it overlaps.

Before:  conv reads x at [0, 4096) and writes y at [512, 4608), rows from the first to the last
After:   conv walks over the rows from the last to the first: y's last rows are stored where x's were read
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tilewright.kernels.kernel import KernelChoice
from tilewright.plan import Kernel, Layer, Step
from tilewright.schedule.building import Schedule
from tilewright.schedule.tile_loops import ScheduledLayer
from tilewright.storage.clearance import backward_choice
from tilewright.storage.overlaps import Overlap

Placements = Mapping[str, tuple[str, int]]
"""Buffer to pool and offset."""


def backward(schedule: Schedule, layers: Sequence[ScheduledLayer], placements: Placements) -> Schedule:
    """The schedule with kernels that walk backward where the placements need that."""
    above = [item for item in overlapping(schedule, placements) if is_above(item, placements)]
    writers = {layer.problem.kernel.writes[0].tensor: layer for layer in layers}
    kernels = dict(_backward_kernel(item, writers[item.first]) for item in above)
    return replace(schedule, program=tuple(_turned(step, kernels) for step in schedule.program))


def _backward_kernel(overlap: Overlap, layer: ScheduledLayer) -> tuple[str, KernelChoice]:
    """A layer's name, and its kernel for the layer's tiles as it walks backward."""
    problem = layer.problem
    read = next(item for item in problem.operands if item.tensor == overlap.second and not item.write)
    choice = backward_choice(problem.kernel, read.axes, read.extents)
    assert choice is not None, f"{problem.kernel.name} cannot walk backward"
    return problem.node.name, choice.for_tiles(layer.choice.steps)


def overlapping(schedule: Schedule, placements: Placements) -> Iterator[Overlap]:
    """The overlaps of a schedule in which output and input share bytes."""
    sizes = {buffer.name: buffer.size_bytes for buffer in schedule.buffers}
    for item in schedule.overlaps:
        (pool, first), (other, second) = (placements[name] for name in (item.first, item.second))
        if pool == other and first < second + sizes[item.second] and second < first + sizes[item.first]:
            yield item


def is_above(overlap: Overlap, placements: Placements) -> bool:
    """Whether the output lies so far above the input with which it shares bytes that the kernel must walk backward."""
    below = placements[overlap.second][1] - placements[overlap.first][1]
    return overlap.clearance.above_bytes is not None and below < overlap.clearance.least_bytes


def _turned(step: Step, kernels: Mapping[str, KernelChoice]) -> Step:
    if isinstance(step, Layer) and any(stage.name in kernels for stage in step.stages):
        return replace(step, body=tuple(_turned(inner, kernels) for inner in step.body))
    if not isinstance(step, Kernel) or step.name not in kernels:
        return step
    choice = kernels[step.name]
    return replace(step, attributes=choice.fields, stores=choice.stores)
