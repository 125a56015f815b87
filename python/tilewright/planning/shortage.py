"""The error for a model that does not fit: the smallest size of a pool that works, and what fills the pool.

The size is found by making whole plans for other sizes. So with the named size every layer fits,
and with one byte less the model does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tilewright.base.errors import TilewrightError, does_not_fit
from tilewright.base.lazy_dataclass import dataclass
from tilewright.placement.items import DoesNotFit
from tilewright.plan import RelationKind
from tilewright.plan.lifetimes import layer_at
from tilewright.planning.realise import Planned
from tilewright.platform import Platform
from tilewright.storage.pressure import union_bytes
from tilewright.tiling.overflow import TileOverflow

ATTEMPTS = 32
"""The most plans that are made for one error; a size not proved smallest by then is called one that 'works'."""

SHOWN = 6
"""Buffers that a message names."""

LONGEST_NAME = 48
"""Characters of a buffer's name in a message; the middle of longer ones is left out."""


Attempt = Callable[[Platform], Planned]
"""Makes a plan for a platform. Raises TileOverflow or DoesNotFit."""

Sizes = Mapping[str, int]
"""Pool to bytes."""


@dataclass(slots=True)
class _Search:
    """The search for sizes of pools that work.

    Attributes:
        attempt: makes a plan for a platform.
        platform: the platform, whose sizes of pools do not work.
        failure: why the last plan that was tried did not fit.
        left: plans that may still be made.
    """

    attempt: Attempt
    platform: Platform
    failure: TileOverflow | DoesNotFit
    left: int = ATTEMPTS

    def fit(self, sizes: Mapping[str, int | None]) -> Planned | None:
        """A plan with other sizes of some pools (None: unlimited), or None if it does not fit."""
        self.left -= 1
        pools = tuple(
            replace(pool, size_bytes=sizes[pool.name]) if pool.name in sizes else pool for pool in self.platform.pools
        )
        try:
            return self.attempt(replace(self.platform, pools=pools))
        except (TileOverflow, DoesNotFit) as failure:
            self.failure = failure
            return None


def explained(overflow: TileOverflow | DoesNotFit, attempt: Attempt, platform: Platform) -> TilewrightError:
    """The overflow in the user's words: pool, need, have, missing, operator, living buffers, sizes that work."""
    pool, needed = _blamed(overflow)
    have = platform.pool(pool).size_bytes
    assert have is not None
    search = _Search(attempt, platform, overflow)
    found = _smallest(search, pool, have, needed)
    if found is None:
        return _together(search, overflow)
    size, fitting, proved = found
    smallest = "is the smallest that works" if proved else "works"
    return does_not_fit(
        overflow.code,
        f"pool '{pool}' needs {size:,} bytes, platform '{platform.name}' gives {have:,} ({size - have:,} too many)",
        at=_peak(fitting, pool, search.failure),
        help=f"POOLS {pool}={size} {smallest} with everything else fixed; or EFFORT thorough",
    )


def with_exact(error: TilewrightError, exact: Planned | None, overflow: DoesNotFit) -> TilewrightError:
    """The error; if ``exact`` is a plan, with the remedy ALGORITHM exact and the bytes in which that plan fits."""
    if exact is None:
        return error
    pool = overflow.diagnosis.pool
    remedy = f"ALGORITHM exact fits: it needs {_used(exact)[pool]:,} bytes of pool '{pool}'"
    return replace(error, help=(remedy, *error.help))


def _blamed(overflow: TileOverflow | DoesNotFit) -> tuple[str, int]:
    if isinstance(overflow, TileOverflow):
        return overflow.pool, overflow.needed_bytes
    return overflow.diagnosis.pool, overflow.diagnosis.needed


def _smallest(search: _Search, pool: str, have: int, guess: int) -> tuple[int, Planned, bool] | None:
    """The smallest size that works, its plan, and whether one byte less does not; None if no size works.

    ``have`` does not work; ``guess`` is what the layer, or the placement, that failed would need.
    """
    low, high = have, max(guess, have + 1)
    fitting = search.fit({pool: high})
    if fitting is None:
        low = high
        fitting = search.fit({pool: None})
        if fitting is None:
            return None
        high = max(_used(fitting)[pool], low + 1)
        fitting = search.fit({pool: high}) or fitting
    # A plan that fits may use fewer bytes than it was given; sizes in between need no plans of their own.
    probe = min(high - 1, max(_used(fitting)[pool], low + 1))
    while high - low > 1 and search.left:
        closer = search.fit({pool: probe})
        if closer is None:
            low = probe
            probe = (low + high) // 2
        else:
            high, fitting = probe, closer
            probe = min(high - 1, max(_used(fitting)[pool], low + 1))
    return high, fitting, high - low == 1


