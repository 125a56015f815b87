"""A plan with room for canaries that is sound, and spoilt ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tilewright.check import Rule
from tilewright.plan import Guards, Placement, Plan

from support.linked import digits
from support.spoilt_memory import Spoilt


def guarded() -> Plan:
    """The digits with canaries in one pool."""
    return digits("qemu-virt-rv32-single", static_pools=True, guards=True).plan


def _with(**changes: Any) -> Plan:
    plan = guarded()
    assert isinstance(plan.guards, Guards)
    return replace(plan, guards=replace(plan.guards, **changes))


def _moved(name: str, by: int) -> Plan:
    """A buffer nearer to its neighbour, or to an end of the pool."""
    plan = guarded()
    assert any(item.buffer == name for item in plan.placements)
    places = (Placement(p.buffer, p.pool, p.offset_bytes + by * (p.buffer == name)) for p in plan.placements)
    return replace(plan, placements=tuple(places))


GUARDS: Spoilt = {
    "guards of nothing": (Rule.UNKNOWN_NAME, lambda: _with(record="nothing")),
    "guards in no pool": (Rule.UNKNOWN_NAME, lambda: _with(pools=("nowhere",))),
    "guards in flash": (Rule.GUARDS, lambda: _with(pools=("sram", "flash"))),
    "guards of no bytes": (Rule.GUARDS, lambda: _with(behind_bytes=0)),
    "guards larger than the room": (Rule.GUARDS, lambda: _with(behind_bytes=5)),
    "guards noted in a tensor": (Rule.GUARDS, lambda: _with(record="relu_0_QuantizeLinear_Output")),
    "buffer at the pool's end": (Rule.GUARDS, lambda: _moved("guard_record", -4)),
    "buffers without room between": (Rule.GUARDS, lambda: _moved("conv_2.scratch", -4)),
}
