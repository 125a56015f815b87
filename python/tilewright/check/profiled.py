"""Rules on what a run notes beside its kernels: the buffers of records have room, and no step writes there."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.check.expand import Site, operands_of, scratch_of
from tilewright.check.names import Facts
from tilewright.check.rules import Log, Rule
from tilewright.plan import BufferKind, CopyStart, Kernel

_RECORD_BYTES = 16


def check_profile(facts: Facts, every: Iterable[Site], log: Log) -> None:
    """A profile has a record for each stage; of canaries a run notes one."""
    plan = facts.plan
    if plan.profile is not None:
        _check_records(Rule.PROFILE, plan.profile, len(plan.layers), facts, every, log)
    if plan.guards is not None:
        _check_records(Rule.GUARDS, plan.guards.record, 1, facts, every, log)


def _check_records(rule: Rule, name: str, count: int, facts: Facts, every: Iterable[Site], log: Log) -> None:
    """The program writes records beside its kernels, so no step may name the buffer or a view share it."""
    buffer, place = facts.buffers[name], f"buffer {name}"
    need = _RECORD_BYTES * count
    if buffer.kind is not BufferKind.STATE or buffer.size_bytes < need or buffer.align_bytes % 4:
        message = f"{buffer.kind.value} of {buffer.size_bytes} bytes, aligned to {buffer.align_bytes}"
        log.report(rule, f"{message}; {count} records need {need} of state, aligned to 4", place)
    if any(root == name and view != name for view, root in facts.root.items()) or facts.root[name] != name:
        log.report(rule, f"the {rule.value} shares its bytes with a view", place)
    for site in every:
        reads, writes = operands_of(site.step)
        used = [operand.buffer for operand in (*reads, *writes)]
        if isinstance(site.step, (CopyStart, Kernel)):
            used += scratch_of(site.step)
        if name in used:
            log.report(rule, f"a step uses {name}, which only records are written to", site.place)
