"""A profiled plan that is sound, and spoilt ones."""

from __future__ import annotations

from dataclasses import replace

from tilewright.check import Rule
from tilewright.plan import Begin, BufferKind, End, Placement, Plan, PoolUse, Relation, RelationKind

from support import plans
from support.edits import kernel, on_step, read, with_buffer
from support.sound import BASE
from support.spoilt_memory import Spoilt

RECORD_BYTES = 16


def profiled() -> Plan:
    """The two layers with a record for each of them behind m."""
    size = RECORD_BYTES * len(BASE.layers)
    records = plans.buffer("profile", BufferKind.STATE, (len(BASE.layers), RECORD_BYTES), "sram")
    used = 192 + size
    return replace(
        BASE,
        buffers=(*BASE.buffers, replace(records, tensor=None)),
        placements=(*BASE.placements, Placement("profile", "sram", 192)),
        pool_use=(BASE.pool_use[0], PoolUse("sram", used, used, False), BASE.pool_use[2]),
        program=(Begin("profile"), *BASE.program, End("profile")),
        profile="profile",
    )


def viewed() -> Plan:
    plan = profiled()
    relation = Relation(RelationKind.AT_OFFSET, "part", "profile", 0, (0, 0))
    part = replace(plans.buffer("part", BufferKind.STATE, (4,), "sram"), tensor=None)
    placements = (*plan.placements, Placement("part", "sram", 192))
    return replace(plan, buffers=(*plan.buffers, part), placements=placements, relations=(*plan.relations, relation))


PROFILES: Spoilt = {
    "profile of nothing": (Rule.UNKNOWN_NAME, lambda: replace(profiled(), profile="nothing")),
    "profile for fewer layers": (
        Rule.PROFILE,
        lambda: with_buffer(profiled(), "profile", size_bytes=28, slot_bytes=28, shape=(2, 14), strides_bytes=(14, 1)),
    ),
    "profile that may be overwritten": (Rule.PROFILE, lambda: replace(profiled(), profile="m")),
    "profile of words at odd addresses": (Rule.PROFILE, lambda: with_buffer(profiled(), "profile", align_bytes=2)),
    "kernel that works on the profile": (
        Rule.PROFILE,
        lambda: on_step(
            profiled(), kernel("relu"), read(0, buffer="profile", rectangle=(plans.whole(2), plans.whole(RECORD_BYTES)))
        ),
    ),
    "profile that a view shares": (Rule.PROFILE, viewed),
}
