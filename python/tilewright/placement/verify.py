"""Every placement of every algorithm is checked against the problem before it is used."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.base.errors import bad_input
from tilewright.placement.layout import Spot
from tilewright.placement.model import Model


def verify_spots(model: Model, spots: Sequence[Spot | None], algorithm: str) -> None:
    """Check pools, alignments, fixed offsets, limits and zones. Raises bad_input ``wrong-placement``."""
    for unit in model.units:
        spot = spots[unit.index]
        broken = "is not placed" if spot is None else _broken(model, spots, unit.index, spot)
        if broken:
            raise bad_input(
                "wrong-placement",
                f"algorithm '{algorithm}' gave a wrong placement: buffer '{unit.name}' {broken}",
                help="use another ALGORITHM, for example exact",
            )


def _broken(model: Model, spots: Sequence[Spot | None], index: int, spot: Spot) -> str | None:
    unit, (pool, offset) = model.units[index], spot
    if pool not in unit.pools:
        return "is in a pool that is not among its candidates"
    if offset < 0 or offset % unit.modulus != unit.residue:
        return f"is at offset {offset:,}, which is not aligned"
    if unit.fixed is not None and offset != unit.fixed:
        return f"is at offset {offset:,}, not at its fixed offset {unit.fixed:,}"
    limit = model.limit(pool)
    if limit is not None and offset + unit.size > limit:
        return f"ends at {offset + unit.size:,}, beyond the {limit:,} bytes of pool '{model.pools[pool].name}'"
    for other, zones in model.zones[index].items():
        if other > index:
            break  # zones are sorted by unit; the other unit of the pair checks it
        place = spots[other]
        if place is None or place[0] != pool:
            continue
        for low, high in zones:
            if low < offset - place[1] < high:
                return f"overlaps '{model.units[other].name}'"
    return None
