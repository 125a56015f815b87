"""Layers in a row that are alike: the groups of one row are those of the other, with other names.

Before:  layers 0 to 3 and layers 40 to 43, both conv, sigmoid, conv and add of the same shapes
After:   the groups that begin with layer 40 are those that begin with layer 0, moved by 40 layers
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import field, replace

from tilewright.base.lazy_dataclass import dataclass
from tilewright.fusion.intervals import Layers, result_of
from tilewright.planning.prepare import Prepared
from tilewright.planning.row_group import RowGroup, may_be_near
from tilewright.tiling.alike import form
from tilewright.tiling.problem import TilingProblem

Makers = Mapping[str, tuple[int, int]]
"""By tensor the number of the layer that makes it, and the position among the layer's operands."""


@dataclass(frozen=True, slots=True)
class Window:
    """Layers [first, end), and the groups in blocks of one size that begin with the first; no other layer matters.

    But which layer comes behind them does: it is what they end with.
    """

    first: int
    end: int
    elements: int
    groups: tuple[RowGroup, ...]


@dataclass(slots=True)
class AlikeWindows:
    """Windows of layers whose groups are known.

    Attributes:
        kinds: for each layer a number, the same for layers that are alike.
        forms: the same for layers that are alike and touch tensors that are alike and as far away; -1 at the end.
        known: windows by size of blocks, and the forms of their layers and of the next one.
        lengths: how many forms the keys of ``known`` have, by size of blocks.
    """

    layers: Layers
    prepared: Prepared
    pool: str | None
    kinds: list[int] = field(init=False)
    forms: list[int] = field(init=False)
    known: dict[tuple[int, tuple[int, ...]], Window] = field(default_factory=dict)
    lengths: dict[int, set[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        makers = dict(self._makers())
        every = range(len(self.layers.problems))
        self.kinds = _numbered(self._kind(number) for number in every)
        # What stands behind the last layer is no layer.
        self.forms = [*_numbered((self.kinds[number], self._tensors(number, makers)) for number in every), -1]

    def alike(self, first: int, elements: int) -> Window | None:
        """The window that begins with a layer, if one that is alike is known."""
        for length in sorted(self.lengths.get(elements, ())):
            known = self.known.get((elements, tuple(self.forms[first : first + length])))
            if known is not None:
                return self._moved(known, first)
        return None

    def keep(self, window: Window) -> None:
        """Keep a window for those that are alike."""
        forms = tuple(self.forms[window.first : window.end + 1])
        self.known[window.elements, forms] = window
        self.lengths.setdefault(window.elements, set()).add(len(forms))

    def _makers(self) -> Iterator[tuple[str, tuple[int, int]]]:
        for number, problem in enumerate(self.layers.problems):
            for position, operand in enumerate(problem.operands):
                if operand.write and operand.tensor is not None:
                    yield operand.tensor, (number, position)

    def _problems(self, number: int) -> tuple[TilingProblem, ...]:
        return self.layers.problems[number], *self.layers.others.get(number, ())

    def _kind(self, number: int) -> Hashable:
        """What is the same for layers that are alike, whichever tensors they touch."""
        problems, stream = self._problems(number), self.layers.streams[number]
        if stream is None:
            return None
        alike = form(problems)
        if alike is None:
            return number
        reads = tuple(replace(read, tensor="") for read in stream.reads)
        return (
            alike,
            result_of(problems[0]).dtype,
            replace(stream, written="", reads=reads, held=frozenset()),
            number in self.layers.whole,
            tuple(problem.kernel.ring_axes for problem in problems),
        )

    def _tensors(self, number: int, makers: Makers) -> Hashable:
        """What groups follow from the tensors that a layer touches."""
        stream = self.layers.streams[number]
        reads = () if stream is None else (*(read.tensor for read in stream.reads), *sorted(stream.held))
        names = (*_names(self._problems(number)), *reads)
        return tuple(self._tensor(name, number, makers) for name in names)

    def _tensor(self, name: str, number: int, makers: Makers) -> Hashable:
        """What groups follow from a tensor that a layer touches, with layers counted from this one."""
        homes, alive = self.prepared.homes, self.layers.alive
        root, life, shape = homes.roots[name], alive.lives.get(name), alive.shapes.get(name)
        return (
            _distance(name, number, makers),
            _distance(root, number, makers),
            life and (life.begin - number, life.end - number),
            shape and (shape.strides_bytes, shape.outermost, shape.size_bytes),
            may_be_near(homes, root, self.pool),
        )

    def _moved(self, known: Window, first: int) -> Window:
        """The window that begins with ``first`` and that is alike."""
        names = dict[str, str]()
        by = first - known.first
        for number in range(known.first, known.end):
            pairs = zip(self._problems(number), self._problems(number + by), strict=True)
            for one, other in pairs:
                names.update(zip(_names([one]), _names([other]), strict=True))
        roots = self.prepared.homes.roots
        names.update({roots[one]: roots[other] for one, other in list(names.items())})
        groups = tuple(_moved(group, names, by) for group in known.groups)
        return Window(first, known.end + by, known.elements, groups)


def _moved(group: RowGroup, names: Mapping[str, str], by: int) -> RowGroup:
    """The group with other names of tensors, so many layers behind."""
    at = group.interval
    return RowGroup(
        interval=replace(at, first=at.first + by, end=at.end + by),
        cost=group.cost,
        crossings=tuple(replace(item, root=names[item.root]) for item in group.crossings),
        made=names[group.made],
        rings=frozenset(names[root] for root in group.rings),
    )


def _names(problems: Iterable[TilingProblem]) -> list[str]:
    """The tensors that a layer touches, constants left out."""
    operands = (operand for problem in problems for operand in problem.operands)
    return [operand.tensor for operand in operands if operand.tensor is not None and operand.data is None]


def _distance(name: str, number: int, makers: Makers) -> Hashable:
    """A tensor by how many layers before it was made, and as which operand; by its name if no layer makes it."""
    if name not in makers:
        return name
    maker, position = makers[name]
    return number - maker, position


def _numbered(items: Iterable[Hashable]) -> list[int]:
    """A number for each item, the same for items that are equal."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(item, len(numbers)) for item in items]
