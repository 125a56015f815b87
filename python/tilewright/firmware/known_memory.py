"""What is known of the words of memory while a run is executed with unknown inputs."""

from __future__ import annotations

from dataclasses import field
from typing import Union

from tilewright.base.lazy_dataclass import dataclass
from tilewright.firmware.image import Image
from tilewright.firmware.rv32_steps import MASK, Word

Known = Union[int, tuple[int, int], None]
"""What is known of a word of memory: the word, (bits, mask of those that are known), or nothing."""


@dataclass(slots=True)
class KnownMemory:
    """Words by address; those that are absent are unknown, unless the program's constants have them.

    ``is_used`` says that a word was written, or one read that writes may change, since the flag was last taken down.
    """

    image: Image
    words: dict[int, Known] = field(default_factory=dict)
    constants: dict[int, Word] = field(default_factory=dict)
    log: list[tuple[int, Known]] = field(default_factory=list)
    is_used: bool = False

    def word(self, address: int) -> Word:
        """The word at an address that is a multiple of 4."""
        value = self.words.get(address)
        if value is not None:
            self.is_used = True
            return value if isinstance(value, int) else None
        if address not in self.constants:
            self.constants[address] = self.image.word(address)
        constant = self.constants[address]
        if constant is None:
            self.is_used = True
        return constant

    def load(self, address: Word, size: int) -> Word:
        """The value at an address, without sign."""
        if address is None:
            return None
        place = address & ~3
        if size == 4:
            return self.word(place)
        shift, part = 8 * (address & 3), (1 << 8 * size) - 1
        known = self.words.get(place)
        self.is_used |= known is not None
        word = known[0] if isinstance(known, tuple) and known[1] >> shift & part == part else self.word(place)
        return None if word is None else word >> shift & part

    def store(self, address: Word, size: int, value: Word) -> None:
        """Write a value; raises UnknownAddress."""
        if address is None:
            raise UnknownAddress
        place = address & ~3
        before = self.words.get(place)
        self.is_used = True
        self.log.append((place, before))
        self.put(place, value if size == 4 else _with_part(before, 8 * (address & 3), (1 << 8 * size) - 1, value))

    def put(self, place: int, value: Known) -> None:
        """Set what is known of a word."""
        if value is None:
            self.words.pop(place, None)
        else:
            self.words[place] = value


def _with_part(before: Known, shift: int, part: int, value: Word) -> Known:
    """What is known of a word after a store to the bits ``part << shift``."""
    bits, mask = before if isinstance(before, tuple) else (0, 0) if before is None else (before, MASK)
    bits, mask = bits & ~(part << shift), mask & ~(part << shift)
    if value is not None:
        bits, mask = bits | (value & part) << shift, mask | part << shift
    return bits if mask == MASK else (bits, mask) if mask else None


class UnknownAddress(Exception):
    """A store goes to an address that is not known."""
