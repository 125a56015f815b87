"""The tile shape, loop order and buffering of one operator under a pool's capacity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field as dataclass_field
from dataclasses import replace

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.options import Buffering, Objective, Strategy
from tilewright.tiling.buffering import with_given_slots
from tilewright.tiling.call_cycles import cycles_of_calls, slowing_ring
from tilewright.tiling.cost import Spent, layer_cycles, rings_pay
from tilewright.tiling.field import (
    Capacities,
    Field,
    bytes_near,
    candidate_fields,
    fits_all,
    tile_counts,
    usable,
    with_least_staged,
)
from tilewright.tiling.footprint import Counts, Flags
from tilewright.tiling.given import not_possible
from tilewright.tiling.hints import idle_cores
from tilewright.tiling.kept import kept_dimensions
from tilewright.tiling.least_costs import least_costs
from tilewright.tiling.orders import Orders, cheapest_orders
from tilewright.tiling.overflow import overflow
from tilewright.tiling.preference import NEARLY_AS_FAST, Scored, preferred, weighs_idleness
from tilewright.tiling.problem import TilingProblem
from tilewright.tiling.staging import stage
from tilewright.tiling.tile_choice import TileChoice

KernelCycles = dict[tuple[int, ...], tuple[float, float]]
"""Steps of all dimensions to the kernel cycles of all tiles, and to the idle share (0 to 1) of the cores' time."""

SHORTLIST = 1_000
"""The most candidates of an operator whose kernel cycles are computed; those with the cheapest transfers come first."""

TILE_CYCLES = 50
"""Cycles of a tile beside transfers and kernel, at least; ranks candidates before kernel cycles are computed."""


SURELY_FASTER = 0.98
"""Other tiles, or another kernel, are taken if their predicted cycles are at most this share of the present ones."""

FAR_BYTES = 2
"""What a byte over a far link counts as where bytes moved are the objective.

Far links are the slow ones. Counted once, tiles that save a byte near the core may move nearly one more over a far
link: tcn_har behind 16,000 bytes of l2 then moves 1.19 times its least there. Counted by the links' speeds (8 on
``l3-chain``), the last 2 % over the far link of silero_vad_16k_folded cost 6 % more over the near one.
"""


@dataclass(frozen=True, slots=True)
class TilingOptions:
    """The user's options for tiling."""

    buffering: Buffering = Buffering.AUTO
    objective: Objective = Objective.CYCLES
    strategy: Strategy = Strategy.COST
    hints: bool = True
    seed: int = 0


def choose_tiles(problem: TilingProblem, capacities: Capacities, options: TilingOptions) -> TileChoice:
    """The cheapest tiles whose buffers and scratch fit ``capacities`` (bytes by pool).

    Raises:
        TilewrightError: code ``tile-overflow`` if not even the smallest tiles fit; names
            operator, pool, bytes and the smallest size that works. Code ``tile-override`` if the
            given steps leave no tiles.
    """
    if not problem.moves:
        return _untiled(problem, options)
    kernels = problem.known_cycles
    ways = with_given_slots(problem, _doublings(problem, options.buffering), options.buffering)
    fields = list(zip(ways, candidate_fields(problem, ways), strict=True))
    found = [_best(problem, field, capacities, options, doubled, kernels) for doubled, field in fields]
    if any(item is not None for item in found):
        return _most_certain(problem, fields, found, capacities, options, kernels).choice
    # The first way has the fewest second slots, so its candidates need the fewest bytes.
    field = fields[0][1]
    if not field.size or (problem.given_far and usable(problem, field, capacities).size):
        raise not_possible(problem)
    raise overflow(problem, field.steps, with_least_staged(problem, field), capacities)


