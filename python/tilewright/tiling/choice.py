"""The tile shape, loop order and buffering of one operator under a pool's capacity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import permutations

import numpy as np

from tilewright.errors import TilewrightError, does_not_fit
from tilewright.options import Buffering, Objective, Strategy
from tilewright.tiling.candidates import candidate_steps
from tilewright.tiling.cost import Cycles, moved_bytes, transfer_cycles
from tilewright.tiling.footprint import Counts, Steps, tile_bytes, writes_exactly
from tilewright.tiling.problem import TileOperand, TilingProblem

SHORTLIST = 128
"""Candidates, best transfers first, whose kernel cycles and scratch are worked out."""

CUT_DIMENSIONS = 4
"""Dimensions whose order is permuted; further ones stay outermost in the nest's order."""


class Overlap(Enum):
    """Whether transfers run beside kernels."""

    NONE = "none"
    TRANSFERS = "transfers"


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
    """

    steps: Mapping[str, int]
    order: tuple[str, ...]
    copies: tuple[int, ...]
    near_bytes: Mapping[str, int]
    predicted_cycles: int


@dataclass(frozen=True, slots=True)
class TilingOptions:
    """What the user chose about tiling."""

    buffering: Buffering = Buffering.AUTO
    objective: Objective = Objective.CYCLES
    strategy: Strategy = Strategy.COST


def choose_tiles(problem: TilingProblem, capacities: Mapping[str, int | None], options: TilingOptions) -> TileChoice:
    """The cheapest tiles whose buffers and scratch fit ``capacities`` (bytes by pool).

    Raises:
        TilewrightError: code ``tile-overflow`` if not even the smallest tiles fit; names
            operator, pool, bytes and the smallest size that works.
    """
    if not problem.moves:
        return _untiled(problem)
    steps = candidate_steps(problem)
    double = options.buffering is Buffering.DOUBLE
    choice = _best(problem, steps, capacities, options, double=double)
    if options.buffering is Buffering.AUTO and all(
        operand.link is None or operand.link.asynchronous for operand in problem.operands
    ):
        overlapped = _best(problem, steps, capacities, options, double=True)
        if choice is None or (overlapped is not None and overlapped.predicted_cycles < choice.predicted_cycles):
            choice = overlapped
    if choice is not None:
        return choice
    raise _overflow(problem, steps, capacities, double)


def _untiled(problem: TilingProblem) -> TileChoice:
    steps = problem.extents
    scratch = problem.kernel.scratch_bytes(steps)
    near = {problem.scratch_pool: scratch} if scratch else {}
    return TileChoice(steps, (), (0,) * len(problem.operands), near, round(problem.kernel.cycles(steps)))


def _best(
    problem: TilingProblem,
    steps: Steps,
    capacities: Mapping[str, int | None],
    options: TilingOptions,
    *,
    double: bool,
) -> TileChoice | None:
    counts = _counts(problem, steps)
    fits = np.ones(next(iter(steps.values())).shape, dtype=bool)
    for pool, used in _near_bytes(problem, steps, counts, double).items():
        capacity = capacities.get(pool)
        if capacity is not None:
            fits &= used <= capacity
    selected = np.flatnonzero(fits)
    if not len(selected):
        return None
    steps = {name: array[selected] for name, array in steps.items()}
    counts = {name: array[selected] for name, array in counts.items()}
    transfers, orders, ordering = _cheapest_orders(problem, steps, counts)
    overhead = np.prod(np.stack([*counts.values(), np.ones_like(selected)]), axis=0)
    rank = _ranking(problem, options, steps, counts, orders, ordering, transfers, overhead)
    best: TileChoice | None = None
    evaluated = 0
    for candidate in rank.tolist():
        choice = _evaluate(problem, steps, counts, candidate, orders[int(ordering[candidate])], transfers, double)
        if not _scratch_fits(choice, capacities) or not _exact(problem, choice):
            continue
        evaluated += 1
        if options.strategy is not Strategy.COST or options.objective is not Objective.CYCLES:
            return choice
        if best is None or choice.predicted_cycles < best.predicted_cycles:
            best = choice
        if evaluated >= SHORTLIST:
            break
    return best


def _counts(problem: TilingProblem, steps: Steps) -> dict[str, Counts]:
    extents = problem.extents
    return {name: -(-extents[name] // steps[name]) for name in problem.cuttable}


def _slots(operand: TileOperand, counts: Mapping[str, Counts], double: bool) -> Counts:
    """Copies of the operand's tile: two where it changes at all and the plan double-buffers."""
    changes = np.asarray(False)
    for name in operand.dimensions & set(counts):
        changes = changes | (counts[name] > 1)
    return np.where(changes & double, 2, 1)


def _near_bytes(
    problem: TilingProblem, steps: Steps, counts: Mapping[str, Counts], double: bool
) -> dict[str, Counts]:
    """Bytes of tile buffers by pool, scratch not counted."""
    used: dict[str, Counts] = {}
    for operand in problem.operands:
        if operand.link is None:
            continue
        size = tile_bytes(operand, steps) * _slots(operand, counts, double)
        used[operand.near] = used.get(operand.near, np.zeros(1, dtype=np.int64)) + size
    return used


def _cheapest_orders(
    problem: TilingProblem, steps: Steps, counts: Mapping[str, Counts]
) -> tuple[Cycles, list[tuple[str, ...]], Counts]:
    """For each candidate the transfer cycles of the best loop order, and which order that is."""
    names = [name for name in problem.cuttable if (counts[name] > 1).any()]
    fixed, free = names[: max(0, len(names) - CUT_DIMENSIONS)], names[max(0, len(names) - CUT_DIMENSIONS) :]
    orders = [(*fixed, *order) for order in permutations(free)]
    totals = np.stack([_total_transfer(problem, steps, counts, order) for order in orders])
    ordering = np.argmin(totals, axis=0)
    return np.take_along_axis(totals, ordering[None, :], axis=0)[0], orders, ordering


