"""The buffer in which a profiled program keeps what it measures: one record for each stage."""

from __future__ import annotations

from tilewright.base.errors import not_supported
from tilewright.plan import Buffer, BufferKind
from tilewright.platform import Platform

WORDS = 4
"""Of struct tilewright_profile in runtime/include/tilewright/profile.h."""


def profile_buffer(name: str, stages: int, platform: Platform) -> Buffer:
    """A buffer for the records of so many stages, where the caller can read them after a run.

    Code beside the kernels writes the records, so the buffer's pool needs no link. Raises not_supported where no
    pool holds state.
    """
    holders = [pool.name for pool in platform.pools if BufferKind.STATE in pool.holds]
    if not holders:
        raise not_supported(
            "no-profile-pool",
            f"platform '{platform.name}' has no pool that holds 'state', so a profile has no place",
            help="add 'state' to 'holds' of a pool that the caller can read",
        )
    # The caller's own buffers are where the caller can certainly read.
    pool = platform.io_pool if platform.io_pool in holders else holders[0]
    size = 4 * WORDS * max(stages, 1)
    return Buffer(
        name=name,
        kind=BufferKind.STATE,
        tensor=None,
        dtype="uint32",
        shape=(max(stages, 1), WORDS),
        strides_bytes=(4 * WORDS, 4),
        size_bytes=size,
        align_bytes=4,
        pools=(pool,),
        slot_bytes=size,
    )