def _most_certain(
    problem: TilingProblem,
    fields: Sequence[tuple[frozenset[int], Field]],
    found: Sequence[Scored | None],
    capacities: Capacities,
    options: TilingOptions,
    kernels: KernelCycles,
) -> Scored:
    """The candidate with single slots, unless second slots surely gain cycles.

    ``found`` holds the best candidate for each set of doubled operands in ``fields``; the first set is the smallest,
    mostly empty. A candidate with other tiles than ``found[0]`` is taken only if its predicted cycles are at most
    ``SURELY_FASTER`` of those of ``found[0]``, since the cost model may be off by as much. Second slots for the
    tiles of ``found[0]`` are taken if they save more cycles than one more round of the loop costs (about the
    set-up of one copy).
    """
    best = min((item for item in found if item is not None), key=lambda item: item.score)
    first = found[0]
    if first is None or options.objective is not Objective.CYCLES:
        return best
    if best.score[0] < first.score[0] * SURELY_FASTER:
        return best
    round_cycles = max(operand.link.setup_cycles for operand in problem.operands if operand.link is not None)
    same = [first]
    for doubled, field in fields[1:]:
        kept: Flags = np.ones(field.size, dtype=bool)
        for name, step in first.choice.steps.items():
            kept = kept & (field.steps[name] == step)
        item = _best(problem, field.only(kept), capacities, options, doubled, kernels) if kept.any() else None
        same += [item] if item is not None and first.score[0] - item.score[0] > round_cycles else []
    return min(same, key=lambda item: item.score)


def _doublings(problem: TilingProblem, buffering: Buffering) -> list[frozenset[int]]:
    """Sets of numbers of operands to try with two slots each; the caller takes the cheapest set.

    Example: for x (0), weights (1, the largest) and y (2, the next), the sets are {}, {0, 1, 2}, {1} and {2}.
    Over a link on which the core itself copies, a second slot gains nothing: the only set is then {}, or all
    operands where the user asks for double buffering.
    """
    none: frozenset[int] = frozenset()
    links = {number: operand.link for number, operand in enumerate(problem.operands) if operand.link is not None}
    if not all(link.asynchronous for link in links.values()):
        return [frozenset(links)] if buffering is Buffering.DOUBLE else [none]
    if buffering is Buffering.SINGLE:
        return [none]
    largest = sorted(links, key=lambda number: -problem.operands[number].size_bytes)[:2]
    return list(dict.fromkeys([none, frozenset(links), *(frozenset({number}) for number in largest)]))


def _untiled(problem: TilingProblem, options: TilingOptions) -> TileChoice:
    steps = problem.extents
    scratch = problem.scratch_bytes(steps)
    near = {problem.scratch_pool: scratch} if scratch else {}
    cycles = problem.costs.layer_cycles + cycles_of_calls(problem, steps, problem.core_split(steps))
    cost = round(_score(options, cycles, 0, near)[0])
    return TileChoice(steps, (), (0,) * len(problem.operands), near, round(cycles), cost, cost)


def _best(
    problem: TilingProblem,
    field: Field,
    capacities: Capacities,
    options: TilingOptions,
    doubled: frozenset[int],
    kernels: KernelCycles,
) -> Scored | None:
    """The best candidate that fits ``capacities``, None if no candidate fits; ``kernels`` caches kernel cycles."""
    field = usable(problem, field, capacities)
    if not field.size:
        return None
    by_cycles = options.objective is Objective.CYCLES
    keep = 0 not in doubled and (not by_cycles or rings_pay(problem))
    best = _best_of(_Search(problem, field, capacities, options, kernels, keep), doubled)
    if best is None or not by_cycles or slowing_ring(problem, best.choice.steps, best.choice.kept) is None:
        return best
    copied = _best_of(_Search(problem, field, capacities, options, kernels, keep=False), doubled)
    return best if copied is None else min(best, copied, key=lambda item: item.score)


