"""Groups of layers whose rows stay near the core where tensors travel: which there are, and what each costs.

Rows between the stages of such a group are in rings near the core and cross no link. The first stages load the rows
that they read, the last one stores the rows that it makes, and constants are loaded once, before the first block.

Before:  l1 of 16 KB; conv, conv and add on tensors of 16 KB each, at home in sram
After:   conv to add in blocks of 1, 2, 4, ... rows: bytes of l1, cycles, and what it costs that x and y travel
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tilewright.fusion.group import Group
from tilewright.fusion.group_bytes import Grown, inner_bytes
from tilewright.fusion.intervals import (
    BLOCK_ELEMENTS,
    Interval,
    Layers,
    group_from,
    growing,
    last_together,
    layers_of,
)
from tilewright.options import Groups, Objective
from tilewright.planning.decide import Decider
from tilewright.planning.prepare import Prepared
from tilewright.planning.spill import at_homes
from tilewright.schedule.tile_loops import ScheduledLayer
from tilewright.storage.homes import near_home
from tilewright.storage.lives import group_lives
from tilewright.storage.overlaps import layer_use
from tilewright.tiling.block_tiles import BlockCopies, copies_of, in_blocks, may_run_in_blocks
from tilewright.tiling.layer_facts import layer_facts
from tilewright.tiling.operand import TileOperand

MOST_SIZES = 4
"""Sizes of blocks that are kept at most for a group: those that need the fewest bytes, and the fastest."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """A tensor, by the tensor that owns its bytes, that a stage loads or stores, unless it stays near the core."""

    root: str
    size_bytes: int
    cost: tuple[int, int]


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Layers that may run as a group near the core.

    Attributes:
        interval: the layers, their blocks, and bytes near the core without ``crossings``.
        cost: in the unit of the objective, then bytes moved, without ``crossings``.
        crossings: tensors that the group reads and makes.
        made: the tensor that owns the bytes of the group's result.
        inside: the tensors whose rows are in rings.
    """

    interval: Interval
    cost: tuple[int, int]
    crossings: tuple[Crossing, ...]
    made: str
    inside: frozenset[str]

    @property
    def most_bytes(self) -> int:
        """Bytes near the core if all tensors travel."""
        return self.interval.size_bytes + sum(item.size_bytes for item in self.crossings)

    @property
    def most_cost(self) -> int:
        """The cost if all tensors travel."""
        return self.cost[0] + sum(item.cost[0] for item in self.crossings)


@dataclass(frozen=True, slots=True)
class RowGroups:
    """The groups of a prepared graph by the number of their first layer, and the layers as streams."""

    layers: Layers
    found: dict[int, list[RowGroup]]

    def scheduled(self, taken: RowGroup, prepared: Prepared, decider: Decider) -> tuple[Group, list[ScheduledLayer]]:
        """A group, and its layers in their blocks.

        Args:
            prepared: with all tensors where they stay.
        """
        group = group_from(self.layers, taken.interval)
        pools = prepared.homes.homes
        stages = []
        for number, timed in zip(group.layers, group.stages, strict=True):
            way = self.layers.cost(number, timed)
            problem = at_homes(way.problem, decider.platform, pools)
            alone = decider.choose(number, decider.capacities).choice
            choice = in_blocks(problem, alone, timed.blocks, way.cycles, way.scratch_bytes)
            moved = sum(size for _, size in layer_facts(problem, choice).link_bytes)
            cost, _ = _cost(decider, choice.predicted_cycles, moved)
            stages.append(ScheduledLayer(problem, replace(choice, cost=cost, least_cost=cost)))
        return group, stages


def row_groups(decider: Decider, most_bytes: int) -> RowGroups | None:
    """The groups that need at most so many bytes near the core; None where the user wants none, or cores share calls.

    Of tiles and slots that the user gives for a layer, none is a group's.
    """
    if decider.options.groups is Groups.OFF or decider.platform.core.count > 1:
        return None
    layers = _streams(decider)
    found: dict[int, list[RowGroup]] = {}
    for first in range(len(layers.problems)):
        by_end: dict[int, list[RowGroup]] = {}
        for group in _from(decider, layers, first, most_bytes):
            by_end.setdefault(group.interval.end, []).append(group)
        found[first] = [group for same in by_end.values() for group in _best(same)]
    return RowGroups(layers, found)


