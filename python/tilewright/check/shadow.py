"""Every byte of memory, with who wrote it and which copies in flight touch it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tilewright.base.lazy_dataclass import dataclass
from tilewright.check.expand import Event, Rectangle, rectangle_of
from tilewright.check.names import Facts
from tilewright.check.rules import Log, Rule
from tilewright.plan import BufferKind, Operand

Words = npt.NDArray[np.int32]

_MOST_KNOWN = 1 << 17
"""Operands in blocks that ``Eyes`` remember, some hundred bytes each."""


@dataclass(frozen=True, slots=True)
class Region:
    """Bytes in a memory: base + sum of i_k * stride_k for i_k < extent_k; dims from inner to outer.

    ``end`` is the byte behind the last. ``window`` has the extents, and the strides in words of 4 bytes, from outer to
    inner: the region as an array on one of the memory's arrays.
    """

    memory: str
    base: int
    dims: tuple[tuple[int, int], ...]
    end: int
    window: tuple[tuple[int, ...], tuple[int, ...]]

    @property
    def run_bytes(self) -> int:
        """Bytes of one contiguous line."""
        return self.dims[0][0]


def region(memory: str, base: int, element_bytes: int, extents: Sequence[int], strides: Sequence[int]) -> Region | None:
    """The bytes of a rectangle, neighbouring axes joined where they are contiguous; None if empty."""
    found = _form(element_bytes, tuple(extents), tuple(strides))
    if found is None:
        return None
    dims, span, window = found
    return Region(memory, base, dims, base + span, window)


_Dims = tuple[tuple[int, int], ...]


@lru_cache(maxsize=4096)
def _form(
    element_bytes: int, extents: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[_Dims, int, tuple[tuple[int, ...], tuple[int, ...]]] | None:
    """The parts of a region that do not depend on its base: ``dims``, bytes from first to last, ``window``."""
    dims = [(element_bytes, 1)]
    for stride, extent in sorted(zip(strides, extents, strict=True)):
        if extent == 0:
            return None
        if extent == 1:
            continue
        inner, inner_stride = dims[-1]
        if stride == inner * inner_stride:
            dims[-1] = (inner * extent, inner_stride)
        else:
            dims.append((extent, stride))
    outer_first = dims[::-1]
    window = tuple(extent for extent, _ in outer_first), tuple(4 * stride for _, stride in outer_first)
    return tuple(dims), sum((extent - 1) * stride for extent, stride in dims) + 1, window


@dataclass(frozen=True, slots=True)
class Memory:
    """State of each byte. ``owner`` is the number of the buffer whose content it holds,
    negated while that is a partial result, 0 for nothing. ``incoming`` is the number of
    the copy in flight that writes it, ``outgoing`` counts those that read it.
    """

    owner: Words
    incoming: Words
    outgoing: Words


@dataclass(frozen=True, slots=True)
class Shadow:
    """All memories: one for each pool, one for each buffer of the caller.

    ``homes`` gives the memory and the first byte of each buffer. A memory ends behind the
    last byte that something may write, so constants may lie outside.
    """

    memories: dict[str, Memory]
    homes: dict[str, tuple[str, int]]
    numbers: dict[str, int]

    def window(self, words: Words, part: Region) -> Words:
        """The bytes of a region in one of a memory's arrays, as an array that can be written."""
        if len(part.dims) == 1:
            end = part.base + part.run_bytes
            assert 0 <= part.base <= end <= len(words), "the region leaves its memory"
            return words[part.base : end]
        shape, strides = part.window
        window: Words = np.ndarray(shape, np.int32, words, 4 * part.base, strides)
        return window

    def memory(self, part: Region) -> Memory:
        """The memory in which a region lies."""
        return self.memories[part.memory]


@dataclass(frozen=True, slots=True)
class Seen:
    """An operand in one block: its rectangle, slot (-1 for a home), where the slot begins, and its bytes.

    ``held`` is the rectangle that the slot must hold, of which the operand's is a part.

    ``bytes`` is None where there is nothing; ``constant`` bytes have no state.
    """

    buffer: str
    rectangle: Rectangle
    held: Rectangle
    slot: int
    base: int
    bytes: Region | None
    constant: bool

    @property
    def tracked(self) -> Region | None:
        """The bytes whose state is known."""
        return None if self.constant else self.bytes


