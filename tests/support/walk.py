"""The program walked step by step, from the docstrings of tilewright.plan alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from tilewright.plan import CopyStart, Kernel, Layer, Loop, Operand, Phase, Step, Wait

Bounds = dict[str, tuple[int, int]]
Rectangle = tuple[tuple[int, int], ...]


def events(steps: Iterable[Step]) -> Iterator[tuple[CopyStart | Wait | Kernel, int, Bounds]]:
    """Every copy, wait and kernel call in order, with its tile and the bounds of the indices."""
    for step in steps:
        if isinstance(step, Layer):
            yield from events(step.body)
        elif isinstance(step, Loop):
            grid = _grid(step)
            for time in range(-step.lead, len(grid) + step.trail):
                for inner in step.body:
                    assert isinstance(inner, (CopyStart, Wait, Kernel))
                    tile = time + inner.when.ahead
                    edge = 0 if inner.when.phase is Phase.FIRST else inner.when.period - 1
                    if 0 <= tile < len(grid) and tile % inner.when.period == edge:
                        yield inner, tile, grid[tile]
        elif isinstance(step, (CopyStart, Wait, Kernel)):
            yield step, 0, {}


def _grid(loop: Loop) -> list[Bounds]:
    tiles: list[Bounds] = [{}]
    for index in loop.indices:
        spans = [(low, min(low + index.step, index.extent)) for low in range(0, index.extent, index.step)]
        tiles = [{**tile, index.name: span} for tile in tiles for span in spans]
    return tiles


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
