"""Every placement of every algorithm is checked against the problem before it is used."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from tilewright.base.errors import TilewrightError, bad_input
from tilewright.base.lazy_dataclass import dataclass
from tilewright.placement.model import Model
from tilewright.placement.spots import Spot


def verify_spots(model: Model, spots: Sequence[Spot | None], algorithm: str) -> None:
    """Check pools, alignments, fixed offsets, limits and zones. Raises bad_input ``wrong-placement``."""
    for unit in model.units:
        spot = spots[unit.index]
        broken = "is not placed" if spot is None else _broken(model, unit.index, spot)
        if broken:
            raise _wrong(algorithm, unit.name, broken)
    found = min((*_listed_overlaps(model, spots), *_alive_overlaps(model, spots)), default=None)
    if found is not None:
        raise _wrong(algorithm, model.units[found[0]].name, f"overlaps '{model.units[found[1]].name}'")


def _wrong(algorithm: str, name: str, broken: str) -> TilewrightError:
    return bad_input(
        "wrong-placement",
        f"algorithm '{algorithm}' gave a wrong placement: buffer '{name}' {broken}",
        help="use another ALGORITHM, for example exact",
    )


def _broken(model: Model, index: int, spot: Spot) -> str | None:
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
    return None


def _listed_overlaps(model: Model, spots: Sequence[Spot | None]) -> Iterator[tuple[int, int]]:
    """Pairs of units, the later one first, whose offsets differ by what a listed zone forbids."""
    for index, around in enumerate(model.zones.listed):
        spot = spots[index]
        for other, zones in around.items():
            place = spots[other]
            if other > index or spot is None or place is None or spot[0] != place[0]:
                continue
            if any(low < spot[1] - place[1] < high for low, high in zones):
                yield index, other


@dataclass(frozen=True, slots=True)
class _Box:
    """A placed unit with a lifetime: half-open ticks and half-open bytes."""

    unit: int
    ticks: tuple[int, int]
    span: tuple[int, int]


def _alive_overlaps(model: Model, spots: Sequence[Spot | None]) -> Iterator[tuple[int, int]]:
    """Pairs of units, the later one first, that share bytes of a pool while both are alive."""
    boxes: dict[int, list[_Box]] = {}
    for unit, spot, (begin, end) in zip(model.units, spots, model.zones.lives, strict=True):
        if spot is not None and begin < end:
            span = (spot[1], spot[1] + unit.size)
            boxes.setdefault(spot[0], []).append(_Box(unit.index, (begin, end), span))
    for inside in boxes.values():
        for one, other in _crossing(inside):
            first, second = max(one, other), min(one, other)
            if second not in model.zones.listed[first]:
                yield first, second


def _crossing(boxes: Sequence[_Box]) -> Iterator[tuple[int, int]]:
    """Pairs of boxes that meet in ticks and bytes; a sweep along the axis on which fewer boxes meet."""
    if _is_apart(boxes):
        return
    by_ticks = [(box.ticks, box.span, box.unit) for box in boxes]
    by_bytes = [(box.span, box.ticks, box.unit) for box in boxes]
    along = min(by_ticks, by_bytes, key=lambda items: _meetings([item[0] for item in items]))
    active: list[tuple[tuple[int, int], tuple[int, int], int]] = []
    for item in sorted(along):
        (start, _), (low, high), unit = item
        active = [other for other in active if other[0][1] > start]
        yield from ((unit, other[2]) for other in active if other[1][0] < high and low < other[1][1])
        active.append(item)


def _is_apart(boxes: Sequence[_Box]) -> bool:
    """Whether no two boxes meet: a sweep along ticks, in which each box is compared with the two beside it."""
    alive: list[tuple[int, int]] = []
    ends: list[tuple[int, tuple[int, int]]] = []
    for box in sorted(boxes, key=lambda box: box.ticks):
        while ends and ends[0][0] <= box.ticks[0]:
            del alive[bisect_left(alive, heappop(ends)[1])]
        at = bisect_left(alive, box.span)
        if (at < len(alive) and alive[at][0] < box.span[1]) or (at > 0 and box.span[0] < alive[at - 1][1]):
            return False
        alive.insert(at, box.span)
        heappush(ends, (box.ticks[1], box.span))
    return True


def _meetings(intervals: Sequence[tuple[int, int]]) -> int:
    """How many pairs of intervals meet."""
    ends = sorted(end for _, end in intervals)
    return sum(
        number - bisect_right(ends, start) for number, start in enumerate(sorted(start for start, _ in intervals))
    )
