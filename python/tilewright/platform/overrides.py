"""What POOLS says of the pools of a platform: ``<pool>=<bytes>[@<section>|@0x<address>]``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from tilewright.base.errors import bad_input, suggestion
from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.settings import BYTE_UNITS
from tilewright.plan import Pool
from tilewright.platform.types import SECTION, Platform

_OVERRIDE = re.compile(r"(?P<pool>[^=@\s]+)=(?P<bytes>0[xX][0-9a-fA-F]+|[0-9]+)(?P<unit>[KM]?)(?:@(?P<where>\S+))?")
_ADDRESS = re.compile(r"0[xX][0-9a-fA-F]+")


@dataclass(frozen=True, slots=True)
class PoolOverride:
    """What POOLS says about one pool: its size, and possibly where it lies."""

    pool: str
    size_bytes: int
    section: str | None = None
    base: int | None = None


def parse_pool_override(text: str) -> PoolOverride:
    """``<pool>=<bytes>[@<section>|@0x<address>]``, with K or M behind the bytes for 1,024 or 1,048,576 of them.

    Raises bad_input.
    """
    match = _OVERRIDE.fullmatch(text.strip())
    if match is None:
        raise bad_input(
            "pool-override",
            f"'{text}' is not <pool>=<bytes>[@<section>|@0x<address>]",
            help="for example l1=16000, l1=16K, l1=16000@.l1_bss or l1=16000@0x10000000",
        )
    size_bytes = int(match["bytes"], 0 if match["bytes"][:2].lower() == "0x" else 10) * BYTE_UNITS[match["unit"]]
    if size_bytes == 0:
        raise bad_input("pool-override", f"'{text}' gives a pool no bytes")
    where = match["where"]
    if where is None:
        return PoolOverride(match["pool"], size_bytes)
    if _ADDRESS.fullmatch(where):
        return PoolOverride(match["pool"], size_bytes, base=int(where, 16))
    if not SECTION.pattern.fullmatch(where):
        raise bad_input("pool-override", f"'{where}' in '{text}' is neither a section nor an address 0x...")
    return PoolOverride(match["pool"], size_bytes, section=where)


def with_pool_overrides(platform: Platform, overrides: Iterable[PoolOverride | str]) -> Platform:
    """The platform with other sizes (and places) of pools.

    Raises bad_input for text that does not parse, an unknown pool, a pool that is named
    twice, or an address that is not a multiple of the pool's alignment.
    """
    pools = {pool.name: pool for pool in platform.pools}
    seen: set[str] = set()
    for entry in overrides:
        override = parse_pool_override(entry) if isinstance(entry, str) else entry
        if override.pool not in pools:
            what = f"platform '{platform.name}' has no pool '{override.pool}'"
            raise bad_input("pool-override", what, help=suggestion(override.pool, pools))
        if override.pool in seen:
            raise bad_input("pool-override", f"pool '{override.pool}' is given twice")
        seen.add(override.pool)
        pools[override.pool] = _overridden(pools[override.pool], override)
    return replace(platform, pools=tuple(pools.values()))


def _overridden(pool: Pool, override: PoolOverride) -> Pool:
    if override.base is not None and override.base % pool.align_bytes:
        what = f"address 0x{override.base:x} of pool '{pool.name}' is not a multiple of {pool.align_bytes}"
        raise bad_input("pool-override", what)
    if override.section is None and override.base is None:
        return replace(pool, size_bytes=override.size_bytes)
    return replace(pool, size_bytes=override.size_bytes, section=override.section, base=override.base)
