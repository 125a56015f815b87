"""Groups of a prepared graph: which layers run together, from the front of bytes against cycles."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain

from tilewright.base.errors import bad_input
from tilewright.base.lazy_dataclass import dataclass
from tilewright.fusion.cover import NEARLY_AS_FAST, Cover, chosen_cover, front
from tilewright.fusion.group import Group, group_in_steps
from tilewright.fusion.homes_alive import aligned
from tilewright.fusion.intervals import Interval, Layers, group_from, intervals, layers_of, refined
from tilewright.fusion.streams import stream_of
from tilewright.graph import packed_strides_bytes
from tilewright.options import Groups, Objective
from tilewright.plan import Tradeoff
from tilewright.planning.decide import Decider, with_layers
from tilewright.planning.decisions import Decisions
from tilewright.planning.fed_groups import fed_layer, feeding
from tilewright.planning.given_groups import given_groups, gives_groups, require_groups
from tilewright.planning.lock_file import LayerEntry
from tilewright.planning.prepare import Prepared
from tilewright.planning.sliding_groups import sliding
from tilewright.planning.spare_kernels import (
    fastest_layers,
    has_float_results,
    lone_intervals,
    spare_problems,
    with_kernel,
)
from tilewright.schedule.tile_loops import ScheduledLayer
from tilewright.storage.lives import group_lives
from tilewright.storage.overlaps import LayerUse, alive_bytes, layer_use, raster_use
from tilewright.tiling.block_tiles import in_blocks
from tilewright.tiling.problem import TilingProblem


@dataclass(frozen=True, slots=True)
class Grouping:
    """The covers that layers in their order allow, from the fastest to the one of the fewest bytes.

    Attributes:
        alone: each layer by itself, with its fastest kernel.
        covers: with any kernels.
        usual: the covers whose layers all have the kernels that are fastest for them.
        found: the intervals of which covers are.
        lone: by interval of one layer with another kernel, that layer.
        keeping: whether layers have kernels that keep rows of their input.
    """

    alone: Decisions
    layers: Layers
    covers: tuple[Cover, ...]
    decider: Decider
    usual: tuple[Cover, ...] = ()
    found: tuple[Interval, ...] = ()
    lone: Mapping[Interval, ScheduledLayer] = field(default_factory=dict)
    keeping: bool = False

    def decisions(self, cover: Cover) -> Decisions:
        """The layers with the blocks of a cover's groups, and with its kernels."""
        layers = list(self.alone.layers)
        for interval in (interval for interval in cover.intervals if interval in self.lone):
            layers[interval.first] = self.lone[interval]
        grouped = [interval for interval in cover.intervals if interval.elements]
        groups = [(group_from(self.layers, interval), interval.scratch_bytes) for interval in grouped]
        found = _with_groups(replace(self.alone, layers=tuple(layers)), groups, self.layers)
        return with_layers(found, [self._priced(layer) for layer in found.layers])

    def _priced(self, layer: ScheduledLayer) -> ScheduledLayer:
        """The layer with its cost in cycles or bytes, as the objective asks."""
        choice = layer.choice
        costs = {Objective.CYCLES: choice.predicted_cycles, Objective.BYTES_USED: sum(choice.near_bytes.values())}
        return replace(layer, choice=replace(choice, cost=costs.get(self.decider.options.objective, 0)))


@dataclass(frozen=True, slots=True)
class Way:
    """One of the covers of a grouping."""

    grouping: Grouping
    cover: Cover


def ways_of(groupings: Sequence[Grouping], *, usual: bool = False) -> tuple[Way, ...]:
    """The covers of all groupings from the fastest to the one of the fewest bytes; each needs fewer than those before.

    Without groups only the first grouping counts: the others are made for groups.
    With ``usual`` the covers whose layers all have the kernels that are fastest for them.
    """
    found = [Way(item, cover) for item in groupings for cover in (item.usual if usual else item.covers)]
    found = [way for way in found if way.grouping is groupings[0] or any(item.elements for item in way.cover.intervals)]
    ways: list[Way] = []
    for way in sorted(found, key=lambda way: (way.cover.cycles, way.cover.size_bytes)):
        if not ways or way.cover.size_bytes < ways[-1].cover.size_bytes:
            ways.append(way)
    return tuple(ways)


def tradeoffs(ways: Sequence[Way], taken: Way | None) -> tuple[Tradeoff, ...]:
    """The covers for reports; empty where there is no choice."""
    if len(ways) < 2:
        return ()
    return tuple(Tradeoff(way.cover.size_bytes, round(way.cover.cycles), way is taken) for way in ways)


