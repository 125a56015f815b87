"""When whole tensors come alive and die: the live and dead marks around the layers of a program.

Before:  layers conv (x -> a), view v of a, clip (v -> y); x and y are the caller's
After:   Begin x y | Begin a v  conv | clip  End v a | End y x
         with inputs and outputs in pools:
         Begin x | Begin a v  conv  End x | Begin y  clip  End v a | End y
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.base.lazy_dataclass import dataclass
from tilewright.storage.homes import Homes
from tilewright.storage.lives import NEVER, Touched, group_lives


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
    """Marks of every tensor that is no constant, from ``lives.group_lives``.

    What the caller owns lives throughout. An input in a pool, and a state as a run finds it, is there from
    the start and dead behind its last reader; an output in a pool, and a state as a run leaves it, is alive
    to the end.
    """
    lives = group_lives(touched, homes)
    start: list[str] = []
    finish: list[str] = []
    begins: dict[int, list[str]] = {}
    ends: dict[int, list[str]] = {}
    for name, root in homes.roots.items():
        life = lives.get(homes.groups[name])
        if life is None:
            continue
        throughout = homes.is_callers(name)
        if throughout or homes.is_given(root) or life.begin == NEVER:
            start.append(name)
        else:
            begins.setdefault(life.begin, []).append(name)
        if throughout or homes.is_result(root):
            finish.append(name)
        else:
            ends.setdefault(life.end, []).append(name)
    for names in begins.values():
        names.sort(key=lambda name: name != homes.roots[name])
    for names in ends.values():
        names.sort(key=lambda name: name == homes.roots[name])
    return Marks(tuple(start), tuple(finish), begins, ends)
