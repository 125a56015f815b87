"""The bytes that some layers of a program would need if their tensors had fewer columns.

Before:  layers conv, conv, conv on 72 columns, of which a strip has 26, 24 and 22
After:   the fewest bytes of any cover of the three layers, each ring and home in proportion
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction

import numpy as np

from tilewright.fusion.consuming import HomeShape
from tilewright.fusion.homes_alive import Alive, aligned
from tilewright.fusion.intervals import Interval, Layers, groups_from, last_together
from tilewright.storage.lives import Life

_SMALLEST = 1
"""Positions of the blocks that need the fewest bytes."""

_ANY_SIZE = 1 << 60


def narrowed_bytes(
    layers: Layers, numbers: range, starts: Collection[int], shares: Mapping[str, Fraction], held_bytes: int
) -> int:
    """The fewest bytes in which layers that follow each other can run as groups, or alone.

    Args:
        starts: layers with which a group may begin, the first one among them.
        shares: by tensor that they make, but for the last result, the columns that it has left of all.
        held_bytes: bytes of homes that are alive beside, the last result included.
    """
    alive = _narrowed(layers.alive, shares, held_bytes, numbers)
    few = Layers(
        layers.problems[numbers.start : numbers.stop],
        layers.streams[numbers.start : numbers.stop],
        alive,
        spare={number - numbers.start: layers.spare.get(number, ()) for number in numbers},
        known=layers.known,
    )
    alone = [
        Interval(number, number + 1, (), alive.during(number, number + 1) + _least_scratch(few, number), 0.0)
        for number in range(len(few.problems))
    ]
    least = [_ANY_SIZE] * len(numbers) + [0]
    for interval in sorted((*alone, *_groups(few, numbers, starts)), key=lambda item: -item.first):
        least[interval.first] = min(least[interval.first], max(interval.size_bytes, least[interval.end]))
    return least[0]


def _groups(few: Layers, numbers: range, starts: Collection[int]) -> Iterator[Interval]:
    for first in (number - numbers.start for number in numbers if number in starts):
        yield from groups_from(few, first, (_SMALLEST,) * (last_together(few, first) - first), _ANY_SIZE)


def _narrowed(alive: Alive, shares: Mapping[str, Fraction], held_bytes: int, numbers: range) -> Alive:
    """Homes of narrower tensors, as if the layers were all; parts, and views of others, are homes of their own."""
    whole = {name: _shifted(alive.whole[name], numbers) for name in shares if name in alive.whole}
    shapes = {name: _shape(alive.shapes[name], shares[name]) for name in whole}
    spans = [(life.begin, life.end, aligned(shapes[name].size_bytes)) for name, life in whole.items()]
    held = (0, len(numbers), held_bytes)
    begins, ends, sizes = (np.array(column, np.int64) for column in zip(held, *spans, strict=True))
    return Alive(begins, ends, sizes, {name: whole[name] for name in whole if name in alive.lives}, whole, shapes)


def _shifted(life: Life, numbers: range) -> Life:
    return Life(life.begin - numbers.start, life.end - numbers.start)


def _shape(shape: HomeShape, share: Fraction) -> HomeShape:
    strides = tuple(int(stride * share) if stride > 1 else stride for stride in shape.strides_bytes)
    return HomeShape(strides, shape.outermost, int(shape.size_bytes * share))


def _least_scratch(layers: Layers, number: int) -> int:
    """Scratch of a layer that runs alone, with the kernel that needs the least."""
    problems = (layers.problems[number], *layers.spare.get(number, ()))
    return min(problem.scratch_bytes(problem.extents) for problem in problems)
