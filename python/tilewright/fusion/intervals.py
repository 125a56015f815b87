"""All groups that layers in a row can form, with the bytes that each keeps alive and the cycles that it takes.

Before:  layers conv, depthwise, pointwise, dense; blocks of 1 and of 8 rows
After:   conv alone, conv .. depthwise in blocks of 1 and of 8, conv .. pointwise in blocks of 1 and of 8,
         depthwise alone, ...; none with dense, which needs all rows at once
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from math import prod

import numpy as np
import numpy.typing as npt

from tilewright.base.lazy_dataclass import dataclass
from tilewright.fusion.group import Group, group_of
from tilewright.fusion.group_bytes import Grown, bytes_beside, inner_bytes, outside_bytes
from tilewright.fusion.homes_alive import Alive, alive_homes
from tilewright.fusion.kernel_ways import KernelWay, leaner, with_less_scratch
from tilewright.fusion.streams import Stream, stream_of
from tilewright.fusion.timing import Timed, Timetable
from tilewright.plan import BufferKind
from tilewright.storage.homes import Homes
from tilewright.storage.lives import Life
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem

Counts = npt.NDArray[np.int64]

CALL_CYCLES = 700.0
"""Cycles of a stage's block beside its kernel: to test whether it runs, to find its rows, and to call.

