"""The tensors that each layer of the program touches, and the inputs over which it may write its output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilewright.graph import Graph
from tilewright.plan import Buffer, Step
from tilewright.schedule.consumed import consumed_clearance
from tilewright.schedule.tile_loops import ScheduledLayer
from tilewright.storage.homes import Homes
from tilewright.storage.overlaps import LayerUse, layer_use, raster_use
from tilewright.tiling.problem import TilingProblem


def layer_of_use(
    layer: ScheduledLayer, body: Sequence[Step], buffers: Mapping[str, Buffer], graph: Graph, homes: Homes
) -> LayerUse:
    """The use of one layer.

    Cores that share a call keep no order, so nothing is overwritten under them. A kernel that stores in raster
    order may write over an input if one call does all and works on the homes themselves. A layer that copies tiles
    may store them where tiles were loaded from before.
    """
    problem, steps = layer.problem, layer.choice.steps
    use = layer_use(problem.kernel, graph)
    if _copies_tiles(problem):
        return use if use.over else consuming(use, body, buffers)
    if not any(operand.write and operand.link is None for operand in problem.operands):
        return use
    if problem.core_split(steps) is not None:
        return replace(use, over=())
    if any(operand.link is not None and operand.tensor is not None for operand in problem.operands):
        return use
    whole = all(steps[name] == extent for name, extent in problem.extents.items())
    return raster_use(problem.kernel, graph, homes) if whole else use


def group_use(uses: Sequence[LayerUse], inside: Mapping[str, object]) -> LayerUse:
    """The use of a group, whose rings, ``inside``, are its own."""
    reads, writes = (name for use in uses for name in use.reads), (name for use in uses for name in use.writes)
    return LayerUse(
        tuple(name for name in dict.fromkeys(reads) if name not in inside),
        tuple(name for name in dict.fromkeys(writes) if name not in inside),
    )


def consuming(use: LayerUse, body: Sequence[Step], buffers: Mapping[str, Buffer]) -> LayerUse:
    """The use with the inputs over which a body may write its only output, as it has read their first bytes before."""
    if len(use.writes) != 1:
        return use
    behind = {}
    for name in use.reads:
        found = consumed_clearance(body, buffers[name], buffers[use.writes[0]]) if use.reads.count(name) == 1 else None
        if found is not None:
            behind[name] = found
    return replace(use, over=tuple(behind), behind=behind)


def _copies_tiles(problem: TilingProblem) -> bool:
    """Whether a layer stores tiles of its output over a link that touches no bytes beside them."""
    links = [operand.link for operand in problem.operands if operand.write]
    return all(link is not None and link.round_up_bytes == 1 for link in links)
