"""How near the output of a layer may lie to an input that the layer copies tile by tile, or reads stage by stage.

Before:  loop oh: load x rows [2t, 2t + 2), one tile ahead; store y row t; rows of 8 bytes, 4 rows of y
After:   y begins 0 bytes below x or more: when row t of y is stored, rows below 2t + 4 of x have arrived, and
         rows of x from 2t + 2 on may still be read
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import AxisRange, Buffer, CopyStart, Index, Kernel, Loop, Operand, Runs, Step, Wait
from tilewright.storage.clearance import SAME_PLACE, Clearance

_Counts = npt.NDArray[np.int64]

_NEVER = 1 << 60
"""The place of a wait that is in another layer."""

_MOST_BYTES, _MOST_TILES = 1 << 22, 1 << 13
"""For larger buffers, or layers of more tiles, bytes are not compared one by one."""


@dataclass(frozen=True, slots=True)
class _Touches:
    """When a step touches a buffer (places in the order of the program, from ``begin`` to ``end``), and which bytes.

    One entry for each of the step's blocks; bytes [first, last) count from the buffer's start. ``low`` and ``high``
    [block, axis] are the elements that a block touches, both inclusive.
    """

    begin: _Counts
    end: _Counts
    first: _Counts
    last: _Counts
    low: _Counts
    high: _Counts

    def window(self, words: _Counts, block: int, buffer: Buffer) -> _Counts:
        """The entries of ``words``, one for each byte of the buffer, of the bytes that a block touches."""
        size = np.dtype(buffer.dtype).itemsize
        shape = (*np.maximum(self.high[block] - self.low[block] + 1, 0).tolist(), size)
        strides = [8 * stride for stride in (*buffer.strides_bytes, 1)]
        offset = 8 * int(self.first[block]) if 0 not in shape else 0
        window: _Counts = np.ndarray(shape, np.int64, words, offset, strides)
        return window


@dataclass(frozen=True, slots=True)
class _Placed:
    """A step, the places in the order of the program of all its blocks, and the indices that it may enumerate."""

    step: CopyStart | Wait | Kernel
    places: _Counts
    indices: Mapping[str, Index]


def consumed_clearance(body: Sequence[Step], given: Buffer, made: Buffer) -> Clearance | None:
    """The clearance of ``made``, which a layer's body writes, from ``given``, which the body reads.

    None where the body has loops in loops, or rectangles that follow more indices than their step enumerates; and
    where the first or the last bytes of a copy are no whole words of its link, so that bytes beside them are written.
    """
    steps = _placed(body)
    if steps is None or any(isinstance(item.step, CopyStart) and item.step.words for item in steps):
        return None
    ends_of = [(item.step.runs, operand) for item in steps for operand in _operands(item.step)]
    named = ((runs, name) for runs, operand in ends_of for axis in operand.rectangle for name, _ in axis.terms)
    if any(name not in runs.over for runs, name in named):
        return None
    reads = [item for step in steps for item in _touches(step, given, steps, is_read=True)]
    writes = [item for step in steps for item in _touches(step, made, steps, is_read=False)]
    if not reads or not writes:
        return None
    least = _least(reads, writes, given)
    if least > made.size_bytes // 4 and _may_lie_over(reads, writes, given, made):
        return SAME_PLACE
    return Clearance(least, None)


def _least(reads: Sequence[_Touches], writes: Sequence[_Touches], given: Buffer) -> int:
    """The least bytes below the start of ``given``: there and lower, no write touches bytes that are read later."""
    ends = np.concatenate([item.end for item in reads])
    order = np.argsort(ends, kind="stable")
    lowest = np.minimum.accumulate(np.concatenate([item.first for item in reads])[order][::-1])[::-1]
    begins, tops = (np.concatenate(each) for each in zip(*((item.begin, item.last) for item in writes), strict=True))
    later = np.searchsorted(ends[order], begins, "left")
    is_free = later == ends.size
    if is_free.all():
        return -given.size_bytes
    return int((tops[~is_free] - lowest[later[~is_free]]).max())


def _may_lie_over(reads: Sequence[_Touches], writes: Sequence[_Touches], given: Buffer, made: Buffer) -> bool:
    """Whether no write touches bytes that are read later if both buffers begin at one address: channel tiles, say."""
    size = max(given.size_bytes, made.size_bytes)
    if size > _MOST_BYTES or sum(item.begin.size for item in (*reads, *writes)) > _MOST_TILES:
        return False
    read_until = np.full(size, -1, np.int64)
    blocks = [(int(end), number, item) for item in reads for number, end in enumerate(item.end)]
    for end, number, item in sorted(blocks, key=lambda block: block[0]):
        item.window(read_until, number, given)[...] = end
    return not any(
        (item.window(read_until, number, made) >= begin).any()
        for item in writes
        for number, begin in enumerate(item.begin)
    )


def _placed(body: Sequence[Step]) -> list[_Placed] | None:
    found: list[_Placed] = []
    place = 0
    for step in body:
        if not isinstance(step, Loop):
            if isinstance(step, (CopyStart, Wait, Kernel)):
                found.append(_Placed(step, np.arange(1) + place, {}))
            place += 1
            continue
        if any(isinstance(inner, Loop) for inner in step.body):
            return None
        indices = {index.name: index for index in step.indices}
        for coarse in step.coarse:
            of = indices[coarse.of]
            indices[coarse.name] = Index(coarse.name, of.extent, of.step * coarse.tiles)
        iterations, length = step.iterations, len(step.body)
        for number, inner in enumerate(step.body):
            if isinstance(inner, (CopyStart, Wait, Kernel)):
                times = np.array(inner.runs.iterations, np.int64) - iterations.start
                found.append(_Placed(inner, place + times * length + number, indices))
        place += len(iterations) * length
    return found


def _touches(placed: _Placed, buffer: Buffer, steps: Sequence[_Placed], *, is_read: bool) -> Iterator[_Touches]:
    step = placed.step
    if isinstance(step, Wait):
        return
    ends = placed.places
    if isinstance(step, CopyStart):
        operands: tuple[Operand, ...] = (step.source,) if is_read else (step.destination,)
        ends = _awaited(step, placed.places.size, steps)
    else:
        operands = step.reads if is_read else step.writes
    for operand in operands:
        if operand.buffer == buffer.name:
            bounds = _bounds(step.runs, placed.indices)
            low, high = _elements(operand.rectangle, bounds, placed.places.size)
            yield _Touches(placed.places, ends, *_bytes(low, high, buffer), low, high)


def _operands(step: CopyStart | Wait | Kernel) -> tuple[Operand, ...]:
    if isinstance(step, Wait):
        return ()
    return (step.source, step.destination) if isinstance(step, CopyStart) else (*step.reads, *step.writes)


def _awaited(start: CopyStart, count: int, steps: Sequence[_Placed]) -> _Counts:
    """The place of the wait for each copy of a step."""
    places = np.full(count, _NEVER, np.int64)
    for item in steps:
        if isinstance(item.step, Wait) and item.step.token == start.token:
            numbers = item.step.number + np.arange(item.places.size)
            known = numbers < count
            places[numbers[known]] = item.places[known]
    return places


def _bounds(runs: Runs, indices: Mapping[str, Index]) -> dict[str, tuple[_Counts, _Counts]]:
    """For each index that a step enumerates its first value and the last one in every block, both inclusive."""
    counts = [indices[name].count for name in runs.over]
    tiles = np.indices(counts, np.int64).reshape(len(counts), prod(counts))
    bounds = {}
    for name, tile in zip(runs.over, tiles, strict=True):
        index = indices[name]
        start = tile * index.step - index.shift
        bounds[name] = np.maximum(start, 0), np.minimum(start + index.step, index.extent) - 1
    return bounds


def _elements(
    rectangle: Sequence[AxisRange], bounds: Mapping[str, tuple[_Counts, _Counts]], blocks: int
) -> tuple[_Counts, _Counts]:
    """The first element and the last one of each block on each axis, int64[block, axis]."""
    lows, highs = (np.zeros((blocks, len(rectangle)), np.int64) for _ in range(2))
    for number, axis in enumerate(rectangle):
        low, high = np.full(1, axis.first_offset), np.full(1, axis.last_offset)
        for name, step in axis.terms:
            ends = bounds[name] if step >= 0 else bounds[name][::-1]
            low, high = low + step * ends[0], high + step * ends[1]
        lows[:, number] = np.maximum(low // axis.divisor, 0)
        highs[:, number] = np.minimum(high // axis.divisor, axis.extent - 1)
    return lows, highs


def _bytes(low: _Counts, high: _Counts, buffer: Buffer) -> tuple[_Counts, _Counts]:
    """The first byte that each block touches, and the byte behind the last."""
    strides, size = np.array(buffer.strides_bytes, np.int64), np.dtype(buffer.dtype).itemsize
    empty = (low > high).any(axis=1)
    return np.where(empty, _NEVER, low @ strides), np.where(empty, -_NEVER, high @ strides + size)
