"""What one instruction does to the values that are followed through a function: stack pointer and known registers.

Instruction sets differ in their names only; ``riscv.py`` and ``arm.py`` say for each instruction which ``Effect`` it
has. A register that is not in ``Registers`` holds an unknown value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Union

from tilewright.base.lazy_dataclass import dataclass

STACK_POINTER = "sp"


@dataclass(frozen=True, slots=True)
class Value:
    """A known value: an address or integer, or with ``on_stack`` bytes relative to the caller's stack pointer."""

    number: int
    on_stack: bool = False

    def plus(self, number: int) -> Value:
        """The sum with an integer; addresses wrap as those of a 32-bit machine do."""
        total = self.number + number
        return Value(total if self.on_stack else total % (1 << 32), self.on_stack)


Registers = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Call:
    """A call, or with ``is_jump`` a jump that may leave the function. ``target`` is None where it is unknown."""

    target: int | None
    is_jump: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """What an instruction does.

    Attributes:
        registers: values known behind the instruction, on every way that goes on inside the function.
        falls: whether the next instruction may run.
        branches: addresses to which it may jump; those outside of the function are calls that do not return here.
        call: the function that the instruction calls, or a jump through a register.
        touched: addresses that the instruction computes or accesses.
    """

    registers: Registers
    falls: bool = True
    branches: tuple[int, ...] = ()
    call: Call | None = None
    touched: tuple[int, ...] = ()


Reader = Callable[[int], Union[int, None]]
"""The word at an address of read-only memory, or None."""


def without(registers: Registers, *names: str) -> Registers:
    """The registers, some of them now unknown."""
    return {name: value for name, value in registers.items() if name not in names}


def with_value(registers: Registers, name: str, value: Value | None) -> Registers:
    """The registers with one changed; None is an unknown value."""
    return without(registers, name) if value is None else {**registers, name: value}
