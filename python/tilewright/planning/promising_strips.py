"""Which layers to compute in how many strips of columns: what promises the fewest bytes for few cycles.

Planning a network in strips takes as long as planning a network of so many layers more. So bytes and cycles of each
choice are estimated from the layers as they are, and only the best are planned.

Before:  layers 0 ... 63 need at least 26,112 bytes, 26,112 of them layers 0 ... 5
After:   layers 0 ... 12 in 4 strips: 16,048 bytes, 11 % more cycles; in 3 strips: 16,424 bytes, 8 % more; ...
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from tilewright.base.lazy_dataclass import dataclass
from tilewright.fusion.cover import Cover, front
from tilewright.fusion.homes_alive import aligned
from tilewright.fusion.intervals import CALL_CYCLES, Interval, Layers
from tilewright.fusion.narrowed import narrowed_bytes
from tilewright.graph import Graph
from tilewright.planning.grouping import Grouping
from tilewright.rewrites.columns import Columns, Region, Regions, cuts
from tilewright.rewrites.strips import Strips

COUNTS = (2, 3, 4, 5, 6, 8, 10, 12, 16)
"""How many strips are tried."""

MOST_RECOMPUTED = 0.28
"""Cycles that halos may take, as a share of all."""

MOST_POINTS = 10
"""How many points, tensors that alone are alive, strips go over at most."""

NEARLY = 0.95
"""Layers that need such a share of the most bytes are tried in strips too."""

PARTS = 5
"""How many choices are planned at most, from that of the fewest bytes towards that of the fewest cycles."""

ROUNDS = 4
"""How often strips are tried for the layers that then need the most bytes."""


@dataclass(slots=True)
class _Choices:
    """Intervals of a grouping's layers, and those in strips.

    Attributes:
        grouping: layers as they are.
        regions: what can be in strips.
        limit: cycles at most.
        found: intervals, each once.
        strips: by interval that stands for strips, which these are.
        sizes: bytes of the tensor at each point.
        tried: regions that were tried, by their layers.
    """

    grouping: Grouping
    regions: Regions
    limit: float
    found: list[Interval]
    strips: dict[Interval, Strips]
    sizes: Mapping[str, int]
    tried: set[range]

    def covers(self) -> list[Cover]:
        """From the fastest to the one of the fewest bytes, none of too many cycles."""
        return [cover for cover in front(self.found, len(self.grouping.layers.problems)) if cover.cycles <= self.limit]


def promising(grouping: Grouping) -> list[tuple[Strips, ...]]:
    """Strips that promise fewer bytes than a grouping has without: of the fewest bytes, cycles, and between."""
    graph = grouping.decider.prepared.graph
    limit = (1 + MOST_RECOMPUTED) * min(cover.cycles for cover in grouping.covers)
    regions = Regions(graph)
    sizes = {node.name: graph.tensor(node.outputs[0]).size_bytes for node in graph.nodes if node.name in regions.points}
    choices = _Choices(grouping, regions, limit, list(grouping.found), {}, sizes, set())
    for _ in range(ROUNDS):
        least = choices.covers()[-1]
        worst = [
            item
            for item in least.intervals
            if item.size_bytes > NEARLY * least.size_bytes and item not in choices.strips
        ]
        if not worst or not _try(choices, worst, least.size_bytes):
            break
    most = min(cover.size_bytes for cover in grouping.covers)
    covers = [cover for cover in reversed(choices.covers()) if cover.size_bytes < most]
    wanted = [tuple(choices.strips[item] for item in cover.intervals if item in choices.strips) for cover in covers]
    distinct = list(dict.fromkeys(strips for strips in wanted if strips))
    # What fits a pool of any size for few cycles lies between.
    if not distinct:
        return []
    numbers = {len(distinct) * part // (PARTS - 1) for part in range(PARTS - 1)} | {len(distinct) - 1}
    return [distinct[number] for number in sorted(numbers)]


def _try(choices: _Choices, worst: Sequence[Interval], most_bytes: int) -> bool:
    """Add strips of all regions that have layers that need the most bytes; whether there are any."""
    found = len(choices.strips)
    names = ["", *(name for name in choices.regions.points if choices.sizes[name] < most_bytes)]
    for number, point in enumerate(names):
        for last in names[number + 1 : number + 1 + MOST_POINTS]:
            region = choices.regions.between(point, last)
            layers = None if region is None else _layers_of(region, choices.grouping.layers)
            if region is None or layers is None or layers in choices.tried:
                continue
            if any(layers.start <= item.first and _summed_end(item, choices) <= layers.stop for item in worst):
                choices.tried.add(layers)
                for interval, strips in _options(region, layers, choices, most_bytes):
                    choices.found.append(interval)
                    choices.strips[interval] = strips
    return len(choices.strips) > found


def _summed_end(interval: Interval, choices: _Choices) -> int:
    """The number behind the last layer of a group that may be in strips: a sum of all rows has no columns."""
    streams = choices.grouping.layers.streams
    last = streams[interval.end - 1]
    is_sum = last is not None and last.is_sink
    return interval.end - 1 if is_sum and interval.end - interval.first > 1 else interval.end


def _options(region: Region, layers: range, choices: _Choices, most_bytes: int) -> Iterator[tuple[Interval, Strips]]:
    """A region in strips, for each count that needs fewer bytes than fewer strips do."""
    grouping, graph = choices.grouping, choices.regions.graph
    held = _held_bytes(region, grouping)
    whole = _cycles(grouping.layers, layers, [region.needed((0, region.extent)) or {}], graph)
    most_cycles = choices.limit * MOST_RECOMPUTED / (1 + MOST_RECOMPUTED)
    for count in COUNTS if held < most_bytes else ():
        spans = [part for columns in cuts(region, count, graph) if (part := region.needed(columns)) is not None]
        cycles = _cycles(grouping.layers, layers, spans, graph)
        if len(spans) < count or cycles - whole > most_cycles:
            continue
        shares = _shares(region, spans, grouping)
        size = narrowed_bytes(grouping.layers, layers, _starts(layers, choices), shares, held)
        if size < most_bytes:
            most_bytes = size
            interval = Interval(layers.start, layers.stop, (count,), size, cycles)
            yield interval, Strips(region.first, region.last.name, count)


def _starts(layers: range, choices: _Choices) -> set[int]:
    """The first layer, and those behind points, where little is alive."""
    problems = choices.grouping.layers.problems
    names = frozenset(choices.regions.points)
    return {layers.start, *(number for number in layers[1:] if problems[number - 1].node.name in names)}


def _layers_of(region: Region, layers: Layers) -> range | None:
    """The layers that the nodes of a region are; None where these do not follow each other."""
    inside = {node.name for node in region.nodes}
    numbers = [number for number, problem in enumerate(layers.problems) if problem.node.name in inside]
    span = range(numbers[0], numbers[-1] + 1)
    return span if len(span) == len(numbers) else None


def _held_bytes(region: Region, grouping: Grouping) -> int:
    """Bytes that are alive during all strips: the result, and inputs that the plan places."""
    graph, homes = grouping.decider.prepared.graph, grouping.decider.prepared.homes
    made = {name for node in region.nodes for name in node.outputs}
    inputs = {read.tensor for reads in region.reads for read in reads} - made
    names = (region.result, *(name for name in inputs if not homes.is_callers(name)))
    return sum(aligned(graph.tensor(name).size_bytes) for name in names)


def _shares(region: Region, spans: Sequence[Mapping[str, Columns]], grouping: Grouping) -> dict[str, Fraction]:
    """By tensor that the region makes, but for its result, the columns of the widest strip as a share of all."""
    graph, homes = grouping.decider.prepared.graph, grouping.decider.prepared.homes
    made = [name for node in region.nodes[:-1] for name in node.outputs if homes.roots[name] not in graph.inputs]
    return {name: max(_share(span, name, graph) for span in spans) for name in made}


def _share(span: Mapping[str, Columns], name: str, graph: Graph) -> Fraction:
    columns = span[name]
    return Fraction(columns.width, graph.tensor(name).shape[columns.axis])


def _cycles(layers: Layers, numbers: range, spans: Sequence[Mapping[str, Columns]], graph: Graph) -> float:
    """Predicted cycles of layers in strips."""
    total = 0.0
    for number in numbers:
        problem = layers.problems[number]
        share = sum(_share(span, problem.node.outputs[0], graph) for span in spans)
        stream = layers.streams[number]
        rows = 1 if stream is None else stream.extent
        total += float(share) * problem.kernel_cycles(problem.extents, None) + CALL_CYCLES * rows * len(spans)
    return total
