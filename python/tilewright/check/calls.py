"""The calls of a kernel step as arrays: one entry for each tile for which the step runs.

Interval arithmetic on arrays, written from the docstring of ``plan.AxisRange``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from tilewright.base.lazy_dataclass import dataclass
from tilewright.check.expand import Digits, Site
from tilewright.plan import AxisRange, Iteration, Kernel, Operand

Counts = npt.NDArray[np.int64]

Bounds = tuple[Counts, Counts]
"""Half-open intervals: all lower bounds, all upper bounds."""


@dataclass(slots=True)
class Calls:
    """All calls of one kernel step, in order.

    ``first`` has the digits of the first one. Calls are added one by one, or many at once as arrays.
    """

    site: Site
    kernel: Kernel
    first: Digits = field(default_factory=dict)
    count: int = 0
    _single: list[Digits] = field(default_factory=list)
    _many: list[tuple[int, Mapping[str, Bounds]]] = field(default_factory=list)
    _indices: dict[str, Bounds] = field(default_factory=dict)

    def add(self, digits: Digits) -> None:
        """One more call."""
        self.first = self.first if self.count else digits
        self.count += 1
        self._single.append(digits)

    def extend(self, count: int, bounds: Mapping[str, Bounds], first: Digits) -> None:
        """So many more calls: the bounds of all indices in each, or one for all of them."""
        self.first = self.first if self.count else first
        self._join()
        self.count += count
        self._many.append((count, bounds))

    def _join(self) -> None:
        if self._single:
            names = self._single[0]
            self._many.append((len(self._single), {name: _column(self._single, name) for name in names}))
            self._single.clear()

    def index(self, name: str) -> Bounds:
        """The bounds of an index that the step sees, int64[calls] each."""
        if name not in self._indices:
            self._join()
            parts = [tuple(np.broadcast_to(side, count) for side in bounds[name]) for count, bounds in self._many]
            lower, upper = (np.concatenate([part[side] for part in parts]) if parts else _NONE for side in (0, 1))
            self._indices[name] = lower, upper
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


_NONE: Counts = np.zeros(0, np.int64)


def _column(some: Sequence[Digits], name: str) -> Bounds:
    columns = np.array([(digits[name].lower, digits[name].upper) for digits in some], np.int64)
    return columns[:, 0], columns[:, 1]


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


def progress(kernel: Kernel, digits: Digits, write: Operand | None = None) -> tuple[int, int]:
    """How many tiles of the cut reduction came before this one, and how many there are.

    Of one result, tiles count along the indices but those of sequential dimensions that move the result's rectangle:
    each step of a sequence may have a row of its own.
    """
    done, total = 0, 1
    if not kernel.reduction:
        return done, total
    own = _own_steps(kernel, write) if write is not None else frozenset()
    for name, digit in digits.items():
        if name in kernel.reduction and name not in own:
            done = done * digit.count + digit.coordinate
            total *= digit.count
    return done, total


def _own_steps(kernel: Kernel, write: Operand) -> frozenset[str]:
    """The sequential dimensions with which a result's rectangle moves."""
    moving = {name for axis in write.rectangle for name, _ in axis.terms}
    steps = {item.name for item in kernel.dimensions if item.iteration is Iteration.SEQUENTIAL}
    return frozenset(steps & moving)