def _together(search: _Search, overflow: TileOverflow | DoesNotFit) -> TilewrightError:
    """The error where no single pool is too small: the pools that must all grow, with sizes that work together."""
    limits = {pool.name: pool.usable_bytes for pool in search.platform.pools if pool.usable_bytes is not None}
    found = _guilty(search, limits)
    if found is None:
        return overflow
    guilty, fitting = found
    sizes, fitting = _smaller(search, {pool: (limits[pool], _used(fitting)[pool]) for pool in guilty}, fitting)
    texts = [
        f"pool '{pool}' needs {size:,} bytes, platform '{search.platform.name}' gives {limits[pool]:,} "
        f"({size - limits[pool]:,} too many)"
        for pool, size in sizes.items()
    ]
    return does_not_fit(
        overflow.code,
        f"{'; '.join(texts)}; no pool alone is to blame",
        at=_peak(fitting, next(iter(sizes)), search.failure),
        help=f"POOLS {' '.join(f'{pool}={size}' for pool, size in sizes.items())} works",
    )


def _guilty(search: _Search, limits: Mapping[str, int]) -> tuple[list[str], Planned] | None:
    """Pools of which none can keep its size, in the platform's order, and a plan where these are unlimited.

    None where nothing works. A pool that tiles fill only because it has room is not among these pools.
    """
    guilty = list(limits)
    fitting = search.fit(dict.fromkeys(guilty))
    if fitting is None:
        return None
    # Tiles can adapt to the pool near the core, which the platform names first, so it is tried last.
    for pool in reversed(list(limits)):
        without = [other for other in guilty if other != pool]
        found = search.fit(dict.fromkeys(without)) if without else None
        if found is not None:
            guilty, fitting = without, found
    return guilty, fitting


def _smaller(
    search: _Search, bounds: Mapping[str, tuple[int, int]], fitting: Planned
) -> tuple[dict[str, int], Planned]:
    """Sizes that work together, each between what does not work and what an unlimited pool took.

    One pool after the other shrinks by halves while plans may be made; so none of the sizes is proved smallest.
    """
    sizes = {pool: high for pool, (_, high) in bounds.items()}
    for number, (pool, (low, high)) in enumerate(bounds.items()):
        share = search.left // (len(bounds) - number)
        while high - low > 1 and share > 0:
            share -= 1
            probe = (low + high) // 2
            found = search.fit({**sizes, pool: probe})
            if found is None:
                low = probe
            else:
                high, fitting = min(probe, max(_used(found)[pool], low + 1)), found
        sizes[pool] = high
    return sizes, fitting


def _used(fitting: Planned) -> Sizes:
    return {use.pool: use.used_bytes for use in fitting.pool_use}


def _peak(fitting: Planned, pool: str, failure: TileOverflow | DoesNotFit) -> str:
    """The step at which most bytes of the pool are alive, its operator, and the buffers alive there, largest first.

    Bytes on which several of them lie, as an output over its input does, count once; the text names their number.
    Where ``failure`` is a layer without tiles, only steps of that layer count: tiles of other layers
    would fill any pool.
    """
    relations = fitting.schedule.relations
    roots = {item.first: item.second for item in relations if item.kind is RelationKind.AT_OFFSET}
    starts = {item.buffer: item.offset_bytes for item in fitting.placements if item.pool == pool}
    sizes = {buffer.name: buffer.size_bytes for buffer in fitting.schedule.buffers if buffer.name in starts}
    spans = {name: fitting.lifetimes[name] for name in sizes}
    alive = {
        tick: [name for name, (begin, end) in spans.items() if begin <= tick < end]
        for tick in sorted({begin for begin, _ in spans.values()})
    }
    alive = {tick: [name for name in names if roots.get(name) not in names] for tick, names in alive.items()}
    if isinstance(failure, TileOverflow):
        program = fitting.schedule.program
        alive = {tick: names for tick, names in alive.items() if layer_at(program, tick) == failure.layer} or alive
    taken = {
        tick: union_bytes((starts[name], starts[name] + sizes[name]) for name in names) for tick, names in alive.items()
    }
    step = max(alive, key=lambda tick: (taken[tick], -tick))
    names = sorted(alive[step], key=lambda name: (-sizes[name], name))
    listed = ", ".join(f"{_shortened(name)} {sizes[name]:,}" for name in names[:SHOWN])
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    shared = sum(sizes[name] for name in names) - taken[step]
    more += f"; {shared:,} bytes of these are shared" if shared else ""
    layer = layer_at(fitting.schedule.program, step)
    shown = next((f"{facts.label} ({facts.name})" for facts in fitting.schedule.layers if facts.name == layer), layer)
    where = f"{_shortened(shown)}, step {step}" if shown is not None else f"step {step}"
    return f"{where}; alive: {listed}{more}"


def _shortened(name: str) -> str:
    half = (LONGEST_NAME - 3) // 2
    return name if len(name) <= LONGEST_NAME else f"{name[:half]}...{name[-half:]}"
