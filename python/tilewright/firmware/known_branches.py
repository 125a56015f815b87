"""What came of a branch whose both ways were executed, for the next time that the branch is reached.

The ways of a branch inside a routine for floats depend on few registers, most of them unknown, and nest: without this
memory each way would execute all branches behind it again.

Before:  a branch on an unknown value, whose ways read and write a4 and a5 only
After:   with the same a4 and a5, unknown or not, the same instructions and results; other registers stay as they are
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from operator import itemgetter

from tilewright.base.lazy_dataclass import dataclass
from tilewright.firmware.disassembly import Instruction
from tilewright.firmware.rv32_steps import REGISTERS, Registers, Word

Frame = tuple[int, Word]
"""The return address and the stack pointer of the call under way."""

Result = tuple[int, int, Registers]
"""Instructions of the longer way, the address where the ways meet, and the registers there, all or the touched ones."""

_MOST = 4096
"""Results kept for a branch: one whose registers differ each time must not fill the memory."""

_WORD = re.compile(r"\w+")
_ALWAYS = 1 << REGISTERS["zero"] | 1 << REGISTERS["ra"] | 1 << REGISTERS["sp"]
"""Registers that jumps use without naming them, and one that has always the same value."""


@dataclass(slots=True)
class Branch:
    """Results of a branch whose ways use no memory that can change and end in the call in which they began.

    ``touched`` has the bits of all registers that any of its ways reads or writes.
    """

    touched: int = _ALWAYS
    results: dict[tuple[object, Frame], Result] = field(default_factory=dict)
    numbers: tuple[int, ...] = ()

    def known(self, registers: Registers, frame: Frame) -> Result | None:
        """The result for registers, or None if the branch was not executed with them."""
        found = self.results.get((self._key(registers), frame)) if self.results else None
        if found is None:
            return None
        count, address, after = found
        merged = list(registers)
        for number, value in zip(self.numbers, after, strict=True):
            merged[number] = value
        return count, address, merged

    def learn(self, registers: Registers, frame: Frame, touched: int, result: Result) -> None:
        """Keep the result for registers, of which the ways touched some."""
        if touched & ~self.touched or len(self.results) >= _MOST:
            self.touched |= touched
            self.results = {}
        if not self.results:
            self.numbers = tuple(number for number in range(len(registers)) if self.touched >> number & 1)
        self.results[self._key(registers), frame] = (*result[:2], [result[2][number] for number in self.numbers])

    def _key(self, registers: Registers) -> object:
        return itemgetter(*self.numbers)(registers)


def touched_by(instructions: Sequence[Instruction]) -> int:
    """The bits of the registers that instructions read or write."""
    words = {word for item in instructions for operand in item.operands for word in _WORD.findall(operand)}
    return sum(1 << number for number in {REGISTERS[word] for word in words if word in REGISTERS})
