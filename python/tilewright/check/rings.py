"""Rings: buffers on one axis of which element r of the tensor lies at r modulo the buffer's extent, its row.

Whoever writes a ring, a copy or a kernel, a row holds what was written there last. Reading a row that something
else was written over is an error, so a ring that is too small for the rows that are still needed is found.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.check.expand import Event, Rectangle, Site, operands_of
from tilewright.check.names import Facts
from tilewright.check.rules import Log, Rule
from tilewright.check.shadow import Seen, Shadow, locate, text
from tilewright.plan import Buffer, BufferKind, CopyStart, Kernel, Plan, RelationKind

_WHOLE = (BufferKind.INPUT, BufferKind.OUTPUT, BufferKind.CONSTANT)


def check_ring_buffers(plan: Plan, log: Log) -> None:
    """A ring has one slot and an axis, is no view, and holds nothing that the caller or the linker owns whole."""
    rings = {buffer.name for buffer in plan.buffers if buffer.ring_axis is not None}
    for buffer in plan.buffers:
        axis = buffer.ring_axis
        if axis is None:
            continue
        has_axis = 0 <= axis < len(buffer.shape) and buffer.shape[axis] > 0
        if not has_axis or buffer.copies != 1 or buffer.kind in _WHOLE:
            message = f"a ring on axis {axis} of {buffer.shape}, {buffer.copies} slots, kind {buffer.kind.value}"
            log.report(Rule.MALFORMED, message, f"buffer {buffer.name}")
    for relation in plan.relations:
        if relation.kind is RelationKind.AT_OFFSET and {relation.first, relation.second} & rings:
            log.report(Rule.MALFORMED, "a ring shares its bytes with a view", f"relation of {relation.first}")


def check_ring_steps(plan: Plan, every: Iterable[Site], log: Log) -> None:
    """Kernels see the axis of a ring; a copy has a tile that is a ring at one end, and no ring at the other.

    All steps that touch a ring agree how many rows the tensor has.
    """
    buffers = {buffer.name: buffer for buffer in plan.buffers}
    rows: dict[str, int] = {}
    for site in every:
        if isinstance(site.step, CopyStart):
            for message in _copy_faults(site.step, site, buffers):
                log.report(Rule.MALFORMED, message, site.place)
        reads, writes = operands_of(site.step)
        for number, operand in enumerate((*reads, *writes)):
            buffer = buffers.get(operand.buffer)
            if buffer is None or buffer.ring_axis is None:
                continue
            extents = [axis.extent for axis in operand.rectangle][buffer.ring_axis : buffer.ring_axis + 1]
            if extents and rows.setdefault(buffer.name, extents[0]) != extents[0]:
                message = f"{extents[0]} rows of the tensor in ring {buffer.name}, elsewhere {rows[buffer.name]}"
                log.report(Rule.MALFORMED, message, site.place)
            if operand.within:
                log.report(Rule.MALFORMED, f"a part of a larger tile in the ring {buffer.name}", site.place)
            axes = site.step.axes[number : number + 1] if isinstance(site.step, Kernel) else ()
            if any(buffer.ring_axis not in view for view in axes):
                message = f"the kernel does not see axis {buffer.ring_axis} of the ring {buffer.name}"
                log.report(Rule.MALFORMED, message, site.place)


def _copy_faults(step: CopyStart, site: Site, buffers: dict[str, Buffer]) -> Iterable[str]:
    ends = [buffers.get(operand.buffer) for operand in (step.source, step.destination)]
    rings = [buffer for buffer in ends if buffer is not None and buffer.ring_axis is not None]
    if step.kept and step.kept not in site.names:
        yield f"keeps along {step.kept}, which is no index"
    if step.kept and (not rings or rings[-1] is not ends[-1]):
        yield f"keeps rows in {step.destination.buffer}, which is no ring"
    if len(rings) > 1:
        yield "a copy from ring to ring"
    if any(buffer.kind is not BufferKind.TILE for buffer in rings):
        yield f"a copy of rows of {rings[0].name}, which is no tile"
    if rings and len(step.source.rectangle) != len(step.destination.rectangle):
        yield "source and ring differ in rank"


@dataclass(frozen=True, slots=True)
class Rows:
    """What each row of each ring holds: the rectangle of the tensor that was written there last, by ring and row."""

    facts: Facts
    shadow: Shadow
    log: Log
    held: dict[tuple[str, int], Rectangle] = field(default_factory=dict)

    def forget(self, name: str) -> None:
        """A ring that begins holds nothing."""
        for key in [key for key in self.held if key[0] == name]:
            self.held.pop(key)

    def holds(self, seen: Seen, event: Event) -> bool:
        """Whether each row that is read is the one that was written last where it lies."""
        for key, wanted in self._rows_of(seen):
            held = self.held.get(key)
            if held is None or not covers(held, wanted):
                what = text(held) if held is not None else "nothing"
                message = f"row {key[1]} of the ring {seen.buffer} holds {what}, read is {text(wanted)}"
                self.log.report(Rule.SLOT_CONTENT, message, event.site.place, event.block)
                return False
        return True

    def fill(self, seen: Seen) -> None:
        """Rows get new content; the old content of their places is gone, except other parts of the same rows."""
        number = self.shadow.numbers[self.facts.root[seen.buffer]]
        for key, rectangle in self._rows_of(seen):
            if seen.slot < 0 and self.held.get(key) == rectangle:
                continue
            part = locate(self.facts, self.shadow, seen.buffer, rectangle, seen.slot).bytes
            if part is not None:
                owner = self.shadow.window(self.shadow.memory(part).owner, part)
                owner[np.abs(owner) == number] = 0
            self.held[key] = rectangle

    def _rows_of(self, seen: Seen) -> list[tuple[tuple[str, int], Rectangle]]:
        """The rows of a part of a ring, each with its place in the ring and its rectangle.

        A home has a place for every element of a row, whatever part of the row is touched; a tile has it for the
        elements of its rectangle.
        """
        buffer = self.facts.buffers[seen.buffer]
        axis = buffer.ring_axis
        assert axis is not None
        area = seen.rectangle if seen.slot >= 0 else tuple((0, extent) for extent in buffer.shape)
        return [
            ((buffer.name, row % buffer.shape[axis]), (*area[:axis], (row, row + 1), *area[axis + 1 :]))
            for row in range(*seen.rectangle[axis])
        ]


def covers(held: Rectangle, wanted: Rectangle) -> bool:
    """A slot or row serves a rectangle with the same origin that is no larger."""
    pairs = zip(held, wanted, strict=True)
    return held == wanted or all(begin == first and end <= last for (first, last), (begin, end) in pairs)
