"""Finds the functions whose addresses a function knows: from its instructions, and from constants that these name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from tilewright.base.lazy_dataclass import dataclass
from tilewright.firmware.image import Image, Machine, Symbol, SymbolKind

_LEAST_ADDRESS = {Machine.ARM: 64}
_LEAST_ELSEWHERE = 256
"""Smaller numbers are taken for counts. Functions of Cortex-M may follow a table of 16 vectors at address 0."""


@dataclass(frozen=True, slots=True)
class Pointers:
    """Addresses of functions: ``in_code`` stand in instructions, ``in_data`` in constants that instructions name.

    ``objects`` are these constants: (address, bytes).
    """

    in_code: frozenset[int]
    in_data: frozenset[int]
    objects: frozenset[tuple[int, int]] = frozenset()


@dataclass(slots=True)
class PointerFinder:
    """Finds pointers in the read-only objects of a program; writable objects hold what the program wrote last.

    Objects within ``weights`` are left out: addresses [begin, end) of the plan's constants, whose bytes may look like
    pointers.
    """

    image: Image
    weights: tuple[tuple[int, int], ...] = ()
    objects: list[Symbol] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Collect the read-only objects."""
        self.objects = [
            symbol
            for symbol in self.image.symbols
            if symbol.kind is SymbolKind.OBJECT
            and symbol.section.is_allocated
            and not symbol.section.is_writable
            and symbol.size_bytes
            and not any(begin < symbol.end and symbol.address < end for begin, end in self.weights)
        ]

    def of(self, touched: Iterable[int]) -> Pointers:
        """The functions behind addresses that a function computes, accesses or loads."""
        in_code: set[int] = set()
        in_data: set[int] = set()
        objects: set[tuple[int, int]] = set()
        for address in (number for number in touched if number >= self._least()):
            if (function := self._function(address)) is not None:
                in_code.add(function)
            functions, named = self._from_object(address)
            in_data |= functions
            objects |= named
        return Pointers(frozenset(in_code), frozenset(in_data), frozenset(objects))

    def _least(self) -> int:
        """The least number that may be an address."""
        return _LEAST_ADDRESS.get(self.image.machine, _LEAST_ELSEWHERE)

    def _function(self, word: int) -> int | None:
        """The function to which a word points, if it does. Pointers to Thumb code are odd, which few numbers are.

        No program calls its entry by pointer; but the entry often lies where the code begins, an address that lists
        of memory regions hold.
        """
        thumb = 1 if self.image.machine is Machine.ARM else 0
        if word & 1 != thumb or word == self.image.entry:
            return None
        address = word - thumb
        symbol = self.image.function_at(address)
        return address if symbol is not None and symbol.address == address else None

    def _from_object(self, address: int) -> tuple[set[int], set[tuple[int, int]]]:
        """The functions that the object at an address names, itself or through other objects; and all these objects."""
        found: set[int] = set()
        seen: dict[int, int] = {}
        waiting = [address]
        while waiting:
            place = waiting.pop()
            for symbol in self.objects:
                if not symbol.address <= place < symbol.end or symbol.address in seen:
                    continue
                seen[symbol.address] = symbol.size_bytes
                for word in self._words(symbol):
                    function = self._function(word)
                    if function is not None:
                        found.add(function)
                    elif word >= self._least():
                        waiting.append(word)
        return found, set(seen.items())

    def _words(self, symbol: Symbol) -> list[int]:
        size = self.image.word_bytes
        first = -(-symbol.address // size) * size
        words = (self.image.word(address) for address in range(first, symbol.end - size + 1, size))
        return [word for word in words if word]
