"""Placement algorithms by name, behind one function type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module

from tilewright.errors import bad_input
from tilewright.placement import greedy
from tilewright.placement.layout import Spot
from tilewright.placement.model import Model


@dataclass(frozen=True, slots=True)
class Options:
    """``nodes`` is the budget of search nodes of one search in one pool."""

    nodes: int
    seed: int

    @staticmethod
    def of(effort: str, seed: int) -> Options:
        """Budgets by name."""
        if effort not in EFFORT_NODES:
            raise bad_input("unknown-effort", f"unknown effort '{effort}'", help=f"one of {', '.join(EFFORT_NODES)}")
        return Options(EFFORT_NODES[effort], seed)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an algorithm found: a spot per unit, None where it found no room.

    ``bounds`` gives lower bounds that it proved for pools, given the units that it put there.
    ``proved`` says that units without a spot have none in any placement.
    """

    spots: list[Spot | None]
    bounds: dict[int, int] = field(default_factory=dict)
    proved: bool = False


Algorithm = Callable[[Model, Options], Outcome]

EFFORT_NODES = {"fast": 20_000, "normal": 400_000, "thorough": 20_000_000}


def _greedy_by_size(model: Model, options: Options) -> Outcome:
    return Outcome(greedy.greedy_by_size(model))


def _greedy_by_conflicts(model: Model, options: Options) -> Outcome:
    return Outcome(greedy.greedy_by_conflicts(model))


ALGORITHMS: dict[str, Algorithm] = {
    "greedy_by_size": _greedy_by_size,
    "greedy_by_conflicts": _greedy_by_conflicts,
    "exact": _greedy_by_size,
}


def find_algorithm(name: str) -> Algorithm:
    """The algorithm of that name, or a user's own as ``package.module:function``."""
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    module, _, function = name.partition(":")
    if not function:
        raise bad_input(
            "unknown-algorithm",
            f"unknown placement algorithm '{name}'",
            help=f"one of {', '.join(ALGORITHMS)}, or package.module:function",
        )
    try:
        own = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise bad_input("unknown-algorithm", f"placement algorithm '{name}' cannot be imported: {error}") from error
    if not callable(own):
        raise bad_input("unknown-algorithm", f"placement algorithm '{name}' is not a function")
    checked: Algorithm = own
    return checked
