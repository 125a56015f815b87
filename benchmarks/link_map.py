"""What a GNU ld map says about a program: bytes of code by archive, and which functions are there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_CONTENTS = "Linker script and memory map"
_SECTION = re.compile(r"^ (\.\S+)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S.*)$", re.MULTILINE)
_ALLOCATOR = re.compile(r"(?<![A-Za-z0-9])_*(?:malloc|calloc|realloc|sbrk)(?:_r)?(?![A-Za-z0-9_])")


@dataclass(frozen=True)
class InputSection:
    """A section of an object that is in the program; ``size`` in bytes."""

    name: str
    size: int
    origin: str


def sections(text: str) -> Iterator[InputSection]:
    """Input sections that were kept; what --gc-sections dropped stands before the memory map."""
    _, separator, contents = text.partition(_CONTENTS)
    if not separator:
        raise ValueError("this is no map of GNU ld")
    for name, address, size, origin in _SECTION.findall(contents):
        if int(address, 16) and int(size, 16):
            yield InputSection(name, int(size, 16), origin)


def code_bytes(text: str, archive: str) -> int:
    """Bytes of code that come from an archive; constants and other libraries are not counted."""
    return sum(
        section.size
        for section in sections(text)
        if section.name.startswith(".text") and f"{archive}(" in section.origin
    )


def allocators(text: str) -> list[str]:
    """Names of allocating functions anywhere in the map, dropped sections included."""
    return sorted(set(_ALLOCATOR.findall(text)))