def _streams(decider: Decider) -> Layers:
    """The layers as streams, each with the kernel of its best tiles, or with one that only groups take."""
    prepared = decider.prepared
    problems = [decider.choose(number, decider.capacities).problem for number in range(len(prepared.problems))]
    others = [[item for item in found if item.kernel.in_groups] for found in prepared.problems]
    touched = [layer_use(problem.kernel, prepared.graph).touched for problem in problems]
    layers = layers_of(problems, prepared.homes, group_lives(touched, prepared.homes), others)
    pairs = zip(layers.streams, problems, strict=True)
    return replace(layers, streams=[stream if may_run_in_blocks(problem) else None for stream, problem in pairs])


def _from(decider: Decider, layers: Layers, first: int, most_bytes: int) -> Iterator[RowGroup]:
    tried: list[list[int]] = []
    end = last_together(layers, first)
    for elements in BLOCK_ELEMENTS:
        rows = [layers.rows(number, elements) for number in range(first, end)]
        if rows in tried:
            continue
        tried.append(rows)
        for grown in growing(layers, first, (elements,) * (end - first)):
            group = _priced(decider, layers, grown, elements)
            if group is not None and group.interval.size_bytes <= most_bytes:
                yield group
            # Rings only grow with every layer that joins.
            if grown.least_bytes > most_bytes:
                break


def _priced(decider: Decider, layers: Layers, grown: Grown, elements: int) -> RowGroup | None:
    """The group with its bytes and its cost; None where a tensor between its stages is needed outside."""
    last = grown.stages[-1].stream.written
    made = {timed.stream.written for timed in grown.stages}
    if made - grown.rings.keys() != {last} or not _may_be_near(decider, grown.rings):
        return None
    costs = decider.platform.costs
    size, cycles, moved = inner_bytes(layers.alive, grown), grown.cycles + costs.layer_cycles, 0
    crossings: list[Crossing] = []
    for operand, copies in _copies(grown):
        if operand is None:
            return None
        if operand.data is None:
            root = decider.prepared.homes.roots[operand.tensor or ""]
            cost = _cost(decider, copies.cycles, copies.moved_bytes)
            crossings.append(Crossing(root, copies.tile_bytes, cost))
            continue
        size, cycles, moved = size + copies.tile_bytes, cycles + copies.cycles, moved + copies.moved_bytes
    interval = Interval(grown.first, grown.end, (elements,) * len(grown.stages), size, cycles)
    cost = _cost(decider, cycles, moved)
    root = decider.prepared.homes.roots[last]
    return RowGroup(interval, cost, tuple(crossings), root, frozenset(grown.rings))


def _may_be_near(decider: Decider, rings: Iterable[str]) -> bool:
    """Whether the user says of no tensor that it has a home elsewhere, or an address."""
    homes, pool = decider.prepared.homes, near_home(decider.platform)
    roots = [homes.roots[name] for name in rings]
    is_given = any(root in homes.pinned or root in homes.fixed for root in roots)
    return not is_given and all(pool in homes.given.get(root, (pool,)) for root in roots)


def _copies(grown: Grown) -> Iterator[tuple[TileOperand | None, BlockCopies]]:
    """The operands of all stages that travel, with their copies; None for a packed constant that blocks cut."""
    for timed, problem in zip(grown.stages, grown.problems, strict=True):
        for position, operand in enumerate(problem.operands):
            if operand.link is None or operand.tensor in grown.rings:
                continue
            is_cut = timed.count > 1 and timed.stream.dimension in operand.dimensions
            if operand.data is not None and is_cut:
                yield None, BlockCopies(0, 0, 0.0)
                return
            yield operand, copies_of(problem, position, timed.blocks)


def _cost(decider: Decider, cycles: float, moved_bytes: int) -> tuple[int, int]:
    """In the unit of the objective, then bytes moved."""
    is_moved = decider.options.objective is Objective.BYTES_MOVED
    return moved_bytes if is_moved else round(cycles), moved_bytes


def _best(same: Sequence[RowGroup]) -> list[RowGroup]:
    """Of the same layers in blocks of several sizes those that need fewer bytes than all that cost less."""
    kept: list[RowGroup] = []
    for group in sorted(same, key=lambda item: (item.most_cost, item.interval.cycles, item.most_bytes)):
        if not kept or group.most_bytes < kept[-1].most_bytes:
            kept.append(group)
    return kept if len(kept) <= MOST_SIZES else [*kept[: MOST_SIZES - 1], kept[-1]]
