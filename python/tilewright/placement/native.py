"""The search for offsets in one pool, which is written in C++; installations without a compiler lack it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import cache
from importlib import import_module
from types import ModuleType

from tilewright.base.lazy_dataclass import dataclass
from tilewright.placement.model import Model

Progress = Callable[[int, int, int], None]


class Verdict(IntEnum):
    """Whether units fit a limit: DOES_NOT_FIT is proved, BUDGET means that the nodes ran out before an answer."""

    FITS = 0
    DOES_NOT_FIT = 1
    BUDGET = 2


@dataclass(frozen=True, slots=True)
class Search:
    """Outcome for one pool, in bytes.

    Attributes:
        verdict: whether the units fit the limit.
        offsets: unit to its offset in the best placement found.
        peak: the highest end of a unit there.
        bound: a proved lower bound of the peak.
    """

    verdict: Verdict
    offsets: dict[int, int]
    peak: int
    bound: int


@cache
def extension() -> ModuleType | None:
    """The module ``tilewright._exact``; None, with a warning, if it was not built."""
    try:
        return import_module("tilewright._exact")
    except ImportError:
        logging.getLogger("tilewright.placement").warning(
            "the exact search was not built (no C++ compiler at installation); greedy placement takes its place"
        )
        return None


def search_pool(
    model: Model,
    units: Sequence[int],
    limit: int | None,
    nodes: int,
    seed: int,
    minimise: bool,
    progress: Progress | None = None,
) -> Search | None:
    """Search offsets for units that share one pool; None where the extension is missing.

    Args:
        model: units and the differences that their offsets must avoid.
        units: numbers of the units that share the pool.
        limit: bytes of the pool, None if unlimited.
        nodes: budget of search nodes.
        seed: for random choices.
        minimise: whether to go on to the smallest peak after the limit is met.
        progress: called now and then with the peak found, the bound proved and the nodes spent.
    """
    native = extension()
    if native is None:
        return None
    units = sorted(units)
    fixed = [model.units[u].fixed for u in units]
    verdict, offsets, peak, bound, _ = native.solve_alive(
        *_problem(model, units),
        [-1 if offset is None else offset for offset in fixed],
        -1 if limit is None else limit,
        minimise,
        nodes,
        seed,
        progress,
    )
    return Search(Verdict(verdict), dict(zip(units, offsets, strict=True)), peak, bound)


def placed_in_first_pools(model: Model, order: Sequence[int], *, above: bool) -> list[tuple[int, int]] | None:
    """Each unit in turn in the first pool of its list: (pool, offset) of all, in the order of the model.

    Args:
        model: units, none of which is fixed, and the differences that their offsets must avoid.
        order: numbers of all units.
        above: whether a unit goes above its neighbours that are placed, else to the lowest free offset.

    None where a first pool is too small for what comes to it, a unit is fixed, or the extension is missing.
    """
    native = extension()
    if native is None or any(unit.fixed is not None for unit in model.units):
        return None
    spots = [(unit.pools[0], 0) for unit in model.units]
    for pool in {pool for pool, _ in spots}:
        units = [unit.index for unit in model.units if unit.pools[0] == pool]
        number = {u: i for i, u in enumerate(units)}
        turns = [number[u] for u in order if u in number]
        offsets, peak = native.place_alive(*_problem(model, units), turns, above)
        limit = model.limit(pool)
        if limit is not None and peak > limit:
            return None
        for u, offset in zip(units, offsets, strict=True):
            spots[u] = (pool, offset)
    return spots


def _problem(model: Model, units: Sequence[int]) -> tuple[list[int], ...]:
    """Sizes, alignments, lifetimes and listed pairs of ``units``, ascending, as both functions of the module ask."""
    chosen = [model.units[u] for u in units]
    lives = [model.zones.lives[u] for u in units]
    return (
        [unit.size for unit in chosen],
        [unit.modulus for unit in chosen],
        [unit.residue for unit in chosen],
        [begin for begin, _ in lives],
        [end for _, end in lives],
        *_listed(model, units, {u: i for i, u in enumerate(units)}),
    )


def _listed(model: Model, units: Sequence[int], number: Mapping[int, int]) -> tuple[list[int], list[int], list[int]]:
    """Pairs whose conflicts do not follow from lifetimes: disjoint (u, v), others (u, v, low, high), free (u, v)."""
    pairs: list[int] = []
    zones: list[int] = []
    free: list[int] = []
    for u in units:
        own, size = number[u], -model.units[u].size
        for v, around in sorted(model.zones.listed[u].items()):
            other = number.get(v, -1)
            if other <= own:
                continue
            if not around:
                free += (own, other)
            elif around == ((size, model.units[v].size),):
                pairs += (own, other)
            else:
                for low, high in around:
                    zones += (own, other, low, high)
    return pairs, zones, free
