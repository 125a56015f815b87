"""All candidates of one operator in arrays: their steps, numbers of tiles, slots, and bytes near the core."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Union

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
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


def candidate_fields(problem: TilingProblem, ways: Sequence[frozenset[int]]) -> list[Field]:
    """For each way the candidates whose tiles write every element exactly once, and take sequences in order.

    A way holds the numbers of the operands that have two or more slots where their tile changes. If it is not
    empty, candidates of several tiles without any second slot are left out: an empty way has them too.
    """
    steps = candidate_steps(problem)
    extents = problem.extents
    counts = {name: -(-extents[name] // steps[name]) for name in problem.cuttable}
    sound = in_sequence(problem, steps)
    for operand in problem.operands:
        if operand.write:
            sound = sound & exact_writes(operand, steps)
        sound = sound & dense_tiles(operand, steps, extents)
    steps = {name: array[sound] for name, array in steps.items()}
    counts = {name: array[sound] for name, array in counts.items()}
    slot_bytes = [tile_bytes(operand, steps) if operand.link else None for operand in problem.operands]
    return [_with_slots(problem, Field(steps, counts, (), {}), doubled, slot_bytes) for doubled in ways]


def _with_slots(
    problem: TilingProblem, field: Field, doubled: frozenset[int], slot_bytes: Sequence[Counts | None]
) -> Field:
    """The candidates with slots for one way; ``slot_bytes`` are those of each operand that travels over a link."""
    slots: list[Counts] = []
    near: dict[str, Counts] = {}
    single: Flags = np.ones(field.size, dtype=bool)
    for number, (operand, size) in enumerate(zip(problem.operands, slot_bytes, strict=True)):
        if size is None:
            slots.append(np.zeros(field.size, dtype=np.int64))
            continue
        # More slots than one only where the tile changes at all.
        changes = _is_cut(field, operand.dimensions & set(field.counts))
        copies = np.where(changes & (number in doubled), problem.overlapped_slots(operand), 1)
        single = single & (copies == 1)
        slots.append(copies)
        near[operand.near] = near.get(operand.near, 0) + size * copies
    found = Field(field.steps, field.counts, tuple(slots), near)
    if not doubled or problem.buffers:
        return found
    return found.only(~(_is_cut(field, field.counts) & single))


def _is_cut(field: Field, dimensions: Iterable[str]) -> Flags:
    """The candidates that cut one of ``dimensions``."""
    cut: Flags = np.zeros(field.size, dtype=bool)
    for name in dimensions:
        cut = cut | (field.counts[name] > 1)
    return cut


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
