"""The buffers that a program writes beside its kernels: measurements of stages, a spoilt canary, where a window is."""

from __future__ import annotations

from dataclasses import replace

from tilewright.base.errors import not_supported
from tilewright.plan import Buffer, BufferKind
from tilewright.platform import Platform

WORDS = 4
"""Words of struct tilewright_profile and of struct tilewright_spoilt (profile.h and guard.h of the runtime)."""

_REMEDY = "add 'state' to 'holds' of a pool that the caller can read"


def profile_buffer(name: str, stages: int, platform: Platform) -> Buffer:
    """A buffer for the records of so many stages. Raises not_supported where no pool holds state."""
    holders = _holders(platform)
    if not holders:
        what = f"platform '{platform.name}' has no pool that holds 'state', so the records of a profile have no place"
        raise not_supported("no-profile-pool", what, help=_REMEDY)
    return _records(name, stages, platform, holders)


def guard_record(name: str, platform: Platform) -> Buffer:
    """A buffer for the canary that a run found spoilt. Raises not_supported where no pool holds state."""
    holders = _holders(platform)
    if not holders:
        what = f"platform '{platform.name}' has no pool that holds 'state', so the record of a canary has no place"
        raise not_supported("no-guards-pool", what, help=_REMEDY)
    return _records(name, 1, platform, holders)


def position_buffer(name: str, platform: Platform) -> Buffer:
    """A buffer for the iteration at which the next run of a window that slides begins."""
    holders = _holders(platform)
    if not holders:
        what = f"platform '{platform.name}' has no pool that holds 'state', so the window's position has no place"
        raise not_supported("no-state-pool", what, help=_REMEDY)
    record = _records(name, 1, platform, holders)
    return replace(record, shape=(1,), strides_bytes=(4,), size_bytes=4, slot_bytes=4)


def _holders(platform: Platform) -> list[str]:
    """The pools that hold state."""
    return [pool.name for pool in platform.pools if BufferKind.STATE in pool.holds]


def _records(name: str, count: int, platform: Platform, holders: list[str]) -> Buffer:
    """A buffer for so many records in one of the pools ``holders``, where the caller can read them after a run.

    Code beside the kernels writes the records, so the buffer's pool needs no link.
    """
    # The caller's own buffers are where the caller can certainly read.
    pool = platform.io_pool if platform.io_pool in holders else holders[0]
    size = 4 * WORDS * max(count, 1)
    return Buffer(
        name=name,
        kind=BufferKind.STATE,
        tensor=None,
        dtype="uint32",
        shape=(max(count, 1), WORDS),
        strides_bytes=(4 * WORDS, 4),
        size_bytes=size,
        align_bytes=4,
        pools=(pool,),
        slot_bytes=size,
    )
