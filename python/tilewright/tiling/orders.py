"""The cheapest loop order of each candidate tile shape.

What one load of an operand costs does not depend on the order; only how often its tile
changes does. So each order is a weighted sum of the operands' rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from tilewright.tiling.cost import Cycles, distinct_bytes, load_cycles
from tilewright.tiling.footprint import Counts, Steps, rounds
from tilewright.tiling.problem import TileOperand, TilingProblem

CUT_DIMENSIONS = 4
"""Dimensions whose order is permuted; further ones stay outermost in the nest's order."""


@dataclass(frozen=True, slots=True)
class Orders:
    """Loop orders, outermost dimension first, and for each candidate the number of the best with its cost.

    ``cycles`` is the time of all transfers, ``moved_bytes`` their bytes.
    """

    orders: tuple[tuple[str, ...], ...]
    best: Counts
    cycles: Cycles
    moved_bytes: Counts

    def order(self, candidate: int) -> tuple[str, ...]:
        """The best order of a candidate."""
        return self.orders[int(self.best[candidate])]


@dataclass(frozen=True, slots=True)
class _Load:
    """One operand: bytes of all distinct tiles, how many those are, cycles of a load without its bytes."""

    operand: TileOperand
    tiles: Counts
    bytes_once: Counts
    cycles: Cycles
    bytes_per_cycle: float


def cheapest_orders(
    problem: TilingProblem, steps: Steps, counts: Mapping[str, Counts], *, by_bytes: bool = False
) -> Orders:
    """The order with the fewest transfer cycles (or bytes) for each candidate; the first of equals."""
    size = len(next(iter(steps.values())))
    loads = [_load(operand, steps, counts, problem.extents) for operand in problem.operands if operand.link is not None]
    orders = _orders(problem, counts)
    best = np.zeros(size, dtype=np.int64)
    cycles: Cycles = np.zeros(size)
    moved = np.zeros(size, dtype=np.int64)
    for number, order in enumerate(orders):
        order_cycles, order_moved = _cost(loads, order, counts, size)
        better = order_moved < moved if by_bytes else order_cycles < cycles
        if number == 0:
            better = np.ones(size, dtype=bool)
        best = np.where(better, number, best)
        cycles = np.where(better, order_cycles, cycles)
        moved = np.where(better, order_moved, moved)
    return Orders(orders, best, cycles, moved)


def _orders(problem: TilingProblem, counts: Mapping[str, Counts]) -> tuple[tuple[str, ...], ...]:
    """Permutations of the cut dimensions; reductions innermost, so that partial results are of one tile only."""
    cut = [name for name in problem.cuttable if (counts[name] > 1).any()]
    names = [name for name in cut if name not in problem.reductions]
    reductions = [name for name in cut if name in problem.reductions]
    fixed = max(0, len(names) - CUT_DIMENSIONS)
    return tuple(
        (*names[:fixed], *order, *inner) for order in permutations(names[fixed:]) for inner in permutations(reductions)
    )


def _load(operand: TileOperand, steps: Steps, counts: Mapping[str, Counts], extents: Mapping[str, int]) -> _Load:
    assert operand.link is not None
    tiles: Counts = np.asarray(1, dtype=np.int64)
    for name in sorted(operand.dimensions & set(counts)):
        tiles = tiles * counts[name]
    once = distinct_bytes(operand, steps, counts, extents)
    return _Load(operand, tiles, once, load_cycles(operand, steps), operand.link.bytes_per_cycle)


def _cost(loads: list[_Load], order: tuple[str, ...], counts: Mapping[str, Counts], size: int) -> tuple[Cycles, Counts]:
    cycles: Cycles = np.zeros(size)
    moved = np.zeros(size, dtype=np.int64)
    for load in loads:
        times = rounds(order, counts, load.operand)
        load_bytes = load.bytes_once * (times // load.tiles)
        cycles = cycles + times * load.cycles + load_bytes / load.bytes_per_cycle
        moved = moved + load_bytes
    return cycles, moved
