"""Groups and blocks that the user gives for layers, and the intervals of layers that agree with them.

Before:  group = {conv_1 = "front", conv_2 = "front", sum = "alone"}, block = {conv_1 = 4}
After:   no interval has one of conv_1 and conv_2 without the other, or a third layer beside them; sum runs alone;
         conv_1 makes four rows at a time
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from tilewright.base.errors import TilewrightError, bad_input, suggestion
from tilewright.base.lazy_dataclass import dataclass
from tilewright.fusion.intervals import Interval
from tilewright.options import CompileOptions, Groups
from tilewright.tiling.problem import TilingProblem

GROUP_OVERRIDE, BLOCK_OVERRIDE = "group-override", "block-override"
"""The codes of errors about groups and blocks that the user gives."""

ALONE = "alone"
"""The group of layers that run each by itself."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class GivenGroups:
    """Groups and blocks as the user gives them, by numbers of layers.

    Attributes:
        together: by number of a layer, the layers [first, end) that form a group with it, or that layer alone.
        rows: by number of a layer, the rows of its blocks.
        names: of all layers.
    """

    together: Mapping[int, range]
    rows: Mapping[int, int]
    names: tuple[str, ...]

    def leaves(self, interval: Interval) -> bool:
        """Whether an interval is as the user wants it."""
        layers = range(interval.first, interval.end)
        if not interval.elements and interval.first in self.rows:
            return False
        return all(self.together.get(number, layers) == layers for number in layers)

    def left(self, found: Iterable[Interval]) -> list[Interval]:
        """The intervals that the user wants.

        Raises bad_input ``group-override`` or ``block-override`` for layers that cannot run so.
        """
        kept = [interval for interval in found if self.leaves(interval)]
        held = {number for interval in kept for number in range(interval.first, interval.end)}
        for number in (number for number in self.rows if number not in held):
            rows, name = self.rows[number], self.names[number]
            what = f"layer '{name}' cannot make {rows} rows at a time in a group"
            remedy = "rows that the strides and pads of its neighbours allow, or none; a layer alone has no blocks"
            raise bad_input(BLOCK_OVERRIDE, what, at=f"block.{name}", help=remedy)
        for number in (number for number in self.together if number not in held):
            raise _not_together(self, number)
        return kept


def _not_together(given: GivenGroups, number: int) -> TilewrightError:
    names = ", ".join(f"'{given.names[other]}'" for other in given.together[number])
    what = f"the layers {names} cannot run together block by block"
    remedy = "layers that follow each other, each of which reads rows of what is before it; see GROUPS auto"
    return bad_input(GROUP_OVERRIDE, what, at=f"group.{given.names[number]}", help=remedy)


def given_groups(options: CompileOptions, problems: Sequence[TilingProblem]) -> GivenGroups:
    """The options ``group`` and ``block`` for layers in their order.

    Raises bad_input for a name that no layer has, and for groups whose layers do not follow each other.
    """
    numbers = {source: number for number, item in enumerate(problems) for source in item.node.sources}
    numbers.update({item.node.name: number for number, item in enumerate(problems)})
    names = tuple(item.node.name for item in problems)
    rows = dict(_numbered(options.block, numbers, "block", BLOCK_OVERRIDE))
    together: dict[int, range] = {}
    members: dict[str, list[int]] = {}
    for number, group in _numbered(options.group, numbers, "group", GROUP_OVERRIDE):
        if group != ALONE:
            members.setdefault(group, []).append(number)
        else:
            together[number] = range(number, number + 1)
    for group, found in members.items():
        span = range(min(found), max(found) + 1)
        strangers = [names[number] for number in span if number not in found]
        if strangers:
            what = f"group '{group}' has layers before and behind '{strangers[0]}', but not that layer"
            raise bad_input(GROUP_OVERRIDE, what, at=f"group.{names[found[0]]}", help="name the layers between too")
        together.update(dict.fromkeys(span, span))
    return GivenGroups(together, rows, names)


def _numbered(
    pairs: Iterable[tuple[str, Value]], numbers: Mapping[str, int], key: str, code: str
) -> Iterable[tuple[int, Value]]:
    for name, value in pairs:
        if name not in numbers:
            what = f"option '{key}' names '{name}', which is no layer"
            raise bad_input(code, what, at=f"{key}.{name}", help=suggestion(name, numbers))
        yield numbers[name], value


def gives_groups(options: CompileOptions) -> bool:
    """Whether the user gives groups, blocks or strips of some layers."""
    return bool(options.group or options.block or options.strips)


def require_groups(options: CompileOptions, *, possible: bool) -> None:
    """Raise bad_input where groups or blocks are given, and layers cannot form groups at all."""
    if gives_groups(options) and options.groups is Groups.OFF:
        what = "GROUPS off and the options 'group' and 'block' contradict each other"
        raise bad_input("bad-option", what, help="leave one of them out")
    if gives_groups(options) and not possible:
        what = "options 'group' and 'block' are given, but on this platform layers copy tiles or share cores"
        raise bad_input(GROUP_OVERRIDE, what, help="leave them out; option 'tiles' says how such layers are cut")
