"""Kernels and tiles of a prepared graph's layers for pools of given sizes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import field, replace
from typing import Any, Union

from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.progress import tracked
from tilewright.options import Buffering, CompileOptions, Strategy
from tilewright.plan import TilingProof
from tilewright.planning.allowed_kernels import AllowedKernels, kernel_key
from tilewright.planning.decisions import Decisions
from tilewright.planning.prepare import Prepared
from tilewright.platform import Platform
from tilewright.schedule.tile_loops import ScheduledLayer
from tilewright.tiling.alike import form
from tilewright.tiling.choice import TilingOptions
from tilewright.tiling.cut_twice import with_blocks
from tilewright.tiling.field import Capacities
from tilewright.tiling.kernel_choice import KernelDecision, cheapest_kernel
from tilewright.tiling.overflow import TileOverflow
from tilewright.tiling.own_tiler import Tiler, with_own_tiles
from tilewright.tiling.problem import TilingProblem

KnownChoices = dict[tuple[int, tuple[Union[int, None], ...]], ScheduledLayer]
"""By a layer's number and the bytes available in each pool that its tiles may use, its kernel and tiles."""


@dataclass(frozen=True, slots=True)
class Decider:
    """Chooses kernels and tiles from a prepared graph, the platform with its pools, and the user's options and tiler.

    Each choice is made once. ``known`` has the choice by the layer's number and the bytes available in each pool that
    its tiles may use, so Deciders that differ in other pools use it too. ``shared`` has, by the form of layers that are
    alike and by these bytes, the position of the kernel and the choice.
    ``stripped`` has for a prepared graph what ``stripping`` found: groupings of the same graph in strips of columns.
    ``allowed`` has the kernels that some layers are restricted to, ``leaner`` by such kernels the graph with these, and
    the choices that are known for it.
    """

    prepared: Prepared
    platform: Platform
    options: CompileOptions
    tiler: Tiler | None = None
    known: KnownChoices = field(default_factory=dict)
    shared: dict[Hashable, tuple[int, KernelDecision]] = field(default_factory=dict)
    stripped: list[tuple[Prepared, Any]] = field(default_factory=list)
    allowed: AllowedKernels = field(default_factory=dict)
    leaner: dict[Hashable, tuple[Prepared, KnownChoices]] = field(default_factory=dict)

    @property
    def capacities(self) -> Capacities:
        """Pool to bytes; None for a pool without limit."""
        return {pool.name: pool.usable_bytes for pool in self.platform.pools}

    @property
    def hands_over(self) -> bool:
        """Whether layers hand over their last stores: where links copy on their own, unless slots are to be single."""
        links = self.platform.links
        return self.options.buffering is not Buffering.SINGLE and any(link.asynchronous for link in links)

    def choose(self, number: int, limits: Capacities) -> ScheduledLayer:
        """The best kernel and tiles of a layer, by its number, within ``limits``. Raises TileOverflow."""
        problems = self.prepared.problems[number]
        room = tuple(limits.get(pool) for pool in _tile_pools(problems))
        if (number, room) not in self.known:
            self.known[number, room] = self.chosen(problems, limits)
        return self.known[number, room]

    def chosen(self, problems: Sequence[TilingProblem], limits: Capacities) -> ScheduledLayer:
        """The best kernel and tiles for a layer's problems within ``limits``. Raises TileOverflow."""
        room = tuple(limits.get(pool) for pool in _tile_pools(problems))
        found = self._decision(problems, limits, room)
        return ScheduledLayer(found.problem, found.choice, found.others)

    def _decision(
        self, problems: Sequence[TilingProblem], limits: Capacities, room: tuple[int | None, ...]
    ) -> KernelDecision:
        """The best kernel and tiles of a layer, or of one that is alike."""
        # A user's tiler may look at the layer's name, so no two layers are alike to it.
        options, alike = self.options, form(problems) if self.tiler is None else None
        if alike is not None and (alike, room) in self.shared:
            taken, found = self.shared[alike, room]
            return replace(found, problem=with_blocks(problems[taken], found.problem.blocks))
        strategy = Strategy.COST if self.tiler is not None else Strategy(options.strategy)
        tiling = TilingOptions(options.buffering, options.objective, strategy, options.hints, options.search_seed)
        tiled = self._with_own_tiles(problems, limits)
        found = cheapest_kernel(tiled, limits, tiling)
        if alike is not None:
            taken = [kernel_key(problem) for problem in tiled].index(kernel_key(found.problem))
            self.shared[alike, room] = taken, found
        return found

    def _with_own_tiles(self, problems: Sequence[TilingProblem], limits: Capacities) -> Sequence[TilingProblem]:
        if self.tiler is None:
            return problems
        return [with_own_tiles(problem, self.tiler, self.options.strategy, limits) for problem in problems]

    @property
    def by_cost(self) -> bool:
        """Whether tiles that the user does not give are chosen by predicted cost."""
        return self.tiler is not None or self.options.strategy == Strategy.COST.value

    def decided(self, layers: Sequence[ScheduledLayer], bound: int) -> Decisions:
        """Decisions with these layers, whose tiles cost ``bound`` at least, whichever are chosen."""
        strips = self.prepared.strips
        if self.options.strategy != Strategy.COST.value:
            return Decisions(tuple(layers), strips=strips)
        proof = TilingProof(self.options.objective.value, cost_of(layers), max(0, bound))
        return Decisions(tuple(layers), tiling=proof, strips=strips)


def _tile_pools(problems: Iterable[TilingProblem]) -> list[str]:
    """The pools in which tiles and scratch of a layer may be, whichever kernel it has."""
    moving = [problem for problem in problems if problem.moves]
    pools = {problem.scratch_pool for problem in moving}
    for operand in (operand for problem in moving for operand in problem.operands):
        pools |= {operand.near} if operand.link is not None else set()
        pools |= set(operand.between)
    return sorted(pools)


def each_for_itself(decider: Decider) -> Decisions:
    """The best tiles of every layer, as if its buffers were alone in the pools.

    Raises the TileOverflow that asks for the most, so that its size suits all.
    """
    layers: list[ScheduledLayer] = []
    failures: list[TileOverflow] = []
    for number in tracked("Choosing tiles", range(len(decider.prepared.problems))):
        try:
            layers.append(decider.choose(number, decider.capacities))
        except TileOverflow as error:
            failures.append(error)
    if failures:
        raise max(failures, key=lambda failure: (failure.pool == failures[0].pool, failure.needed_bytes))
    return decider.decided(layers, sum(layer.choice.least_cost for layer in layers))


def best_tiles(decider: Decider) -> Decisions:
    """``each_for_itself``, with stores handed over where links copy on their own."""
    return replace(each_for_itself(decider), hand_over=decider.hands_over)


def with_layers(decisions: Decisions, layers: Sequence[ScheduledLayer]) -> Decisions:
    """The decisions with the tiles and kernels of ``layers``; what tiles cost at least is no more than they cost."""
    tiling, cost = decisions.tiling, cost_of(layers)
    proof = tiling and replace(tiling, cost=cost, bound=min(tiling.bound, cost))
    return replace(decisions, layers=tuple(layers), tiling=proof)


def cost_of(layers: Sequence[ScheduledLayer]) -> int:
    """What the tiles of all layers cost together, in the unit of the objective."""
    return sum(layer.choice.cost for layer in layers)
