"""Reads FlatBuffers of any schema; every offset, length and index is checked before it is followed.

A table begins with the distance back to its vtable; the vtable says where each field of the table lies, or
that the field is absent, which means its default. Numbers are little-endian.

    root offset | file identifier | ... | vtable: bytes, table bytes, field 0, field 1, ... | table | ...
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tilewright.graph import Array

_MOST_READ = 16
"""The most times that a file's bytes may be read: structures of a spoilt file may overlap without end."""
_SPARE_BYTES = 1 << 16


class Spoilt(Exception):
    """The file contradicts itself; the text says where and how."""


@dataclass
class Bytes:
    """The content of a file, and how many bytes may still be read."""

    content: bytes
    left: int

    @classmethod
    def of(cls, content: bytes) -> Bytes:
        """The content, none of it read yet."""
        return cls(content, _MOST_READ * len(content) + _SPARE_BYTES)

    def claim(self, position: int, count: int, place: str) -> None:
        """Check that ``count`` bytes from ``position`` lie in the file, and count them as read."""
        if position < 0 or count < 0 or position + count > len(self.content):
            raise Spoilt(f"{place}: bytes {position} to {position + count} of {len(self.content)}")
        self.left -= count
        if self.left < 0:
            raise Spoilt(f"{place}: the structures of the file overlap")

    def number(self, kind: str, position: int, place: str) -> int | float:
        """A number of a ``struct`` type."""
        self.claim(position, struct.calcsize(kind), place)
        value: int | float = struct.unpack_from(f"<{kind}", self.content, position)[0]
        return value

    def integer(self, kind: str, position: int, place: str) -> int:
        """An integer of a ``struct`` type."""
        return int(self.number(kind, position, place))

    def follow(self, position: int, place: str) -> int:
        """The position to which the offset at ``position`` leads."""
        return position + self.integer("I", position, place)


@dataclass(frozen=True)
class Table:
    """A table of the file. Fields are numbered as in the schema; ``place`` is the table's path for messages."""

    file: Bytes
    position: int
    place: str
    fields: tuple[int, ...]

    @classmethod
    def root(cls, file: Bytes) -> Table:
        """The table at which the file begins."""
        return cls.at(file, file.follow(0, "root"), "root")

    @classmethod
    def at(cls, file: Bytes, position: int, place: str) -> Table:
        """The table at a position; Spoilt if its vtable does not fit the file."""
        vtable = position - file.integer("i", position, place)
        size, table_size = (file.integer("H", vtable + at, place) for at in (0, 2))
        if size < 4 or size % 2 or table_size < 4:
            raise Spoilt(f"{place}: a vtable of {size} bytes for a table of {table_size}")
        file.claim(vtable, size, place)
        file.claim(position, table_size, place)
        fields = struct.unpack_from(f"<{(size - 4) // 2}H", file.content, vtable + 4)
        if any(0 < offset < 4 or offset >= table_size for offset in fields):
            raise Spoilt(f"{place}: a field lies outside the table's {table_size} bytes")
        return cls(file, position, place, tuple(fields))

    def number(self, field: int, kind: str, default: int | float = 0) -> int | float:
        """A number of a ``struct`` type."""
        position = self._position(field)
        return default if position is None else self.file.number(kind, position, self._named(field))

    def integer(self, field: int, kind: str, default: int = 0) -> int:
        """An integer of a ``struct`` type."""
        return int(self.number(field, kind, default))

    def has(self, field: int) -> bool:
        """Whether the table has the field."""
        return self._position(field) is not None

    def table(self, field: int, name: str) -> Table | None:
        """A table; None if it is absent."""
        position = self._position(field)
        place = f"{self.place}.{name}"
        return None if position is None else Table.at(self.file, self.file.follow(position, place), place)

    def tables(self, field: int, name: str) -> Iterator[Table]:
        """The tables of a vector."""
        first, count = self._vector(field, 4, name)
        for index in range(count):
            place = f"{self.place}.{name}[{index}]"
            yield Table.at(self.file, self.file.follow(first + 4 * index, place), place)

    def array(self, field: int, dtype: str, name: str) -> Array:
        """The numbers of a vector, one axis; empty if it is absent."""
        kind = np.dtype(dtype).newbyteorder("<")
        first, count = self._vector(field, kind.itemsize, name)
        return np.frombuffer(self.file.content, kind, count, first)

    def text(self, field: int, name: str) -> str:
        """A string, in which bytes that are no UTF-8 are replaced; empty if it is absent."""
        first, count = self._vector(field, 1, name)
        return self.file.content[first : first + count].decode("utf-8", "replace")

    def _vector(self, field: int, item_bytes: int, name: str) -> tuple[int, int]:
        """Position of the first element, and the number of elements, of a vector."""
        position = self._position(field)
        if position is None:
            return 0, 0
        place = f"{self.place}.{name}"
        start = self.file.follow(position, place)
        count = self.file.integer("I", start, place)
        self.file.claim(start + 4, count * item_bytes, place)
        return start + 4, count

    def _position(self, field: int) -> int | None:
        offset = self.fields[field] if field < len(self.fields) else 0
        return self.position + offset if offset else None

    def _named(self, field: int) -> str:
        return f"{self.place}, field {field}"
