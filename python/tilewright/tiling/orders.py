"""The cheapest loop order of each candidate tile shape.

One load of an operand costs the same in every order; the order decides how many loads the operand
needs (its rounds). So the cost of an order is the sum of each operand's rounds times cost of a load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from itertools import permutations

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.tiling.cost import Cycles, distinct_bytes, start_and_line_cycles
from tilewright.tiling.footprint import Counts, Flags, Steps, rounds
from tilewright.tiling.gapped_lines import gapped_line_cycles
from tilewright.tiling.kept import ring_axis
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem

CUT_DIMENSIONS = 4
"""Dimensions whose order is permuted; further ones stay outermost in the nest's order."""


@dataclass(frozen=True, slots=True)
class Orders:
    """Loop orders, and for each candidate the number of its best order with the cost of that order.

    Attributes:
        orders: dimensions of each order, outermost first.
        best: number of the best order.
        cycles: cycles of all transfers; where the core waits for a tile's store and for the next
            tile's loads, the two take place at once and only the longer counts.
        moved_bytes: bytes of all transfers.
        starts: the cycles that the core spends on starting transfers.
        hidden: the cycles that run beside kernels.
        each: the costs of each order, where they were asked for.
    """

    orders: tuple[tuple[str, ...], ...]
    best: Counts
    cycles: Cycles
    moved_bytes: Counts
    starts: Cycles
    hidden: Cycles
    each: tuple[_Totals, ...] = ()

    def alone(self) -> list[Orders]:
        """One ``Orders`` for each order, as if it were best for every candidate; empty if ``each`` is."""
        size = self.best.size
        return [
            Orders(self.orders, np.full(size, number), found.cycles, found.moved, found.starts, found.hidden)
            for number, found in enumerate(self.each)
        ]

    def order(self, candidate: int) -> tuple[str, ...]:
        """The best order of a candidate."""
        return self.orders[int(self.best[candidate])]


@dataclass(frozen=True, slots=True)
class _Load:
    """The loads (or stores) of one operand, for each candidate.

    Attributes:
        tiles: number of distinct tiles.
        bytes_once: bytes of all distinct tiles.
        cycles: cycles of one load, without those for its bytes.
        starts: the part of ``cycles`` that the core spends on starting the load.
        bytes_per_cycle: bytes that the link moves in a cycle.
        overlaps: whether the load runs beside kernels once it is started.
        bytes_kept: ``bytes_once`` if rows are kept along a dimension, by dimension.
    """

    operand: TileOperand
    tiles: Counts
    bytes_once: Counts
    cycles: Cycles
    starts: Cycles
    bytes_per_cycle: float
    overlaps: Flags
    bytes_kept: Mapping[str, Counts] = field(default_factory=dict)


def cheapest_orders(
    problem: TilingProblem,
    steps: Steps,
    counts: Mapping[str, Counts],
    *,
    by_bytes: bool = False,
    keep: bool = False,
    doubled: frozenset[int] = frozenset(),
    every: bool = False,
) -> Orders:
    """The order with the fewest transfer cycles (or bytes) for each candidate; the first of equals.

    With ``keep`` rows that the next tile needs too may stay near the core. ``doubled`` are the
    numbers of the operands with two slots. ``every`` keeps the costs of all orders.
    """
    size = len(next(iter(steps.values())))
    loads = [
        _load(problem, operand, steps, counts, keep, number in doubled)
        for number, operand in enumerate(problem.operands)
        if operand.link is not None
    ]
    orders = _orders(problem, counts)
    best = np.zeros(size, dtype=np.int64)
    least = _Totals(np.zeros(size), np.zeros(size, dtype=np.int64), np.zeros(size), np.zeros(size))
    each: list[_Totals] = []
    for number, order in enumerate(orders):
        found = _cost(loads, order, counts, size)
        each += [found] if every else []
        better = found.moved < least.moved if by_bytes else found.cycles < least.cycles
        if number == 0:
            better = np.ones(size, dtype=bool)
        best = np.where(better, number, best)
        least = _Totals(
            np.where(better, found.cycles, least.cycles),
            np.where(better, found.moved, least.moved),
            np.where(better, found.starts, least.starts),
            np.where(better, found.hidden, least.hidden),
        )
    return Orders(orders, best, least.cycles, least.moved, least.starts, least.hidden, tuple(each))


