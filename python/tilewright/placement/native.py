"""The C++ search of one pool, if it was built."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib import import_module
from types import ModuleType

from tilewright.placement.model import Model

Progress = Callable[[int, int, int], None]


class Verdict(IntEnum):
    """What the search says about a limit; DOES_NOT_FIT is a proof."""

    FITS = 0
    DOES_NOT_FIT = 1
    BUDGET = 2


@dataclass(frozen=True, slots=True)
class Search:
    """Outcome for one pool: ``offsets`` by unit are the best found, ``bound`` is proved."""

    verdict: Verdict
    offsets: dict[int, int]
    peak: int
    bound: int


@cache
def extension() -> ModuleType | None:
    """``tilewright._exact``, or None with a warning."""
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
    """Offsets for units that share one pool; None where the extension is missing."""
    native = extension()
    if native is None:
        return None
    units = sorted(units)
    number = {u: i for i, u in enumerate(units)}
    chosen = [model.units[u] for u in units]
    pairs: list[int] = []
    zones: list[int] = []
    for u in units:
        own, size = number[u], -model.units[u].size
        for v, around in model.zones[u].items():
            other = number.get(v, -1)
            if other <= own:
                continue
            if len(around) == 1 and around[0] == (size, model.units[v].size):
                pairs += (own, other)
            else:
                for low, high in around:
                    zones += (own, other, low, high)
    verdict, offsets, peak, bound, _ = native.solve(
        [unit.size for unit in chosen],
        [unit.modulus for unit in chosen],
        [unit.residue for unit in chosen],
        [-1 if unit.fixed is None else unit.fixed for unit in chosen],
        pairs,
        zones,
        -1 if limit is None else limit,
        minimise,
        nodes,
        seed,
        progress,
    )
    return Search(Verdict(verdict), dict(zip(units, offsets, strict=True)), peak, bound)
