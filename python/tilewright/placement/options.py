"""The options that every placement algorithm takes besides the problem, and the outcome that it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from tilewright.base.errors import bad_input
from tilewright.base.lazy_dataclass import dataclass
from tilewright.placement.model import Model
from tilewright.placement.spots import Spot

# Search nodes per pool. A node takes between 0.5 and 10 microseconds on a machine of 2024.
EFFORT_NODES = {"fast": 50_000, "normal": 1_000_000, "thorough": 20_000_000}


@dataclass(frozen=True, slots=True)
class Options:
    """Options of an algorithm.

    Attributes:
        nodes: the budget of one search in one pool, in search nodes.
        seed: for algorithms that draw random numbers.
        minimise: whether to search for the smallest peak; otherwise any placement within the limits will do.
        progress: called during long searches with the peak found, the bound proved (bytes) and the nodes spent.
    """

    nodes: int
    seed: int
    minimise: bool = True
    progress: Callable[[int, int, int], None] | None = None

    @staticmethod
    def of(effort: str, seed: int) -> Options:
        """Options with the budget of an effort: fast, normal or thorough. Raises bad_input ``unknown-effort``."""
        if effort not in EFFORT_NODES:
            raise bad_input("unknown-effort", f"unknown effort '{effort}'", help=f"one of {', '.join(EFFORT_NODES)}")
        return Options(EFFORT_NODES[effort], seed)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The placement that an algorithm found.

    Attributes:
        spots: for each unit (pool, offset in bytes), or None where the algorithm found no room.
        bounds: pool to a proved lower bound, in bytes, for the units that the algorithm put into the pool.
        proved: whether no placement at all has room for every unit.
    """

    spots: list[Spot | None]
    bounds: dict[int, int] = field(default_factory=dict)
    proved: bool = False


Algorithm = Callable[[Model, Options], Outcome]
