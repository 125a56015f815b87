"""Trails settled before the search: each item joins the item that it trails at the least distance, if it can.

The least distance is nearly always the best, and joined items leave fewer units, whose neighbours are plainly
disjoint, so the search is far quicker. ``exact.improved`` then tries the other distances.

Before:  relu.y trails relu.x by 0 to 0 bytes; relu.x and conv.x are disjoint, conv.x is dead before relu.y
After:   one unit of relu.x and relu.y at distance 0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd

from tilewright.placement.items import Item, Trail
from tilewright.placement.model import Model, Unit, build_model
from tilewright.placement.options import Outcome
from tilewright.placement.spots import Spot


def settled(items: Sequence[Item], model: Model) -> Model:
    """The model in which trailing items are joined to the items that they trail, earliest lifetimes first.

    ``model`` itself (the same object) if no item trails another.
    """
    trailing = [item for item in items if any(trail.is_exact for trail in item.trails)]
    if not trailing:
        return model
    clusters = _Clusters(model)
    for item in sorted(trailing, key=lambda item: item.lifetime or (0, 0)):
        for trail in item.trails:
            if trail.is_exact:
                clusters.join(item.name, trail)
    distances = clusters.distances()
    joined = [replace(item, at_offset=distances.get(item.name, item.at_offset)) for item in items]
    return build_model(joined, model.pools)


def spread(outcome: Outcome, settled_model: Model, model: Model) -> Outcome:
    """The outcome for ``settled_model``, carried over to the units of ``model``.

    Bounds of pools that a trailing unit may live in are left out: they were proved for joined units alone.
    """
    spots: dict[str, Spot] = {}
    for unit, spot in zip(settled_model.units, outcome.spots, strict=True):
        if spot is not None:
            spots.update({item.name: (spot[0], spot[1] + distance) for item, distance in unit.members})
    found = [_spot(unit, spots) for unit in model.units]
    free = {pool for unit in model.units if any(item.trails for item, _ in unit.members) for pool in unit.pools}
    bounds = {pool: bound for pool, bound in outcome.bounds.items() if pool not in free}
    return Outcome(found, bounds, outcome.proved)


def _spot(unit: Unit, spots: dict[str, Spot]) -> Spot | None:
    item, distance = unit.members[0]
    if item.name not in spots:
        return None
    pool, offset = spots[item.name]
    return pool, offset - distance


class _Clusters:
    """Clusters of units at settled distances; ``_shift`` is a unit's distance from the first unit of its cluster."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._at = {item.name: (unit.index, distance) for unit in model.units for item, distance in unit.members}
        self._cluster = [unit.index for unit in model.units]
        self._shift = [0] * len(model.units)
        self._inside = [[unit.index] for unit in model.units]

    def join(self, name: str, trail: Trail) -> None:
        """Join an item's cluster to that of ``trail.other`` at the trail's least distance, if all units allow it."""
        (mine, from_mine), (other, from_other) = self._at[name], self._at[trail.other]
        gone, kept = self._cluster[mine], self._cluster[other]
        move = self._shift[other] + from_other - trail.least - from_mine - self._shift[mine]
        if gone == kept or not self._may_lie(gone, kept, move):
            return
        for unit in self._inside[gone]:
            self._cluster[unit] = kept
            self._shift[unit] += move
        self._inside[kept] += self._inside[gone]
        self._inside[gone] = []

    def distances(self) -> dict[str, tuple[str, int]]:
        """``Item.at_offset`` for the first item of each joined unit: the first item of its cluster, and bytes."""
        found = {}
        for index, cluster in enumerate(self._cluster):
            if index != cluster:
                root, from_root = self._model.units[index].members[0]
                first, from_first = self._model.units[cluster].members[0]
                found[root.name] = (first.name, self._shift[index] + from_root - from_first)
        return found

    def _may_lie(self, gone: int, kept: int, move: int) -> bool:
        """Whether cluster ``gone`` may join cluster ``kept`` ``move`` bytes higher: no pair of their units objects."""
        for one in self._inside[gone]:
            for two in self._inside[kept]:
                distance = self._shift[one] + move - self._shift[two]
                if not _suit(self._model.units[one], self._model.units[two], distance):
                    return False
                if any(low < distance < high for low, high in self._model.zones.between(one, two)):
                    return False
        return True


def _suit(one: Unit, other: Unit, distance: int) -> bool:
    """Whether two units may be joined at a distance: neither is fixed, both have the same pools, both stay aligned."""
    common = gcd(one.modulus, other.modulus)
    aligned = (other.residue + distance - one.residue) % common == 0
    return one.fixed is None and other.fixed is None and one.pools == other.pools and aligned
