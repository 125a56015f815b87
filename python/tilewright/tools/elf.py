"""The names and addresses of the symbols of an ELF file, as ``nm`` prints them.

The layout is that of the System V ABI, chapters 4 (object files) and "Symbol Table".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tilewright.base.errors import TilewrightError, bad_input
from tilewright.base.inputs import read_content

_MAGIC = b"\x7fELF"
_SYMTAB = 2
_UNDEFINED = 0


@dataclass(frozen=True, slots=True)
class _Form:
    """How the file packs its fields: the byte order, as ``struct`` writes it, and whether addresses have 64 bits."""

    order: str
    is_64: bool

    def unpack(self, layout: str, data: bytes, offset: int) -> tuple[int, ...]:
        """The fields at ``offset``; ``layout`` is as for ``struct``, with A for an address or a size."""
        return struct.unpack_from(self.order + layout.replace("A", "Q" if self.is_64 else "I"), data, offset)


def symbol_addresses(path: Path) -> dict[str, int]:
    """Defined symbols (global and local) and their addresses; of several symbols with one name the last.

    Raises bad_input ``elf-file`` for a file that cannot be read or is no ELF file.
    """
    try:
        data = read_content(path)
    except OSError as error:
        raise bad_input("elf-file", f"cannot read the program: {error.strerror or error}", at=str(path)) from error
    try:
        return dict(_symbols(data))
    except (struct.error, IndexError, ValueError) as error:
        raise _broken(path) from error


def _broken(path: Path) -> TilewrightError:
    return bad_input("elf-file", "the file is no ELF program with whole sections", at=str(path))


def _symbols(data: bytes) -> Iterator[tuple[str, int]]:
    if data[:4] != _MAGIC or data[4] not in (1, 2) or data[5] not in (1, 2):
        raise ValueError("not ELF")
    form = _Form("<" if data[5] == 1 else ">", data[4] == 2)
    # The file header has e_shoff behind e_entry and e_phoff, and e_shentsize and e_shnum at its end.
    (headers,) = form.unpack("A", data, 40 if form.is_64 else 32)
    entry_size, count = form.unpack("HH", data, 58 if form.is_64 else 46)
    sections = [_section(form, data, headers + number * entry_size) for number in range(count)]
    for kind, offset, size, link, entry in sections:
        if kind != _SYMTAB:
            continue
        _, names, names_size, _, _ = sections[link]
        texts = data[names : names + names_size]
        for at in range(offset, offset + size, entry):
            name, value, section = _symbol(form, data, at)
            if section != _UNDEFINED and name:
                yield texts[name : texts.index(b"\0", name)].decode("utf-8", "replace"), value


def _section(form: _Form, data: bytes, at: int) -> tuple[int, int, int, int, int]:
    """(sh_type, sh_offset, sh_size, sh_link, sh_entsize) of the section header at ``at``."""
    _, kind, _, _, offset, size, link, _, _, entry = form.unpack("IIAAAAIIAA", data, at)
    return kind, offset, size, link, entry


def _symbol(form: _Form, data: bytes, at: int) -> tuple[int, int, int]:
    """(st_name, st_value, st_shndx) of the symbol at ``at``."""
    if form.is_64:
        name, _, _, section, value, _ = form.unpack("IBBHQQ", data, at)
    else:
        name, value, _, _, _, section = form.unpack("IIIBBH", data, at)
    return name, value, section
