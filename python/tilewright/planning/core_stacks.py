"""Stacks of cores that lie beside the plan's bytes: what kernels need of them, and whether both fit."""

from __future__ import annotations

from dataclasses import replace

from tilewright.base.errors import does_not_fit
from tilewright.kernels.stacks import core_stack_bytes
from tilewright.planning.realise import Planned
from tilewright.platform import Platform
from tilewright.platform.types import CoreStacks
from tilewright.schedule.tile_loops import ScheduledLayer


def larger_stack_bytes(planned: Planned, platform: Platform) -> int:
    """The bytes that each core's stack must have; 0 where the platform's default is enough."""
    stacks = platform.core_stacks
    if stacks is None or not planned.layers:
        return 0
    most = core_stack_bytes(_deepest(planned).problem.kernel)
    return most if most > stacks.size_bytes else 0


def with_room_for_stacks(planned: Planned, platform: Platform) -> Platform:
    """The platform; if the plan uses more of a pool than stacks leave, with a pool of the bytes that they leave."""
    stacks = platform.core_stacks
    if stacks is None or _missing_bytes(planned, platform, stacks) <= 0:
        return platform
    room = _room_bytes(planned, platform, stacks)
    pools = (replace(pool, size_bytes=room) if pool.name == stacks.pool else pool for pool in platform.pools)
    return replace(platform, pools=tuple(pools)) if room > 0 else platform


def require_room_for_stacks(planned: Planned, platform: Platform) -> None:
    """Raise does_not_fit ``core-stacks`` with layer, kernel, bytes and the size of the pool that leaves room."""
    stacks = platform.core_stacks
    if stacks is None or (missing := _missing_bytes(planned, platform, stacks)) <= 0:
        return
    layer = _deepest(planned).problem
    room = _room_bytes(planned, platform, stacks)
    need = stacks.space_bytes - room
    kernel = layer.kernel.name.removeprefix("tilewright_")
    stack = larger_stack_bytes(planned, platform)
    remedy = f"POOLS {stacks.pool}={room} leaves room for them"
    raise does_not_fit(
        "core-stacks",
        f"kernel '{kernel}' needs stacks of {stack:,} bytes: {need:,} bytes beside pool "
        f"'{stacks.pool}', of which the plan leaves {need - missing:,} ({missing:,} too few)",
        at=next(f"layer {facts.label}" for facts in planned.schedule.layers if facts.name == layer.node.name),
        help=remedy if room > 0 else "a platform whose cores have more memory",
    )


def _deepest(planned: Planned) -> ScheduledLayer:
    return max(planned.layers, key=lambda layer: core_stack_bytes(layer.problem.kernel))


def _room_bytes(planned: Planned, platform: Platform, stacks: CoreStacks) -> int:
    """Bytes that stacks leave of the memory that they share with the pool, a multiple of the pool's alignment."""
    size = max(larger_stack_bytes(planned, platform), stacks.size_bytes)
    align = platform.pool(stacks.pool).align_bytes
    return (stacks.space_bytes - stacks.count * size - stacks.other_bytes) // align * align


def _missing_bytes(planned: Planned, platform: Platform, stacks: CoreStacks) -> int:
    """Bytes of the pool that the plan uses beyond what stacks leave; at most 0 where both fit.

    0 where the platform's default stacks are large enough: the linker has to find room for these.
    """
    if not larger_stack_bytes(planned, platform):
        return 0
    used = sum(use.used_bytes for use in planned.pool_use if use.pool == stacks.pool)
    return used - _room_bytes(planned, platform, stacks)
