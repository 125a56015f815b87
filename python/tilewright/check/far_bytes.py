"""What a loop does far from the core, for many iterations at once: each byte is only read, or written once.

Where that holds, the order of the iterations does not matter there: what is read stood there before, what is written
hides nothing. Where it does not, the iterations are looked at one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from tilewright.base.lazy_dataclass import dataclass
from tilewright.check.names import Facts
from tilewright.check.shadow import Shadow, Words
from tilewright.check.turns import Reach, Turns
from tilewright.plan import Buffer, BufferKind

MOST_ELEMENTS = 1 << 26
"""Loops over larger tensors are looked at iteration by iteration: counting their elements would take all memory."""

Marks = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class FarWrites:
    """What the loop writes far from the core: for each buffer how often each element; marked when the loop has run."""

    facts: Facts
    shadow: Shadow
    counts: Mapping[str, Marks]

    def mark(self) -> None:
        """All that the loop writes is written."""
        for name, count in self.counts.items():
            owner = self.shadow.memories[self.shadow.homes[name][0]].owner
            view = _bytes_of(self.facts, self.shadow, name, owner)
            view[count[..., 0] > 0] = self.shadow.numbers[self.facts.root[name]]


def far_writes(shadow: Shadow, turns: Turns, first: int) -> FarWrites | None:
    """What the loop writes from an iteration on, if what is far from the core is only read, or written once, then.

    All that is read was written before, no copy under way writes it, and no copy under way touches what is written.
    None where that is not so.
    """
    facts = turns.facts
    reads: dict[str, Marks] = {}
    writes: dict[str, Marks] = {}
    for reach in turns.far():
        name = reach.operand.buffer
        buffer = facts.buffers[name]
        if facts.root_kind(name) is BufferKind.CONSTANT or 0 in buffer.shape:
            continue
        if prod(buffer.shape) > MOST_ELEMENTS or any(stride < 1 for stride in buffer.strides_bytes):
            return None
        side = writes if reach.is_write else reads
        count = _counted(reach, buffer, first)
        side[name] = side[name] + count if name in side else count
    if not all(_is_there(facts, shadow, name, count) for name, count in reads.items()):
        return None
    if not all(_is_free(facts, shadow, name, count) for name, count in writes.items()):
        return None
    if not _is_apart(turns, shadow, reads, writes):
        return None
    return FarWrites(facts, shadow, writes)


def _counted(reach: Reach, buffer: Buffer, first: int) -> Marks:
    """How many blocks from an iteration on touch each element: corners are marked, then summed along every axis."""
    blocks = reach.blocks
    chosen = np.unique(blocks.at[first:][blocks.here[first:] > 0])
    count = blocks.step.runs.count
    bounds = [tuple(np.broadcast_to(bound, count)[chosen] for bound in axis) for axis in reach.axes]
    corners = np.zeros([extent + 1 for extent in buffer.shape], np.int32)
    flat = corners.reshape(-1)
    for ends in product((0, 1), repeat=len(bounds)):
        place = np.zeros(len(chosen), np.int64)
        for axis, end in enumerate(ends):
            place = place * corners.shape[axis] + bounds[axis][end]
        flat += np.bincount(place, minlength=flat.size).astype(np.int32) * (1 - 2 * (sum(ends) % 2))
    for axis in range(corners.ndim):
        np.cumsum(corners, axis=axis, out=corners)
    inner: Marks = corners[tuple(slice(extent) for extent in buffer.shape)]
    return inner[..., None]


def _bytes_of(facts: Facts, shadow: Shadow, name: str, words: Words) -> Words:
    """A buffer in one of its memory's arrays: its axes, and the bytes of an element."""
    buffer, (_, base) = facts.buffers[name], shadow.homes[name]
    shape = (*buffer.shape, facts.element_bytes(name))
    strides = tuple(4 * stride for stride in (*buffer.strides_bytes, 1))
    last = base + sum((extent - 1) * stride // 4 for extent, stride in zip(shape, strides, strict=True))
    assert 0 <= base <= last < len(words), "the buffer leaves its memory"
    view: Words = np.ndarray(shape, np.int32, words, 4 * base, strides)
    return view


def _is_there(facts: Facts, shadow: Shadow, name: str, count: Marks) -> bool:
    """Whether what is read was written, and no copy under way writes it."""
    memory = shadow.memories[shadow.homes[name][0]]
    owner, incoming = (_bytes_of(facts, shadow, name, words) for words in (memory.owner, memory.incoming))
    missing = (owner != shadow.numbers[facts.root[name]]) | (incoming != 0)
    return not (missing & (count > 0)).any()


def _is_free(facts: Facts, shadow: Shadow, name: str, count: Marks) -> bool:
    """Whether what is written was not written before, and no copy under way touches it."""
    memory = shadow.memories[shadow.homes[name][0]]
    owner, incoming, outgoing = (
        _bytes_of(facts, shadow, name, words) for words in (memory.owner, memory.incoming, memory.outgoing)
    )
    taken = (incoming != 0) | (outgoing != 0)
    if facts.root_kind(name) is not BufferKind.STATE:
        taken |= np.abs(owner) == shadow.numbers[facts.root[name]]
    return not (taken & (count > 0)).any()


def _is_apart(turns: Turns, shadow: Shadow, reads: Mapping[str, Marks], writes: Mapping[str, Marks]) -> bool:
    """Whether no byte is written twice, or read and written, or lies in a buffer near the core."""
    facts = turns.facts
    marks: dict[str, tuple[Marks, Marks]] = {}
    for side, counts in enumerate((reads, writes)):
        for name, count in counts.items():
            memory = shadow.homes[name][0]
            if memory not in marks:
                size = len(shadow.memories[memory].owner)
                marks[memory] = np.zeros(size, np.int32), np.zeros(size, np.int32)
            view = _bytes_of(facts, shadow, name, marks[memory][side])
            view += count
    for name in turns.near:
        memory, base = shadow.homes[name]
        if memory in marks:
            span = slice(base, base + facts.buffers[name].size_bytes)
            if any(some[span].any() for some in marks[memory]):
                return False
    return not any(((written > 1) | ((written > 0) & (read > 0))).any() for read, written in marks.values())
