"""The tile shape, loop order and buffering of one operator under a pool's capacity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Union

import numpy as np

from tilewright.options import Buffering, Objective, Strategy
from tilewright.tiling.candidates import candidate_steps
from tilewright.tiling.footprint import Counts, Flags, Steps, dense_tiles, exact_writes, tile_bytes
from tilewright.tiling.given import not_possible
from tilewright.tiling.orders import Orders, cheapest_orders
from tilewright.tiling.overflow import overflow
from tilewright.tiling.problem import TilingProblem
from tilewright.tiling.staging import Staging, stage

Capacities = Mapping[str, Union[int, None]]
"""Pool to the bytes that the tiles of a layer may take; None is no limit."""

SHORTLIST = 1_000
"""Candidates, best transfers first, whose kernel cycles are worked out."""

TILE_CYCLES = 50
"""What a tile costs beside transfers and kernel, roughly; ranks candidates before kernels are asked."""


NEARLY_AS_FAST = 1.04
"""Of choices whose predicted cycles differ by less, the one that moves the fewest bytes is taken."""


@dataclass(frozen=True, slots=True)
class TileChoice:
    """How one operator is cut.

    Attributes:
        steps: tile step of every iteration dimension.
        order: cut dimensions, outermost first.
        copies: slots of each operand's tile buffer, in the order of the problem's operands;
            0 where the kernel works in the home.
        near_bytes: bytes of tiles and scratch together, by pool.
        predicted_cycles: of the whole operator.
        cost: what the objective minimises.
        least_cost: that of the best candidate; no other tiles cost less.
        stagings: larger tiles in a pool between home and core, in the order of the problem's
            operands; None where tiles come straight from the home.
    """

    steps: Mapping[str, int]
    order: tuple[str, ...]
    copies: tuple[int, ...]
    near_bytes: Mapping[str, int]
    predicted_cycles: int
    cost: int = 0
    least_cost: int = 0
    stagings: tuple[Staging | None, ...] = ()

    def staging(self, position: int) -> Staging | None:
        """The staging of operand number ``position``."""
        return self.stagings[position] if self.stagings else None


@dataclass(frozen=True, slots=True)
class TilingOptions:
    """What the user chose about tiling."""

    buffering: Buffering = Buffering.AUTO
    objective: Objective = Objective.CYCLES
    strategy: Strategy = Strategy.COST


@dataclass(frozen=True, slots=True)
class _Field:
    """Candidates with what is known of all of them at once; one array entry each."""

    steps: Steps
    counts: Mapping[str, Counts]
    slots: tuple[Counts, ...]
    near_bytes: Mapping[str, Counts]

    @property
    def size(self) -> int:
        return len(next(iter(self.steps.values())))

    def only(self, kept: Flags) -> _Field:
        """The candidates that ``kept`` marks."""
        return _Field(
            {name: array[kept] for name, array in self.steps.items()},
            {name: array[kept] for name, array in self.counts.items()},
            tuple(array[kept] for array in self.slots),
            {pool: array[kept] for pool, array in self.near_bytes.items()},
        )


@dataclass(frozen=True, slots=True)
class _Scored:
    """A choice with what the objective minimises, the most important first."""

    score: tuple[float, ...]
    choice: TileChoice
    moved_bytes: int


def choose_tiles(problem: TilingProblem, capacities: Mapping[str, int | None], options: TilingOptions) -> TileChoice:
    """The cheapest tiles whose buffers and scratch fit ``capacities`` (bytes by pool).

    Raises:
        TilewrightError: code ``tile-overflow`` if not even the smallest tiles fit; names
            operator, pool, bytes and the smallest size that works. Code ``tile-override`` if the
            given steps leave no tiles.
    """
    if not problem.moves:
        return _untiled(problem, options)
    double = options.buffering is Buffering.DOUBLE
    field = _field(problem, double)
    if not field.size:
        raise not_possible(problem)
    best = _best(problem, field, capacities, options, double=double)
    if best is None:
        if problem.given_far and _usable(problem, field, capacities).size:
            raise not_possible(problem)
        raise overflow(problem, field.steps, _with_least_staged(problem, field), capacities)
    if options.buffering is Buffering.AUTO and _overlaps(problem):
        overlapped = _best(problem, _field(problem, True), capacities, options, double=True)
        if overlapped is not None and overlapped.score < best.score:
            return overlapped.choice
    return best.choice


def _untiled(problem: TilingProblem, options: TilingOptions) -> TileChoice:
    steps = problem.extents
    scratch = problem.scratch_bytes(steps)
    near = {problem.scratch_pool: scratch} if scratch else {}
    cycles = problem.kernel_cycles(steps, problem.sharing(steps))
    cost = round(_score(options, cycles, 0, near)[0])
    return TileChoice(steps, (), (0,) * len(problem.operands), near, round(cycles), cost, cost)


def _overlaps(problem: TilingProblem) -> bool:
    """Whether transfers run beside kernels."""
    return all(operand.link is None or operand.link.asynchronous for operand in problem.operands)


def _field(problem: TilingProblem, double: bool) -> _Field:
    """All candidates whose tiles write every element once."""
    steps = candidate_steps(problem)
    size = len(next(iter(steps.values())))
    extents = problem.extents
    counts = {name: -(-extents[name] // steps[name]) for name in problem.cuttable}
    slots = []
    near: dict[str, Counts] = {}
    exact: Flags = np.ones(size, dtype=bool)
    for operand in problem.operands:
        if operand.write:
            exact = exact & exact_writes(operand, steps)
        exact = exact & dense_tiles(operand, steps, extents)
        if operand.link is None:
            slots.append(np.zeros(size, dtype=np.int64))
            continue
        # Two slots only where the tile changes at all.
        changes = np.zeros(size, dtype=bool)
        for name in operand.dimensions & set(counts):
            changes = changes | (counts[name] > 1)
        copies = np.where(changes & double, 2, 1)
        slots.append(copies)
        before = near.get(operand.near, np.zeros(size, dtype=np.int64))
        near[operand.near] = before + tile_bytes(operand, steps) * copies
    return _Field(steps, counts, tuple(slots), near).only(exact)


def _with_least_staged(problem: TilingProblem, field: _Field) -> dict[str, Counts]:
    """Bytes of tiles by pool; larger tiles between home and core are at least as large as one tile near it."""
    near = dict(field.near_bytes)
    for operand in problem.operands:
        if operand.far_link is not None:
            pool = operand.far_link.target
            near[pool] = near.get(pool, np.zeros(field.size, dtype=np.int64)) + tile_bytes(operand, field.steps)
    return near


def _usable(problem: TilingProblem, field: _Field, capacities: Mapping[str, int | None]) -> _Field:
    """The candidates whose tiles fit, scratch not counted."""
    fits: Flags = np.ones(field.size, dtype=bool)
    for pool, used in _with_least_staged(problem, field).items():
        capacity = capacities.get(pool)
        if capacity is not None:
            fits = fits & (used <= capacity)
    return field.only(fits)


def _best(
    problem: TilingProblem,
    field: _Field,
    capacities: Mapping[str, int | None],
    options: TilingOptions,
    *,
    double: bool,
) -> _Scored | None:
    """The best candidate that fits, None if none does."""
    field = _usable(problem, field, capacities)
    if not field.size:
        return None
    orders = cheapest_orders(problem, field.steps, field.counts, by_bytes=options.objective is Objective.BYTES_MOVED)
    tiles = _tiles(field)
    best: _Scored | None = None
    found: list[_Scored] = []
    evaluated = 0
    columns = {name: array.tolist() for name, array in field.steps.items()}
    for candidate in _ranking(options, field, orders, tiles).tolist():
        steps = {name: column[candidate] for name, column in columns.items()}
        near = _near_bytes(problem, field, candidate, steps)
        if not _fits(near, capacities):
            continue
        compute, count = _kernel_cycles(problem, steps), int(tiles[candidate])
        transfer = float(orders.cycles[candidate])
        if not _is_beaten(best, options, _cycles(compute, transfer, count, double)):
            order = tuple(name for name in orders.order(candidate) if int(field.counts[name][candidate]) > 1)
            staged = stage(problem, steps, order, near, capacities)
            if staged is None:
                continue
            cycles = _cycles(compute, transfer + staged.cycles, count, double)
            moved = int(orders.moved_bytes[candidate]) + staged.link_bytes
            score = _score(options, cycles, moved, staged.near_bytes)
            copies = tuple(int(slots[candidate]) for slots in field.slots)
            cost = round(score[0])
            choice = TileChoice(steps, order, copies, staged.near_bytes, round(cycles), cost, cost, staged.stagings)
            found.append(_Scored(score, choice, moved))
            if best is None or score < best.score:
                best = found[-1]
        evaluated += 1
        if options.strategy is not Strategy.COST or evaluated >= SHORTLIST:
            break
    if best is None or options.objective is not Objective.CYCLES or options.strategy is not Strategy.COST:
        return best
    limit = best.score[0] * NEARLY_AS_FAST
    chosen = min((item for item in found if item.score[0] <= limit), key=lambda item: (item.moved_bytes, item.score))
    return replace(chosen, choice=replace(chosen.choice, least_cost=best.choice.cost))


def _is_beaten(best: _Scored | None, options: TilingOptions, least_cycles: float) -> bool:
    """Whether a candidate of at least that many cycles cannot become the best."""
    return best is not None and options.objective is Objective.CYCLES and least_cycles > best.score[0] * NEARLY_AS_FAST


def _tiles(field: _Field) -> Counts:
    tiles = np.ones(field.size, dtype=np.int64)
    for count in field.counts.values():
        tiles = tiles * count
    return tiles


def _ranking(options: TilingOptions, field: _Field, orders: Orders, tiles: Counts) -> Counts:
    """Candidate numbers, the most promising first; ties keep the largest tiles first."""
    if options.strategy is Strategy.MIN:
        return np.arange(field.size)[::-1]
    if options.strategy is Strategy.MAX:
        return np.arange(field.size)
    if options.strategy is Strategy.RANDOM_MAX:
        return np.random.default_rng(0).permutation(field.size)
    if options.objective is Objective.BYTES_MOVED:
        return np.lexsort((orders.cycles, orders.moved_bytes))
    if options.objective is Objective.BYTES_USED:
        used = sum(field.near_bytes.values(), np.zeros(field.size, dtype=np.int64))
        return np.lexsort((orders.cycles, used))
    return np.lexsort((tiles, orders.cycles + tiles * TILE_CYCLES))


def _near_bytes(problem: TilingProblem, field: _Field, candidate: int, steps: Mapping[str, int]) -> dict[str, int]:
    """Bytes of tiles and scratch by pool."""
    near = {pool: int(used[candidate]) for pool, used in field.near_bytes.items()}
    scratch = problem.scratch_bytes(steps)
    if scratch:
        near[problem.scratch_pool] = near.get(problem.scratch_pool, 0) + scratch
    return near


def _fits(near: Mapping[str, int], capacities: Mapping[str, int | None]) -> bool:
    for pool, used in near.items():
        capacity = capacities.get(pool)
        if capacity is not None and used > capacity:
            return False
    return True


def _cycles(compute: float, transfer: float, tiles: int, double: bool) -> float:
    """Predicted cycles of the operator; with two slots the shorter of kernel and transfer hides behind the other."""
    if not double or tiles == 1:
        return compute + transfer
    return max(compute, transfer) + min(compute, transfer) / tiles


def _kernel_cycles(problem: TilingProblem, steps: Mapping[str, int]) -> float:
    """Of all calls; the last tile of a dimension may be shorter."""
    extents = problem.extents
    parts = []
    for name in problem.cuttable:
        whole, rest = divmod(extents[name], steps[name])
        sizes = ((steps[name], whole), (rest, 1)) if rest else ((steps[name], whole),)
        parts.append([(name, size, times) for size, times in sizes])
    sharing = problem.sharing(steps)
    total = 0.0
    for tile in product(*parts):
        lengths = {**steps, **{name: size for name, size, _ in tile}}
        total += problem.kernel_cycles(lengths, sharing) * prod(times for _, _, times in tile)
    return total


def _score(options: TilingOptions, cycles: float, moved_bytes: int, near: Mapping[str, int]) -> tuple[float, ...]:
    if options.objective is Objective.BYTES_MOVED:
        return moved_bytes, cycles
    if options.objective is Objective.BYTES_USED:
        return sum(near.values()), cycles
    return (cycles,)