def _total_transfer(
    problem: TilingProblem, steps: Steps, counts: Mapping[str, Counts], order: Sequence[str]
) -> Cycles:
    total: Cycles = np.zeros(next(iter(steps.values())).shape)
    for operand in problem.operands:
        total = total + transfer_cycles(operand, steps, counts, order, problem.extents)
    return total


def _ranking(
    problem: TilingProblem,
    options: TilingOptions,
    steps: Steps,
    counts: Mapping[str, Counts],
    orders: list[tuple[str, ...]],
    ordering: Counts,
    transfers: Cycles,
    tiles: Counts,
) -> Counts:
    """Candidate numbers, the most promising first; ties keep the largest tiles first."""
    if options.strategy is Strategy.MIN:
        return np.arange(len(tiles))[::-1]
    if options.strategy is Strategy.MAX:
        return np.arange(len(tiles))
    if options.strategy is Strategy.RANDOM_MAX:
        return np.random.default_rng(0).permutation(len(tiles))
    if options.objective is Objective.BYTES_MOVED:
        return np.lexsort((transfers, _moved(problem, steps, counts, orders, ordering)))
    if options.objective is Objective.BYTES_USED:
        used = sum(_near_bytes(problem, steps, counts, False).values(), np.zeros(1, dtype=np.int64))
        return np.lexsort((transfers, np.broadcast_to(used, tiles.shape)))
    return np.lexsort((tiles, transfers + tiles * 50.0))


def _moved(
    problem: TilingProblem,
    steps: Steps,
    counts: Mapping[str, Counts],
    orders: list[tuple[str, ...]],
    ordering: Counts,
) -> Counts:
    totals = []
    for order in orders:
        total = np.zeros(ordering.shape, dtype=np.int64)
        for operand in problem.operands:
            if operand.link is not None:
                total = total + moved_bytes(operand, steps, counts, order, problem.extents)
        totals.append(total)
    return np.take_along_axis(np.stack(totals), ordering[None, :], axis=0)[0]


def _evaluate(
    problem: TilingProblem,
    steps: Steps,
    counts: Mapping[str, Counts],
    candidate: int,
    order: tuple[str, ...],
    transfers: Cycles,
    double: bool,
) -> TileChoice:
    chosen = {name: int(array[candidate]) for name, array in steps.items()}
    cuts = {name: int(array[candidate]) for name, array in counts.items()}
    tiles = int(np.prod(list(cuts.values()))) if cuts else 1
    one = {name: np.asarray(count) for name, count in cuts.items()}
    copies = tuple(0 if item.link is None else int(_slots(item, one, double)) for item in problem.operands)
    near: dict[str, int] = {}
    for operand, slots in zip(problem.operands, copies, strict=True):
        if slots:
            size = int(tile_bytes(operand, {name: np.asarray(step) for name, step in chosen.items()}))
            near[operand.near] = near.get(operand.near, 0) + size * slots
    scratch = problem.kernel.scratch_bytes(chosen)
    if scratch:
        near[problem.scratch_pool] = near.get(problem.scratch_pool, 0) + -(-scratch // 4) * 4
    compute = problem.kernel.cycles(chosen) * tiles
    transfer = float(transfers[candidate])
    overlapped = max(compute, transfer) + min(compute, transfer) / tiles
    cycles = overlapped if double and tiles > 1 else compute + transfer
    cut_order = tuple(name for name in order if cuts.get(name, 1) > 1)
    return TileChoice(chosen, cut_order, copies, near, round(cycles))


def _scratch_fits(choice: TileChoice, capacities: Mapping[str, int | None]) -> bool:
    for pool, used in choice.near_bytes.items():
        capacity = capacities.get(pool)
        if capacity is not None and used > capacity:
            return False
    return True


def _exact(problem: TilingProblem, choice: TileChoice) -> bool:
    return all(writes_exactly(item, choice.steps, problem.extents) for item in problem.operands if item.write)


def _overflow(
    problem: TilingProblem, steps: Steps, capacities: Mapping[str, int | None], double: bool
) -> TilewrightError:
    """Name the pool, and the smallest size of it that any tile shape reaches."""
    counts = _counts(problem, steps)
    used = _near_bytes(problem, steps, counts, double)
    pool = next(iter(used))
    bytes_used = np.broadcast_to(used[pool], next(iter(steps.values())).shape)
    smallest: int | None = None
    for candidate in np.argsort(bytes_used, kind="stable").tolist():
        if smallest is not None and bytes_used[candidate] >= smallest:
            break
        chosen = {name: int(array[candidate]) for name, array in steps.items()}
        scratch = -(-problem.kernel.scratch_bytes(chosen) // 4) * 4 if problem.scratch_pool == pool else 0
        if all(writes_exactly(item, chosen, problem.extents) for item in problem.operands if item.write):
            total = int(bytes_used[candidate]) + scratch
            smallest = total if smallest is None else min(smallest, total)
    assert smallest is not None
    have = capacities.get(pool) or 0
    return does_not_fit(
        "tile-overflow",
        f"pool '{pool}' needs {smallest:,} bytes for the smallest tiles, have {have:,} ({smallest - have:,} missing)",
        at=f"{problem.node.name} ({problem.node.operator})",
        help=f"POOLS {pool}={smallest} is the smallest that works for this operator",
    )
