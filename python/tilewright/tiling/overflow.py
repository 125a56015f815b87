"""The error for an operator whose smallest tiles do not fit: which pool is too small, and by how many bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.tiling.footprint import Counts, Steps
from tilewright.tiling.problem import TilingProblem


@dataclass(eq=False)
class TileOverflow(TilewrightError):
    """No tile shape of ``layer`` fits ``pool``: the closest one needs ``needed_bytes``, ``missing_bytes`` too many."""

    missing_bytes: int = 0
    needed_bytes: int = 0
    pool: str = ""
    layer: str = ""


def overflow(
    problem: TilingProblem, steps: Steps, near_bytes: Mapping[str, Counts], capacities: Mapping[str, int | None]
) -> TileOverflow:
    """The error where no candidate fits, with the smallest size of a pool that works.

    ``near_bytes`` gives each candidate's bytes of tiles by pool, scratch not counted. The error names
    the first pool that would be enough to enlarge alone; if several pools must grow, the first pool
    that is smaller than the least bytes of any candidate.
    """
    used = _with_scratch(problem, steps, near_bytes)
    limits = {pool: have for pool in used if (have := capacities.get(pool)) is not None}
    for pool, have in limits.items():
        others = [used[other] <= limit for other, limit in limits.items() if other != pool]
        possible = np.all(others, axis=0) if others else np.ones(used[pool].shape, dtype=bool)
        if possible.any():
            return _error(problem, pool, int(used[pool][possible].min()), have, alone=True)
    smallest = {pool: int(used[pool].min()) for pool in limits}
    pool = next((pool for pool, have in limits.items() if smallest[pool] > have), next(iter(limits)))
    return _error(problem, pool, smallest[pool], limits[pool], alone=False)


def _with_scratch(problem: TilingProblem, steps: Steps, near_bytes: Mapping[str, Counts]) -> dict[str, Counts]:
    columns = {name: array.tolist() for name, array in steps.items()}
    size = len(next(iter(columns.values())))
    scratch = np.asarray(
        [problem.scratch_bytes({name: column[item] for name, column in columns.items()}) for item in range(size)],
        dtype=np.int64,
    )
    used = dict(near_bytes)
    if scratch.any():
        used[problem.scratch_pool] = used.get(problem.scratch_pool, np.zeros(size, dtype=np.int64)) + scratch
    return used


def _error(problem: TilingProblem, pool: str, needed: int, have: int, *, alone: bool) -> TileOverflow:
    works, least = "is the smallest that works for this operator", "at least; other pools are too small as well"
    missing = needed - have
    return TileOverflow(
        "tile-overflow",
        f"pool '{pool}' needs {needed:,} bytes for the smallest tiles, have {have:,} ({missing:,} missing)",
        (f"{problem.node.name} ({problem.node.operator})",),
        (f"POOLS {pool}={needed} {works if alone else least}",),
        ExitStatus.DOES_NOT_FIT,
        missing,
        needed,
        pool,
        problem.node.name,
    )
