"""Rules on boxes: those of an operator's calls cover its iteration space, no point twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import prod

import numpy as np
import numpy.typing as npt

from tilewright.check.calls import Calls, Counts
from tilewright.check.rules import Log, Rule
from tilewright.plan import Dimension, Iteration

MOST_CELLS = 20_000_000
"""Boxes that cut each other into more cells are refused: counting these would take all memory."""


def check_coverage(calls: Iterable[Calls], log: Log) -> None:
    """All calls of the kernel steps of one name in one layer."""
    stages: dict[tuple[str, str], list[Calls]] = {}
    for item in calls:
        stages.setdefault((item.site.layer, item.kernel.name), []).append(item)
        _check_reduction(item, log)
    for group in stages.values():
        _check_stage(group, log)


def _check_stage(group: Sequence[Calls], log: Log) -> None:
    dimensions, place = group[0].kernel.dimensions, group[0].site.place
    if any(item.kernel.dimensions != dimensions for item in group):
        log.report(Rule.COVERAGE, "kernel steps of one name differ in their dimensions", place)
        return
    calls = sum(item.count for item in group)
    lower, upper = (np.empty((calls, len(dimensions)), np.int64) for _ in range(2))
    start = 0
    for item in group:
        box = item.box()
        for column, dimension in enumerate(dimensions):
            rows = slice(start, start + item.count)
            lower[rows, column], upper[rows, column] = box[dimension.name]
        start += item.count
    before = len(log.violations)
    for column, dimension in enumerate(dimensions):
        _check_cut(dimension, lower[:, column], upper[:, column], place, log)
    if len(log.violations) == before:
        _check_points(dimensions, lower, upper, place, log)
        _check_sequence(dimensions, lower, upper, place, log)


def _check_cut(dimension: Dimension, lower: Counts, upper: Counts, place: str, log: Log) -> None:
    """Tiles lie inside the dimension, begin at its multiples, and are the whole of it where it is never cut."""
    extent, multiple = dimension.extent, dimension.multiple
    outside = (lower < 0) | (upper > extent) | (lower >= upper)
    if outside.any():
        _report_tile(dimension, "outside", outside, (lower, upper), place, log)
        return
    cut = (lower > 0) | (upper < extent)
    if dimension.iteration is Iteration.WHOLE and cut.any():
        _report_tile(dimension, "of what is never cut,", cut, (lower, upper), place, log)
        return
    beside = (lower % multiple != 0) | ((upper % multiple != 0) & (upper != extent))
    if beside.any():
        _report_tile(dimension, f"not at multiples of {multiple}", beside, (lower, upper), place, log)


def _report_tile(
    dimension: Dimension, what: str, wrong: npt.NDArray[np.bool_], bounds: tuple[Counts, Counts], place: str, log: Log
) -> None:
    tile = int(wrong.argmax())
    interval = f"[{int(bounds[0][tile])}, {int(bounds[1][tile])})"
    log.report(Rule.BOX, f"a tile {interval} {what} {dimension.name} of extent {dimension.extent}", place, tile)


def _check_points(dimensions: tuple[Dimension, ...], lower: Counts, upper: Counts, place: str, log: Log) -> None:
    """Every point lies in one box: counted on the grid of all the boxes' borders."""
    borders = [np.concatenate([lower[:, column], upper[:, column]]) for column in range(len(dimensions))]
    # Asked for counts, NumPy does not import numpy.ma, which takes 7 ms.
    cuts = [np.unique(border, return_counts=True)[0] for border in borders]
    ends = [(int(cut[0]), int(cut[-1])) for cut in cuts if cut.size]
    if ends != [(0, dimension.extent) for dimension in dimensions]:
        log.report(Rule.COVERAGE, "the calls leave out the border of the iteration space", place)
        return
    shape = tuple(cut.size - 1 for cut in cuts)
    if prod(shape) > MOST_CELLS:
        log.report(Rule.TOO_LARGE, f"{prod(shape)} cells of boxes, at most {MOST_CELLS} can be counted", place)
        return
    count = _cell_counts(cuts, lower, upper, shape)
    for wrong, what in ((count == 0, "in no call"), (count > 1, "in more than one call")):
        if wrong.any():
            cell = np.unravel_index(int(wrong.argmax()), shape)
            point = ", ".join(
                f"{item.name} {int(cut[at])}" for item, cut, at in zip(dimensions, cuts, cell, strict=True)
            )
            log.report(Rule.COVERAGE, f"the point {point or 'of a scalar'} is {what}", place)


def _cell_counts(cuts: Sequence[Counts], lower: Counts, upper: Counts, shape: tuple[int, ...]) -> Counts:
    """How many boxes hold each cell: corners are marked, then summed along every axis."""
    first = [np.searchsorted(cut, lower[:, column]) for column, cut in enumerate(cuts)]
    end = [np.searchsorted(cut, upper[:, column]) for column, cut in enumerate(cuts)]
    if all((last - begin == 1).all() for begin, last in zip(first, end, strict=True)):
        flat = np.ravel_multi_index(tuple(first), shape) if shape else np.zeros(len(lower), np.int64)
        return np.bincount(flat, minlength=prod(shape)).reshape(shape).astype(np.int64)
    count = np.zeros(shape, np.int64)
    for begin, last in zip(np.stack(first, axis=1), np.stack(end, axis=1), strict=True):
        count[tuple(slice(low, high) for low, high in zip(begin, last, strict=True))] += 1
    return count


def _check_sequence(dimensions: tuple[Dimension, ...], lower: Counts, upper: Counts, place: str, log: Log) -> None:
    """The points of all sequential dimensions come in lexicographic order, for each tile of the other dimensions."""
    columns = [number for number, item in enumerate(dimensions) if item.iteration is Iteration.SEQUENTIAL]
    if not columns:
        return
    names = " and ".join(dimensions[column].name for column in columns)
    for outer, inner in combinations(columns, 2):
        several = upper[:, outer] - lower[:, outer] > 1
        if (several & (upper[:, inner] - lower[:, inner] < dimensions[inner].extent)).any():
            log.report(Rule.COVERAGE, f"tiles of {names}, which are sequential, have points of each other", place)
            return
    others = np.delete(lower, columns, axis=1)
    _, group = np.unique(others, axis=0, return_inverse=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    same = np.diff(group.reshape(-1)[order]) == 0
    number = np.zeros(len(lower), np.int64)
    for column in columns:
        number = number * dimensions[column].extent + lower[:, column]
    if (same & (np.diff(number[order]) < 0)).any():
        log.report(Rule.COVERAGE, f"tiles of {names}, which is sequential, are out of order", place)


def _check_reduction(calls: Calls, log: Log) -> None:
    """``reduction`` names the reductions of the nest that are cut, and their indices turn fastest."""
    kernel, place = calls.kernel, calls.site.place
    if not calls.count:
        return
    kinds = {dimension.name: dimension.iteration for dimension in kernel.dimensions}
    turning = [name for name, digit in calls.first.items() if digit.count > 1 and name in kinds]
    wanted = {name for name in turning if kinds[name] in (Iteration.REDUCTION, Iteration.SEQUENTIAL)}
    stated = {name for name in kernel.reduction if name in turning}
    if wanted != stated:
        message = f"accumulates over {sorted(stated)}, cut are the reductions {sorted(wanted)}"
        log.report(Rule.BOX, message, place)
    elif wanted and set(turning[-len(wanted) :]) != wanted:
        log.report(Rule.BOX, f"parts of a result over {sorted(wanted)} do not follow each other", place)
