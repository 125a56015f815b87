"""When each stage of a group works, and how many rows the rings between stages hold.

All stages advance in one loop. Stage k makes its block u at iteration first + every * u, once the rows that the
block needs are there; stages stand in the loop's body in the order in which the layers run. A row of a ring is free
when no block that is still to come needs it.

Before:  a = conv 3x3 of x, 12 rows; y = conv 3x3 of a with strides 2, 6 rows; one row at a time
After:   a: first 0, every 1, 12 blocks; y: first 1, every 2, 6 blocks; a's ring has 3 rows
"""

from __future__ import annotations

from dataclasses import field, replace
from fractions import Fraction

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.fusion.streams import Counts, RowRead, Stream, block_bounds
from tilewright.plan import Index


@dataclass(frozen=True, slots=True)
class Timed:
    """A stage with its times: block u is made at iteration ``first`` + ``every`` * u.

    A block has ``step`` rows, the first one ``shift`` fewer.
    """

    stream: Stream
    step: int
    first: int
    every: int
    shift: int = 0

    @property
    def blocks(self) -> Index:
        """The blocks of rows."""
        return Index(self.stream.dimension, self.stream.extent, self.step, self.shift)

    @property
    def count(self) -> int:
        """Number of blocks."""
        return self.blocks.count

    @property
    def made(self) -> Counts:
        """Rows of the result that are made when each block is."""
        ends = (np.arange(self.count, dtype=np.int64) + 1) * self.step - self.shift
        made: Counts = np.maximum(np.minimum(ends, self.stream.extent) - self.stream.late, 0)
        return made

    def block_of(self, rows: Counts) -> Counts:
        """The block that makes each of these rows."""
        return (rows + self.stream.late + self.shift) // self.step


@dataclass(frozen=True, slots=True)
class Ring:
    """The rows of a tensor between stages.

    Attributes:
        tensor: name of the tensor.
        axis: its axis of rows.
        rows: rows that are held at a time at most; all rows of the tensor where a kernel cannot walk a ring.
        passing: whether each row is read only at the iteration at which it is made, so that the bytes are free
            before and after.
    """

    tensor: str
    axis: int
    rows: int
    passing: bool