def _best_of(search: _Search, doubled: frozenset[int]) -> Scored | None:
    """``_best`` of a search that has just begun, over candidates that leave tiles."""
    problem, field, options = search.problem, search.field, search.options
    orders = cheapest_orders(
        problem,
        field.steps,
        field.counts,
        by_bytes=options.objective is Objective.BYTES_MOVED,
        keep=search.keep,
        doubled=doubled,
        every=_goes_far(problem),
    )
    ways = [orders, *orders.alone()]
    evaluated = 0
    columns = {name: array.tolist() for name, array in field.steps.items()}
    least = least_costs(problem, field, ways, options.objective)
    cheapest = least.min(axis=0).tolist()
    fewest = (np.min([orders.moved_bytes for orders in ways], axis=0) + problem.least_far_bytes).tolist()
    for candidate in _ranking(problem, options, field, orders, search.tiles).tolist():
        if search.is_beaten(cheapest[candidate]):
            continue
        steps = {name: column[candidate] for name, column in columns.items()}
        near = bytes_near(problem, field, candidate, steps)
        if not fits_all(near, search.capacities):
            continue
        if not search.is_outdone(cheapest[candidate], fewest[candidate]):
            costs = zip(ways, least[:, candidate], strict=True)
            alive = [orders for orders, cost in costs if not search.is_beaten(cost)]
            search.evaluate(candidate, steps, near, alive)
        evaluated += 1
        if options.strategy is not Strategy.COST or evaluated >= SHORTLIST:
            break
    best = search.best
    if best is None or options.objective is not Objective.CYCLES or options.strategy is not Strategy.COST:
        return best
    chosen = preferred(problem, search.found, hints=options.hints)
    return replace(chosen, choice=replace(chosen.choice, least_cost=best.choice.cost))


def _goes_far(problem: TilingProblem) -> bool:
    """Whether a tensor travels over several links: the order that is the best near the core may then be a bad one."""
    return any(operand.far_links and operand.data is None for operand in problem.operands)


