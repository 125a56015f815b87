"""Larger tiles in the pools between home and core: how they travel, and where smaller tiles lie in them.

Before:  weights at home in l3, tiles of 8 channels in l1, loop over oc (16 tiles) and oh (4 tiles)
After:   l2 holds tiles of 32 channels (coarse index oc_1: 4 tiles of oc): copied from l3 every 16 iterations,
         and awaited before the first of the four tiles in l1 is copied from there

Before:  y at home in l3, tiles of 2 rows in l1, two slots, loop over oh (8 tiles)
After:   l2 holds tiles of 8 rows: behind the kernel of iteration 4 the fourth tile has arrived there, so
         the larger tile is stored to l3; and before the fifth tile takes its place, that store is awaited
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tilewright.base.lazy_dataclass import dataclass
from tilewright.operators.nest import axis_range
from tilewright.plan import Buffer, CoarseIndex, CopyStart, Operand, Runs, Step, Wait
from tilewright.schedule.constants import Names
from tilewright.schedule.tile_buffers import staged_buffer
from tilewright.tiling.problem import TilingProblem
from tilewright.tiling.staging import Staging
from tilewright.tiling.tile_choice import TileChoice


@dataclass(frozen=True, slots=True)
class LargerTile:
    """The larger tiles of an operand in one pool.

    Attributes:
        buffer: of the larger tiles.
        coarse: the index of larger tiles, empty where the operand lies in the pool as a whole.
        rectangle: what a larger tile holds.
        runs: each larger tile, at the first iteration that works on it.
        link: between this pool and the next one towards the home.
    """

    buffer: Buffer
    coarse: tuple[CoarseIndex, ...]
    rectangle: Operand
    runs: Runs
    link: str

    @property
    def token(self) -> str:
        """The token of the copies over the far link."""
        return f"{self.buffer.name}.far"

    @property
    def copies(self) -> int:
        """Number of slots of the larger tile's buffer."""
        return self.buffer.copies


