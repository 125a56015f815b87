"""Groups of layers whose rows stay near the core where tensors travel: which there are, and what each costs.

Rows between the stages of such a group are in rings near the core and cross no link. The first stages load the rows
that they read, the last one stores the rows that it makes, and constants are loaded once, before the first block.

Before:  l1 of 16 KB; conv, conv and add on tensors of 16 KB each, at home in sram
After:   conv to add in blocks of 1, 2, 4, ... rows: bytes of l1, cycles, and what it costs that x and y travel
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilewright.base.lazy_dataclass import dataclass
from tilewright.fusion.group import Group
from tilewright.fusion.intervals import (
    BLOCK_ELEMENTS,
    Layers,
    group_from,
    growing,
    last_together,
    layers_of,
)
from tilewright.options import Groups
from tilewright.planning.alike_windows import AlikeWindows, Window
from tilewright.planning.allowed_kernels import kernel_key
from tilewright.planning.decide import Decider
from tilewright.planning.prepare import Prepared
from tilewright.planning.row_group import RowGroup
from tilewright.planning.row_prices import RowPrices, StageCopies, cost_of_rows
from tilewright.planning.spill import at_homes
from tilewright.schedule.tile_loops import ScheduledLayer
from tilewright.storage.homes import near_home
from tilewright.storage.lives import group_lives
from tilewright.storage.overlaps import layer_use
from tilewright.tiling.block_tiles import in_blocks, may_run_in_blocks
from tilewright.tiling.layer_facts import link_bytes
from tilewright.tiling.problem import TilingProblem

MOST_SIZES = 4
"""Sizes of blocks that are kept at most for a group: those that need the fewest bytes, and the fastest."""


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
            moved = sum(link_bytes(problem, choice).values())
            cost, _ = cost_of_rows(decider.options, choice.predicted_cycles, moved)
            stages.append(ScheduledLayer(problem, replace(choice, cost=cost, least_cost=cost)))
        return group, stages


def row_groups(decider: Decider, most_bytes: int) -> RowGroups | None:
    """The groups that need at most so many bytes near the core; None where the user wants none.

    Of tiles and slots that the user gives for a layer, none is a group's.
    """
    if decider.options.groups is Groups.OFF:
        return None
    layers = _streams(decider)
    windows = AlikeWindows(layers, decider.prepared, near_home(decider.platform))
    prices = RowPrices(decider, layers, windows.kinds)
    sizes = layers.sizes()
    found = {first: _from(prices, windows, sizes, first, most_bytes) for first in range(len(layers.problems))}
    return RowGroups(layers, found)


def _streams(decider: Decider) -> Layers:
    """The layers as streams, each with the kernel of its best tiles, or with one that only groups take."""
    prepared = decider.prepared
    problems = [_uncut(decider, number) for number in range(len(prepared.problems))]
    others = [[item for item in found if item.kernel.in_groups] for found in prepared.problems]
    touched = [layer_use(problem.kernel, prepared.graph).touched for problem in problems]
    layers = layers_of(problems, prepared.homes, group_lives(touched, prepared.homes), others)
    pairs = zip(layers.streams, problems, strict=True)
    return replace(layers, streams=[stream if may_run_in_blocks(problem) else None for stream, problem in pairs])


def _uncut(decider: Decider, number: int) -> TilingProblem:
    """A layer's problem with the kernel of its best tiles, and without dimensions that these cut twice."""
    taken = kernel_key(decider.choose(number, decider.capacities).problem)
    return next(problem for problem in decider.prepared.problems[number] if kernel_key(problem) == taken)


def _from(
    prices: RowPrices, windows: AlikeWindows, sizes: Sequence[Sequence[int]], first: int, most_bytes: int
) -> list[RowGroup]:
    """The groups that begin with a layer; ``sizes`` has the rows of each layer for each of ``BLOCK_ELEMENTS``."""
    found: dict[int, list[RowGroup]] = {}
    tried: list[Sequence[int]] = []
    together = last_together(prices.layers, first)
    for elements, rows in zip(BLOCK_ELEMENTS, sizes, strict=True):
        if any(rows[first : first + len(known)] == known for known in tried):
            continue
        window = windows.alike(first, elements)
        if window is None:
            window = _window(prices, first, together, elements, most_bytes)
            windows.keep(window)
        for group in window.groups:
            found.setdefault(group.interval.end, []).append(group)
        tried.append(rows[first : window.end])
    return [group for same in found.values() for group in _best(same)]


def _window(prices: RowPrices, first: int, together: int, elements: int, most_bytes: int) -> Window:
    """The groups in blocks of one size that begin with a layer; ``together`` is behind the last that could join."""
    found = list(_in_blocks_of(prices, first, together, elements, most_bytes))
    end = found[-1][0] if found else first + 1
    # The next layer may be the one that could not join.
    return Window(first, min(end + 1, together), elements, tuple(group for _, group in found if group is not None))


def _in_blocks_of(
    prices: RowPrices, first: int, together: int, elements: int, most_bytes: int
) -> Iterator[tuple[int, RowGroup | None]]:
    """The number behind the last layer of each group that begins with a layer, and the group if it may be taken."""
    stages: list[StageCopies] = []
    constant_bytes = 0
    for grown in growing(prices.layers, first, (elements,) * (together - first)):
        for number in range(len(stages), len(grown.stages)):
            copies = prices.copies(first + number, grown.stages[number], grown.problems[number])
            if copies is None:
                yield grown.end, None
                return
            stages.append(copies)
            constant_bytes += copies.constant_bytes
        yield grown.end, prices.group(grown, stages, elements, most_bytes - constant_bytes)
        # Rings and constants only grow with every layer that joins.
        if grown.least_bytes + constant_bytes > most_bytes:
            return


def _best(same: Sequence[RowGroup]) -> list[RowGroup]:
    """Of the same layers in blocks of several sizes those that need fewer bytes than all that cost less."""
    kept: list[RowGroup] = []
    for group in sorted(same, key=lambda item: (item.most_cost, item.interval.cycles, item.most_bytes)):
        if not kept or group.most_bytes < kept[-1].most_bytes:
            kept.append(group)
    return kept if len(kept) <= MOST_SIZES else [*kept[: MOST_SIZES - 1], kept[-1]]
