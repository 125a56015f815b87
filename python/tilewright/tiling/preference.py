"""Of tiles that are nearly as fast as the fastest: those that move the fewest bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.base.lazy_dataclass import dataclass
from tilewright.tiling.hints import IDLE_SHARE, idle_factor
from tilewright.tiling.problem import TilingProblem
from tilewright.tiling.tile_choice import TileChoice

NEARLY_AS_FAST = 1.04
"""Tiles whose predicted cycles are at most this multiple of the least count as equal; the fewest bytes moved decide."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A choice with its ``score``: the numbers that the objective minimises, compared from the first to the last."""

    score: tuple[float, ...]
    choice: TileChoice
    moved_bytes: int
    idle_cores: float = 0.0


def weighs_idleness(problem: TilingProblem, *, hints: bool) -> bool:
    """Whether idle SIMD lanes and idle cores count where choices are compared."""
    return hints and not problem.cores == problem.simd_bytes == 1


def preferred(problem: TilingProblem, found: Sequence[Scored], *, hints: bool) -> Scored:
    """Of the choices that are nearly as fast as the best, the choice that moves the fewest bytes.

    With ``hints``, idle SIMD lanes and idle cores first raise the cycles and bytes of a choice by ``idle_factor``.
    """
    plain = _fewest_bytes([(1.0, item) for item in found])
    if not weighs_idleness(problem, hints=hints):
        return plain
    most = min(item.score[0] for item in found) * NEARLY_AS_FAST * (1.0 + 2.0 * IDLE_SHARE)
    weighed = [
        (idle_factor(problem, item.choice.steps, item.idle_cores), item) for item in found if item.score[0] <= most
    ]
    chosen = _fewest_bytes(weighed)
    return chosen if chosen is plain else replace(chosen, choice=replace(chosen.choice, hinted=True))


def _fewest_bytes(weighed: Sequence[tuple[float, Scored]]) -> Scored:
    limit = min(factor * item.score[0] for factor, item in weighed) * NEARLY_AS_FAST
    near = [(factor, item) for factor, item in weighed if factor * item.score[0] <= limit]
    return min(near, key=lambda pair: (pair[0] * pair[1].moved_bytes, pair[0] * pair[1].score[0]))[1]
