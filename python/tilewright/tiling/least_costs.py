"""The least that candidates cost, in arrays, before the cycles of any kernel call for a tile are computed.

Before:  a convolution that takes 480,900 cycles in one call, tiles A with 20,000 and B with 90,000 cycles of copies
After:   A 500,900, B 570,900: once tiles that take 530,000 are known, B need not be looked at
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.options import Objective
from tilewright.tiling.cost import Cycles, Spent, layer_cycles
from tilewright.tiling.field import Field, tile_counts
from tilewright.tiling.orders import Orders
from tilewright.tiling.problem import TilingProblem


def calls_cycles(problem: TilingProblem) -> float:
    """Cycles of one call for the whole operator; calls for tiles are assumed to need no fewer together."""
    steps = problem.extents
    return problem.kernel_cycles(steps, problem.core_split(steps))


def least_costs(problem: TilingProblem, field: Field, ways: Sequence[Orders], objective: Objective) -> Cycles:
    """What each candidate costs at least in each of ``ways``: cycles, bytes moved, or bytes of pools.

    Scratch and larger tiles in the pools between home and core come on top.

    Returns:
        An array of shape (ways, candidates).
    """
    if objective is Objective.BYTES_USED:
        used = sum(field.near_bytes.values(), np.zeros(field.size))
        return np.asarray([used] * len(ways), dtype=np.float64)
    if objective is Objective.BYTES_MOVED:
        return np.asarray([orders.moved_bytes for orders in ways], dtype=np.float64)
    calls, tiles = calls_cycles(problem), tile_counts(field)
    spent = [Spent.of(calls, orders.cycles, orders.starts, orders.hidden, problem.runs_beside) for orders in ways]
    return np.asarray([layer_cycles(problem.costs, item, tiles) for item in spent])