Measured on RV32.
"""

FLOAT_CALL_CYCLES = 2_500.0
"""``CALL_CYCLES`` for results in float32, whose kernels prepare more in each call than their formulas say."""

BLOCK_ELEMENTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
"""Positions of a result, without its channels, that a block has at least; each is tried for a whole group."""

MOST_STAGES = 48
"""The most layers of a group."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Layers [first, end) as one group, or one layer alone, which has no ``elements``.

    Attributes:
        first: number of the first layer.
        end: number behind the last layer.
        elements: for each layer the least positions of a block, of ``BLOCK_ELEMENTS``.
        size_bytes: alive at a time at most while the layers run: homes, rings, scratch.
        cycles: predicted.
        scratch_bytes: of the kernel of each layer, where not all are those that take the fewest cycles by themselves.
    """

    first: int
    end: int
    elements: tuple[int, ...]
    size_bytes: int
    cycles: float
    scratch_bytes: tuple[int, ...] = ()


@dataclass(slots=True)
class Layers:
    """The layers of a program as streams, with costs that are computed once.

    Attributes:
        problems: each layer as it runs alone.
        streams: each layer as a stream; None for a layer that cannot run by rows.
        alive: bytes of homes.
        others: number of a layer to the same layer with the kernels that only groups take.
        spare: number of a layer to the same layer with other kernels, for those that need less scratch.
        whole: numbers of layers whose own kernel takes all rows at once.
        known: ``Timetable.known`` of all timetables of these streams.
        costs: (layer, rows of a block, fewer rows of the first block, whether the kernel keeps rows of its input) to
            the kernel with the fewest cycles.
        ways: the same to all kernels.
        fed: number of the layer that takes the rows of a fed input one by one; None without one.
        given: by number of a layer, rows that its blocks must have.
        period: iterations after which every ring is at its first row again; 0 where that does not matter.
    """

    problems: Sequence[TilingProblem]
    streams: Sequence[Stream | None]
    alive: Alive
    others: Mapping[int, Sequence[TilingProblem]] = field(default_factory=dict)
    spare: Mapping[int, Sequence[TilingProblem]] = field(default_factory=dict)
    whole: frozenset[int] = frozenset()
    known: dict[tuple[object, ...], tuple[int, bool]] = field(default_factory=dict)
    costs: dict[tuple[int, int, int, bool], KernelWay] = field(default_factory=dict)
    ways: dict[tuple[int, int, int, bool], tuple[KernelWay, ...]] = field(default_factory=dict)
    fed: int | None = None
    given: Mapping[int, int] = field(default_factory=dict)
    period: int = 0

    def cost(self, number: int, timed: Timed) -> KernelWay:
        """A layer in its blocks with the kernel that takes the fewest cycles.

        Kernels that only groups take are tried where a block has some of the rows.
        """
        key = (number, timed.step, timed.shift, timed.stream.keeps)
        if key not in self.costs:
            keeps = timed.stream.keeps
            others = self.others.get(number, ()) if timed.count > 1 or keeps else ()
            own = () if number in self.whole and (timed.count > 1 or keeps) else (self.problems[number],)
            ways = (_in_blocks(problem, timed) for problem in (*own, *others))
            self.costs[key] = min(ways, key=lambda way: way.cycles)
        return self.costs[key]

    def leaner(self, number: int, timed: Timed) -> tuple[KernelWay, ...]:
        """A layer in its blocks with any kernel, from the fastest on, each with less scratch than those before."""
        key = (number, timed.step, timed.shift, timed.stream.keeps)
        if key not in self.ways:
            # The scratch of a sink has its sums, as long as the group lives.
            spare = () if timed.stream.has_memory else self.spare.get(number, ())
            self.ways[key] = leaner((self.cost(number, timed), *(_in_blocks(problem, timed) for problem in spare)))
        return self.ways[key]

    def taken(self, number: int, timed: Timed, scratch_bytes: int | None) -> KernelWay:
        """A layer in its blocks with the kernel of so much scratch; None: the one that takes the fewest cycles."""
        if scratch_bytes is None:
            return self.cost(number, timed)
        return next(way for way in self.leaner(number, timed) if way.scratch_bytes == scratch_bytes)

    def blocks(self, number: int, elements: int, fewest: int) -> int:
        """The number of times ``fewest`` rows that give a block of layer ``number`` at least ``elements`` positions."""
        rows = self.given.get(number, self.rows(number, elements))
        return 1 if number == self.fed else max(1, -(-rows // fewest))

    def allows(self, number: int, timed: Timed) -> bool:
        """Whether a layer may have the blocks that it has in a group."""
        rows = self.given.get(number, timed.step)
        return rows == timed.step or (timed.count == 1 and rows >= timed.stream.extent)

    def sizes(self) -> list[list[int]]:
        """For each of ``BLOCK_ELEMENTS`` the rows of a block of each layer; 0 for a layer that cannot run by rows."""
        return [
            [0 if stream is None else self.rows(number, elements) for number, stream in enumerate(self.streams)]
            for elements in BLOCK_ELEMENTS
        ]

    def rows(self, number: int, elements: int) -> int:
        """The rows of layer ``number`` that have at least so many positions; all of them where these are fewer."""
        stream = self.streams[number]
        assert stream is not None
        return min(-(-elements // row_elements(self.problems[number], stream)), stream.extent)


def _in_blocks(problem: TilingProblem, timed: Timed) -> KernelWay:
    """A layer with its kernel in the blocks of a stage."""
    call = FLOAT_CALL_CYCLES if result_of(problem).dtype == "float32" else CALL_CYCLES
    # The code of another stage has left a small instruction cache since the block before.
    call += problem.costs.kernel(problem.kernel.name).first_cycles
    lengths = Counter(upper - lower for lower, upper in timed.blocks.tiles)
    steps = {**problem.extents, timed.stream.dimension: min(timed.step, timed.stream.extent)}
    core_split = problem.core_split(steps)
    cycles = sum(
        times * (call + problem.kernel_cycles({**problem.extents, timed.stream.dimension: rows}, core_split))
        for rows, times in lengths.items()
    )
    return KernelWay(cycles, problem.scratch_bytes(steps), problem)


def result_of(problem: TilingProblem) -> TileOperand:
    """The only result of a layer."""
    (result,) = (operand for operand in problem.operands if operand.write)
    return result


def row_elements(problem: TilingProblem, stream: Stream) -> int:
    """Positions in a row of a layer's result, or of the input that a sink adds up.

    That is the elements of a row without those along the axis that is innermost in memory.
    """
    result = result_of(problem)
    if stream.is_sink:
        (result,) = (operand for operand in problem.operands if operand.tensor == stream.reads[0].tensor)
    large = [axis for axis in result.order if result.extents[axis] > 1]
    return prod(result.extents[axis] for axis in large[1:-1])


def layers_of(
    problems: Sequence[TilingProblem],
    homes: Homes,
    lives: Mapping[str, Life],
    others: Sequence[Sequence[TilingProblem]] = (),
    spare: Sequence[Sequence[TilingProblem]] = (),
    *,
    keeping: bool = False,
) -> Layers:
    """The layers as streams.

    A layer that leaves a state is no stream: in a group, it would write over the old state while others still read.

    Args:
        problems: of each layer.
        lives: of groups of tensors that share all their bytes.
        others: of each layer with the kernels that only groups take; those that run by the same rows count.
        spare: of each layer with other kernels; so here.
        keeping: whether layers take kernels that keep rows of their input, where they have such.
    """
    ways = [(problem, *(others[number] if others else ())) for number, problem in enumerate(problems)]
    found = [_streams(way, homes) for way in ways]
    streams = [_preferred(own, keeping=keeping) for own in found]
    alike = {
        number: [
            problem
            for problem, stream in list(zip(ways[number], own, strict=True))[1:]
            if stream is not None and stream == streams[number]
        ]
        for number, own in enumerate(found)
    }
    whole = frozenset(number for number, own in enumerate(found) if own[0] != streams[number])
    less = {
        number: [
            problem
            for problem, stream in zip(own, _streams(own, homes), strict=True)
            if stream is not None and stream == streams[number]
        ]
        for number, own in enumerate(spare)
    }
    return Layers(problems, streams, alive_homes(problems, homes, lives), alike, less, whole)


def _streams(way: Sequence[TilingProblem], homes: Homes) -> list[Stream | None]:
    """A layer with each of its kernels as a stream.

    A layer that reads an image of the caller is the first of a group, and of sums nothing can be read: a convolution
    of an image in planes, which could add up its channels, makes rows.
    """
    return [
        None if _leaves_state(problem, homes) else stream_of(problem, may_add=not _reads_given(problem, homes))
        for problem in way
    ]


def _reads_given(problem: TilingProblem, homes: Homes) -> bool:
    """Whether the caller gives all tensors that a layer reads."""
    read = [item.tensor for item in problem.operands if not item.write and item.data is None and item.tensor]
    return all(homes.kinds[homes.roots[tensor]] is BufferKind.INPUT for tensor in read)


def _preferred(streams: Sequence[Stream | None], *, keeping: bool) -> Stream | None:
    """Of a layer with each of its kernels: the sum of rows that some kernel can make, else what the first one does.

    With ``keeping`` what a kernel does that keeps rows, if there is one.
    """
    wanted = (stream for stream in streams if stream is not None and (stream.is_sink or (keeping and stream.keeps)))
    return next(wanted, streams[0])


def _leaves_state(problem: TilingProblem, homes: Homes) -> bool:
    return any(
        item.write and item.tensor is not None and homes.roots[item.tensor] in homes.left for item in problem.operands
    )


def intervals(layers: Layers, most_bytes: int, firsts: Collection[int] | None = None) -> Iterator[Interval]:
    """Every group of at least two layers in a row that keeps at most so many bytes alive, in blocks of every size.

    Blocks of another size are left out where they need no fewer bytes and no fewer cycles. ``firsts`` are the layers
    at which groups may begin; None: all.
    """
    sizes = layers.sizes()
    for first in range(len(layers.problems)) if firsts is None else sorted(firsts):
        found: dict[int, list[Interval]] = {}
        tried: list[list[int]] = []
        for elements, rows in zip(BLOCK_ELEMENTS, sizes, strict=True):
            end = last_together(layers, first)
            if rows[first:end] in tried:
                continue
            tried.append(rows[first:end])
            for interval in groups_from(layers, first, (elements,) * (end - first), most_bytes):
                known = found.setdefault(interval.end, [])
                if not any(_is_better(item, interval) for item in known):
                    known.append(interval)
        yield from (interval for known in found.values() for interval in known)


def _is_better(item: Interval, than: Interval) -> bool:
    """Whether a group needs no more than another one; groups with spare kernels do not count beside those without."""
    return (
        item.size_bytes <= than.size_bytes
        and item.cycles <= than.cycles
        and (bool(than.scratch_bytes) or not item.scratch_bytes)
    )


def last_together(layers: Layers, first: int) -> int:
    """The number behind the last layer that could run together with layer ``first``."""
    end = first
    while end < min(first + MOST_STAGES, len(layers.problems)) and layers.streams[end] is not None:
        end += 1
    return end


def refined(layers: Layers, interval: Interval) -> Iterator[Interval]:
    """The same group with smaller blocks behind one of its layers, or up to one: where it needs fewer bytes so."""
    smaller = [elements for elements in BLOCK_ELEMENTS if elements < max(interval.elements, default=0)]
    for elements in smaller:
        least = tuple(min(elements, own) for own in interval.elements)
        for cut in range(1, len(least)):
            for mixed in (interval.elements[:cut] + least[cut:], least[:cut] + interval.elements[cut:]):
                found = groups_from(layers, interval.first, mixed, interval.size_bytes - 1, interval.end)
                yield from (other for other in found if other.end == interval.end)


def groups_from(
    layers: Layers, first: int, elements: Sequence[int], most_bytes: int, least_end: int = 0
) -> Iterator[Interval]:
    """The groups that begin with a layer, in blocks of at least so many positions, each a layer longer.

    Those that end before layer ``least_end`` are left out.
    """
    for grown in growing(layers, first, elements, least_end):
        if grown.end >= least_end:
            yield from _of_kernels(layers, grown, tuple(elements[: grown.end - first]), most_bytes)
        # Rings only grow with every layer that joins.
        if grown.least_bytes > most_bytes:
            return


def _of_kernels(layers: Layers, grown: Grown, elements: tuple[int, ...], most_bytes: int) -> Iterator[Interval]:
    """A group with the fastest kernels, and with others for fewer bytes."""
    outside = outside_bytes(layers.alive, grown)
    size = outside + inner_bytes(layers.alive, grown)
    if size <= most_bytes:
        yield Interval(grown.first, grown.end, elements, size, grown.cycles)
    ways = [layers.leaner(grown.first + number, timed) for number, timed in enumerate(grown.stages)]
    if all(len(own) == 1 for own in ways):
        return
    for taken in with_less_scratch(bytes_beside(layers.alive, grown), ways):
        size = outside + taken.size_bytes
        if size <= most_bytes and taken.scratch_bytes != tuple(grown.scratch):
            yield Interval(grown.first, grown.end, elements, size, taken.cycles, taken.scratch_bytes)


def growing(layers: Layers, first: int, elements: Sequence[int], least_end: int = 0) -> Iterator[Grown]:
    """The groups of at least two layers that begin with a layer, each a layer longer, as long as layers can join.

    Rings of those that end before layer ``least_end`` are left out.
    """
    table, cycles, scratch, problems = (
        Timetable(known=layers.known, period=layers.period),
        0.0,
        list[int](),
        list[TilingProblem](),
    )
    ring_bytes: dict[str, int] = {}
    for number in range(first, first + len(elements)):
        stream = layers.streams[number]
        assert stream is not None
        fewest = table.fewest(stream)
        if fewest is None or not table.add(stream, layers.blocks(number, elements[number - first], fewest)):
            return
        if not layers.allows(number, table.stages[-1]):
            return
        way = layers.cost(number, table.stages[-1])
        cycles += way.cycles
        scratch.append(way.scratch_bytes)
        problems.append(way.problem)
        changed = (table.rings[read.tensor] for read in stream.reads if read.tensor in table.makers)
        ring_bytes.update({ring.tensor: 0 if ring.passing else layers.alive.ring_bytes(ring) for ring in changed})
        if number > first:
            end = number + 1
            known = table.rings.items() if end >= least_end else ()
            inside = {name: ring for name, ring in known if layers.alive.is_inside(name, first, end)}
            yield Grown(first, table.stages, inside, scratch, cycles, sum(ring_bytes.values()), problems)


def group_from(layers: Layers, interval: Interval) -> Group:
    """The group of an interval of ``intervals``."""
    streams: list[Stream] = []
    blocks: list[int] = []
    table = Timetable(period=layers.period)
    for number in range(interval.first, interval.end):
        stream = layers.streams[number]
        assert stream is not None
        fewest = table.fewest(stream)
        assert fewest is not None
        blocks.append(layers.blocks(number, interval.elements[number - interval.first], fewest))
        table.add(stream, blocks[-1])
        streams.append(stream)
    inside = {stream.written for stream in streams}
    inside = {name for name in inside if layers.alive.is_inside(name, interval.first, interval.end)}
    group = group_of(interval.first, streams, blocks, inside, layers.period)
    assert group is not None
    return group
