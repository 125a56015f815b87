"""A platform file for memories that were found in a linker script or a devicetree."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tilewright.base.c_names import c_identifier
from tilewright.base.errors import bad_input
from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.reserved_names import is_reserved


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory of a chip: its name where it was found, the address of its first byte, bytes, and whether it is RAM.

    ``section`` is the section that a linker script already places there, empty where none is known.
    """

    name: str
    base: int
    size_bytes: int
    writable: bool
    section: str = ""


_HEAD = """\
# Memories: {source}.
# Guesses, to be checked: cycles of an access (data sheet, or docs/how-to/calibrate.md), and that the program may use
# the whole of each memory. What the application, its stack and its heap take is to be taken off size_bytes.
# The linker script must place the section .bss.tilewright.<pool> of each pool without a section in that memory.
name = "{name}"

[target]
kernels = ["scalar"]

[core]
access_cycles = {{ {access} }}

[io]
pool = "{io}"
"""

_POOL = """
[[pool]]            # {found}, {size_bytes:,} bytes at 0x{base:x}
name = "{name}"
size_bytes = {size_bytes}
access = "{access}"
holds = [{holds}]
{section}"""

_RAM_HOLDS = ("input", "output", "intermediate", "state", "tile", "scratch")


def platform_text(name: str, source: str, memories: Sequence[Memory]) -> str:
    """A platform file without links: every memory is a pool that the core addresses, the largest RAM first.

    Raises bad_input ``no-memory`` if there is no RAM.
    """
    rams = sorted((item for item in memories if item.writable), key=lambda item: -item.size_bytes)
    if not rams:
        what = f"{source} names no memory that can be written"
        raise bad_input("no-memory", what, help="write the platform file by hand: docs/how-to/add-a-platform.md")
    pools = [*rams, *(item for item in memories if not item.writable)]
    names = _pool_names(pools)
    named = tuple(zip(names, pools, strict=True))
    access = ", ".join(f"{pool} = {1 if item.writable else 2}" for pool, item in named)
    title = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")
    head = _HEAD.format(source=source, name=title, access=access, io=names[0])
    return head + "".join(_pool(item, pool) for pool, item in named)


def _pool(item: Memory, name: str) -> str:
    holds = ", ".join(f'"{kind}"' for kind in (_RAM_HOLDS if item.writable else ("constant",)))
    access = "rw" if item.writable else "ro"
    section = f'section = "{item.section}"\n' if item.section else ""
    numbers = {"base": item.base, "size_bytes": item.size_bytes}
    return _POOL.format(found=item.name, name=name, access=access, holds=holds, section=section, **numbers)


def _pool_names(memories: Sequence[Memory]) -> list[str]:
    """Names of pools: those of the memories as far as C and platform files allow, made unique."""
    names: list[str] = []
    for item in memories:
        wanted = re.sub(r"_+", "_", c_identifier(item.name).lower()).strip("_") or "memory"
        wanted = f"{wanted}_pool" if is_reserved(wanted) else wanted
        number, free = 2, wanted
        while free in names:
            number, free = number + 1, f"{wanted}_{number}"
        names.append(free)
    return names
