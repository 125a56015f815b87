"""The life of every tensor's bytes, from the first to the last layer that needs them, part by part.

Tensors that hold the same bytes live and die together. A part and its whole have separate lives,
which meet where the last part of a Concat is written, or where a whole ends in a Slice. So the bytes
of parts that are not written yet, or no longer read, are free.

Before:  layers 0 conv -> a, 1 pool a -> p, 2 conv p -> b, c = Concat(a, b), 3 conv c -> y
After:   a [0, 2], b [2, 2], c [2, 3]: until layer 2 only a's bytes of c are taken
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from tilewright.base.lazy_dataclass import dataclass
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
    """The life of each group of tensors that have all their bytes in common.

    Constants have no life, nor have groups of storage that no layer touches. Inputs that the plan
    places, and states as a run finds them, live from ``NEVER`` on, outputs and states as a run leaves
    them to the number of layers, tensors in the caller's memory from ``NEVER`` to the number of layers.
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
        throughout, root = homes.is_callers(group), homes.roots[group]
        begin, end = graph.begin(group), graph.end(group)
        if throughout or homes.is_given(root):
            begin = NEVER
        if throughout or homes.is_result(root):
            end = len(touched)
        lives[group] = Life(begin, end)
    return lives


def is_one(lives: Mapping[str, Life], whole: str, groups: Iterable[str]) -> bool:
    """Whether parts live before all bytes of a home have their content, or once nothing reads the whole any more."""
    others = (lives[group] for group in groups if group != whole)
    return all(other.end <= lives[whole].begin or other.begin >= lives[whole].end for other in others)


def is_interface(kind: BufferKind) -> bool:
    """Whether bytes of ``kind`` have content before a run begins, or after it ends."""
    return kind in (BufferKind.INPUT, BufferKind.OUTPUT, BufferKind.STATE)


@dataclass(slots=True)
class _Lives:
    """Lives of groups, each computed once.

    Attributes:
        homes: which groups are parts of which, as inputs of a Concat (``made_of``) or outputs of a Slice.
        direct: the first and the last layer that touches a tensor of the group; absent where none does.
        complete: results of ``ready`` so far, by group.
        ends: results of ``end`` so far, by group.
        made_of: the output of each Concat without code with its inputs, by group.
    """

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
        """The layer behind which all bytes of the group have their content."""
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
        """The layer with which the group's life begins.

        A tensor that a layer writes begins with that layer; the output of a Concat without code begins
        with the layer that writes the last of its inputs. The output of a Slice without code begins where
        the sliced tensor ends, or with the first layer that reads the slice if that layer runs earlier.
        """
        part = self.homes.parts.get(group)
        if group in self.made_of:
            return self.ready(group)
        if part is not None and not part.made_of:
            over = self.end(self.homes.groups[part.whole])
            return min(over, self.direct[group].begin) if group in self.direct else over
        return self.direct[group].begin if group in self.direct else NEVER

    def end(self, group: str) -> int:
        """The layer with which the group's life ends: the last that uses it.

        An input of a Concat without code lives at least until the Concat's output begins.
        """
        if group not in self.ends:
            part = self.homes.parts.get(group)
            last = max(self.ready(group), self.begin(group))
            if group in self.direct:
                last = max(last, self.direct[group].end)
            if part is not None and part.made_of:
                last = max(last, self.ready(self.homes.groups[part.whole]))
            self.ends[group] = last
        return self.ends[group]
