"""The fewest bytes that one layer moves over the core's link, where another link may not move more than so many.

The least over each link alone (least_traffic.py) may be that of different tiles. Here all pairs are looked at of a
larger tile, which lies behind the core's link, and tiles within the larger one, in all orders of loops over larger
tiles and over tiles within them, with the assumptions of least_traffic.py. Larger tiles are counted as if all had the
mean number of tiles within them, so a last larger tile that only one tile fills can save a little that is not seen
here. Pairs that reach the figure need not exist, since tiles are counted with the fewest bytes of their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from least_traffic import Counts, distinct_bytes, fitting, has_room_for_scratch, orders, shapes_of
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem


@dataclass(frozen=True)
class Tiles:
    """Tile shapes that fit a pool: steps of each shape's dimensions, and bytes of all distinct tiles by operand."""

    steps: Counts
    once: Counts


@dataclass(frozen=True)
class Rooms:
    """Bytes of the pool behind the core's link, and of the core's pool."""

    far: int
    near: int


def least_beside(problems: Sequence[TilingProblem], rooms: Rooms, most_far: int) -> int | None:
    """The least bytes over the core's link of all pairs that move ``most_far`` over the link behind it.

    None if there is no such pair.
    """
    found = [least for problem in problems for least in _of_kernel(problem, rooms, most_far)]
    return min(found, default=None)


def _of_kernel(problem: TilingProblem, rooms: Rooms, most_far: int) -> Iterator[int]:
    moved = [item for item in problem.operands if item.far_links]
    if not problem.cuttable:
        return
    larger, smaller = (_tiles(problem, moved, rooms, number) for number in (1, 0))
    extents = np.asarray([problem.extents[name] for name in problem.cuttable], np.int64)
    for steps, sizes in zip(larger.steps, larger.once, strict=True):
        within = np.flatnonzero((smaller.steps <= steps).all(axis=1))
        counts = -(-extents // steps)
        if not len(within):
            continue
        inside = _counts_within(extents, steps, smaller.steps[within]) / counts
        for order in orders(problem):
            outer = [(name, counts[problem.cuttable.index(name)].astype(float)) for name in order]
            if float(_bytes(moved, sizes, outer)) > most_far + 0.5:
                continue
            for inner in orders(problem):
                loops = [*outer, *((name, inside[:, problem.cuttable.index(name)]) for name in inner)]
                yield int(np.min(_bytes(moved, smaller.once[within].T, loops)))


def _tiles(problem: TilingProblem, moved: Sequence[TileOperand], rooms: Rooms, number: int) -> Tiles:
    """The shapes that fit the core's pool (0), or the pool behind its link (1)."""
    steps, sizes = [], []
    for shapes in shapes_of(problem):
        fits, used = fitting(problem, moved, shapes, number, rooms.far if number else rooms.near)
        room = [
            has_room_for_scratch(problem, shapes, shape, 0 if number else size, rooms.near, partial=bool(number))
            for shape, size in zip(fits.tolist(), used.tolist(), strict=True)
        ]
        fits = fits[np.asarray(room, bool)]
        chosen = shapes.steps(problem.extents, fits)
        steps.append(np.stack([np.broadcast_to(chosen[name], fits.shape) for name in problem.cuttable], axis=1))
        sizes.append(
            np.stack([np.broadcast_to(distinct_bytes(problem, item, shapes, fits), fits.shape) for item in moved], 1)
        )
    return Tiles(np.concatenate(steps), np.concatenate(sizes))


def _counts_within(extents: Counts, larger: Counts, smaller: Counts) -> Counts:
    """How many smaller tiles there are along each dimension, where none passes the end of a larger one."""
    whole, rest = extents // larger, extents % larger
    counts: Counts = whole * -(-larger // smaller) + -(-rest // smaller)
    return counts


def _bytes(
    moved: Sequence[TileOperand], sizes: Sequence[Counts] | Counts, loops: Sequence[tuple[str, Counts]]
) -> Counts:
    """Bytes of all operands, each loaded whenever a loop moves that its tile depends on."""
    total = np.asarray(0.0)
    for operand, size in zip(moved, sizes, strict=True):
        loads, pending = np.asarray(1.0), np.asarray(1.0)
        for name, count in loops:
            pending = pending * count
            if name in operand.dimensions:
                loads = np.where(count > 1, loads * pending, loads)
                pending = np.where(count > 1, 1.0, pending)
        tiles = prod((count for name, count in loops if name in operand.dimensions), start=np.asarray(1.0))
        total = total + size * loads / tiles
    return total