@dataclass(frozen=True, slots=True)
class Eyes:
    """``see``, worked out once for each combination of the indices that an operand names.

    ``known`` has what was seen, by the step's tick, the operand's position, the slot and the indices' bounds.
    ``sites`` has, by tick and position, the indices that the operand names, and the slots among which blocks choose.
    """

    facts: Facts
    shadow: Shadow
    log: Log
    sites: dict[tuple[int, int], tuple[tuple[str, ...], int, int]] = field(default_factory=dict)
    known: dict[tuple[int, ...], Seen] = field(default_factory=dict)

    def see(self, operand: Operand, position: int, event: Event) -> Seen:
        """The bytes of the operand at ``position`` among all of its step."""
        site = event.site.tick, position
        found = self.sites.get(site)
        if found is None:
            axes = (*operand.rectangle, *operand.within)
            names = tuple(dict.fromkeys(name for axis in axes for name, _ in axis.terms))
            found = self.sites[site] = (names, operand.period, slots_of(self.facts, operand))
        names, period, slots = found
        digits = event.digits
        bounds = [bound for name in names for bound in (digits[name].lower, digits[name].upper)]
        key = (*site, event.block // period % slots if slots else -1, *bounds)
        seen = self.known.get(key)
        if seen is None:
            if len(self.known) >= _MOST_KNOWN:
                self.known.clear()
            seen = self.known[key] = see(self.facts, self.shadow, operand, event, self.log)
        return seen


def slots_of(facts: Facts, operand: Operand) -> int:
    """The number of slots among which blocks choose; 0 for buffers that are no tiles."""
    buffer = facts.buffers[operand.buffer]
    return buffer.copies if buffer.kind is BufferKind.TILE else 0


def slot_of(facts: Facts, operand: Operand, event: Event) -> int:
    """The slot of a tile buffer on which the step works in this block; -1 for other buffers."""
    slots = slots_of(facts, operand)
    return event.block // operand.period % slots if slots else -1


def see(facts: Facts, shadow: Shadow, operand: Operand, event: Event, log: Log) -> Seen:
    """The bytes that an operand means in one block; a rectangle that does not fit counts as empty."""
    rectangle = rectangle_of(operand.rectangle, event.digits)
    held = rectangle_of(operand.within, event.digits) if operand.within else rectangle
    buffer = facts.buffers[operand.buffer]
    slot, needed = slot_of(facts, operand, event), [end for _, end in rectangle]
    if slot >= 0:
        needed = [end - begin for begin, end in held]
    if buffer.ring_axis is not None:
        begin, end = rectangle[buffer.ring_axis]
        needed[buffer.ring_axis] = end - begin
    inside = held is rectangle or all(
        low <= begin and end <= high for (low, high), (begin, end) in zip(held, rectangle, strict=True)
    )
    if not inside or any(need > extent for need, extent in zip(needed, buffer.shape, strict=True)):
        message = f"{text(rectangle)} does not fit {operand.buffer} of shape {buffer.shape}"
        log.report(Rule.RECTANGLE, message, event.site.place, event.block)
        rectangle = held = tuple((0, 0) for _ in rectangle)
    return locate(facts, shadow, operand.buffer, rectangle, slot, held)


def pieces(facts: Facts, shadow: Shadow, seen: Seen) -> tuple[Seen, ...]:
    """The operand as runs of elements that do not wrap: itself, or up to two parts of a ring."""
    buffer = facts.buffers[seen.buffer]
    axis = buffer.ring_axis
    if axis is None or seen.bytes is None:
        return (seen,)
    rows, (begin, end) = buffer.shape[axis], seen.rectangle[axis]
    turn = min(end, begin - begin % rows + rows)
    bounds = ((begin, turn), (turn, end))
    return tuple(part_of(facts, shadow, seen, axis, (low, high)) for low, high in bounds if low < high)


def part_of(facts: Facts, shadow: Shadow, seen: Seen, axis: int, bounds: tuple[int, int]) -> Seen:
    """The operand cut down to the elements ``bounds`` of one axis."""
    rectangle = (*seen.rectangle[:axis], bounds, *seen.rectangle[axis + 1 :])
    return locate(facts, shadow, seen.buffer, rectangle, seen.slot, None if seen.slot < 0 else seen.held)


def locate(
    facts: Facts, shadow: Shadow, name: str, rectangle: Rectangle, slot: int, held: Rectangle | None = None
) -> Seen:
    """The bytes of a rectangle of a home (slot -1), or of a slot that holds ``held`` from its first byte.

    The rows of a ring stand where the first one stands and behind it, so they must not wrap (``pieces``).
    """
    buffer = facts.buffers[name]
    memory, start = shadow.homes[name]
    base = start + max(slot, 0) * buffer.slot_bytes
    held = rectangle if held is None else held
    origins = [begin for begin, _ in held] if slot >= 0 else [0] * len(rectangle)
    axis = buffer.ring_axis
    if axis is not None:
        row = rectangle[axis][0]
        origins[axis] = row - row % buffer.shape[axis]
    first = base + sum(
        (begin - origin) * stride
        for (begin, _), origin, stride in zip(rectangle, origins, buffer.strides_bytes, strict=True)
    )
    extents = [end - begin for begin, end in rectangle]
    part = region(memory, first, facts.element_bytes(name), extents, buffer.strides_bytes)
    return Seen(name, rectangle, held, slot, base, part, facts.root_kind(name) is BufferKind.CONSTANT)


def text(rectangle: Rectangle) -> str:
    """A rectangle for messages."""
    return "x".join(f"[{begin}, {end})" for begin, end in rectangle) or "scalar"


def make_shadow(facts: Facts) -> Shadow:
    """Memories with nothing written but inputs and states."""
    homes: dict[str, tuple[str, int]] = {}
    sizes: dict[str, int] = {}
    for name, buffer in facts.buffers.items():
        if name in facts.callers:
            memory, base = f"caller's {facts.root[name]}", facts.shift_bytes[name]
        else:
            memory, base = facts.placements[name].pool, facts.placements[name].offset_bytes
        homes[name] = (memory, base)
        if facts.root_kind(name) is BufferKind.CONSTANT:
            continue
        sizes[memory] = max(sizes.get(memory, 0), base + buffer.size_bytes)
    numbers = {name: number for number, name in enumerate(facts.buffers, start=1)}
    memories = {
        name: Memory(np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size, np.int32))
        for name, size in sizes.items()
    }
    for name, buffer in facts.buffers.items():
        given = buffer.kind in (BufferKind.INPUT, BufferKind.STATE) and not facts.is_left(name)
        if given and facts.root[name] == name:
            memory, base = homes[name]
            memories[memory].owner[base : base + buffer.size_bytes] = numbers[name]
    return Shadow(memories, homes, numbers)
