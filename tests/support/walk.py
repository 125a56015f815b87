"""Walks the program of a plan step by step; written from the docstrings of tilewright.plan, not from the checker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from math import prod

from tilewright.plan import CopyStart, Kernel, Layer, Loop, Operand, Runs, Step, Wait

Bounds = dict[str, tuple[int, int]]
Rectangle = tuple[tuple[int, int], ...]


def events(steps: Iterable[Step]) -> Iterator[tuple[CopyStart | Wait | Kernel, int, Bounds]]:
    """Every copy, wait and kernel call in order, with its block and the bounds of the indices."""
    for step in steps:
        if isinstance(step, Layer):
            yield from events(step.body)
        elif isinstance(step, Loop):
            inside = [inner for inner in step.body if isinstance(inner, (CopyStart, Wait, Kernel))]
            assert len(inside) == len(step.body)
            at = {(number, time): block for number, inner in enumerate(inside) for block, time in _times(inner.runs)}
            times = [time for _, time in at]
            for time in range(min(times), max(times) + 1):
                for number, inner in enumerate(inside):
                    if (number, time) in at:
                        block = at[number, time]
                        yield inner, block, _grid(step, inner.runs)[block]
        elif isinstance(step, (CopyStart, Wait, Kernel)):
            yield step, 0, {}


def _times(runs: Runs) -> list[tuple[int, int]]:
    return [(block, runs.first + runs.every * block) for block in range(runs.count)]


@cache
def _grid(loop: Loop, runs: Runs) -> list[Bounds]:
    """For each run of a step the bounds of the indices that the step names; no bounds for a wait, which names none."""
    blocks: list[Bounds] = [{}] if runs.over else [{}] * runs.count
    for name in runs.over:
        blocks = [{**block, **bounds} for block in blocks for bounds in _tiles(loop, name)]
    return blocks


def _tiles(loop: Loop, name: str) -> list[Bounds]:
    """The bounds of an index in each of its tiles, with those of the larger tile around it."""
    indices = {index.name: index for index in loop.indices}
    steps = {index.name: index.step for index in loop.indices}
    base = {name: name for name in steps}
    for item in loop.coarse:
        base[item.name], steps[item.name] = base[item.of], steps[item.of] * item.tiles
    extent = indices[base[name]].extent
    found = []
    for low in range(0, extent, steps[name]):
        bounds = {name: (low, min(low + steps[name], extent))}
        for item in loop.coarse:
            if item.of == name:
                begin = low - low % steps[item.name]
                bounds[item.name] = (begin, min(begin + steps[item.name], extent))
        found.append(bounds)
    return found


def rectangle(operand: Operand, bounds: Bounds) -> Rectangle:
    """What the operand touches, found point by point."""
    touched = []
    for axis in operand.rectangle:
        corners = [0]
        for name, stride in axis.terms:
            corners = [at + stride * point for at in corners for point in range(*bounds[name])]
        first = (min(corners) + axis.first_offset) // axis.divisor
        last = (max(corners) + axis.last_offset) // axis.divisor
        inside = [point for point in range(first, last + 1) if 0 <= point < axis.extent]
        touched.append((inside[0], inside[-1] + 1) if inside else (0, 0))
    return tuple(touched)


def copied(steps: Iterable[Step]) -> Iterator[tuple[CopyStart, Rectangle]]:
    """Every copy in order with what it brings: into a ring only what its copy before did not."""
    before: dict[str, Rectangle] = {}
    for step, _, bounds in events(steps):
        if not isinstance(step, CopyStart):
            continue
        area = rectangle(step.source, bounds)
        had = before.get(step.token) if step.kept and bounds[step.kept][0] > 0 else None
        before[step.token] = area
        if had is not None:
            (axis,) = (n for n, item in enumerate(step.source.rectangle) if step.kept in dict(item.terms))
            begin = min(max(area[axis][0], had[axis][1]), area[axis][1])
            area = (*area[:axis], (begin, area[axis][1]), *area[axis + 1 :])
        yield step, area


def elements(area: Rectangle) -> int:
    """Elements of a rectangle."""
    return prod(upper - lower for lower, upper in area)
