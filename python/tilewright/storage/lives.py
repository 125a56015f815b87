"""From which layer to which one every tensor's bytes are needed, part by part.

Tensors that hold the same bytes live and die together. A part and its whole have lives of their
own that meet where one becomes the other, so the bytes of parts that are not there yet, or no
longer needed, are free.

Before:  layers 0 conv -> a, 1 pool a -> p, 2 conv p -> b, c = Concat(a, b), 3 conv c -> y
After:   a [0, 2], b [2, 2], c [2, 3]: until layer 2 only a's bytes of c are taken
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tilewright.plan import BufferKind
from tilewright.storage.homes import Homes

Touched = Sequence[Iterable[str]]
"""For each layer the tensors that it reads and writes."""

NEVER = -1
"""The layer before the first one."""


@dataclass(frozen=True, slots=True)
class Life:
    """The first and the last layer that a group of tensors lives through."""

    begin: int
    end: int

    def meets(self, other: Life) -> bool:
        """Whether both live in one layer."""
        return self.begin <= other.end and other.begin <= self.end


def group_lives(touched: Touched, homes: Homes) -> dict[str, Life]:
    """Lives of all groups but constants and those of families that nothing touches.

    Inputs in pools live from ``NEVER``, outputs to the number of layers; what the caller owns,
    and state, throughout.
    """
    direct: dict[str, Life] = {}
    for number, names in enumerate(touched):
        for name in names:
            group = homes.groups[name]
            direct[group] = Life(direct[group].begin if group in direct else number, number)
    roots = {homes.roots[group] for group in direct}
    graph = _Lives(homes, direct)
    lives = {}
    for group in dict.fromkeys(homes.groups.values()):
        kind = homes.kinds[homes.roots[group]]
        if kind is BufferKind.CONSTANT or (homes.roots[group] not in roots and not is_interface(kind)):
            continue
        throughout = homes.is_callers(group) or kind is BufferKind.STATE
        begin, end = graph.begin(group), graph.end(group)
        if throughout or kind is BufferKind.INPUT:
            begin = NEVER
        if throughout or kind is BufferKind.OUTPUT:
            end = len(touched)
        lives[group] = Life(begin, end)
    return lives


def is_interface(kind: BufferKind) -> bool:
    """Whether bytes outlive a run, or are there before it."""
    return kind in (BufferKind.INPUT, BufferKind.OUTPUT, BufferKind.STATE)


@dataclass(slots=True)
class _Lives:
    """Lives from ``direct`` uses and from the places of parts in wholes; worked out once for each group."""

    homes: Homes
    direct: dict[str, Life]
    complete: dict[str, int] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    made_of: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        self.made_of = {}
        for group, part in self.homes.parts.items():
            if part.made_of:
                self.made_of.setdefault(self.homes.groups[part.whole], []).append(group)

    def ready(self, group: str) -> int:
        """The layer that completes the group's content."""
        if group not in self.complete:
            part = self.homes.parts.get(group)
            if group in self.made_of:
                self.complete[group] = max(self.ready(name) for name in self.made_of[group])
            elif part is not None and not part.made_of:
                self.complete[group] = self.ready(self.homes.groups[part.whole])
            else:
                self.complete[group] = self.direct[group].begin if group in self.direct else NEVER
        return self.complete[group]

    def begin(self, group: str) -> int:
        """The layer that writes it; a whole begins with its last part, a part that is read when its whole ends."""
        part = self.homes.parts.get(group)
        if group in self.made_of:
            return self.ready(group)
        if part is not None and not part.made_of:
            over = self.end(self.homes.groups[part.whole])
            return min(over, self.direct[group].begin) if group in self.direct else over
        return self.direct[group].begin if group in self.direct else NEVER

    def end(self, group: str) -> int:
        """The last use; a part lives until its whole is there."""
        if group not in self.ends:
            part = self.homes.parts.get(group)
            last = max(self.ready(group), self.begin(group))
            if group in self.direct:
                last = max(last, self.direct[group].end)
            if part is not None and part.made_of:
                last = max(last, self.ready(self.homes.groups[part.whole]))
            self.ends[group] = last
        return self.ends[group]
