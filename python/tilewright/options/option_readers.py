"""Readers of options that are written as no type says: the prefix of C names, and overrides of pools."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.base.c_names import c_prefix
from tilewright.base.errors import bad_input
from tilewright.base.toml_file import Table
from tilewright.platform import parse_pool_override


def read_name(table: Table, key: str) -> str:
    """The prefix of every C name."""
    text = table.text(key)
    if c_prefix(text) == text:
        return text
    rule = "letters, digits and single underscores, beginning with a letter, and no name of C, C++ or their headers"
    place, remedy = table.place(key), f"{rule}; for example '{c_prefix(text)}'"
    raise bad_input("bad-name", f"'{text}' cannot be the prefix of C names", at=place, help=remedy)


def read_pools(table: Table, key: str) -> tuple[str, ...]:
    """Overrides as they are written, one for each pool, from a table of sizes or a list of overrides."""
    value = table.values[key]
    if isinstance(value, Mapping):
        value = [f"{pool}={size}" for pool, size in value.items()]
    if not isinstance(value, (list, tuple)):
        raise table.must_be(key, "a list of <pool>=<bytes>")
    return tuple({parse_pool_override(str(text)).pool: str(text) for text in value}.values())
