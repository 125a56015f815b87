"""Which of the kernels that can run an operator does: the one whose best tiles cost the least.

Before:  conv_xpulpv2 (best tiles 9,000 cycles), conv_integer (its calls alone 41,000 cycles)
After:   conv_xpulpv2; conv_integer's tiles are not even looked for
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilewright.options import Objective, Strategy
from tilewright.plan import KernelOffer
from tilewright.tiling.choice import SURELY_FASTER, TileChoice, TilingOptions, choose_tiles
from tilewright.tiling.field import Capacities
from tilewright.tiling.overflow import TileOverflow
from tilewright.tiling.problem import TilingProblem


@dataclass(frozen=True, slots=True)
class KernelDecision:
    """The kernel with its tiles; ``others`` are those that were not taken, in order of preference."""

    problem: TilingProblem
    choice: TileChoice
    others: tuple[KernelOffer, ...] = ()


def cheapest_kernel(
    candidates: Sequence[TilingProblem], capacities: Capacities, options: TilingOptions
) -> KernelDecision:
    """The kernel with the fewest predicted cycles of those whose tiles fit; the preferred one of nearly equals.

    A kernel whose calls alone take nearly as long as another one's best tiles gets no tiles. Of
    variants of one symbol the first that fits stands for all: a later one cuts reductions, which
    gives sums of floats another order, and is for where nothing else fits.
    Only cycles compare kernels: under another objective or strategy the first that fits is taken.
    Raises TileOverflow of the kernel that is closest to fitting: its numbers are the ones that work.
    """
    by_cycles = options.objective is Objective.CYCLES and options.strategy is Strategy.COST
    taken: int | None = None
    choices: dict[int, TileChoice] = {}
    failures: list[TileOverflow] = []
    offers: dict[int, KernelOffer] = {}
    for number, problem in enumerate(candidates):
        if taken is not None and not by_cycles:
            break
        if problem.variant and any(candidates[other].kernel.name == problem.kernel.name for other in choices):
            continue
        least = calls_cycles(problem)
        if taken is not None and least >= choices[taken].least_cost * SURELY_FASTER:
            offers[number] = KernelOffer(problem.kernel.name, round(least), calls_only=True)
            continue
        try:
            choices[number] = choose_tiles(problem, capacities, options)
        except TileOverflow as error:
            failures.append(error)
            offers[number] = KernelOffer(problem.kernel.name, None)
            continue
        offers[number] = KernelOffer(problem.kernel.name, choices[number].predicted_cycles)
        if taken is None or choices[number].least_cost < choices[taken].least_cost * SURELY_FASTER:
            taken = number
    if taken is None:
        raise min(failures, key=lambda failure: failure.missing_bytes)
    others = tuple(offer for number, offer in sorted(offers.items()) if number != taken)
    choice = replace(choices[taken], least_cost=min(item.least_cost for item in choices.values()))
    return KernelDecision(candidates[taken], choice, others)


def calls_cycles(problem: TilingProblem) -> float:
    """Cycles of the kernel in one call for the whole operator; no tiles need fewer, as kernels go."""
    steps = problem.extents
    return problem.kernel_cycles(steps, problem.core_split(steps))
