"""Rule on the profile: its buffer holds a record for each stage, and no step writes there."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.check.expand import Site, operands_of, scratch_of
from tilewright.check.names import Facts
from tilewright.check.rules import Log, Rule
from tilewright.plan import BufferKind, CopyStart, Kernel

_RECORD_BYTES = 16


def check_profile(facts: Facts, every: Iterable[Site], log: Log) -> None:
    """The program writes records beside its kernels, so no step may name the buffer or a view share it."""
    name = facts.plan.profile
    if name is None:
        return
    buffer, place = facts.buffers[name], f"buffer {name}"
    need = _RECORD_BYTES * len(facts.plan.layers)
    if buffer.kind is not BufferKind.STATE or buffer.size_bytes < need or buffer.align_bytes % 4:
        message = f"{buffer.kind.value} of {buffer.size_bytes} bytes, aligned to {buffer.align_bytes}"
        log.report(
            Rule.PROFILE, f"{message}; {len(facts.plan.layers)} records need {need} of state, aligned to 4", place
        )
    if any(root == name and view != name for view, root in facts.root.items()) or facts.root[name] != name:
        log.report(Rule.PROFILE, "the profile shares its bytes with a view", place)
    for site in every:
        reads, writes = operands_of(site.step)
        used = [operand.buffer for operand in (*reads, *writes)]
        if isinstance(site.step, (CopyStart, Kernel)):
            used += scratch_of(site.step)
        if name in used:
            log.report(Rule.PROFILE, f"a step uses {name}, which only records are written to", site.place)
