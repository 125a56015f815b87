"""Rules on content: what is read was written, copies are awaited, outputs are complete.

The program runs on the shadow memory. Kernels and copies move no data; they move the
knowledge of what each byte holds.
"""

from __future__ import annotations

from dataclasses import field, replace

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.check.calls import Calls, progress
from tilewright.check.expand import Event, Rectangle, Site, not_kept_bounds
from tilewright.check.names import Facts
from tilewright.check.overwriting import Touched, check_overwriting, meet
from tilewright.check.rings import Rows, covers
from tilewright.check.rules import Log, Rule
from tilewright.check.shadow import Eyes, Region, Seen, Shadow, locate, part_of, pieces, region, text
from tilewright.check.transfer import check_transfer
from tilewright.plan import Begin, BufferKind, CopyStart, End, Kernel, Operand, Wait


@dataclass(frozen=True, slots=True)
class Slot:
    """What a slot of a tile buffer holds, and for which blocks of which loop entry it was filled."""

    rectangle: Rectangle
    filled: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Flight:
    """A copy that was started and not awaited. ``touched`` are source and destination, in parts where a ring wraps."""

    number: int
    source: str
    destination: str
    touched: tuple[tuple[Seen, Seen], ...]
    site: Site


@dataclass(slots=True)
class Machine:
    """The state of a run: memory, what slots and rows hold, copies under way, reductions that are begun.

    ``is_counting`` says whether calls of kernels are noted in ``calls``.
    """

    facts: Facts
    log: Log
    shadow: Shadow
    eyes: Eyes
    rows: Rows
    calls: dict[int, Calls]
    slots: dict[tuple[str, int], Slot] = field(default_factory=dict)
    flights: dict[tuple[str, int], Flight] = field(default_factory=dict)
    started: int = 0
    alive: dict[str, set[str]] = field(default_factory=dict)
    next_partial: dict[tuple[str, str, Rectangle], int] = field(default_factory=dict)
    is_counting: bool = True

    def step(self, event: Event) -> None:
        """Run one step."""
        step = event.site.step
        if isinstance(step, CopyStart):
            self._copy(step, event)
        elif isinstance(step, Wait):
            self._wait(step, event)
        elif isinstance(step, Kernel):
            self._kernel(step, event)
        elif isinstance(step, Begin):
            self._begin(step.buffer)
        elif isinstance(step, End):
            self._end(step.buffer, event)

    def _kernel(self, step: Kernel, event: Event) -> None:
        if self.is_counting:
            self.calls[event.site.tick].add(event.digits)
        reads = [
            (position, piece)
            for position, operand in enumerate(step.reads)
            for piece in pieces(self.facts, self.shadow, self.eyes.see(operand, position, event))
        ]
        writes = [
            (position, piece)
            for position, operand in enumerate(step.writes, start=len(step.reads))
            for piece in pieces(self.facts, self.shadow, self.eyes.see(operand, position, event))
        ]
        for position, seen in reads:
            self._read(seen, event)
            self._check_packed(step.reads[position], seen, event)
        if step.reduction:
            self._keep_sums(step, event)
        for position, seen in writes:
            self._kernel_write(step, seen, step.writes[position - len(step.reads)], event)
        for position, seen in reads:
            for number, write in writes:
                if meet(seen, write):
                    read = Touched(seen, step.axes[position], step.maps[position])
                    written = Touched(write, step.axes[number], step.maps[number])
                    check_overwriting(self.facts, self.shadow, (position, read), written, event, self.log)

    def _keep_sums(self, kernel: Kernel, event: Event) -> None:
        """The sums that one part of a cut reduction leaves in scratch stay there until the last part."""
        done, _ = progress(kernel, event.digits)
        for name in kernel.scratch:
            part = self._whole(name)
            assert part is not None
            owner, number = self.shadow.window(self.shadow.memory(part).owner, part), self._number(name)
            if done and (owner != number).any():
                message = f"what part {done - 1} of the reduction left in {name} is gone"
                self.log.report(Rule.SCRATCH, message, event.site.place, event.block)
            owner[...] = number

    def _check_packed(self, operand: Operand, seen: Seen, event: Event) -> None:
        """Kernels see packed constants without strides: their tiles have no gaps."""
        buffer = self.facts.buffers[operand.buffer]
        is_packed = buffer.kind is BufferKind.TILE and buffer.tensor is None
        if is_packed and seen.bytes is not None and len(seen.bytes.dims) > 1:
            message = f"{buffer.name} {text(seen.rectangle)} is packed, but its slot has gaps"
            self.log.report(Rule.RECTANGLE, message, event.site.place, event.block)

    def finish(self) -> None:
        """Rules on the state after the last step."""
        for (token, number), flight in self.flights.items():
            message = f"the copy {token} number {number} is still in flight at the end of the program"
            self.log.report(Rule.NEVER_AWAITED, message, flight.site.place)
        for name in (*(tensor.buffer for tensor in self.facts.plan.outputs), *sorted(self.facts.left)):
            self._check_output(name)

    def _check_output(self, name: str) -> None:
        buffer = self.facts.buffers[name]
        whole = tuple((0, extent) for extent in buffer.shape)
        seen = locate(self.facts, self.shadow, name, whole, -1)
        if seen.bytes is None:
            return
        owner = self.shadow.window(self.shadow.memory(seen.bytes).owner, seen.bytes)
        missing = int(np.count_nonzero(owner != self._number(name)))
        if missing:
            total = owner.size
            message = f"{missing} of the {total} bytes of {name} are not written at the end of the program"
            self.log.report(Rule.OUTPUT_INCOMPLETE, message, f"buffer {name}")

    def _number(self, name: str) -> int:
        return self.shadow.numbers[self.facts.root[name]]

    def _begin(self, name: str) -> None:
        """A buffer that begins holds nothing, unless its bytes live on in a view."""
        kinds = (BufferKind.INPUT, BufferKind.CONSTANT, BufferKind.STATE)
        if self.facts.buffers[name].kind in kinds and not self.facts.is_left(name):
            return
        root = self.facts.root[name]
        family = self.alive.setdefault(root, set())
        if not family:
            memory, base = self.shadow.homes[root]
            owner = self.shadow.memories[memory].owner[base : base + self.facts.buffers[root].size_bytes]
            number = self._number(name)
            owner[(owner == number) | (owner == -number)] = 0
        family.add(name)
        for slot in range(self.facts.buffers[name].copies):
            self.slots.pop((name, slot), None)
        self.rows.forget(name)

    def _end(self, name: str, event: Event) -> None:
        family = self.alive.get(self.facts.root[name], set())
        family.discard(name)
        if family:
            self._release(name, family)
        for (token, _), flight in self.flights.items():
            if name in (flight.source, flight.destination):
                message = f"{name} ends while the copy {token} is in flight"
                self.log.report(Rule.END_BEFORE_WAIT, message, event.site.place)

    def _release(self, name: str, family: set[str]) -> None:
        """A buffer that ends loses its content, except bytes that living buffers of its ``family`` have too.

        Outputs, states that a run leaves, constants and the caller's buffers keep their content.
        """
        own = self._whole(name)
        others = [part for other in family if (part := self._whole(other)) is not None]
        kind = self.facts.buffers[name].kind
        is_result = name in self.facts.callers or kind is BufferKind.OUTPUT or self.facts.is_left(name)
        if own is None or is_result or self.facts.root_kind(name) is BufferKind.CONSTANT:
            return
        if any(len(part.dims) == 1 and part.base <= own.base and own.end <= part.end for part in others):
            return
        root = self.facts.root[name]
        first = self.shadow.homes[root][1]
        kept = np.zeros(self.facts.buffers[root].size_bytes, np.int32)
        for part in others:
            self.shadow.window(kept, replace(part, base=part.base - first))[...] = 1
        held = self.shadow.window(kept, replace(own, base=own.base - first))
        owner, number = self.shadow.window(self.shadow.memory(own).owner, own), self._number(name)
        owner[(held == 0) & (np.abs(owner) == number)] = 0

    def _whole(self, name: str) -> Region | None:
        """All bytes of a buffer."""
        buffer, (memory, base) = self.facts.buffers[name], self.shadow.homes[name]
        return region(memory, base, self.facts.element_bytes(name), buffer.shape, buffer.strides_bytes)

    def _read(self, seen: Seen, event: Event) -> None:
        """What is read must be there: the right tile, arrived, complete, and not overwritten."""
        part = seen.tracked
        if part is None:
            return
        name, place, block = seen.buffer, event.site.place, event.block
        if self.facts.buffers[name].ring_axis is not None:
            if not self.rows.holds(seen, event):
                return
        elif seen.slot >= 0:
            held = self.slots.get((name, seen.slot))
            if held is None:
                self.log.report(Rule.UNWRITTEN_READ, f"slot {seen.slot} of {name} holds nothing", place, block)
                return
            if not covers(held.rectangle, seen.held):
                message = f"slot {seen.slot} of {name} holds {text(held.rectangle)}, read is {text(seen.rectangle)}"
                self.log.report(Rule.SLOT_CONTENT, message, place, block)
                return
        memory = self.shadow.memory(part)
        if self.flights and np.count_nonzero(self.shadow.window(memory.incoming, part)):
            message = f"{name} {text(seen.rectangle)} is read before the copy into it was awaited"
            self.log.report(Rule.READ_BEFORE_WAIT, message, place, block)
            return
        owner, number = self.shadow.window(memory.owner, part), self._number(name)
        missing = np.count_nonzero(owner != number)
        if not missing:
            return
        if (owner == -number).any():
            message = f"{name} {text(seen.rectangle)} holds partial results of a reduction"
            self.log.report(Rule.PARTIAL_READ, message, place, block)
            return
        message = f"{missing} of {owner.size} bytes of {name} {text(seen.rectangle)} were never written, or overwritten"
        self.log.report(Rule.UNWRITTEN_READ, message, place, block)

    def _check_free(self, seen: Seen, part: Region, event: Event) -> None:
        """No copy in flight may touch bytes that are written now."""
        if not self.flights:
            return
        memory = self.shadow.memory(part)
        if np.count_nonzero(self.shadow.window(memory.outgoing, part)):
            message = f"{seen.buffer} {text(seen.rectangle)} is overwritten while a copy from it is in flight"
            self.log.report(Rule.OVERWRITTEN_BEFORE_WAIT, message, event.site.place, event.block)
        if np.count_nonzero(self.shadow.window(memory.incoming, part)):
            message = f"{seen.buffer} {text(seen.rectangle)} is written while a copy into it is in flight"
            self.log.report(Rule.DESTINATION_BUSY, message, event.site.place, event.block)

    def _fill_slot(self, seen: Seen, filled: tuple[int, int]) -> None:
        """A slot gets new content; the old one is gone, also where the new one is smaller."""
        buffer = self.facts.buffers[seen.buffer]
        memory, _ = self.shadow.homes[seen.buffer]
        owner = self.shadow.memories[memory].owner[seen.base : seen.base + buffer.slot_bytes]
        owner[np.abs(owner) == self._number(seen.buffer)] = 0
        self.slots[(seen.buffer, seen.slot)] = Slot(seen.held, filled)

    def _fill_part(self, seen: Seen, filled: tuple[int, int], operand: Operand) -> None:
        """A slot gets new content by a copy, which may be one of several that together fill what the slot holds."""
        held = self.slots.get((seen.buffer, seen.slot))
        if not operand.within or held != Slot(seen.held, filled):
            self._fill_slot(seen, filled)

    def _write(self, seen: Seen, part: Region, number: int, event: Event) -> None:
        """Write new content, once."""
        owner = self.shadow.window(self.shadow.memory(part).owner, part)
        mine = abs(number)
        again = np.count_nonzero(np.abs(owner) == mine)
        if again and self.facts.root_kind(seen.buffer) is not BufferKind.STATE:
            message = f"{again} bytes of {seen.buffer} {text(seen.rectangle)} are written again"
            self.log.report(Rule.WRITTEN_TWICE, message, event.site.place, event.block)
        owner[...] = number

    def _kernel_write(self, kernel: Kernel, seen: Seen, operand: Operand, event: Event) -> None:
        part = seen.tracked
        if part is None:
            return
        done, total = progress(kernel, event.digits, operand)
        number = self._number(seen.buffer)
        if done + 1 < total:
            number = -number
        self._check_partial(kernel, seen, (done, total), event)
        if done:
            self._accumulate(seen, part, number, event)
            self._check_free(seen, part, event)
            return
        if self.facts.buffers[seen.buffer].ring_axis is not None:
            self.rows.fill(seen)
        elif seen.slot >= 0:
            filled = (event.instance, event.block // operand.period)
            held = self.slots.get((seen.buffer, seen.slot))
            if held is None or held.filled != filled:
                self._fill_slot(seen, filled)
        self._write(seen, part, number, event)
        self._check_free(seen, part, event)

    def _check_partial(self, kernel: Kernel, seen: Seen, parts: tuple[int, int], event: Event) -> None:
        """The tiles of a reduction come in order, each once; ``parts`` came before, and are there in all."""
        done, total = parts
        if not kernel.reduction:
            return
        key = (kernel.name, seen.buffer, seen.rectangle)
        expected = self.next_partial.get(key, 0) if done else 0
        if done != expected:
            message = (
                f"{seen.buffer} {text(seen.rectangle)}: part {done} of the reduction comes where {expected} is due"
            )
            self.log.report(Rule.REDUCTION_ORDER, message, event.site.place, event.block)
        self.next_partial.pop(key, None)
        if done + 1 < total:
            self.next_partial[key] = done + 1

    def _accumulate(self, seen: Seen, part: Region, number: int, event: Event) -> None:
        """Add to partial results, which must still be there."""
        place, block = event.site.place, event.block
        held = self.slots.get((seen.buffer, seen.slot))
        if self.facts.buffers[seen.buffer].ring_axis is not None:
            if not self.rows.holds(seen, event):
                return
        elif seen.slot >= 0 and (held is None or held.rectangle != seen.rectangle):
            message = f"slot {seen.slot} of {seen.buffer} does not hold the partial results of {text(seen.rectangle)}"
            self.log.report(Rule.SLOT_CONTENT, message, place, block)
            return
        owner = self.shadow.window(self.shadow.memory(part).owner, part)
        if np.count_nonzero(owner != -abs(number)):
            message = f"{seen.buffer} {text(seen.rectangle)} holds no partial results to add to"
            self.log.report(Rule.UNWRITTEN_READ, message, place, block)
        owner[...] = number

    def _copy(self, step: CopyStart, event: Event) -> None:
        source, destination = self.eyes.see(step.source, 0, event), self.eyes.see(step.destination, 1, event)
        touched = self.touched(step, source, destination, event)
        for ends in touched:
            check_transfer(self.facts, self.shadow, step, ends, event, self.log)
        key = (step.token, event.block)
        if key in self.flights:
            message = f"token {step.token} number {key[1]} is started again before it was awaited"
            self.log.report(Rule.TOKEN_REUSED, message, event.site.place, event.block)
            self._land(self.flights.pop(key))
        self.started += 1
        self.flights[key] = Flight(self.started, source.buffer, destination.buffer, touched, event.site)
        for outgoing, incoming in touched:
            self._move(step, outgoing, incoming, event)

    def touched(self, step: CopyStart, source: Seen, destination: Seen, event: Event) -> tuple[tuple[Seen, Seen], ...]:
        """The pairs (source, destination) that a copy moves: one pair without a ring.

        With a ring, one pair for each run of rows that does not wrap; kept rows are not copied and have none.
        """
        ends = (source, destination)
        axes = [self.facts.buffers[seen.buffer].ring_axis for seen in ends]
        axis = axes[1] if axes[1] is not None else axes[0]
        if axis is None:
            return (ends,)
        if source.rectangle != destination.rectangle:
            message = f"copies {text(source.rectangle)} to the place of {text(destination.rectangle)} in a ring"
            self.log.report(Rule.COPY_ORIGIN, message, event.site.place, event.block)
            return ()
        if source.bytes is None or destination.bytes is None:
            return ()
        bounds = destination.rectangle[axis]
        if step.kept:
            bounds = not_kept_bounds(step.destination.rectangle[axis], step.kept, event.digits)
        ring = destination if axes[1] is not None else source
        fresh = part_of(self.facts, self.shadow, ring, axis, bounds)
        whole = pieces(self.facts, self.shadow, fresh) if fresh.bytes is not None else ()
        runs = [piece.rectangle[axis] for piece in whole]
        outgoing, incoming = ([part_of(self.facts, self.shadow, seen, axis, run) for run in runs] for seen in ends)
        return tuple(zip(outgoing, incoming, strict=True))

    def _move(self, step: CopyStart, source: Seen, destination: Seen, event: Event) -> None:
        self._read(source, event)
        outgoing, part = source.tracked, destination.tracked
        if part is not None:
            if self.facts.buffers[destination.buffer].ring_axis is not None:
                self.rows.fill(destination)
            elif destination.slot >= 0:
                self._fill_part(destination, (event.instance, event.block // step.destination.period), step.destination)
            self._write(destination, part, self._number(destination.buffer), event)
            self._check_free(destination, part, event)
            self.shadow.window(self.shadow.memory(part).incoming, part)[...] = self.started
        if outgoing is not None:
            self.shadow.window(self.shadow.memory(outgoing).outgoing, outgoing)[...] += 1

    def _wait(self, step: Wait, event: Event) -> None:
        key = (step.token, step.number + event.block)
        flight = self.flights.pop(key, None)
        if flight is None:
            message = f"no copy {step.token} number {key[1]} is in flight"
            self.log.report(Rule.TOKEN_NOT_STARTED, message, event.site.place, event.block)
            return
        self._land(flight)

    def _land(self, flight: Flight) -> None:
        for source, destination in flight.touched:
            part, outgoing = destination.tracked, source.tracked
            if part is not None:
                incoming = self.shadow.window(self.shadow.memory(part).incoming, part)
                incoming[incoming == flight.number] = 0
            if outgoing is not None:
                self.shadow.window(self.shadow.memory(outgoing).outgoing, outgoing)[...] -= 1
