"""The buffers of what a program notes beside its kernels: what it measures of each stage, which canary is spoilt."""

from __future__ import annotations

from tilewright.base.errors import not_supported
from tilewright.plan import Buffer, BufferKind
from tilewright.platform import Platform

WORDS = 4
"""Of struct tilewright_profile in runtime/include/tilewright/profile.h, and of struct tilewright_spoilt in guard.h."""


def profile_buffer(name: str, stages: int, platform: Platform) -> Buffer:
    """A buffer for the records of so many stages. Raises not_supported where no pool holds state."""
    return _records(name, stages, platform, "profile")


def guard_record(name: str, platform: Platform) -> Buffer:
    """A buffer for the canary that a run found spoilt. Raises not_supported where no pool holds state."""
    return _records(name, 1, platform, "guards")


def _records(name: str, count: int, platform: Platform, what: str) -> Buffer:
    """A buffer for so many records, where the caller can read them after a run.

    Code beside the kernels writes the records, so the buffer's pool needs no link.
    """
    holders = [pool.name for pool in platform.pools if BufferKind.STATE in pool.holds]
    if not holders:
        raise not_supported(
            f"no-{what}-pool",
            f"platform '{platform.name}' has no pool that holds 'state', so the records of {what} have no place",
            help="add 'state' to 'holds' of a pool that the caller can read",
        )
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
