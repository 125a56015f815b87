"""Rules on kernel calls that cores share: parts are disjoint, complete and within what the call may touch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from tilewright.check.expand import Digit, Site, rectangle_of
from tilewright.check.maps import folded, plain
from tilewright.check.names import Facts
from tilewright.check.rules import Log, Rule
from tilewright.plan import AxisRange, BufferKind, Iteration, Kernel, Loop, Operand, RelationKind, Split

Interval = tuple[int, int]

SHAPE_BYTES = 80
"""Bytes of struct tilewright_shape in runtime/include/tilewright/runtime.h."""


def check_splits(facts: Facts, every: Iterable[Site], log: Log) -> None:
    """Every kernel step with a split, for all tiles of its dimension."""
    every = tuple(every)
    loops = {site.tick: site.step for site in every if isinstance(site.step, Loop)}
    for site in every:
        if isinstance(site.step, Kernel) and site.step.split is not None:
            _Checked(facts, site, site.step, site.step.split, loops.get(site.loop), log).all()


class _Checked:
    """One kernel step under check."""

    def __init__(self, facts: Facts, site: Site, kernel: Kernel, split: Split, loop: Loop | None, log: Log) -> None:
        self.facts, self.site, self.kernel, self.split, self.loop, self.log = facts, site, kernel, split, loop, log
        self.operands = (*kernel.reads, *kernel.writes)

    def all(self) -> None:
        """Form, cores, scratch, then the parts of each tile."""
        before = len(self.log.violations)
        self._form()
        self._nest()
        if len(self.log.violations) > before:
            return
        self._scratch()
        self._trails()
        for tile in self._tiles():
            self._tile(tile)

    def _report(self, message: str) -> None:
        self.log.report(Rule.SPLIT, message, self.site.place)

    def _form(self) -> None:
        split = self.split
        if not 1 <= split.cores <= self.facts.plan.core.count:
            self._report(f"{split.cores} cores, of {self.facts.plan.core.count}")
        if split.chunk < 1 or split.extent < 1 or split.views_bytes < 1:
            self._report(f"chunk {split.chunk}, extent {split.extent}, views of {split.views_bytes} bytes")
        if len(split.scratch_bytes) != len(self.kernel.scratch) or min(split.scratch_bytes, default=0) < 0:
            self._report(f"{len(split.scratch_bytes)} sizes for {len(self.kernel.scratch)} scratch buffers")
        for item in split.axes:
            known = 0 <= item.operand < len(self.operands)
            if not known or not 0 <= item.axis < len(self.operands[item.operand].rectangle):
                self._report(f"axis {item.axis} of operand {item.operand}, which does not exist")
                continue
            names = [name for name, _ in item.range.terms]
            if names != [split.dimension] or item.range.divisor < 1:
                self._report(f"axis {item.axis} of operand {item.operand} does not follow {split.dimension} alone")
            if item.axis not in self.kernel.axes[item.operand]:
                self._report(f"the kernel does not see axis {item.axis} of operand {item.operand}")

    def _nest(self) -> None:
        """The dimension is parallel, chunks are whole multiples, and every axis that it moves follows it."""
        split = self.split
        known = {item.name: item for item in self.kernel.dimensions}
        dimension = known.get(split.dimension)
        if dimension is None or dimension.iteration is not Iteration.PARALLEL or dimension.extent != split.extent:
            self._report(f"{split.dimension} of extent {split.extent} is no parallel dimension of the kernel")
            return
        if split.chunk % dimension.multiple:
            self._report(
                f"chunks of {split.chunk} of {split.dimension}, which is cut at multiples of {dimension.multiple}"
            )
        if split.chunk > 0:
            self._chunk(dimension.multiple)
        others = {item.name: item.extent for item in self.kernel.dimensions if item.name != split.dimension}
        moved = {
            (operand, axis): plain(folded(mapped, others))
            for operand, maps in enumerate(self.kernel.maps)
            for axis, mapped in enumerate(maps)
            if dict(mapped.terms).get(split.dimension)
        }
        stated = {(item.operand, item.axis): plain(item.range) for item in split.axes}
        if moved != stated:
            self._report(f"operands' axes {sorted(moved)} move with {split.dimension}, cut are {sorted(stated)}")

    def _scratch(self) -> None:
        split = self.split
        for name, size in (
            *zip(self.kernel.scratch, split.scratch_bytes, strict=True),
            (split.views, split.views_bytes),
        ):
            buffer = self.facts.buffers[name]
            if split.cores * size > buffer.size_bytes:
                self._report(f"{split.cores} cores with {size} bytes each of {name}, which has {buffer.size_bytes}")
            if size % 4:
                self._report(f"{size} bytes of {name} for each core are no multiple of 4")
        needed, pointer = self._views_bytes(), self.facts.plan.core.pointer_bytes
        if split.views_bytes < needed or split.views_bytes % pointer:
            self._report(f"views of {split.views_bytes} bytes for each core, need {needed} in multiples of {pointer}")

    def _views_bytes(self) -> int:
        """Bytes that a core needs for its views: two pointers for each operand, and a shape for each that is cut."""
        cut = {self.operands[item.operand].buffer for item in self.split.axes}
        buffers = [self.facts.buffers[name] for name in cut]
        shapes = sum(buffer.tensor is not None or buffer.kind is not BufferKind.TILE for buffer in buffers)
        pointers = 2 * (len(self.operands) + len(self.kernel.scratch))
        return pointers * self.facts.plan.core.pointer_bytes + shapes * SHAPE_BYTES

    def _chunk(self, multiple: int) -> None:
        """Each core has scratch for a chunk, so chunks are no larger than the cores need for the largest tile."""
        longest = max(upper - lower for lower, upper in self._tiles())
        if self.split.cores * (self.split.chunk - multiple) >= longest:
            self._report(f"chunks of {self.split.chunk}, though {self.split.cores} cores need less for {longest}")

    def _trails(self) -> None:
        """What one core writes must not lie on what another still reads."""
        pairs = {(item.first, item.second) for item in self.facts.plan.relations if item.kind is RelationKind.TRAILS}
        for read in self.kernel.reads:
            for write in self.kernel.writes:
                if {(read.buffer, write.buffer), (write.buffer, read.buffer)} & pairs:
                    self._report(f"{write.buffer} may overwrite {read.buffer}, in an order that cores do not keep")

    def _tiles(self) -> Iterable[Interval]:
        """Bounds of the dimension in each tile."""
        index = None
        if self.loop is not None:
            index = next((item for item in self.loop.indices if item.name == self.split.dimension), None)
        if index is None:
            return ((0, self.split.extent),)
        bounds = range(-index.shift, index.extent, index.step)
        return tuple((max(lower, 0), min(lower + index.step, index.extent)) for lower in bounds)

    def _tile(self, tile: Interval) -> None:
        split = self.split
        lower, upper = tile
        if split.chunk * split.cores < upper - lower:
            self._report(f"{split.cores} chunks of {split.chunk} do not cover [{lower}, {upper})")
            return
        parts = [(begin, min(begin + split.chunk, upper)) for begin in range(lower, upper, split.chunk)]
        for number in range(len(self.operands)):
            axes = {item.axis: item.range for item in split.axes if item.operand == number}
            if not axes:
                if number >= len(self.kernel.reads):
                    self._report(f"all cores write all of {self.operands[number].buffer}")
                continue
            self._operand(number, axes, tile, parts)

    def _operand(self, number: int, axes: Mapping[int, AxisRange], tile: Interval, parts: list[Interval]) -> None:
        operand = self.operands[number]
        for axis, follows in axes.items():
            whole = self._bounds(follows, tile)
            if not self._agrees(operand, axis, tile, whole):
                self._report(f"axis {axis} of {operand.buffer} follows {self.split.dimension} otherwise")
            pieces = [self._bounds(follows, part) for part in parts]
            if any(first < whole[0] or end > whole[1] for first, end in pieces if first < end):
                self._report(f"a core leaves the rectangle of {operand.buffer} on axis {axis}")
        if number >= len(self.kernel.reads):
            self._written(operand, axes, tile, parts)

    def _written(self, operand: Operand, axes: Mapping[int, AxisRange], tile: Interval, parts: list[Interval]) -> None:
        """On one axis at least the parts must be disjoint, and together make up the tile's interval."""
        for follows in axes.values():
            pieces = [piece for piece in (self._bounds(follows, part) for part in parts) if piece[0] < piece[1]]
            ordered = sorted(pieces)
            meets = all(first[1] == second[0] for first, second in pairwise(ordered))
            whole = self._bounds(follows, tile)
            if meets and ordered and (ordered[0][0], ordered[-1][1]) == whole and len(axes) == 1:
                return
            if whole[0] >= whole[1]:
                return
        self._report(f"the cores' parts of {operand.buffer} overlap or leave a gap")

    def _agrees(self, operand: Operand, axis: int, tile: Interval, whole: Interval) -> bool:
        """Whether the operand's axis follows the split dimension alone, and is ``whole`` for the whole tile."""
        ranges = operand.rectangle[axis]
        names = {name for name, _ in ranges.terms}
        if names - {self.split.dimension}:
            return False
        return self._bounds(ranges, tile) == whole

    def _bounds(self, ranges: AxisRange, part: Interval) -> Interval:
        digit = Digit(part[0], part[1], 0, 1)
        (bounds,) = rectangle_of((ranges,), {self.split.dimension: digit})
        return bounds
