"""Kernels whose packed constants are smaller, for pools in which the constants of the fastest kernels do not fit.

Before:  conv a: conv_packed_6 (9,296 bytes, 4,000 cycles), conv_integer (9,216, 9,000); b: the same with 2,344 and
         2,304 bytes, 1,000 and 2,200 cycles; the pool misses 30 bytes
After:   b: conv_integer alone, which frees 40 bytes for 1,200 cycles

Kernels with results in float stay, since bits could change with the pool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tilewright.base.lazy_dataclass import dataclass
from tilewright.placement import DoesNotFit
from tilewright.plan import BufferKind
from tilewright.planning.allowed_kernels import kernel_key, layer_key, with_allowed
from tilewright.planning.constant_room import least_bytes
from tilewright.planning.decide import Decider
from tilewright.planning.prepare import Prepared
from tilewright.planning.spare_kernels import has_float_results
from tilewright.tiling.constant_homes import constant_bytes, most_constant_bytes
from tilewright.tiling.overflow import TileOverflow
from tilewright.tiling.problem import TilingProblem

ROUNDS = 4
"""How often single layers are chosen; then all get the kernels with the fewest bytes of constants.

Bytes cannot always be predicted: equal constants are stored once, and groups may take other kernels than layers alone.
"""


@dataclass(frozen=True, slots=True)
class Option:
    """A layer with kernels of at most so many bytes of constants.

    Attributes:
        number: the layer's.
        most_bytes: of the constants in pools that are too small.
        gained_bytes: fewer than with the layer's fastest kernel.
        lost_cycles: more than with it, as predicted.
    """

    number: int
    most_bytes: int
    gained_bytes: int
    lost_cycles: int


def with_leaner_constants(decider: Decider, overflow: DoesNotFit, rounds: int) -> Decider | None:
    """A decider for kernels with smaller constants; None where no pool for constants is short, or nothing can gain.

    Args:
        rounds: how often this was done before for the decider's graph.
    """
    short = _short(overflow, decider)
    if not short or _is_hopeless(decider.prepared, sum(short.values()), proved=overflow.diagnosis.smallest_proved):
        return None
    pools = frozenset(short)
    options = list(_options(decider, pools))
    few = cheapest(options, sum(short.values())) if rounds < ROUNDS else {}
    return _allowing(decider, pools, few or _all_least(decider, options, pools))


def _short(overflow: DoesNotFit, decider: Decider) -> dict[str, int]:
    """Pools for constants that are too small, with the bytes that they miss."""
    diagnosis = overflow.diagnosis
    wanted = dict(diagnosis.together) or {diagnosis.pool: diagnosis.needed}
    pools = [pool for pool in decider.platform.pools if BufferKind.CONSTANT in pool.holds and pool.name in wanted]
    missing = {pool.name: wanted[pool.name] - (pool.usable_bytes or 0) for pool in pools}
    return {name: size for name, size in missing.items() if size > 0}


def _is_hopeless(prepared: Prepared, missing_bytes: int, *, proved: bool) -> bool:
    """Whether no kernels have constants that are smaller by the bytes missing."""
    stored = [[constant_bytes(problem, prepared.arrays) for problem in layer] for layer in prepared.problems]
    gained = most_constant_bytes(prepared.problems) - least_bytes(stored)
    return gained <= 0 or (proved and gained < missing_bytes)


def _options(decider: Decider, pools: frozenset[str]) -> Iterator[Option]:
    """Each layer with each kernel of fewer bytes of constants than its fastest one has."""
    for number, problems in enumerate(decider.prepared.problems):
        own = decider.choose(number, decider.capacities)
        size = _bytes_in(own.problem, pools)
        for problem in problems if _may_change(problems) else ():
            gained = size - _bytes_in(problem, pools)
            if problem.kernel.in_groups or gained <= 0:
                continue
            try:
                cycles = decider.chosen([problem], decider.capacities).choice.predicted_cycles
            except TileOverflow:
                continue
            yield Option(number, size - gained, gained, cycles - own.choice.predicted_cycles)


def cheapest(options: Sequence[Option], missing_bytes: int) -> dict[int, int]:
    """Layers with the most bytes of their constants: those that lose the fewest cycles by byte, as few as needed."""
    taken: dict[int, Option] = {}
    gained = 0
    for option in sorted(options, key=lambda item: (item.lost_cycles / item.gained_bytes, item.number)):
        before = taken[option.number].gained_bytes if option.number in taken else 0
        if gained < missing_bytes and option.gained_bytes > before:
            gained += option.gained_bytes - before
            taken[option.number] = option
    for option in sorted(taken.values(), key=lambda item: (-item.lost_cycles, item.number)):
        if gained - option.gained_bytes >= missing_bytes:
            gained -= option.gained_bytes
            del taken[option.number]
    return {number: option.most_bytes for number, option in taken.items()}


def _all_least(decider: Decider, options: Sequence[Option], pools: frozenset[str]) -> dict[int, int]:
    """All layers whose kernels differ in bytes of constants, those for groups too, with the fewest of these bytes."""
    found: dict[int, int] = {}
    for number, problems in enumerate(decider.prepared.problems):
        own = _bytes_in(decider.choose(number, decider.capacities).problem, pools)
        least = min((option.most_bytes for option in options if option.number == number), default=own)
        if _may_change(problems) and any(_bytes_in(problem, pools) > least for problem in problems):
            found[number] = least
    return found


def _may_change(problems: Sequence[TilingProblem]) -> bool:
    return not any(map(has_float_results, problems))


def _bytes_in(problem: TilingProblem, pools: frozenset[str]) -> int:
    """Bytes of constants in some of the pools; where kernels read constants in place, they may be in any pool."""
    constants = [operand for operand in problem.operands if operand.data is not None]
    return sum(operand.size_bytes for operand in constants if operand.link is None or operand.home in pools)


def _allowing(decider: Decider, pools: frozenset[str], taken: Mapping[int, int]) -> Decider | None:
    """The decider with only the kernels of so many bytes of constants in the pools; None where these are all."""
    allowed = dict(decider.allowed)
    for number, most_bytes in taken.items():
        problems = decider.prepared.problems[number]
        names = frozenset(kernel_key(problem) for problem in problems if _bytes_in(problem, pools) <= most_bytes)
        key = layer_key(problems[0].node)
        allowed[key] = allowed.get(key, names) & names
    if allowed == decider.allowed:
        return None
    settled = tuple(sorted((key, tuple(sorted(names))) for key, names in allowed.items()))
    if settled not in decider.leaner:
        decider.leaner[settled] = with_allowed(decider.prepared, allowed), {}
    prepared, known = decider.leaner[settled]
    return replace(decider, prepared=prepared, known=known, allowed=allowed)
