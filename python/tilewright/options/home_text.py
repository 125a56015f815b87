"""Where a tensor lives, as a user says it: one pool, an address in a pool, or several pools that are tried in order.

[homes]
t2 = "sram"             # this pool
t3 = "l2@0x400"         # 1,024 bytes behind the start of this pool
t4 = ["l2", "l3"]       # one of these pools
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.toml_file import Table

_FORM = re.compile(r"(\w+)@(0x[0-9a-fA-F]+|[0-9]+)|\w+(?: *, *\w+)*")


@dataclass(frozen=True, slots=True)
class GivenHome:
    """Candidate pools in order, and the distance in bytes from the start of the only one; None if that is free."""

    pools: tuple[str, ...]
    offset_bytes: int | None = None


def read_homes(table: Table, key: str) -> tuple[tuple[str, str], ...]:
    """Tensor to its home, as ``given_home`` reads it."""
    homes = table.table(key)
    return tuple((name, _home(homes, name)) for name in homes.values)


def _home(homes: Table, name: str) -> str:
    value = homes.values[name]
    text = ", ".join(homes.texts(name)) if isinstance(value, (list, tuple)) else homes.text(name)
    if not _FORM.fullmatch(text):
        raise homes.must_be(name, "a pool, <pool>@<bytes behind its start>, or a list of pools")
    return text


def given_home(text: str) -> GivenHome:
    """What the text of a home says."""
    found = _FORM.fullmatch(text)
    if found is not None and found[1]:
        return GivenHome((found[1],), int(found[2], 0))
    return GivenHome(tuple(dict.fromkeys(pool.strip() for pool in text.split(","))))


def given_offsets(homes: Mapping[str, str]) -> dict[str, int]:
    """Tensor to the offset in bytes that the user gives."""
    found = {name: given_home(text).offset_bytes for name, text in homes.items()}
    return {name: offset for name, offset in found.items() if offset is not None}