def groupings_of(decisions: Decisions, decider: Decider) -> list[Grouping]:
    """The groups that can be made of layers, and those with kernels that keep rows, where some layer has such.

    Empty where the user wants none, or where layers copy tiles.
    """
    possible = not any(layer.problem.moves or layer.problem.cores > 1 for layer in decisions.layers)
    require_groups(decider.options, possible=possible)
    if decider.options.groups is Groups.OFF or not possible:
        return []
    graph, homes = decider.prepared.graph, decider.prepared.homes
    decisions = replace(decisions, layers=fastest_layers(decisions.layers, decider))
    problems = [layer.problem for layer in decisions.layers]
    spare = spare_problems(decisions.layers, decider)
    layers = _streams(decisions, decider.prepared, _for_groups(decider.prepared), spare)
    layers = replace(layers, fed=fed_layer(graph, layers), given=given_groups(decider.options, problems).rows)
    alive = alive_bytes([raster_use(problem.kernel, graph, homes) for problem in problems], homes, graph)
    alone = [
        Interval(number, number + 1, (), aligned(size) + layer.problem.scratch_bytes(layer.choice.steps), cycles)
        for number, (layer, size) in enumerate(zip(decisions.layers, alive, strict=True))
        for cycles in (float(layer.choice.predicted_cycles),)
    ]
    if graph.slide is not None:
        return [_slid(Grouping(decisions, layers, (), decider))]
    lone = lone_intervals(alone, decisions.layers, spare, decider)
    most = _ANY_SIZE if gives_groups(decider.options) else max((interval.size_bytes for interval in alone), default=0)
    single = (*alone, *lone)
    plain = _with_intervals(Grouping(decisions, layers, (), decider, lone=lone), single, most)
    if not any(map(_keeps, chain.from_iterable(_for_groups(decider.prepared)))):
        return [plain]
    # A front of groups with rings tells where it pays to begin one.
    taken = {item.first for cover in plain.covers for item in cover.intervals if item.elements}
    return [plain, _with_intervals(_keeping(plain, spare), single, most, taken)]


def _slid(base: Grouping) -> Grouping:
    """All layers as one group whose window slides."""
    layers, graph = base.layers, base.decider.prepared.graph
    assert graph.slide is not None
    slid = given_groups(base.decider.options, layers.problems).left(sliding(layers, graph.slide))
    covers = tuple(front(slid, len(layers.problems)))
    return replace(base, covers=covers, usual=covers, found=tuple(slid))


def _keeping(plain: Grouping, spare: Sequence[Sequence[TilingProblem]]) -> Grouping:
    """The same layers with the kernels that keep rows of their input, where there are such; costs are shared."""
    prepared, known = plain.decider.prepared, plain.layers
    layers = _streams(plain.alone, prepared, _for_groups(prepared), spare, keeping=True)
    layers = replace(layers, known=known.known, costs=known.costs, ways=known.ways, fed=known.fed, given=known.given)
    return replace(plain, layers=layers, keeping=True)


def _with_intervals(
    base: Grouping, single: Sequence[Interval], most: int, firsts: Collection[int] | None = None
) -> Grouping:
    """The grouping with its covers.

    Args:
        single: the layers alone.
        most: bytes that a group may need.
        firsts: layers at which groups may begin; None: all.
    """
    layers, decider = base.layers, base.decider
    given = given_groups(decider.options, layers.problems)
    found = tuple(feeding(given.left((*single, *intervals(layers, most, firsts))), layers, decider.prepared.graph))
    covers = _refined(front(found, len(layers.problems)), found, layers)
    usual = _usual(covers, found, layers, decider)
    return replace(base, covers=tuple(covers), usual=tuple(usual), found=found)


def _for_groups(prepared: Prepared) -> list[list[TilingProblem]]:
    """Each layer with the kernels that only groups take; where a window slides, with all that give the same bits.

    Kernels that keep rows copy them as they lie side by side, and count them from the first row of an image on.
    """
    slides = prepared.graph.slide is not None
    found = [
        [item for item in own if item.kernel.in_groups or (slides and not has_float_results(item))]
        for own in prepared.problems
    ]
    return [[item for item in own if not _keeps(item) or _may_keep(item, prepared)] for own in found]


def _keeps(problem: TilingProblem) -> bool:
    stream = stream_of(problem)
    return stream is not None and stream.keeps


def _may_keep(problem: TilingProblem, prepared: Prepared) -> bool:
    """Whether all elements of the input lie side by side in its home, and no window slides."""
    operand = problem.operands[0]
    assert operand.tensor is not None
    packed = packed_strides_bytes(operand.extents, operand.order, operand.element_bytes)
    strides = prepared.homes.strides[operand.tensor]
    triples = zip(operand.extents, packed, strides, strict=True)
    is_dense = all(extent == 1 or wanted == given for extent, wanted, given in triples)
    return is_dense and prepared.graph.slide is None


def _usual(covers: Sequence[Cover], found: Sequence[Interval], layers: Layers, decider: Decider) -> Sequence[Cover]:
    """The covers whose layers all have their fastest kernels; none where the fewest bytes are wanted in any case."""
    if decider.options.objective is Objective.BYTES_USED:
        return ()
    usual = [interval for interval in found if not interval.scratch_bytes]
    if len(usual) == len(found):
        return covers
    return _refined(front(usual, len(layers.problems)), usual, layers, spare=False)


_ANY_SIZE = 1 << 60
"""The limit in bytes for a group that the user gives: none."""


