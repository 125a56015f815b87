"""All candidates of one operator in arrays: their steps, numbers of tiles, slots, and bytes near the core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Union

import numpy as np

from tilewright.tiling.candidates import candidate_steps
from tilewright.tiling.footprint import Counts, Flags, Steps, dense_tiles, exact_writes, tile_bytes
from tilewright.tiling.problem import TilingProblem

Capacities = Mapping[str, Union[int, None]]
"""Pool to the bytes that the tiles of a layer may take; None is no limit."""


@dataclass(frozen=True, slots=True)
class Field:
    """All candidates of one operator; each array has one entry for each candidate.

    Attributes:
        steps: tile step of every iteration dimension.
        counts: number of tiles along each dimension that may be cut.
        slots: slots of each operand's tile buffer, in the order of the problem's operands;
            0 where the kernel works in the home.
        near_bytes: bytes of all slots together, by pool; scratch is not counted.
    """

    steps: Steps
    counts: Mapping[str, Counts]
    slots: tuple[Counts, ...]
    near_bytes: Mapping[str, Counts]

    @property
    def size(self) -> int:
        """Number of candidates."""
        return len(next(iter(self.steps.values())))

    def only(self, kept: Flags) -> Field:
        """The candidates that ``kept`` marks."""
        return Field(
            {name: array[kept] for name, array in self.steps.items()},
            {name: array[kept] for name, array in self.counts.items()},
            tuple(array[kept] for array in self.slots),
            {pool: array[kept] for pool, array in self.near_bytes.items()},
        )


def candidate_field(problem: TilingProblem, doubled: frozenset[int]) -> Field:
    """The candidates whose tiles write every element exactly once, and take sequences in order.

    ``doubled`` holds the numbers of the operands that have two or more slots where their tile changes. If it is not
    empty, candidates of several tiles without any second slot are left out: an empty ``doubled`` has them too.
    """
    steps = candidate_steps(problem)
    size = len(next(iter(steps.values())))
    extents = problem.extents
    counts = {name: -(-extents[name] // steps[name]) for name in problem.cuttable}
    slots = []
    near: dict[str, Counts] = {}
    exact = in_sequence(problem, steps)
    single: Flags = np.ones(size, dtype=bool)
    for number, operand in enumerate(problem.operands):
        if operand.write:
            exact = exact & exact_writes(operand, steps)
        exact = exact & dense_tiles(operand, steps, extents)
        if operand.link is None:
            slots.append(np.zeros(size, dtype=np.int64))
            continue
        # More slots than one only where the tile changes at all.
        changes = np.zeros(size, dtype=bool)
        for name in operand.dimensions & set(counts):
            changes = changes | (counts[name] > 1)
        copies = np.where(changes & (number in doubled), problem.overlapped_slots(operand), 1)
        single = single & (copies == 1)
        slots.append(copies)
        before = near.get(operand.near, np.zeros(size, dtype=np.int64))
        near[operand.near] = before + tile_bytes(operand, steps) * copies
    if doubled and not problem.buffers:
        several = np.zeros(size, dtype=bool)
        for count in counts.values():
            several = several | (count > 1)
        exact = exact & ~(several & single)
    return Field(steps, counts, tuple(slots), near).only(exact)


def in_sequence(problem: TilingProblem, steps: Steps) -> Flags:
    """The candidates whose tiles take the points of a sequence in order: one at a time outside of what is cut."""
    extents = problem.extents
    kept: Flags = np.ones(np.broadcast_shapes(*(np.shape(array) for array in steps.values())), dtype=bool)
    cut: Flags = np.zeros(kept.shape, dtype=bool)
    for name in reversed(problem.sequence):
        kept = kept & (~cut | (steps[name] == 1))
        cut = cut | (steps[name] < extents[name])
    return kept


def with_least_staged(problem: TilingProblem, field: Field) -> dict[str, Counts]:
    """Bytes of tiles by pool, with one tile in each pool between home and core: the least that staging takes there."""
    near = dict(field.near_bytes)
    for operand in problem.operands:
        for pool in operand.between:
            near[pool] = near.get(pool, np.zeros(field.size, dtype=np.int64)) + tile_bytes(operand, field.steps)
    return near


def usable(problem: TilingProblem, field: Field, capacities: Capacities) -> Field:
    """The candidates whose tiles fit, scratch not counted."""
    fits: Flags = np.ones(field.size, dtype=bool)
    for pool, used in with_least_staged(problem, field).items():
        capacity = capacities.get(pool)
        if capacity is not None:
            fits = fits & (used <= capacity)
    return field.only(fits)


def tile_counts(field: Field) -> Counts:
    """Tiles of each candidate."""
    tiles = np.ones(field.size, dtype=np.int64)
    for count in field.counts.values():
        tiles = tiles * count
    return tiles


def bytes_near(problem: TilingProblem, field: Field, candidate: int, steps: Mapping[str, int]) -> dict[str, int]:
    """Bytes of tiles and scratch by pool."""
    near = {pool: int(used[candidate]) for pool, used in field.near_bytes.items()}
    scratch = problem.scratch_bytes(steps)
    if scratch:
        near[problem.scratch_pool] = near.get(problem.scratch_pool, 0) + scratch
    return near


def fits_all(near: Mapping[str, int], capacities: Capacities) -> bool:
    """Whether ``near``, bytes by pool, exceeds no pool's capacity."""
    for pool, used in near.items():
        capacity = capacities.get(pool)
        if capacity is not None and used > capacity:
            return False
    return True
