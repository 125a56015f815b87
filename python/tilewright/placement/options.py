"""What every algorithm is given besides the problem, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tilewright.base.errors import bad_input
from tilewright.placement.layout import Spot
from tilewright.placement.model import Model

# Search nodes per pool. One takes between half a microsecond and ten on a machine of 2024.
EFFORT_NODES = {"fast": 50_000, "normal": 1_000_000, "thorough": 20_000_000}


@dataclass(frozen=True, slots=True)
class Options:
    """``nodes`` is the budget of search nodes of one search in one pool.

    ``minimise`` asks for the smallest peak, otherwise whatever is within the limits will do.
    ``progress`` is called with peak found, bound proved and nodes spent during long searches.
    """

    nodes: int
    seed: int
    minimise: bool = True
    progress: Callable[[int, int, int], None] | None = None

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