def _refined(covers: Sequence[Cover], found: Sequence[Interval], layers: Layers, *, spare: bool = True) -> list[Cover]:
    """The covers that are possible when the group that decides a cover's bytes may have blocks of several sizes."""
    largest = [interval for cover in covers for interval in cover.intervals if interval.size_bytes == cover.size_bytes]
    mixed = [other for interval in dict.fromkeys(largest) for other in refined(layers, interval)]
    mixed = [other for other in mixed if spare or not other.scratch_bytes]
    return front((*found, *mixed), len(layers.problems))


def with_locked_groups(decisions: Decisions, entries: Sequence[LayerEntry], prepared: Prepared) -> Decisions:
    """The decisions of a lock with its groups.

    Raises bad_input ``plan-lock`` where the layers of a group cannot run together in their blocks.
    """
    names = [entry.group for entry in entries]
    if not any(names):
        return decisions
    streams, groups = _streams(decisions, prepared), list[tuple[Group, Sequence[int]]]()
    for name in (name for name in dict.fromkeys(names) if name):
        numbers = [number for number, other in enumerate(names) if other == name]
        group = _locked_group(numbers, entries, streams)
        if group is None:
            raise bad_input("plan-lock", f"the layers of group '{name}' cannot run together in these blocks")
        groups.append((group, ()))
    return _with_groups(decisions, groups, streams)


def _locked_group(numbers: Sequence[int], entries: Sequence[LayerEntry], layers: Layers) -> Group | None:
    """The group of layers with their blocks; None where they cannot run so."""
    first, end = numbers[0], numbers[-1] + 1
    streams = [stream for stream in layers.streams[first:end] if stream is not None]
    if list(numbers) != list(range(first, end)) or len(streams) != len(numbers):
        return None
    steps = [entries[number].block for number in numbers]
    inside = {stream.written for stream in streams if layers.alive.is_inside(stream.written, first, end)}
    return group_in_steps(first, streams, steps, inside, layers.period) if all(step > 0 for step in steps) else None


def _with_groups(decisions: Decisions, groups: Sequence[tuple[Group, Sequence[int]]], streams: Layers) -> Decisions:
    """The decisions with groups, and with the blocks of these in place of whole layers.

    Args:
        groups: each with the scratch of its kernels; without, these are the fastest.
    """
    layers = list(decisions.layers)
    for group, scratch in groups:
        for at, number in enumerate(group.layers):
            size = scratch[at] if scratch else None
            layers[number] = _in_blocks(layers[number], group, number, streams, size)
    return replace(decisions, layers=tuple(layers), groups=tuple(group for group, _ in groups))


def _uses(decisions: Decisions, prepared: Prepared) -> list[LayerUse]:
    return [layer_use(layer.problem.kernel, prepared.graph) for layer in decisions.layers]


def _streams(
    decisions: Decisions,
    prepared: Prepared,
    others: Sequence[Sequence[TilingProblem]] = (),
    spare: Sequence[Sequence[TilingProblem]] = (),
    *,
    keeping: bool = False,
) -> Layers:
    touched = [use.touched for use in _uses(decisions, prepared)]
    lives = group_lives(touched, prepared.homes)
    problems = [layer.problem for layer in decisions.layers]
    found = layers_of(problems, prepared.homes, lives, others, spare, keeping=keeping)
    slide = prepared.graph.slide
    return found if slide is None else replace(found, period=slide.period)


def first_choice(ways: Sequence[Way], usual: Sequence[Way], decider: Decider) -> Way:
    """The way that the objective asks for.

    Args:
        usual: ways whose layers all have the kernels that are fastest for them. One of these is taken where these
            are nearly as fast, since kernels of other kinds take room in the program.
    """
    size = decider.capacities.get(decider.platform.io_pool)
    fitting, usual_fitting = (
        [way for way in some if size is None or way.cover.size_bytes <= size] for some in (ways, usual)
    )
    is_usual = bool(usual_fitting) and usual_fitting[0].cover.cycles <= NEARLY_AS_FAST * fitting[0].cover.cycles
    return _chosen(usual if is_usual else ways, size, decider)


def _chosen(ways: Sequence[Way], size: int | None, decider: Decider) -> Way:
    covers = [way.cover for way in ways]
    cover = chosen_cover(covers, size, least=decider.options.objective is Objective.BYTES_USED)
    return next(way for way in ways if way.cover is cover)


def smaller(ways: Sequence[Way], taken: Way, missing: int) -> Way | None:
    """The fastest of all ways that needs fewer bytes by ``missing``, or else the next smaller one."""
    less = [way for way in ways if way.cover.size_bytes < taken.cover.size_bytes]
    enough = [way for way in less if way.cover.size_bytes <= taken.cover.size_bytes - missing]
    return next(iter(enough or less), None)


def _in_blocks(
    layer: ScheduledLayer, group: Group, number: int, layers: Layers, scratch_bytes: int | None
) -> ScheduledLayer:
    """The layer with the rows that it computes at a time in its group, and with a kernel of so much scratch."""
    timed = group.stages[number - group.first]
    way = layers.taken(number, timed, scratch_bytes)
    choice = in_blocks(way.problem, layer.choice, timed.blocks, way.cycles, way.scratch_bytes)
    return with_kernel(layer, way.problem, choice)