@dataclass(slots=True)
class _Search:
    """The candidates that fit, with their scores, and the best of them so far.

    With ``keep``, rows are kept wherever they can be.
    """

    problem: TilingProblem
    field: Field
    capacities: Capacities
    options: TilingOptions
    kernels: KernelCycles
    keep: bool
    best: Scored | None = None
    found: list[Scored] = dataclass_field(default_factory=list)
    tiles: Counts = dataclass_field(init=False)

    def __post_init__(self) -> None:
        self.tiles = tile_counts(self.field)

    def evaluate(
        self, candidate: int, steps: Mapping[str, int], near: Mapping[str, int], ways: Sequence[Orders]
    ) -> None:
        """Score a candidate in the orders of ``ways``, unless it is beaten or its larger tiles do not fit."""
        cut = {name for name, counts in self.field.counts.items() if counts[candidate] > 1}
        kernel_cycles, _ = self._kernel_cycles(steps)
        seen: set[tuple[str, ...]] = set()
        for orders in ways:
            order = tuple(name for name in orders.order(candidate) if name in cut)
            if order in seen:
                continue
            seen.add(order)
            # Floats, not scalars of NumPy, which take several times as long.
            cycles, starts, hidden = (
                values.item(candidate) for values in (orders.cycles, orders.starts, orders.hidden)
            )
            spent = Spent.of(kernel_cycles, cycles, starts, hidden, self.problem.runs_beside)
            least = layer_cycles(self.problem.costs, spent, int(self.tiles[candidate]))
            if self.options.objective is not Objective.CYCLES or not self.is_beaten(least):
                self._score(candidate, steps, near, order, spent, int(orders.moved_bytes[candidate]))

    def _kernel_cycles(self, steps: Mapping[str, int]) -> tuple[float, float]:
        """Kernel cycles of a candidate, and how idle its cores are."""
        key = tuple(steps.values())
        if key not in self.kernels:
            split = self.problem.core_split(steps)
            self.kernels[key] = cycles_of_calls(self.problem, steps, split), idle_cores(self.problem, steps, split)
        return self.kernels[key]

    def is_beaten(self, least_cost: float) -> bool:
        """Whether a candidate that costs at least ``least_cost`` (cycles or bytes) is too dear to be taken."""
        if self.best is None:
            return False
        spare = NEARLY_AS_FAST if self.options.objective is Objective.CYCLES else 1.0
        return least_cost > self.best.score[0] * spare

    def is_outdone(self, least_cost: float, fewest_bytes: float) -> bool:
        """Whether the best candidate so far costs at most ``least_cost`` cycles and moves at most ``fewest_bytes``.

        A candidate that can do no better is not preferred to the best one, however little slower it is, but where
        idle cores and lanes count as well.
        """
        if self.best is None or self.options.objective is not Objective.CYCLES:
            return False
        if weighs_idleness(self.problem, hints=self.options.hints):
            return False
        return self.best.score[0] <= least_cost and self.best.moved_bytes <= fewest_bytes

    def _score(
        self,
        candidate: int,
        steps: Mapping[str, int],
        near: Mapping[str, int],
        order: tuple[str, ...],
        spent: Spent,
        moved_bytes: int,
    ) -> None:
        problem, options = self.problem, self.options
        staged = stage(problem, steps, order, near, self.capacities, options.buffering)
        if staged is None:
            return
        plain = spent.plain + staged.cycles - staged.hidden
        spent = replace(spent, plain=plain, far_hidden=staged.hidden, far_ends=staged.ends)
        copies = tuple(int(slots[candidate]) for slots in self.field.slots)
        kept = kept_dimensions(problem, steps, order) if self.keep and copies[0] < 2 else ()
        ring = slowing_ring(problem, steps, kept)
        if ring is not None:
            spent = replace(spent, kernel=cycles_of_calls(problem, steps, problem.core_split(steps), ring))
        cycles = layer_cycles(problem.costs, spent, int(self.tiles[candidate]))
        moved = moved_bytes + staged.link_bytes
        score = _score(options, cycles, moved_bytes + FAR_BYTES * staged.link_bytes, staged.near_bytes)
        cost = round(score[0])
        choice = TileChoice(steps, order, copies, staged.near_bytes, round(cycles), cost, cost, staged.stagings, kept)
        self.found.append(Scored(score, choice, moved, self._kernel_cycles(steps)[1]))
        if self.best is None or score < self.best.score:
            self.best = self.found[-1]


def _ranking(problem: TilingProblem, options: TilingOptions, field: Field, orders: Orders, tiles: Counts) -> Counts:
    """Candidate numbers, the most promising first; ties keep the largest tiles first."""
    if options.strategy is Strategy.MIN:
        return np.arange(field.size)[::-1]
    if options.strategy is Strategy.MAX:
        return np.arange(field.size)
    if options.strategy is Strategy.RANDOM_MAX:
        return np.random.default_rng(options.seed).permutation(field.size)
    if options.objective is Objective.BYTES_MOVED:
        return np.lexsort((orders.cycles, orders.moved_bytes))
    if options.objective is Objective.BYTES_USED:
        used = sum(field.near_bytes.values(), np.zeros(field.size, dtype=np.int64))
        return np.lexsort((orders.cycles, used))
    each = problem.costs.tile_cycles + problem.costs.kernel(problem.kernel.name).call_cycles
    # A transfer beside kernels costs between nothing and all of its cycles: half of them rank the candidate.
    return np.lexsort((tiles, orders.cycles - orders.hidden / 2 + tiles * max(each, TILE_CYCLES)))


def _score(options: TilingOptions, cycles: float, moved_bytes: int, near: Mapping[str, int]) -> tuple[float, ...]:
    if options.objective is Objective.BYTES_MOVED:
        return moved_bytes, cycles
    if options.objective is Objective.BYTES_USED:
        return sum(near.values()), cycles
    return (cycles,)
