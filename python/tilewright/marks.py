"""When whole tensors come alive and die: the live and dead marks around the layers of a program.

Before:  layers conv (x -> a), view v of a, clip (v -> y); x and y are the caller's
After:   Begin x y | Begin a v  conv | clip  End v a | End y x
         with inputs and outputs in pools:
         Begin x | Begin a v  conv  End x | Begin y  clip  End v a | End y
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tilewright.plan import BufferKind
from tilewright.tiling.homes import Homes

Touched = Sequence[Iterable[str]]
"""For each layer the tensors that it reads and writes."""

_FROM_START = (BufferKind.INPUT, BufferKind.STATE)
_TO_END = (BufferKind.OUTPUT, BufferKind.STATE)
_NEVER = -1
"""As the layer behind which something ends: before the first one."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Tensors by the place of their marks; a root and its views together, the root outermost.

    ``start`` are alive from the start of the program, ``finish`` to its end; ``begins`` stand
    before a layer, ``ends`` behind it (those of layer -1 before the first).
    """

    start: tuple[str, ...]
    finish: tuple[str, ...]
    begins: Mapping[int, Sequence[str]]
    ends: Mapping[int, Sequence[str]]


def home_marks(touched: Touched, homes: Homes) -> Marks:
    """Marks of every tensor that is no constant.

    A tensor lives from the first layer that touches it to the last, through all its views.
    What the caller owns, and state, lives throughout. An input in a pool is there from the
    start and dead behind its last reader; an output in a pool is alive to the end.
    """
    first, last = _span(touched, homes)
    start: list[str] = []
    finish: list[str] = []
    begins: dict[int, list[str]] = {}
    ends: dict[int, list[str]] = {}
    for name, root in homes.roots.items():
        kind = homes.kinds[root]
        if kind is BufferKind.CONSTANT or (root not in first and not _is_interface(kind)):
            continue
        throughout = _is_interface(kind) and not homes.io_in_pools
        if throughout or kind in _FROM_START or root not in first:
            start.append(name)
        else:
            begins.setdefault(first[root], []).append(name)
        if throughout or kind in _TO_END:
            finish.append(name)
        else:
            ends.setdefault(last.get(root, _NEVER), []).append(name)
    for names in begins.values():
        names.sort(key=lambda name: name != homes.roots[name])
    for names in ends.values():
        names.sort(key=lambda name: name == homes.roots[name])
    return Marks(tuple(start), tuple(finish), begins, ends)


def _is_interface(kind: BufferKind) -> bool:
    return kind in (BufferKind.INPUT, BufferKind.OUTPUT, BufferKind.STATE)


def _span(touched: Touched, homes: Homes) -> tuple[dict[str, int], dict[str, int]]:
    """For each root the first and the last layer that touches it or a view of it."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for number, names in enumerate(touched):
        for name in names:
            root = homes.roots[name]
            first.setdefault(root, number)
            last[root] = number
    return first, last
