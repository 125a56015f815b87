"""Loops of many iterations: what is alike is proved once.

Where iterations of a loop make the same steps on bytes near the core, what the checker finds in one follows from the
state in front of it. So each pair of a state and a kind of iteration is run through once, step by step, and its
outcome is known from then on: the state behind it, and that no rule broke. A state says what each byte near the core
holds, which copies are under way, and what slots and rows hold, in elements counted from where the iteration works.
First and last iterations, borders and whatever else differs are kinds of their own. Whoever finds a violation runs
the program again without this module, which only accepts.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.check.expand import Digits, Event, Rectangle, Site, block_at, block_digits, iterations, runs_of
from tilewright.check.far_bytes import FarWrites, far_writes
from tilewright.check.flow import Flight, Machine, Slot
from tilewright.check.shadow import Region, Seen
from tilewright.check.turns import Blocks, Turns, progress_of, turns_of
from tilewright.plan import CopyStart, Kernel, Loop

FEWEST = 64
"""Loops of fewer iterations are run through as they are."""

MOST_STATES = 2_000
MOST_STATE_BYTES = 1 << 28
"""A loop of more states, or of states that take more memory, goes on as it is."""

_STARTS = (0, 2, 8)
"""Before which iterations it is tried; earlier copies may be under way in front of the first."""

_EARLIER = -1
"""The instance of content that an earlier entry into a loop left in a slot."""


def run_steady(machine: Machine, site: Site, body: tuple[Site, ...], outer: Digits, instance: int) -> bool:
    """Run a whole loop on the machine; False, and nothing done, where its iterations are not alike."""
    loop = site.step
    assert isinstance(loop, Loop)
    begin, end = iterations(loop.body)
    if end - begin < FEWEST:
        return False
    turns = turns_of(machine.facts, body, loop, outer)
    if turns is None or int(turns.kinds.max()) + 1 > turns.count // 4:
        return False
    walk = _Walk(machine, turns, _Steps(body, loop, outer, instance, begin))
    if not walk.is_possible():
        return False
    machine.is_counting = False
    far = walk.run()
    machine.is_counting = True
    if far is not None:
        far.mark()
    for item in turns.blocks:
        if isinstance(item.step, Kernel):
            machine.calls[item.site.tick].extend(item.step.runs.count, item.bounds, _first_digits(item, loop, outer))
    return True


def _first_digits(item: Blocks, loop: Loop, outer: Digits) -> Digits:
    return {**outer, **block_digits(loop, item.step.runs.over, 0)}


@dataclass(frozen=True, slots=True)
class _Steps:
    """The steps of a loop, one iteration at a time."""

    body: tuple[Site, ...]
    loop: Loop
    outer: Digits
    instance: int
    begin: int

    def event(self, site: Site, block: int) -> Event:
        """One run of a step."""
        runs = runs_of(site.step)
        assert runs is not None
        digits = {**self.outer, **block_digits(self.loop, runs.over, block)} if runs.over else self.outer
        return Event(site, block, digits, self.instance)

    def run(self, machine: Machine, turn: int) -> None:
        """Run an iteration, counted from the first."""
        for site in self.body:
            runs = runs_of(site.step)
            assert runs is not None
            block = block_at(runs, self.begin + turn)
            if block is not None:
                machine.step(self.event(site, block))


@dataclass(frozen=True, slots=True)
class _State:
    """What is known before an iteration, as ``_Walk.state`` writes it down."""

    spans: tuple[tuple[bytes, bytes, bytes], ...]
    slots: tuple[Any, ...]
    rows: tuple[Any, ...]
    partial: tuple[Any, ...]
    flights: tuple[Any, ...]
    earlier: tuple[Flight, ...]


_Key = tuple[Any, ...]


@dataclass(slots=True)
class _Walk:
    machine: Machine
    turns: Turns
    steps: _Steps
    numbers: dict[_Key, int] = field(default_factory=dict)
    states: list[_State] = field(default_factory=list)
    taken: int = 0
    after: dict[tuple[int, int], int] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)

    def is_possible(self) -> bool:
        """Whether steps of one kernel's name count the parts of a reduction alike."""
        for item in self.turns.blocks:
            if isinstance(item.step, Kernel):
                _, total = progress_of(item, item.step)
                if self.totals.setdefault(item.step.name, int(total[0])) != int(total[0]):
                    return False
        return True

    def run(self) -> FarWrites | None:
        """Run all iterations."""
        turn, far = 0, None
        for start in _STARTS:
            while turn < start:
                self._step(turn)
                turn += 1
            far = far_writes(self.machine.shadow, self.turns, turn)
            if far is not None:
                break
        kinds = self.turns.kinds.tolist()
        if far is not None:
            turn = self._steady(turn, kinds)
        for left in range(turn, self.turns.count):
            self._step(left)
        return far

    def _step(self, turn: int) -> None:
        self.steps.run(self.machine, turn)

    def _steady(self, turn: int, kinds: list[int]) -> int:
        """Run until the end, or until states are too many; returns the iteration that comes next."""
        state, count = self._number(turn), self.turns.count
        while turn < count and len(self.states) < MOST_STATES and self.taken < MOST_STATE_BYTES:
            first = turn
            while turn < count and (after := self.after.get((state, kinds[turn]))) is not None:
                state, turn = after, turn + 1
            if turn > first:
                self._restore(self.states[state], turn)
            if turn < count and not self.machine.log.violations:
                self._step(turn)
                turn += 1
                before, state = state, self._number(turn)
                self.after[before, kinds[turn - 1]] = state
            elif turn < count:
                break
        return turn

    def _number(self, turn: int) -> int:
        """The number of the machine's state before an iteration, which is written down if it is new."""
        state = self._state(turn)
        key = (state.spans, state.slots, state.rows, state.partial, state.flights)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.states)
            self.states.append(state)
            self.taken += sum(len(some) for span in state.spans for some in span)
        return number

    def _origin(self, name: str, turn: int) -> tuple[tuple[int, ...], int]:
        """From where content of a buffer is counted before an iteration: from where the one before it worked."""
        axes, content = self.turns.origins[name]
        at = max(turn - 1, 0)
        return tuple(int(values[at]) for values in axes), int(content[at])

    def _near(self) -> list[str]:
        return sorted(self.turns.near)

    def _spans(self) -> list[tuple[str, slice]]:
        machine = self.machine
        homes = ((machine.shadow.homes[name], machine.facts.buffers[name].size_bytes) for name in self._near())
        return [(memory, slice(base, base + size)) for (memory, base), size in homes]

    def _state(self, turn: int) -> _State:
        machine = self.machine
        live = np.array([0, *(flight.number for flight in machine.flights.values())], np.int32)
        spans = []
        for memory, span in self._spans():
            words = machine.shadow.memories[memory]
            # Numbers of copies grow all the time; which of those under way it is says the same.
            incoming = np.searchsorted(live, words.incoming[span]).astype(np.int32)
            spans.append((words.owner[span].tobytes(), incoming.tobytes(), words.outgoing[span].tobytes()))
        flights = tuple(self._flight(key, flight, turn) for key, flight in machine.flights.items())
        return _State(
            tuple(spans),
            tuple(self._slots(turn)),
            tuple(self._rows(turn)),
            tuple(self._partial(turn)),
            flights,
            tuple(flight for flight in machine.flights.values() if not self._is_own(flight)),
        )

    def _slots(self, turn: int) -> list[_Key]:
        found = []
        for (name, slot), held in sorted(self.machine.slots.items(), key=lambda item: item[0]):
            if name in self.turns.origins:
                axes, content = self._origin(name, turn)
                is_own = held.filled[0] == self.steps.instance
                number = held.filled[1] - content if is_own else None
                found.append((name, slot, _moved(held.rectangle, axes, -1), number))
        return found

    def _rows(self, turn: int) -> list[_Key]:
        return [
            (name, row, _moved(held, self._origin(name, turn)[0], -1))
            for (name, row), held in sorted(self.machine.rows.held.items(), key=lambda item: item[0])
            if name in self.turns.origins
        ]

    def _partial(self, turn: int) -> list[_Key]:
        """Reductions that are begun; of one that is complete, or not begun, no part but the first may come."""
        return sorted(
            (kernel, name, _moved(rectangle, self._origin(name, turn)[0], -1), done)
            for (kernel, name, rectangle), done in self.machine.next_partial.items()
            if name in self.turns.origins and kernel in self.totals
        )

    def _is_own(self, flight: Flight) -> bool:
        return any(flight.site is item for item in self.steps.body)

    def _flight(self, key: tuple[str, int], flight: Flight, turn: int) -> _Key:
        """A copy under way: whose it is, which, and the bytes near the core that it touches."""
        token, number = key
        first = int(self.turns.firsts[token][max(turn - 1, 0)]) if token in self.turns.firsts else 0
        if not self._is_own(flight):
            return (token, number - first, flight.number)
        near = tuple(tuple(self._near_bytes(seen) for seen in pair) for pair in flight.touched)
        return (token, number - first, flight.site.tick, near)

    def _near_bytes(self, seen: Seen) -> Region | None:
        return seen.tracked if seen.buffer in self.turns.near else None

    def _restore(self, state: _State, turn: int) -> None:
        """Bring the machine into a state before an iteration."""
        machine = self.machine
        for flight in machine.flights.values():
            self._mark_far(flight, 0)
        machine.flights = self._flights(state, turn)
        for flight in machine.flights.values():
            self._mark_far(flight, flight.number)
        live = np.array([0, *(flight.number for flight in machine.flights.values())], np.int32)
        for (memory, span), (owner, incoming, outgoing) in zip(self._spans(), state.spans, strict=True):
            words = machine.shadow.memories[memory]
            words.owner[span] = np.frombuffer(owner, np.int32)
            words.incoming[span] = live[np.frombuffer(incoming, np.int32)]
            words.outgoing[span] = np.frombuffer(outgoing, np.int32)
        self._restore_content(state, turn)

    def _restore_content(self, state: _State, turn: int) -> None:
        machine, own = self.machine, self.turns.origins
        for slot in [slot for slot in machine.slots if slot[0] in own]:
            del machine.slots[slot]
        for name, number, rectangle, content in state.slots:
            axes, first = self._origin(name, turn)
            filled = (_EARLIER, 0) if content is None else (self.steps.instance, first + content)
            machine.slots[name, number] = Slot(_moved(rectangle, axes, 1), filled)
        for row in [row for row in machine.rows.held if row[0] in own]:
            del machine.rows.held[row]
        for name, row, rectangle in state.rows:
            machine.rows.held[name, row] = _moved(rectangle, self._origin(name, turn)[0], 1)
        for key in [key for key in machine.next_partial if key[1] in own and key[0] in self.totals]:
            del machine.next_partial[key]
        for kernel, name, rectangle, done in state.partial:
            machine.next_partial[kernel, name, _moved(rectangle, self._origin(name, turn)[0], 1)] = done

    def _flights(self, state: _State, turn: int) -> dict[tuple[str, int], Flight]:
        """The copies under way, those of the loop as they were started last."""
        machine, found, earlier = self.machine, {}, iter(state.earlier)
        sites = {site.tick: site for site in self.steps.body}
        for token, number, tick, *near in state.flights:
            block = number + (int(self.turns.firsts[token][max(turn - 1, 0)]) if token in self.turns.firsts else 0)
            if not near:
                found[token, block] = next(earlier)
                continue
            site = sites[tick]
            step = site.step
            assert isinstance(step, CopyStart)
            event = self.steps.event(site, block)
            source, destination = (
                machine.eyes.see(step.source, 0, event),
                machine.eyes.see(step.destination, 1, event),
            )
            touched = machine.touched(step, source, destination, event)
            assert near[0] == tuple(tuple(self._near_bytes(seen) for seen in pair) for pair in touched)
            machine.started += 1
            found[token, block] = Flight(machine.started, source.buffer, destination.buffer, touched, site)
        return found

    def _mark_far(self, flight: Flight, number: int) -> None:
        """Mark, or with 0 unmark, what a copy under way touches far from the core."""
        shadow = self.machine.shadow
        for source, destination in flight.touched:
            if destination.tracked is not None and destination.buffer not in self.turns.near:
                shadow.window(shadow.memory(destination.tracked).incoming, destination.tracked)[...] = number
            if source.tracked is not None and source.buffer not in self.turns.near:
                outgoing = shadow.window(shadow.memory(source.tracked).outgoing, source.tracked)
                outgoing += 1 if number else -1


def _moved(rectangle: Rectangle, axes: tuple[int, ...], sign: int) -> Rectangle:
    """A rectangle counted from an origin (-1), or from 0 again (1)."""
    return tuple((begin + sign * at, end + sign * at) for (begin, end), at in zip(rectangle, axes, strict=True))
