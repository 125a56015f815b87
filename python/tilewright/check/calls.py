"""The calls of a kernel step as arrays: one entry for each tile for which the step runs.

Interval arithmetic on arrays, written from the docstring of ``plan.AxisRange``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tilewright.check.expand import Digits, Site
from tilewright.plan import AxisRange, Kernel

Counts = npt.NDArray[np.int64]

Bounds = tuple[Counts, Counts]
"""Half-open intervals: all lower bounds, all upper bounds."""


@dataclass(frozen=True, slots=True)
class Calls:
    """All calls of one kernel step, in order."""

    site: Site
    kernel: Kernel
    digits: list[Digits] = field(default_factory=list)
    _indices: dict[str, Bounds] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How often the step runs."""
        return len(self.digits)

    def index(self, name: str) -> Bounds:
        """The bounds of an index that the step sees, int64[calls] each."""
        if name not in self._indices:
            pairs = [(digits[name].lower, digits[name].upper) for digits in self.digits]
            columns = np.array(pairs, np.int64).reshape(-1, 2)
            self._indices[name] = columns[:, 0], columns[:, 1]
        return self._indices[name]

    def box(self) -> dict[str, Bounds]:
        """The bounds of every dimension: those of the index of that name, else the whole extent."""
        found = {}
        for dimension in self.kernel.dimensions:
            if dimension.name in self.site.names:
                found[dimension.name] = self.index(dimension.name)
            else:
                found[dimension.name] = np.zeros(1, np.int64), np.full(1, dimension.extent, np.int64)
        return found


def calls_by_tick(roots: tuple[Site, ...]) -> dict[int, Calls]:
    """Every kernel step of a program by its tick, in order; whoever runs the program adds the digits of each call."""
    return {site.tick: Calls(site, site.step) for site in _kernels(roots) if isinstance(site.step, Kernel)}


def _kernels(roots: Iterable[Site]) -> Iterable[Site]:
    for site in roots:
        if isinstance(site.step, Kernel):
            yield site
        yield from _kernels(site.children)


def touched(axis: AxisRange, bounds: Mapping[str, Bounds]) -> Bounds:
    """The part of an axis that each box touches, clipped to the tensor; empty is (a, a)."""
    low, high = np.int64(axis.first_offset), np.int64(axis.last_offset)
    first, last = np.full(1, low), np.full(1, high)
    for name, stride in axis.terms:
        lower, upper = bounds[name]
        ends = stride * lower, stride * (upper - 1)
        first = first + (ends[0] if stride >= 0 else ends[1])
        last = last + (ends[1] if stride >= 0 else ends[0])
    begin = np.clip(first // axis.divisor, 0, axis.extent)
    return begin, np.maximum(begin, np.minimum(last // axis.divisor + 1, axis.extent))


def progress(kernel: Kernel, digits: Digits) -> tuple[int, int]:
    """How many tiles of the cut reduction came before this one, and how many there are."""
    done, total = 0, 1
    if not kernel.reduction:
        return done, total
    for name, digit in digits.items():
        if name in kernel.reduction:
            done = done * digit.count + digit.coordinate
            total *= digit.count
    return done, total
