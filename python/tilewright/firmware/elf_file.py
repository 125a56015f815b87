"""ELF files and the entries of their symbol tables; a fault of a file is an error for the user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from tilewright.base.errors import bad_input


@contextmanager
def elf_file(path: Path) -> Iterator[Any]:
    """The file, open for reading.

    Raises bad_input ``elf-file`` for a file that cannot be read or is no ELF program, also where the caller comes upon
    its fault.
    """
    try:
        with path.open("rb") as stream:
            yield ELFFile(stream)
    except OSError as error:
        raise bad_input("elf-file", f"cannot read the program: {error.strerror or error}", at=str(path)) from error
    except (ELFError, UnicodeDecodeError, IndexError, ValueError, AttributeError) as error:
        raise bad_input("elf-file", "the file is no ELF program with whole sections", at=str(path)) from error


def symbol_tables(file: Any) -> Iterator[Iterator[Any]]:
    """The symbols of each full table of a file, as pyelftools has them; a stripped program has no such table."""
    for section in file.iter_sections():
        if isinstance(section, SymbolTableSection) and section["sh_type"] == "SHT_SYMTAB":
            yield section.iter_symbols()


def symbol_addresses(path: Path) -> dict[str, int]:
    """Defined symbols, absolute ones too, and their addresses as ``nm`` prints them; of equal names the last.

    Raises bad_input ``elf-file`` as ``elf_file`` does.
    """
    with elf_file(path) as file:
        return {
            str(symbol.name): int(symbol["st_value"])
            for table in symbol_tables(file)
            for symbol in table
            if symbol.name and symbol["st_shndx"] != "SHN_UNDEF"
        }
