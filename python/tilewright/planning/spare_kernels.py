"""Other kernels for layers whose fastest kernel needs much scratch, for plans that need fewer bytes.

Before:  conv a: conv_packed_6 with 768 bytes of scratch; conv_packed_4 has 512, conv_integer 256
After:   a alone with each of the three; groups of layers choose among them as well

A float kernel may add up in another order than another one, so that bits would depend on the size of a pool. So
kernels with results in float stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.fusion.homes_alive import aligned
from tilewright.fusion.intervals import Interval
from tilewright.options import Objective
from tilewright.plan import KernelOffer
from tilewright.planning.decide import Decider
from tilewright.schedule.tile_loops import ScheduledLayer
from tilewright.storage.overlaps import alive_bytes, raster_use
from tilewright.tiling.overflow import TileOverflow
from tilewright.tiling.problem import TilingProblem
from tilewright.tiling.tile_choice import TileChoice


def fastest_layers(layers: Sequence[ScheduledLayer], decider: Decider) -> tuple[ScheduledLayer, ...]:
    """The layers with their fastest kernels: where the fewest bytes are wanted, each has its first kernel so far."""
    if decider.options.objective is not Objective.BYTES_USED or not _may_choose(decider):
        return tuple(layers)
    fast = replace(decider, options=replace(decider.options, objective=Objective.CYCLES), known={}, shared={})
    return tuple(fast.choose(number, decider.capacities) for number in range(len(layers)))


def _may_choose(decider: Decider) -> bool:
    return decider.tiler is None and decider.by_cost


def spare_problems(layers: Sequence[ScheduledLayer], decider: Decider) -> list[list[TilingProblem]]:
    """Of each layer the kernels that need less scratch than its own; none where a strategy of the user chooses."""
    if not _may_choose(decider):
        return [[] for _ in layers]
    pairs = zip(layers, decider.prepared.problems, strict=True)
    return [[item for item in found if _is_spare(item, layer.problem)] for layer, found in pairs]


def _is_spare(problem: TilingProblem, own: TilingProblem) -> bool:
    if problem.kernel.in_groups or has_float_results(problem):
        return False
    return problem.scratch_bytes(problem.extents) < own.scratch_bytes(own.extents)


def has_float_results(problem: TilingProblem) -> bool:
    """Whether another kernel could give other bits."""
    return any("float" in operand.dtype for operand in problem.operands if operand.write)


def lone_intervals(
    alone: Sequence[Interval],
    layers: Sequence[ScheduledLayer],
    spare: Sequence[Sequence[TilingProblem]],
    decider: Decider,
) -> dict[Interval, ScheduledLayer]:
    """Layers alone with other kernels, where these need fewer bytes.

    Args:
        alone: each layer with its own kernel.
        spare: of each layer with other kernels.
    """
    found: dict[Interval, ScheduledLayer] = {}
    for rank in range(max(map(len, spare), default=0)):
        taken = [
            others[rank] if rank < len(others) else layer.problem for layer, others in zip(layers, spare, strict=True)
        ]
        alive = _alive(taken, decider)
        for number in (number for number, others in enumerate(spare) if rank < len(others)):
            layer = _by_itself(layers[number], taken[number], decider)
            if layer is None:
                continue
            scratch = layer.problem.scratch_bytes(layer.choice.steps)
            size = aligned(alive[number]) + scratch
            if size < alone[number].size_bytes:
                cycles = float(layer.choice.predicted_cycles)
                found[Interval(number, number + 1, (), size, cycles, (scratch,))] = layer
    return found


def _alive(problems: Sequence[TilingProblem], decider: Decider) -> list[int]:
    graph, homes = decider.prepared.graph, decider.prepared.homes
    return alive_bytes([raster_use(problem.kernel, graph, homes) for problem in problems], homes, graph)


def _by_itself(own: ScheduledLayer, problem: TilingProblem, decider: Decider) -> ScheduledLayer | None:
    """A layer with another kernel; None where it does not fit."""
    try:
        found = decider.chosen([problem], decider.capacities)
    except TileOverflow:
        return None
    return with_kernel(own, found.problem, found.choice)


def with_kernel(own: ScheduledLayer, problem: TilingProblem, choice: TileChoice) -> ScheduledLayer:
    """A layer with a kernel and its tiles; where the kernel is another one, the layer's own one is an offer."""
    name, taken = own.problem.kernel.name, problem.kernel.name
    others = tuple(offer for offer in own.others if offer.kernel != taken)
    if name != taken and not problem.kernel.in_groups:
        others = (KernelOffer(name, own.choice.predicted_cycles), *others)
    return replace(own, problem=problem, choice=choice, others=others)