@dataclass(slots=True)
class Timetable:
    """Stages of a group that grows at its end, and what its rings need so far.

    The first stage makes one row for each iteration, on average.

    Attributes:
        stages: the stages so far, in order.
        rates: by tensor, rows for each iteration; tensors from outside have the rate at which stages read them.
        makers: by tensor between stages, the stage that makes it.
        rings: by tensor between stages that a later stage reads.
        sums: results of sinks, which no stage can read.
        delayed: numbers of stages that begin later than their inputs allow.
        known: what was computed of two stages, one of which reads what the other makes; tables may share it. By rows
            that are read, and times of both stages against each other: iterations by which the reader is behind its
            maker's first block; rows of the ring and whether they pass.
        period: iterations after which every ring is at its first row again; 0 where that does not matter.
    """

    stages: list[Timed] = field(default_factory=list)
    rates: dict[str, Fraction] = field(default_factory=dict)
    makers: dict[str, int] = field(default_factory=dict)
    rings: dict[str, Ring] = field(default_factory=dict)
    sums: set[str] = field(default_factory=set)
    delayed: set[int] = field(default_factory=set)
    known: dict[tuple[object, ...], tuple[int, bool]] = field(default_factory=dict)
    period: int = 0

    def fewest(self, stream: Stream) -> int | None:
        """The fewest rows at a time that a stage could make; None where it cannot join."""
        rate = self._rate(stream)
        return None if rate is None else rate.numerator

    def add(self, stream: Stream, blocks: int = 1) -> bool:
        """Add a stage that makes ``blocks`` times the fewest rows at a time; False, and no change, if it cannot join.

        A stage can join if it reads something that the group makes or reads, at the same rate, and if it needs only
        some rows at a time of what the group makes.
        """
        rate = self._rate(stream)
        if rate is None or any(name in self.makers or name in self.sums for name in stream.held):
            return False
        if any(read.tensor in self.sums for read in stream.reads):
            return False
        if any(read.axis != self._axis(read.tensor, read.axis) for read in stream.reads):
            return False
        step, every = blocks * rate.numerator, blocks * rate.denominator
        if step % stream.multiple:
            every *= stream.multiple
            step *= stream.multiple
        timed = Timed(stream, step, 0, every, self._shift(stream, step, every))
        timed = Timed(stream, step, self._first(timed), every, timed.shift)
        self.stages.append(timed)
        for number, read in enumerate(stream.reads):
            if read.tensor not in self.rates:
                self.rates[read.tensor] = rate * read.rate
            if read.tensor in self.makers:
                self._widen(number, timed)
        self._delay_makers(timed)
        if stream.is_sink:
            self.sums.add(stream.written)
        else:
            self.rates[stream.written] = rate
            self.makers[stream.written] = len(self.stages) - 1
        return True

    def _rate(self, stream: Stream) -> Fraction | None:
        """Rows of the stage's result for each iteration; None where its inputs disagree or are all new."""
        if not self.stages:
            return Fraction(1)
        rates = {_of_result(self.rates[read.tensor], read) for read in stream.reads if read.tensor in self.rates}
        return rates.pop() if len(rates) == 1 else None

    def _axis(self, tensor: str, otherwise: int) -> int:
        """The axis of rows of a tensor as its maker has it."""
        return self.stages[self.makers[tensor]].stream.axis if tensor in self.makers else otherwise

    def _shift(self, stream: Stream, step: int, every: int) -> int:
        """How many rows shorter the first block is, so that each block ends with the rows that its inputs then have.

        With equal blocks throughout, a window of 3 rows would have to wait for a whole block of its input, and the
        ring would hold that block too. Where a maker works at other iterations, shorter blocks gain nothing.
        """
        lags = [0]
        if step >= stream.extent:
            return 0
        for read in (read for read in stream.reads if read.tensor in self.makers):
            maker = self.stages[self.makers[read.tensor]]
            ((_, stride),) = read.rows.terms
            if maker.every != every or read.rows.divisor != 1 or maker.step != stride * step:
                return 0
            lags.append(-(-(maker.shift + maker.stream.late + read.rows.last_offset + 1 - stride) // stride))
        return max(lags) % step // stream.multiple * stream.multiple

    def _first(self, timed: Timed) -> int:
        """The first iteration at which the stage can make block 0, so that all later blocks find their rows too."""
        firsts = [0]
        for number, read in enumerate(timed.stream.reads):
            if read.tensor not in self.makers:
                continue
            maker = self.stages[self.makers[read.tensor]]
            firsts.append(maker.first + self._behind(maker, timed, number))
        return max(firsts)

    def _behind(self, maker: Timed, reader: Timed, number: int) -> int:
        """``iterations_behind`` for the reader's read of that number."""
        read = reader.stream.reads[number]
        key = ("behind", *_pair(maker, reader, read))
        if key not in self.known:
            self.known[key] = iterations_behind(maker, reader, read), False
        return self.known[key][0]

    def _widen(self, number: int, reader: Timed) -> None:
        """Make room in the ring for what ``reader`` still needs whenever rows are written."""
        read = reader.stream.reads[number]
        maker = self.stages[self.makers[read.tensor]]
        is_ring = read.may_be_ring and maker.stream.may_be_ring
        key = ("ring", is_ring, reader.first - maker.first, *_pair(maker, reader, read))
        if key not in self.known:
            rows = rows_between(maker, reader, read) if is_ring else maker.stream.rows
            self.known[key] = rows, is_passing(maker, reader, read)
        needed, passes = self.known[key]
        if self.period:
            needed = in_turns(needed, self.period * self.rates[read.tensor])
        known = self.rings.get(read.tensor)
        if known is not None:
            needed, passes = max(needed, known.rows), passes and known.passing
        self.rings[read.tensor] = Ring(read.tensor, read.axis, needed, passes)

    def _delay_makers(self, reader: Timed) -> None:
        """Let stages that only ``reader`` reads work no earlier than it needs them, where rings take fewer bytes then.

        Of two branches with a common reader (a residual sum, say), the shorter one would else run ahead, and its ring
        hold rows until the longer branch has made its own. A delayed branch keeps more rows of its input, which the
        other branch may read too.
        """
        for position, read in enumerate(reader.stream.reads):
            number = self.makers.get(read.tensor)
            if number is None or len(self._readers(read.tensor)) != 1:
                continue
            maker = self.stages[number]
            slack = reader.first - maker.first - self._behind(maker, reader, position)
            if slack <= 0:
                continue
            stages, rings, bytes_before = list(self.stages), dict(self.rings), self._ring_bytes()
            self.stages[number] = replace(maker, first=maker.first + slack)
            for tensor in (read.tensor, *(item.tensor for item in maker.stream.reads)):
                self._measure(tensor)
            if self._ring_bytes() < bytes_before:
                self.delayed.add(number)
            else:
                self.stages, self.rings = stages, rings

    def _readers(self, tensor: str) -> list[tuple[int, Timed]]:
        """The stages that read a tensor, each with the number of the read."""
        return [
            (number, stage)
            for stage in self.stages
            for number, read in enumerate(stage.stream.reads)
            if read.tensor == tensor
        ]

    def _measure(self, tensor: str) -> None:
        """Compute the ring of a tensor anew."""
        if self.rings.pop(tensor, None) is not None:
            for number, stage in self._readers(tensor):
                self._widen(number, stage)

    def _ring_bytes(self) -> int:
        """Bytes of all rings that keep rows from iteration to iteration."""
        rows = (
            (self.stages[self.makers[ring.tensor]].stream, ring) for ring in self.rings.values() if not ring.passing
        )
        return sum(stream.row_bytes * min(ring.rows, stream.rows) for stream, ring in rows)


def in_turns(rows: int, of: Fraction) -> int:
    """The least rows of a ring, ``rows`` or more, of which a whole number of turns has ``of`` rows; 0: any number."""
    turns = of.numerator if of.denominator == 1 else 0
    return next((item for item in range(rows, turns + 1) if turns % item == 0), rows)


def _of_result(rate: Fraction, read: RowRead) -> Fraction:
    """Rows of a stage's result for each iteration, if there are ``rate`` rows of what it reads."""
    # Nearly all layers make as many rows as they read, and quotients of fractions take their time.
    by = read.rate
    return rate if by.numerator == by.denominator else rate / by


def _pair(maker: Timed, reader: Timed, read: RowRead) -> tuple[object, ...]:
    """A key for ``known``: what two stages have to do with each other but for the iterations at which they begin."""
    made = (maker.stream.extent, maker.stream.late, maker.step, maker.every, maker.shift)
    return (*made, reader.stream.extent, reader.step, reader.every, reader.shift, read.rows)


_ANY_TIME = -(1 << 40)
"""Iterations by which a stage that reads nothing has to be behind another."""


def iterations_behind(maker: Timed, reader: Timed, read: RowRead) -> int:
    """The least iterations from block 0 of the maker to that of the reader at which every block finds its rows."""
    times = reader.every * np.arange(reader.count)
    lower, upper = block_bounds(read.rows, reader.blocks)
    made = maker.every * maker.block_of(upper - 1)
    return int((made - times)[upper > lower].max(initial=_ANY_TIME))


def rows_between(maker: Timed, reader: Timed, read: RowRead) -> int:
    """Rows that a ring needs between two stages: from the first that is still to be read to the last that is written.

    A block is written before rows are read at the same iteration.
    """
    written = maker.made
    written_at = maker.first + maker.every * np.arange(maker.count)
    lower, upper = block_bounds(read.rows, reader.blocks)
    still = still_read(lower, upper, read.rows.extent, reader, written_at)
    return max(1, min(maker.step, maker.stream.rows), int((written - np.minimum(still, written)).max()))


def still_read(lower: Counts, upper: Counts, extent: int, reader: Timed, times: Counts) -> Counts:
    """For each iteration of ``times`` the first row that is read then or later; ``extent`` where none is read.

    Args:
        lower, upper: the rows [lower, upper) that each block of the reader needs.
        extent: rows of what is read.
    """
    # A block that reads nothing needs nothing; rows that a later block needs again are still needed.
    lower = np.where(upper > lower, lower, extent)
    still = np.append(np.minimum.accumulate(lower[::-1])[::-1], extent)
    # The first of the reader's blocks that runs at each iteration, or later.
    following = np.clip(-(-(times - reader.first) // reader.every), 0, reader.count)
    return still[following]


def is_passing(maker: Timed, reader: Timed, read: RowRead) -> bool:
    """Whether the reader reads each row only at the iteration at which the row is made, so that nothing is kept."""
    lower, upper = block_bounds(read.rows, reader.blocks)
    times = reader.first + reader.every * np.arange(reader.count)
    some = upper > lower
    first = maker.first + maker.every * maker.block_of(lower)
    last = maker.first + maker.every * maker.block_of(upper - 1)
    return bool(((first == times) & (last == times))[some].all())
