"""Why nothing fits: the pool, its missing bytes, the buffers alive at its peak, and a size that works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from tilewright.base.errors import ExitStatus
from tilewright.placement.items import Diagnosis, DoesNotFit, Item
from tilewright.placement.model import Model
from tilewright.placement.options import Algorithm, Options, Outcome
from tilewright.placement.spots import Layout, Spot


def no_fit(model: Model, outcome: Outcome, algorithm: Algorithm, options: Options) -> DoesNotFit:
    """The error for an outcome in which some units have no spot.

    The algorithm runs again with one full pool unlimited, and with all of them if no single pool helps; the
    peaks that it reaches are the sizes that work.
    """
    options = replace(options, minimise=True)
    blamed = sorted({p for u in model.units if outcome.spots[u.index] is None for p in u.pools})
    trials: list[tuple[int, int, Model, Outcome]] = []
    for pool in blamed:
        relaxed = _relax(model, {pool})
        again = algorithm(relaxed, options)
        if all(spot is not None for spot in again.spots):
            needed = _peak(relaxed, again.spots, pool)
            trials.append((needed - (model.limit(pool) or 0), pool, relaxed, again))
    together: tuple[tuple[str, int], ...] = ()
    if not trials:
        relaxed = _relax(model, set(range(len(model.pools))))
        again = algorithm(relaxed, options)
        needs = [(_peak(relaxed, again.spots, pool), model.limit(pool), pool) for pool in range(len(model.pools))]
        grown = [(need, limit, pool) for need, limit, pool in needs if limit is not None and need > limit]
        together = tuple((model.pools[pool].name, need) for need, _, pool in grown)
        trials = [(need - limit, pool, relaxed, again) for need, limit, pool in grown]
    _, pool, relaxed, again = min(trials, key=lambda trial: trial[:2])
    return _error(replace(_describe(model, pool, again, outcome.proved), together=together))


def _relax(model: Model, pools: set[int]) -> Model:
    limits = tuple(
        replace(limit, size_bytes=None) if number in pools else limit for number, limit in enumerate(model.pools)
    )
    return replace(model, pools=limits)


def _peak(model: Model, spots: Sequence[Spot | None], pool: int) -> int:
    layout = Layout(model)
    layout.spots = list(spots)
    return layout.peaks()[pool]


def _describe(model: Model, pool: int, again: Outcome, proved: bool) -> Diagnosis:
    needed = _peak(model, again.spots, pool)
    available = model.limit(pool) or 0
    inside = [item for u in model.units for item, _ in u.members if (s := again.spots[u.index]) and s[0] == pool]
    step: int | None = None
    alive = inside
    if all(item.lifetime is not None for item in inside):
        step = fullest_step(inside)
        alive = without_views([item for item in inside if step is not None and is_alive(item, step)])
    names = sorted(((item.name, item.size_bytes) for item in alive), key=lambda pair: (-pair[1], pair[0]))
    smallest = again.bounds.get(pool, 0) == needed
    return Diagnosis(
        model.pools[pool].name, needed, available, needed - available, step, tuple(names), proved, smallest
    )


def is_alive(item: Item, step: int) -> bool:
    """Whether a step lies in the life of an item; False where that is unknown."""
    return item.lifetime is not None and item.lifetime[0] <= step < item.lifetime[1]


def fullest_step(items: Sequence[Item]) -> int | None:
    """The first of the ticks, at which an item begins to live, with the most bytes alive; views count once."""
    named = {item.name: item for item in items}
    changes: Counter[int] = Counter()
    for item in items:
        for begin, end in _own_times(item, named):
            changes[begin] += item.size_bytes
            changes[end] -= item.size_bytes
    begins = {item.lifetime[0] for item in items if item.lifetime}
    sums = accumulate(changes[tick] for tick in sorted(changes))
    alive = [(size, -tick) for tick, size in zip(sorted(changes), sums, strict=True) if tick in begins]
    return -max(alive)[1] if alive else None


def _own_times(item: Item, named: Mapping[str, Item]) -> list[tuple[int, int]]:
    """When an item lives, without the times at which it lies in an item that lives too; the first may be empty."""
    begin, end = item.lifetime or (0, 0)
    other = named.get(item.at_offset[0]) if item.at_offset else None
    if other is None or other.lifetime is None or not _is_inside(item, {other.name: other.size_bytes}):
        return [(begin, end)]
    return [(begin, max(begin, min(end, other.lifetime[0]))), (min(end, max(begin, other.lifetime[1])), end)]


def without_views(items: Sequence[Item]) -> list[Item]:
    """The items without those that lie whole inside another item of the list."""
    sizes = {item.name: item.size_bytes for item in items}

    return [item for item in items if not _is_inside(item, sizes)]


def _is_inside(item: Item, sizes: Mapping[str, int]) -> bool:
    """Whether the item lies whole inside another one of those with these sizes."""
    name, distance = item.at_offset or ("", 0)
    return name in sizes and distance >= 0 and distance + item.size_bytes <= sizes[name]


def _error(found: Diagnosis) -> DoesNotFit:
    alive = ", ".join(f"{name} {size:,}" for name, size in found.items[:8])
    more = f" and {len(found.items) - 8} more" if len(found.items) > 8 else ""
    where = f"step {found.step}; alive: " if found.step is not None else "in the pool: "
    error = DoesNotFit(
        "pool-overflow",
        f"pool '{found.pool}' needs {found.needed:,} bytes, platform gives {found.available:,} "
        f"({found.missing:,} too many)",
        (where + alive + more,),
        (_remedy(found),),
        ExitStatus.DOES_NOT_FIT,
    )
    error.diagnosis = found
    return error


def _remedy(found: Diagnosis) -> str:
    retry = "" if found.proved else "; or EFFORT thorough"
    if found.together:
        sizes = " ".join(f"{pool}={size}" for pool, size in found.together)
        return f"no pool alone is to blame: POOLS {sizes} works{retry}"
    smallest = "is the smallest that works" if found.smallest_proved else "is the smallest found to work"
    return f"POOLS {found.pool}={found.needed} {smallest} with everything else fixed{retry}"
