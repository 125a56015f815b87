"""An ELF program: its symbols, its sections and the bytes in them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from tilewright.base.errors import bad_input
from tilewright.base.lazy_dataclass import dataclass
from tilewright.firmware.elf_file import elf_file, symbol_tables

_WRITE, _ALLOC, _EXECUTE, _TLS = 1, 2, 4, 0x400
_SEGMENT_WRITE = 2
_THUMB_BIT = 1


class Machine(Enum):
    """The instruction set of a program."""

    RISCV = "EM_RISCV"
    ARM = "EM_ARM"
    OTHER = ""


class SymbolKind(Enum):
    """What a symbol stands for."""

    FUNCTION = "STT_FUNC"
    OBJECT = "STT_OBJECT"
    LABEL = "STT_NOTYPE"


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the file. ``content`` is empty for memory that no byte of the file fills.

    ``address`` and ``size_bytes`` count only where ``is_allocated``: the section is in the program's memory.
    """

    name: str
    address: int
    size_bytes: int
    content: bytes
    is_allocated: bool
    is_writable: bool
    is_code: bool
    is_tls: bool = False

    @property
    def end(self) -> int:
        """The address behind the section's last byte."""
        return self.address + self.size_bytes


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function, an object or a label. ``file`` is the source of a local symbol, empty where none is known."""

    name: str
    kind: SymbolKind
    address: int
    size_bytes: int
    section: Section
    is_local: bool
    file: str

    @property
    def end(self) -> int:
        """The address behind the symbol's last byte."""
        return self.address + self.size_bytes


@dataclass(frozen=True, slots=True)
class Image:
    """A linked program.

    ``word_bytes`` is the size of a pointer; ``functions`` are ordered by address. ``entry`` is the address at which the
    program begins, the Thumb bit included. ``copied`` are places (address, bytes) of initial values that start-up
    copies to where they are used.
    """

    path: Path
    machine: Machine
    word_bytes: int
    is_little_endian: bool
    entry: int
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    functions: tuple[Symbol, ...]
    copied: tuple[tuple[int, int], ...] = ()

    def named(self, name: str) -> tuple[Symbol, ...]:
        """All symbols of a name; local ones may be several."""
        return tuple(symbol for symbol in self.symbols if symbol.name == name)

    def function_at(self, address: int) -> Symbol | None:
        """The function that an address lies in."""
        at = bisect_right(self.functions, address, key=lambda function: function.address) - 1
        if at >= 0 and self.functions[at].address <= address < self.functions[at].end:
            return self.functions[at]
        return None

    def section_at(self, address: int) -> Section | None:
        """The allocated section that an address lies in."""
        return next((item for item in self.sections if item.is_allocated and item.address <= address < item.end), None)

    def read(self, address: int, size_bytes: int) -> bytes | None:
        """Bytes of the program's memory as the file fills it; None where the file does not."""
        section = self.section_at(address)
        if section is None or not section.content or address + size_bytes > section.end:
            return None
        return section.content[address - section.address :][:size_bytes]

    def word(self, address: int) -> int | None:
        """A pointer in read-only memory; None where memory is writable, or not in the file."""
        section = self.section_at(address)
        if section is None or section.is_writable:
            return None
        found = self.read(address, self.word_bytes)
        return None if found is None else self.number(found)

    def number(self, content: bytes) -> int:
        """The unsigned integer that bytes hold in the program's byte order."""
        return int.from_bytes(content, "little" if self.is_little_endian else "big")


def read_image(path: Path) -> Image:
    """A program from its file.

    Raises bad_input ``elf-file`` for a file that cannot be read or is no ELF program, ``elf-stripped`` for one
    without symbols.
    """
    with elf_file(path) as file:
        return _image(path, file)


def _image(path: Path, file: Any) -> Image:
    constant = tuple(_constant_spans(file))
    sections = tuple(_section(section, constant) for section in file.iter_sections())
    known = {machine.value: machine for machine in Machine}
    machine = known.get(str(file["e_machine"]), Machine.OTHER)
    symbols = tuple(_symbols(file, sections, machine))
    functions = [item for item in symbols if item.kind is SymbolKind.FUNCTION and item.size_bytes]
    if not functions:
        remedy = "check the program before its symbols are stripped"
        raise bad_input("elf-stripped", "the program has no symbols of functions", at=str(path), help=remedy)
    # Of several names of one function the public one counts; libraries begin internal names with an underscore.
    functions.sort(key=lambda item: (item.address, item.is_local, item.name.startswith("_"), item.name))
    by_address = {item.address: item for item in reversed(functions)}
    return Image(
        path=path,
        machine=machine,
        word_bytes=4 if file.elfclass == 32 else 8,
        is_little_endian=bool(file.little_endian),
        entry=int(file["e_entry"]),
        sections=sections,
        symbols=symbols,
        functions=tuple(by_address[address] for address in sorted(by_address)),
        copied=tuple(_copied(file)),
    )


def _copied(file: Any) -> Iterator[tuple[int, int]]:
    for segment in file.iter_segments():
        if segment["p_type"] == "PT_LOAD" and segment["p_paddr"] != segment["p_vaddr"] and segment["p_filesz"]:
            yield int(segment["p_paddr"]), int(segment["p_filesz"])


def _constant_spans(file: Any) -> Iterator[tuple[int, int]]:
    """Addresses [begin, end) of segments that a program may not write, whatever the flags of their sections are."""
    for segment in file.iter_segments():
        if segment["p_type"] == "PT_LOAD" and not segment["p_flags"] & _SEGMENT_WRITE:
            yield int(segment["p_vaddr"]), int(segment["p_vaddr"] + segment["p_memsz"])


def _section(section: Any, constant: tuple[tuple[int, int], ...]) -> Section:
    flags, address = int(section["sh_flags"]), int(section["sh_addr"])
    in_file = section["sh_type"] not in ("SHT_NOBITS", "SHT_NULL")
    return Section(
        name=str(section.name),
        address=address,
        size_bytes=int(section["sh_size"]),
        content=bytes(section.data()) if in_file else b"",
        is_allocated=bool(flags & _ALLOC),
        is_writable=bool(flags & _WRITE) and not any(begin <= address < end for begin, end in constant),
        is_code=bool(flags & _EXECUTE),
        is_tls=bool(flags & _TLS) and not in_file,
    )


def _symbols(file: Any, sections: tuple[Section, ...], machine: Machine) -> Iterator[Symbol]:
    """Symbols that stand in a section; local ones follow the symbol of their source file."""
    kinds = {kind.value: kind for kind in SymbolKind}
    for table in symbol_tables(file):
        source = ""
        for symbol in table:
            info, index = symbol["st_info"], symbol["st_shndx"]
            if info["type"] == "STT_FILE":
                source = str(symbol.name)
            elif info["type"] in kinds and isinstance(index, int):
                is_function = info["type"] == "STT_FUNC"
                mask = ~_THUMB_BIT if machine is Machine.ARM and is_function else ~0
                is_local = info["bind"] == "STB_LOCAL"
                yield Symbol(
                    name=str(symbol.name),
                    kind=kinds[info["type"]],
                    address=int(symbol["st_value"]) & mask,
                    size_bytes=int(symbol["st_size"]),
                    section=sections[index],
                    is_local=is_local,
                    file=source if is_local else "",
                )