@dataclass(frozen=True, slots=True)
class _Totals:
    """Sums over all operands, one array entry for each candidate; fields as in ``Orders``."""

    cycles: Cycles
    moved: Counts
    starts: Cycles
    hidden: Cycles


def _orders(problem: TilingProblem, counts: Mapping[str, Counts]) -> tuple[tuple[str, ...], ...]:
    """Permutations of the cut dimensions; reductions innermost, so that one tile at a time has partial results.

    Sequences stand outside of reductions, in the nest's order.
    """
    cut = [name for name in problem.cuttable if (counts[name] > 1).any()]
    names = [name for name in cut if name not in problem.reductions]
    sequence = [name for name in cut if name in problem.sequence]
    reductions = [name for name in cut if name in problem.reductions and name not in sequence]
    fixed = max(0, len(names) - CUT_DIMENSIONS)
    return tuple(
        (*names[:fixed], *order, *sequence, *inner)
        for order in permutations(names[fixed:])
        for inner in permutations(reductions)
    )


def _load(
    problem: TilingProblem,
    operand: TileOperand,
    steps: Steps,
    counts: Mapping[str, Counts],
    keep: bool,
    doubled: bool,
) -> _Load:
    assert operand.link is not None
    extents = problem.extents
    tiles: Counts = np.asarray(1, dtype=np.int64)
    for name in sorted(operand.dimensions & set(counts)):
        tiles = tiles * counts[name]
    once = distinct_bytes(operand, steps, counts, extents)
    kept: dict[str, Counts] = {}
    for name in sorted(operand.dimensions & set(counts)) if keep else ():
        axis = ring_axis(problem, operand, name)
        if axis is not None:
            others = [counts[other] for other, _ in operand.axes[axis].terms if other in counts and other != name]
            possible = np.all([count == 1 for count in others], axis=0)
            kept[name] = np.where(possible, distinct_bytes(operand, steps, counts, extents, name), once)
    overlaps = np.asarray((tiles > 1) & (doubled and operand.link.asynchronous))
    starts, besides = start_and_line_cycles(operand, steps)
    starts = starts + gapped_line_cycles(operand, steps, extents)
    return _Load(operand, tiles, once, starts + besides, starts, operand.link.bytes_per_cycle, overlaps, kept)


def _bytes_once(load: _Load, order: tuple[str, ...], counts: Mapping[str, Counts]) -> Counts:
    """Bytes of the distinct tiles; rows are kept along the innermost index that moves the tile."""
    found = load.bytes_once
    if not load.bytes_kept:
        return found
    decided: Flags = np.zeros(found.shape, dtype=bool)
    for name in reversed(order):
        if name in load.operand.dimensions:
            moves = counts[name] > 1
            found = np.where(moves & ~decided, load.bytes_kept.get(name, found), found)
            decided = decided | moves
    return found


def _cost(loads: list[_Load], order: tuple[str, ...], counts: Mapping[str, Counts], size: int) -> _Totals:
    cycles: Cycles = np.zeros(size)
    moved = np.zeros(size, dtype=np.int64)
    starts: Cycles = np.zeros(size)
    hidden: Cycles = np.zeros(size)
    waited: dict[bool, Cycles] = {False: np.zeros(size), True: np.zeros(size)}
    for load in loads:
        times = rounds(order, counts, load.operand)
        load_bytes = _bytes_once(load, order, counts) * (times // load.tiles)
        transfer = times * load.cycles + load_bytes / load.bytes_per_cycle
        cycles = cycles + transfer
        starts = starts + times * load.starts
        copied = transfer - times * load.starts
        hidden = hidden + np.where(load.overlaps, copied, 0.0)
        moved = moved + load_bytes
        if load.operand.link is not None and load.operand.link.asynchronous:
            # Transfers between two tiles: nothing takes place beside the first load and the last store.
            between = copied * (times - 1) / times
            waited[load.operand.write] = waited[load.operand.write] + np.where(load.overlaps, 0.0, between)
    return _Totals(cycles - np.minimum(waited[False], waited[True]), moved, starts, hidden)
