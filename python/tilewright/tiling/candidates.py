"""Candidate tile shapes of one operator: every combination of a few steps per dimension."""

from __future__ import annotations

from math import prod

import numpy as np

from tilewright.tiling.footprint import Counts
from tilewright.tiling.problem import TilingProblem

MAXIMUM_CANDIDATES = 20_000
"""The most combinations evaluated for one operator; steps of dimensions are left out until no more remain."""


def candidate_steps(problem: TilingProblem) -> dict[str, Counts]:
    """All combinations of steps, by dimension an array with one entry for each combination.

    Uncut dimensions have their extent in all entries, dimensions with a given step that step. The largest
    steps stand first, the outermost dimension changes last.
    """
    extents = problem.extents
    given = problem.given
    choices = {
        name: [given[name]] if name in given else even_steps(extents[name], problem.kernel.multiples.get(name, 1))
        for name in problem.cuttable
    }
    while _combinations(choices) > MAXIMUM_CANDIDATES:
        longest = max(choices, key=lambda name: len(choices[name]))
        choices[longest] = _thinned(choices[longest])
    grids = np.meshgrid(*(np.asarray(choices[name], dtype=np.int64) for name in choices), indexing="ij")
    size = _combinations(choices)
    steps = {name: np.full(size, extent, dtype=np.int64) for name, extent in extents.items()}
    steps.update({name: grid.reshape(-1) for name, grid in zip(choices, grids, strict=True)})
    return steps


def even_steps(extent: int, multiple: int) -> list[int]:
    """Steps that divide the extent into ever more, evenly filled tiles; about 2 sqrt(extent) of them."""
    steps = [extent]
    even = extent
    while even > 1:
        # The next smaller step: the even split into the fewest tiles that are shorter than ``even``.
        even = -(-extent // -(-extent // (even - 1)))
        step = -(-even // multiple) * multiple
        if step < steps[-1]:
            steps.append(step)
    return steps


def _thinned(steps: list[int]) -> list[int]:
    """Every second step; the largest and the smallest step stay."""
    kept = steps[::2]
    return kept if kept[-1] == steps[-1] else [*kept, steps[-1]]


def _combinations(choices: dict[str, list[int]]) -> int:
    return prod(len(steps) for steps in choices.values())
