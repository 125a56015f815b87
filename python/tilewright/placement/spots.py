"""A placement under construction, and the lowest offset at which a unit still fits."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.placement.model import Model, Unit

Spot = tuple[int, int]


class Layout:
    """Units placed so far: ``spots[u]`` is (number of a pool, offset in bytes), or None before u is placed."""

    __slots__ = ("model", "spots")

    def __init__(self, model: Model) -> None:
        """Start with the units whose offset is given from outside."""
        self.model = model
        self.spots: list[Spot | None] = [None] * len(model.units)
        for unit in model.units:
            if unit.fixed is not None:
                self.spots[unit.index] = (unit.pools[0], unit.fixed)

    def lowest(self, unit: Unit, pool: int, start: int = 0) -> int | None:
        """The smallest free offset of a unit in a pool from ``start`` on; None if its end exceeds the pool's limit."""
        taken = sorted(self._taken(unit, pool))
        offset = unit.align_up(start)
        for low, high in taken:
            if low < offset < high:
                offset = unit.align_up(high)
        limit = self.model.limit(pool)
        return None if limit is not None and offset + unit.size > limit else offset

    def above(self, unit: Unit, pool: int) -> int | None:
        """The smallest free offset above all neighbours but those with a fixed offset; None beyond the limit."""
        start = 0
        for other, zones in self.model.zones[unit.index].items():
            spot = self.spots[other]
            if spot is not None and spot[0] == pool and self.model.units[other].fixed is None:
                start = max(start, spot[1] + zones[-1][1])
        return self.lowest(unit, pool, start)

    def _taken(self, unit: Unit, pool: int) -> Iterable[tuple[int, int]]:
        for other, zones in self.model.zones[unit.index].items():
            spot = self.spots[other]
            if spot is not None and spot[0] == pool:
                for low, high in zones:
                    yield spot[1] + low, spot[1] + high

    def peaks(self) -> list[int]:
        """For each pool the highest end of its units in bytes, without rounding to granules."""
        peaks = [0] * len(self.model.pools)
        for unit in self.model.units:
            spot = self.spots[unit.index]
            if spot is not None:
                peaks[spot[0]] = max(peaks[spot[0]], spot[1] + unit.size)
        return peaks
