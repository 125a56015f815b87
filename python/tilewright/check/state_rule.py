"""Rule on states: what a run leaves lies where the next run finds it, and nothing else is kept from run to run."""

from __future__ import annotations

from tilewright.check.names import Facts
from tilewright.check.rules import Log, Rule
from tilewright.plan import BufferKind, StateTensor


def check_states(facts: Facts, log: Log) -> None:
    """Each state has two whole buffers of its own, alike and at one address."""
    names = [name for state in facts.plan.states for name in (state.found, state.left)]
    for state in facts.plan.states:
        place = f"state {state.input}"
        for name in (state.found, state.left):
            _check_buffer(facts, name, place, log)
            if names.count(name) > 1:
                log.report(Rule.STATE, f"{name} stands for two of what states find and leave", place)
        _check_same_place(facts, state, place, log)


def _check_buffer(facts: Facts, name: str, place: str, log: Log) -> None:
    buffer = facts.buffers[name]
    if buffer.kind is not BufferKind.STATE or name == facts.plan.profile:
        log.report(Rule.STATE, f"its buffer {name} is of kind {buffer.kind.value}, or a profile", place)
    if facts.root[name] != name or buffer.copies != 1 or buffer.ring_axis is not None:
        log.report(Rule.STATE, f"its buffer {name} is a view, a ring, or has slots", place)


def _check_same_place(facts: Facts, state: StateTensor, place: str, log: Log) -> None:
    found, left = facts.buffers[state.found], facts.buffers[state.left]
    if (found.dtype, found.shape, found.strides_bytes) != (left.dtype, left.shape, left.strides_bytes):
        log.report(Rule.STATE, f"{found.name} and {left.name} have another type, shape or strides", place)
    one, other = facts.placements.get(found.name), facts.placements.get(left.name)
    if one is None or other is None or (one.pool, one.offset_bytes) != (other.pool, other.offset_bytes):
        log.report(Rule.STATE, f"{left.name} is left elsewhere than {found.name} is found", place)