def larger_tiles(problem: TilingProblem, choice: TileChoice, position: int, names: Names) -> tuple[LargerTile, ...]:
    """The larger tiles of operand ``position``, from the pool nearest to the core."""
    operand = problem.operands[position]
    levels = zip(operand.far_links, choice.staging(position), strict=True)
    found: list[LargerTile] = []
    count = prod(-(-problem.extents[name] // choice.steps[name]) for name in choice.order)
    for number, (link, staging) in enumerate(levels):
        label = f"{staging.index}_{position}" if not number else f"{staging.index}_{position}_{number + 1}"
        renamed = {staging.index: label} if staging.index is not None else {}
        parts = _parts(staging, choice.staging(position)[number - 1], found[-1]) if number else None
        at = choice.order.index(staging.index) if staging.index is not None else 0
        outside = choice.order[:at]
        uncut = {dim: extent for dim, extent in problem.extents.items() if dim not in (*outside, staging.index)}
        ranges = (axis_range(axis, extent, uncut) for axis, extent in zip(operand.axes, operand.extents, strict=True))
        rectangle = tuple(
            replace(item, terms=tuple((renamed.get(dim, dim), stride) for dim, stride in item.terms)) for item in ranges
        )
        name = names.take(f"{problem.node.name}.{operand.name}.staged")
        found.append(
            LargerTile(
                buffer=staged_buffer(name, operand, number, replace(choice, steps=staging.steps), staging.copies),
                coarse=tuple(CoarseIndex(new, *(parts or (old, staging.tiles))) for old, new in renamed.items()),
                rectangle=Operand(name, rectangle),
                runs=Runs(0, staging.period, count // staging.period, (*outside, *renamed.values())),
                link=link.name,
            )
        )
    return tuple(found)


def _parts(staging: Staging, smaller: Staging, level: LargerTile) -> tuple[str, int] | None:
    """The index of the ``smaller`` tiles, and how many of them form a larger one; None if it is another index."""
    if staging.index is None or staging.index != smaller.index:
        return None
    return level.coarse[0].name, staging.tiles // smaller.tiles


def loads(levels: Sequence[LargerTile], home: str, fine: CopyStart, *, ahead: bool) -> list[Step]:
    """The steps of a load through larger tiles, down to the start of the copy ``fine`` from home to the core's tile.

    ``ahead`` says that each tile is loaded before the iteration at which the kernel works on it. A larger tile may be
    refilled only when all smaller tiles cut from it have arrived: each copy is awaited at the iteration behind its
    start, before the next copy of the same operand starts, unless it is awaited at once.
    """
    early = fine.runs
    inner = levels[0]
    source = _cut_from(fine.source, inner, early)
    steps = _filled(levels, 0, home, early.first)
    arrived = [Wait(fine.token, replace(early, first=early.first + 1, over=()))] if ahead else []
    return [*arrived, *steps, replace(fine, source=source)]


def _filled(levels: Sequence[LargerTile], at: int, home: str, needed: int) -> list[Step]:
    """The steps that fill larger tiles of level ``at``, the first of which is ``needed`` at that iteration."""
    level = levels[at]
    runs = replace(level.runs, first=needed - (level.copies - 1) * level.runs.every)
    is_last = at + 1 == len(levels)
    # A copy from a larger tile is awaited before the next one starts, however many slots there are: behind it the
    # larger tile may be refilled. Only the home is never refilled.
    awaited = needed if is_last or level.copies == 1 else runs.first + level.runs.every
    ready = Wait(level.token, replace(level.runs, first=awaited, over=()))
    source = Operand(home, level.rectangle.rectangle)
    if not is_last:
        source = _cut_from(source, levels[at + 1], runs)
    start = CopyStart(level.link, level.token, source, level.rectangle, runs)
    if is_last:
        return [start, ready]
    outer = _filled(levels, at + 1, home, runs.first)
    return [ready, *outer, start] if level.copies > 1 else [*outer, start, ready]


def _cut_from(part: Operand, level: LargerTile, runs: Runs) -> Operand:
    """A rectangle as a part of a larger tile, for a step with these runs."""
    return Operand(level.rectangle.buffer, part.rectangle, level.runs.every // runs.every, level.rectangle.rectangle)


@dataclass(frozen=True, slots=True)
class Stores:
    """The steps of a store through larger tiles: before the kernel, behind it, and behind the loop."""

    before: tuple[Step, ...]
    behind: tuple[Step, ...]
    after: tuple[Step, ...]


def stores(levels: Sequence[LargerTile], home: str, fine: CopyStart, copies: int) -> Stores:
    """The steps of a store through larger tiles; ``fine`` starts the copy from the core's tile, of ``copies`` slots.

    A larger tile is stored when all tiles that belong to it have arrived. A copy to the home is awaited just before
    the bytes that it reads are written again. Every other copy is awaited before the next copy of the same operand
    starts, since the larger tile to which it goes waits for its arrival.
    """
    chain = _Chain(tuple(levels), home, fine, copies)
    behind = chain.start(0, fine.runs.first)
    if copies > 1:
        return Stores((), tuple(behind), chain.left())
    free = Wait(fine.token, replace(fine.runs, first=fine.runs.every, over=()))
    return Stores((free, *chain.start(1, levels[0].runs.every)), tuple(behind), chain.left())


@dataclass(frozen=True, slots=True)
class _Chain:
    """The copies of a store: number 0 leaves the core's tile, number k the larger tiles ``levels[k - 1]``."""

    levels: tuple[LargerTile, ...]
    home: str
    fine: CopyStart
    copies: int

    def start(self, number: int, first: int) -> list[Step]:
        """The steps around the start of copy ``number``, which starts at iteration ``first`` for the first time."""
        runs = self._runs(number, first)
        steps: list[Step] = []
        if self._slots(number) > 1 and not self._is_last(number):
            steps.append(Wait(self._token(number), replace(runs, first=first + runs.every, over=())))
            steps += self.start(number + 1, first + self._every(number + 1))
        if number < len(self.levels):
            steps += self._freed(number + 1, first)
        steps.append(self._copy(number, runs))
        return steps

    def _freed(self, number: int, first: int) -> list[Step]:
        """The wait for copy ``number`` before its slot is written again, from iteration ``first`` on."""
        slots, every = self._slots(number), self._every(number)
        runs = self._runs(number, first + slots * every)
        if self._is_last(number):
            # The last larger tiles are awaited behind the loop.
            count = runs.count - slots
            return [Wait(self._token(number), replace(runs, count=count, over=()))] if count > 0 else []
        if slots > 1:
            return []
        wait = Wait(self._token(number), replace(runs, over=()))
        return [wait, *self.start(number + 1, first + self._every(number + 1))]

    def left(self) -> tuple[Step, ...]:
        """The waits for the last larger tiles on their way home."""
        number = len(self.levels)
        count = self.levels[-1].runs.count
        return tuple(
            Wait(self._token(number), number=last) for last in range(max(0, count - self._slots(number)), count)
        )

    def _copy(self, number: int, runs: Runs) -> CopyStart:
        """Copy ``number``, from its tile into a part of the next larger one, or home."""
        level = self.levels[number - 1] if number else None
        source = self.fine.source if level is None else level.rectangle
        destination = Operand(self.home, source.rectangle)
        if not self._is_last(number):
            destination = _cut_from(destination, self.levels[number], runs)
        if level is None:
            return replace(self.fine, destination=destination)
        return CopyStart(level.link, level.token, source, destination, runs)

    def _is_last(self, number: int) -> bool:
        return number == len(self.levels)

    def _slots(self, number: int) -> int:
        return self.levels[number - 1].copies if number else self.copies

    def _every(self, number: int) -> int:
        return self.levels[number - 1].runs.every if number else self.fine.runs.every

    def _token(self, number: int) -> str:
        return self.levels[number - 1].token if number else self.fine.token

    def _runs(self, number: int, first: int) -> Runs:
        return replace(self.levels[number - 1].runs if number else self.fine.runs, first=first)
