"""The check of constants in the field: a table of their CRC-32, and the function that reads them."""

from __future__ import annotations

from collections.abc import Mapping
from zlib import crc32

from tilewright.base.c_names import in_comment
from tilewright.codegen.buffers import Array, Storage


def constant_check_lines(storage: Storage, constants: Mapping[str, Array]) -> tuple[str, ...]:
    """C behind the constants; nothing where the plan has none, or asks for no check.

    ``constants`` maps the sha256 of each constant buffer to its elements in memory order.
    """
    if not storage.plan.check_constants:
        return ()
    prefix = storage.prefix
    rows = tuple(_row(storage, name, constants) for name in checked_buffers(storage))
    return (
        f"static const struct tilewright_checked {prefix}_checked[] = {{",
        *(f"    {row}" for row in rows),
        "};",
        "",
        f"enum tilewright_check_status {prefix}_check_constants(struct tilewright_check *check, uint32_t most_bytes)",
        "{",
        f"    return tilewright_check_parts({prefix}_checked, {len(rows)}u, check, most_bytes);",
        "}",
    )


def checked_buffers(storage: Storage) -> tuple[str, ...]:
    """The constants in read-only pools, by pool and address; a check counts them in this order."""
    names = []
    for pool in storage.constant_pools:
        placed = [item for item in storage.placements.values() if item.pool == pool.name]
        placed.sort(key=lambda item: (item.offset_bytes, item.buffer))
        names += [item.buffer for item in placed if item.buffer not in storage.parents]
    return tuple(name for name in names if storage.buffers[name].sha256 is not None)


def _row(storage: Storage, name: str, constants: Mapping[str, Array]) -> str:
    buffer = storage.buffers[name]
    assert buffer.sha256 is not None
    content = constants[buffer.sha256].tobytes()
    place = f"{storage.prefix}_{storage.placements[name].pool}.{storage.identifiers[name]}"
    return f"{{{place}, {len(content)}u, 0x{crc32(content):08x}u}}, /* {in_comment(name)} */"
