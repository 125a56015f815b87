"""A group of layers whose rows stay near the core, with what it costs."""

from __future__ import annotations

from tilewright.base.lazy_dataclass import dataclass
from tilewright.fusion.intervals import Interval
from tilewright.storage.homes import Homes


@dataclass(frozen=True, slots=True)
class Crossing:
    """A tensor, by the tensor that owns its bytes, that a stage loads or stores, unless it stays near the core."""

    root: str
    size_bytes: int
    cost: tuple[int, int]


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Layers that may run as a group near the core.

    Attributes:
        interval: the layers, their blocks, and bytes near the core without ``crossings``.
        cost: in the unit of the objective, then in the other one of cycles and bytes moved, without ``crossings``.
        crossings: tensors that the group reads and makes.
        made: the tensor that owns the bytes of the group's result.
        rings: the tensors that own the bytes of those whose rows are in rings.
    """

    interval: Interval
    cost: tuple[int, int]
    crossings: tuple[Crossing, ...]
    made: str
    rings: frozenset[str]

    @property
    def most_bytes(self) -> int:
        """Bytes near the core if all tensors travel."""
        return self.interval.size_bytes + sum(item.size_bytes for item in self.crossings)

    @property
    def most_cost(self) -> int:
        """The cost if all tensors travel."""
        return self.cost[0] + sum(item.cost[0] for item in self.crossings)


def may_be_near(homes: Homes, root: str, pool: str | None) -> bool:
    """Whether the user says of a tensor neither that it has a home elsewhere than in ``pool``, nor an address."""
    return root not in homes.pinned and root not in homes.fixed and pool in homes.given.get(root, (pool,))
