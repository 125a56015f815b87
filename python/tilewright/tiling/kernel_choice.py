"""The kernel of an operator: of those that can run it, the kernel whose best tiles cost the least.

Before:  conv_xpulpv2 (best tiles 9,000 cycles), conv_integer (its calls alone 41,000 cycles)
After:   conv_xpulpv2; conv_integer's tiles are not even looked for
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.base.lazy_dataclass import dataclass
from tilewright.options import Objective, Strategy
from tilewright.plan import KernelOffer
from tilewright.tiling.choice import SURELY_FASTER, TilingOptions, choose_tiles
from tilewright.tiling.cut_twice import ways_to_block
from tilewright.tiling.field import Capacities
from tilewright.tiling.least_costs import calls_cycles
from tilewright.tiling.overflow import TileOverflow
from tilewright.tiling.problem import TilingProblem
from tilewright.tiling.tile_choice import TileChoice


@dataclass(frozen=True, slots=True)
class KernelDecision:
    """The kernel with its tiles; ``others`` are the kernels that were not taken, in order of preference."""

    problem: TilingProblem
    choice: TileChoice
    others: tuple[KernelOffer, ...] = ()


def cheapest_kernel(
    candidates: Sequence[TilingProblem], capacities: Capacities, options: TilingOptions
) -> KernelDecision:
    """Of the kernels whose tiles fit ``capacities``, the kernel with the fewest predicted cycles.

    ``candidates`` stand in order of preference: a later kernel must be surely faster (``SURELY_FASTER``).
    No tiles are searched for a kernel whose calls alone take nearly as long as the best tiles so far.
    Of the variants of one kernel the first that fits is taken: a later variant cuts reductions, which
    adds floats in another order, and is meant for pools in which the others do not fit.
    Kernels for groups alone are left out, and those that only save scratch where another one fits.
    Where bytes moved are the objective, the kernel with the fewest is taken, of equals the first, variants too; where
    bytes of pools are, and under another strategy, the first that fits. Where tensors travel several links, the
    kernel that is taken may have a dimension cut into blocks too (``tiling.cut_twice``).
    Raises TileOverflow, with the numbers of the kernel that misses the fewest bytes, if no kernel fits.
    """
    by_cost = options.strategy is Strategy.COST
    by_cycles = by_cost and options.objective is Objective.CYCLES
    by_bytes = by_cost and options.objective is Objective.BYTES_MOVED
    share = SURELY_FASTER if by_cycles else 1.0
    taken: int | None = None
    choices: dict[int, TileChoice] = {}
    failures: list[TileOverflow] = []
    offers: dict[int, KernelOffer] = {}
    for number, problem in enumerate(candidates):
        if taken is not None and not (by_cycles or by_bytes):
            break
        if problem.kernel.in_groups or (problem.kernel.saves_scratch and taken is not None):
            continue
        is_known = any(candidates[other].kernel.name == problem.kernel.name for other in choices)
        if problem.variant and is_known and not by_bytes:
            continue
        least = calls_cycles(problem)
        if by_cycles and taken is not None and least >= choices[taken].least_cost * SURELY_FASTER:
            offers[number] = KernelOffer(problem.kernel.name, round(least), calls_only=True)
            continue
        try:
            choices[number] = choose_tiles(problem, capacities, options)
        except TileOverflow as error:
            failures.append(error)
            offers[number] = KernelOffer(problem.kernel.name, None)
            continue
        offers[number] = KernelOffer(problem.kernel.name, choices[number].predicted_cycles)
        if taken is None or choices[number].least_cost < choices[taken].least_cost * share:
            taken = number
    if taken is None:
        raise min(failures, key=lambda failure: failure.missing_bytes)
    others = tuple(offer for number, offer in sorted(offers.items()) if number != taken)
    choice = replace(choices[taken], least_cost=min(item.least_cost for item in choices.values()))
    decision = KernelDecision(candidates[taken], choice, others)
    return _with_blocks(decision, capacities, options, share) if by_cycles or by_bytes else decision


def _with_blocks(
    decision: KernelDecision, capacities: Capacities, options: TilingOptions, share: float
) -> KernelDecision:
    """The kernel with a dimension cut into blocks first, where that costs less than ``share`` of what it costs."""
    best = decision
    far_bytes = sum(level.link_bytes for levels in decision.choice.stagings for level in levels)
    for problem in ways_to_block(decision.problem, far_bytes):
        try:
            choice = choose_tiles(problem, capacities, options)
        except TileOverflow:
            continue
        if choice.least_cost < best.choice.least_cost * share:
            best = replace(decision, problem=problem, choice=choice)
    return best
