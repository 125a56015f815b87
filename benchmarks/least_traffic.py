"""The fewest bytes that one layer moves over a link, of all tile shapes and all loop orders whose tiles fit a pool.

All shapes are looked at, not only those that the product tries: for each dimension every number of tiles, with the
smallest step that gives it for what tiles occupy, and with the step of that number that moves the fewest elements for
what they move. So what comes out is a bound: no shape and order moves less, though not always one moves as little.
Each operand's tile stays while only dimensions move that it does not depend on; partial sums stay near the core, so
cut reductions are innermost (so where far tiles cut a reduction, the results of a whole larger tile lie near the core
with their partial sums), and the points of sequences come in order. Rows that two neighbouring tiles need travel
twice. Every operand has one slot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import prod

import numpy as np
import numpy.typing as npt
from tilewright.operators.nest import AxisMap, AxisRange, axis_range
from tilewright.tiling.candidates import even_steps
from tilewright.tiling.field import in_sequence
from tilewright.tiling.footprint import needed_elements, plain_shape, rounds, tile_shape
from tilewright.tiling.kept import axis_total
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem

Counts = npt.NDArray[np.int64]

MOST_SHAPES = 400_000
"""Shapes looked at at a time, to bound memory."""


@dataclass(frozen=True)
class Dimension:
    """A dimension that may be cut: for each number of tiles, the smallest step that gives it."""

    name: str
    extent: int
    steps: tuple[int, ...]

    def of_count(self, position: int, multiple: int) -> range:
        """All steps with the same number of tiles as the step at a position."""
        step = self.steps[position]
        count = -(-self.extent // step)
        longest = self.extent if count == 1 else (self.extent - 1) // (count - 1)
        return range(step, longest + 1, multiple) if count > 1 else range(self.extent, self.extent + 1)


def least_bytes(problems: Sequence[TilingProblem], number: int, room: int, core_room: int | None = None) -> int | None:
    """The least bytes over the link at the core's end (0) or over those behind it, by the best kernel.

    ``room`` is the bytes of the pool at the link's end that is nearer to the core, ``core_room`` those of the core's
    pool, which holds the partial sums of a larger tile whose reductions are cut. None if no tiles fit.
    """
    rooms = room, room if core_room is None else core_room
    found = [least for least in (_least(problem, number, *rooms) for problem in problems) if least is not None]
    return min(found, default=None)


def _least(problem: TilingProblem, number: int, room: int, core_room: int) -> int | None:
    moved = [item for item in problem.operands if item.link is not None and len(item.far_links) >= number]
    if not moved:
        return 0
    best: int | None = None
    for shapes in shapes_of(problem):
        fits, sizes = fitting(problem, moved, shapes, number, room)
        if not len(sizes):
            continue
        totals = _traffic(problem, moved, shapes, fits)
        ranked = np.argsort(totals, kind="stable")
        for candidate in ranked.tolist():
            if best is not None and int(totals[candidate]) >= best:
                break
            size = 0 if number else int(sizes[candidate])
            if has_room_for_scratch(problem, shapes, int(fits[candidate]), size, core_room, partial=bool(number)):
                best = int(totals[candidate])
                break
    return best


@dataclass(frozen=True)
class Shapes:
    """Tile shapes: for each dimension that may be cut, its steps, and for each shape the position among these."""

    dimensions: tuple[Dimension, ...]
    at: tuple[Counts, ...]

    def steps(self, extents: Mapping[str, int], chosen: Counts | None = None) -> dict[str, Counts]:
        found: dict[str, Counts] = {name: np.asarray(extent, np.int64) for name, extent in extents.items()}
        for dimension, at in zip(self.dimensions, self.at, strict=True):
            found[dimension.name] = np.asarray(dimension.steps, np.int64)[at if chosen is None else at[chosen]]
        return found


def shapes_of(problem: TilingProblem) -> Iterator[Shapes]:
    """All shapes, some at a time."""
    extents, multiples = problem.extents, problem.kernel.multiples
    dimensions = tuple(
        Dimension(name, extents[name], tuple(even_steps(extents[name], multiples.get(name, 1))))
        for name in problem.cuttable
    )
    lengths = [len(item.steps) for item in dimensions]
    total = prod(lengths)
    for begin in range(0, total, MOST_SHAPES):
        flat = np.arange(begin, min(begin + MOST_SHAPES, total), dtype=np.int64)
        yield Shapes(dimensions, tuple(np.unravel_index(flat, lengths)) if lengths else ())


def fitting(
    problem: TilingProblem, moved: Sequence[TileOperand], shapes: Shapes, number: int, room: int
) -> tuple[Counts, Counts]:
    """Numbers of the shapes whose tiles fit, and bytes of their tiles."""
    steps = shapes.steps(problem.extents)
    used: Counts = np.zeros(len(shapes.at[0]) if shapes.at else 1, np.int64)
    for operand in moved:
        elements: Counts = np.asarray(1, np.int64)
        for extent in tile_shape(operand, steps):
            elements = elements * extent
        used = used + elements * operand.element_bytes
    fits = np.flatnonzero((used <= room) & in_sequence(problem, steps))
    return fits, used[fits]


def has_room_for_scratch(
    problem: TilingProblem, shapes: Shapes, number: int, size: int, room: int, *, partial: bool
) -> bool:
    """Whether scratch has room beside ``size`` bytes; with ``partial`` the sums of a larger tile and its results."""
    chosen = shapes.steps(problem.extents, np.asarray([number]))
    steps = {name: int(np.ravel(step)[0]) for name, step in chosen.items()}
    if not partial:
        return size + problem.scratch_bytes(steps) <= room
    return not problem.partial_bytes(steps) or _smallest_tiles(problem, steps) <= room


def _smallest_tiles(problem: TilingProblem, steps: Mapping[str, int]) -> int:
    """Bytes of tiles near the core, and scratch, where cut reductions have the shortest steps."""
    multiples = problem.kernel.multiples
    cut = {name for name in problem.reductions if steps[name] < problem.extents[name]}
    near = {name: min(multiples.get(name, 1), step) if name in cut else step for name, step in steps.items()}
    tiles = (prod(plain_shape(item, near)) * item.element_bytes for item in problem.operands if item.link is not None)
    return sum(tiles) + problem.scratch_bytes(near)


def _traffic(problem: TilingProblem, moved: Sequence[TileOperand], shapes: Shapes, chosen: Counts) -> Counts:
    """The fewest bytes of any loop order for each chosen shape."""
    counts: dict[str, Counts] = {}
    for dimension, at in zip(shapes.dimensions, shapes.at, strict=True):
        tiles = np.asarray([-(-dimension.extent // step) for step in dimension.steps], np.int64)
        counts[dimension.name] = tiles[at[chosen]]
    sizes = [distinct_bytes(problem, operand, shapes, chosen) for operand in moved]
    tiles_of = [
        np.asarray(prod([counts[name] for name in counts if name in operand.dimensions], start=np.int64(1)))
        for operand in moved
    ]
    least: Counts | None = None
    for order in orders(problem):
        total = np.zeros(len(chosen), np.int64)
        for operand, size, tiles in zip(moved, sizes, tiles_of, strict=True):
            total = total + size * (rounds(order, counts, operand) // tiles)
        least = total if least is None else np.minimum(least, total)
    assert least is not None
    return least


def orders(problem: TilingProblem) -> Iterator[tuple[str, ...]]:
    sequence = problem.sequence
    reductions = [name for name in problem.cuttable if name in problem.reductions and name not in sequence]
    others = [name for name in problem.cuttable if name not in problem.reductions]
    for outer in permutations(others):
        for inner in permutations(reductions):
            yield (*outer, *sequence, *inner)


def distinct_bytes(problem: TilingProblem, operand: TileOperand, shapes: Shapes, chosen: Counts) -> Counts:
    """The least bytes of all distinct tiles of an operand together."""
    needed = needed_elements(operand, problem.cuttable, problem.extents)
    cut = {dimension.name: number for number, dimension in enumerate(shapes.dimensions)}
    uses = [name for axis in operand.axes for name in {term for term, _ in axis.terms} if name in cut]
    elements: Counts = np.ones(len(chosen), np.int64)
    if len(uses) == len(set(uses)):
        for axis, extent in zip(operand.axes, operand.extents, strict=True):
            own = [name for name, _ in axis.terms if name in cut]
            if len(own) == 1:
                table = _totals(problem, axis, extent, shapes.dimensions[cut[own[0]]])
                elements = elements * table[shapes.at[cut[own[0]]][chosen]]
            elif len(own) == 2:
                pair = (shapes.dimensions[cut[own[0]]], shapes.dimensions[cut[own[1]]])
                table = _totals_of_two(problem, axis, extent, pair)
                elements = elements * table[shapes.at[cut[own[0]]][chosen], shapes.at[cut[own[1]]][chosen]]
            else:
                part = _alone(operand, axis, extent)
                elements = elements * needed_elements(part, problem.cuttable, problem.extents)
    return np.maximum(elements, needed) * operand.element_bytes


def _alone(operand: TileOperand, axis: AxisMap, extent: int) -> TileOperand:
    return replace(operand, axes=(axis,), extents=(extent,), order=(0,), view=(0,), home_strides=None)


def _totals(problem: TilingProblem, axis: AxisMap, extent: int, dimension: Dimension) -> Counts:
    """For each number of tiles, the fewest elements of an axis summed over the tiles of a dimension."""
    uncut = {name: problem.extents[name] for name, _ in axis.terms if name != dimension.name}
    ranged = axis_range(axis, extent, uncut)
    multiple = problem.kernel.multiples.get(dimension.name, 1)
    found = []
    for position in range(len(dimension.steps)):
        steps = dimension.of_count(position, multiple)
        found.append(min(axis_total(ranged, dimension.extent, step) for step in steps))
    return np.asarray(found, np.int64)


def _totals_of_two(problem: TilingProblem, axis: AxisMap, extent: int, pair: tuple[Dimension, Dimension]) -> Counts:
    """As ``_totals``, for an axis of two cut dimensions; one entry for each two numbers of tiles.

    Tiles along a window are tiles of their own, though they may touch the same rows.
    """
    uncut = {name: problem.extents[name] for name, _ in axis.terms if name not in {item.name for item in pair}}
    ranged = axis_range(axis, extent, uncut)
    steps = [
        [
            dimension.of_count(position, problem.kernel.multiples.get(dimension.name, 1))
            for position in range(len(dimension.steps))
        ]
        for dimension in pair
    ]
    return np.asarray(
        [
            [min(_total_of_two(ranged, pair, (one, two)) for one in ones for two in twos) for twos in steps[1]]
            for ones in steps[0]
        ],
        np.int64,
    )


def _total_of_two(axis: AxisRange, pair: tuple[Dimension, Dimension], steps: tuple[int, int]) -> int:
    first: Counts = np.asarray(axis.first_offset, np.int64)
    last: Counts = np.asarray(axis.last_offset, np.int64)
    strides = dict(axis.terms)
    for number, (dimension, step) in enumerate(zip(pair, steps, strict=True)):
        lower = np.arange(0, dimension.extent, step, dtype=np.int64)
        ends = np.stack([lower, np.minimum(lower + step, dimension.extent) - 1]) * strides[dimension.name]
        shape = (-1, 1) if number == 0 else (1, -1)
        first = first + ends.min(axis=0).reshape(shape)
        last = last + ends.max(axis=0).reshape(shape)
    begin = np.clip(first // axis.divisor, 0, axis.extent)
    end = np.clip(last // axis.divisor + 1, 0, axis.extent)
    return int(np.maximum(end - begin, 0).sum())
