"""Refuses constants that no plan could hold before tiles are chosen, which takes minutes for a large model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tilewright.base.errors import does_not_fit
from tilewright.plan import BufferKind
from tilewright.planning.prepare import Prepared
from tilewright.platform import Platform
from tilewright.tiling.constant_homes import Content, constant_bytes, most_constant_bytes


def require_room_for_constants(prepared: Prepared, platform: Platform) -> None:
    """Raise does_not_fit where constants take more than all pools that hold nothing else, whatever is decided.

    Pools that hold tensors too are left to the search, which knows what else they need.
    """
    pools = [pool for pool in platform.pools if BufferKind.CONSTANT in pool.holds]
    rooms = [pool.usable_bytes for pool in pools]
    given = sum(room for room in rooms if room is not None)
    if not pools or None in rooms or any(set(pool.holds) != {BufferKind.CONSTANT} for pool in pools):
        return
    if most_constant_bytes(prepared.problems) <= given:
        return
    stored = [[constant_bytes(problem, prepared.arrays) for problem in layer] for layer in prepared.problems]
    least = least_bytes(stored)
    if least <= given:
        return
    names = " and ".join(f"'{pool.name}'" for pool in pools)
    word, verb = ("pool", "needs") if len(pools) == 1 else ("pools", "together need")
    raise does_not_fit(
        "pool-overflow",
        f"{word} {names} {verb} at least {least:,} bytes for constants, platform '{platform.name}' gives {given:,} "
        f"({least - given:,} too many)",
        help=(
            f"POOLS {pools[-1].name}={(pools[-1].size_bytes or 0) + least - given} if the chip has that much",
            "or weights of 8 bits: docs/how-to/get-an-int8-model.md",
            "or another chip: docs/how-to/choose-a-chip.md",
        ),
    )


def least_bytes(layers: Sequence[Sequence[Mapping[Content, int]]]) -> int:
    """The bytes of constants that every plan stores, whichever kernels it takes.

    Args:
        layers: for each layer, for each kernel that can run it, the bytes of each constant by its content. Equal
            contents are stored once.
    """
    readers = Counter(content for kernels in layers for content in {name for found in kernels for name in found})
    common: dict[Content, int] = {}
    total = 0
    for kernels in layers:
        total += min(sum(size for name, size in found.items() if readers[name] == 1) for found in kernels)
        always = set.intersection(*(set(found) for found in kernels))
        common.update({name: kernels[0][name] for name in always if readers[name] > 1})
    return total + sum(common.values())
