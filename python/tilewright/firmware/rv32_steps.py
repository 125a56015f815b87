"""What RV32 instructions compute, where some values are unknown.

A value is an integer of 32 bits without sign, or None: any value. Each instruction becomes a function of the registers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Protocol, Union

from tilewright.firmware.disassembly import Instruction

Word = Union[int, None]
Registers = list[Word]
"""32 registers; behind them one that nothing reads, for results that go to ``zero``."""

Step = Callable[[Registers], None]
Condition = Callable[[Registers], bool | None]

MASK = (1 << 32) - 1
_SIGN = 1 << 31
_NOWHERE = 32

_NAMES = "zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6".split()
REGISTERS: Mapping[str, int] = {**{name: number for number, name in enumerate(_NAMES)}, "fp": 8}
_MEMORY = re.compile(r"(-?\w*)\((\w+)\)")


class Memory(Protocol):
    """Loads and stores of bytes; an unknown address may be read, and gives an unknown value."""

    def load(self, address: Word, size: int) -> Word:
        """The value at an address, without sign."""

    def store(self, address: Word, size: int, value: Word) -> None:
        """Write a value. Raises an error for an unknown address."""


def signed(value: int) -> int:
    """The same bits with sign."""
    return value - (1 << 32) if value & _SIGN else value


def _divided(a: int, b: int) -> int:
    x, y = signed(a), signed(b)
    if y == 0:
        return MASK
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _rest(a: int, b: int) -> int:
    x, y = signed(a), signed(b)
    return x if y == 0 else x - y * signed(_divided(a, b) & MASK)


_BINARY: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "sll": lambda a, b: a << (b & 31),
    "srl": lambda a, b: a >> (b & 31),
    "sra": lambda a, b: signed(a) >> (b & 31),
    "slt": lambda a, b: signed(a) < signed(b),
    "sltu": lambda a, b: a < b,
    "mul": lambda a, b: a * b,
    "mulh": lambda a, b: signed(a) * signed(b) >> 32,
    "mulhu": lambda a, b: a * b >> 32,
    "mulhsu": lambda a, b: signed(a) * b >> 32,
    "div": _divided,
    "divu": lambda a, b: a // b if b else MASK,
    "rem": _rest,
    "remu": lambda a, b: a % b if b else a,
}
_WITH_NUMBER = {"sltiu": "sltu", **{f"{name}i": name for name in "add and or xor sll srl sra slt".split()}}
_UNARY: Mapping[str, Callable[[int], int]] = {
    "mv": lambda a: a,
    "not": lambda a: ~a,
    "neg": lambda a: -a,
    "seqz": lambda a: a == 0,
    "snez": lambda a: a != 0,
    "sltz": lambda a: a >> 31,
    "sgtz": lambda a: signed(a) > 0,
    "zext.b": lambda a: a & 255,
}
_LOADS = {"lb": (1, 7), "lh": (2, 15), "lw": (4, 0), "lbu": (1, 0), "lhu": (2, 0)}
"""By load: bytes, and the number of the sign bit that the load extends; 0 for a load without sign."""

_STORES = {"sb": 1, "sh": 2, "sw": 4}
_COMPARED: Mapping[str, Callable[[int, int], bool]] = {
    "beq": lambda a, b: a == b,
    "bne": lambda a, b: a != b,
    "blt": lambda a, b: signed(a) < signed(b),
    "bge": lambda a, b: signed(a) >= signed(b),
    "bltu": lambda a, b: a < b,
    "bgeu": lambda a, b: a >= b,
    "bgt": lambda a, b: signed(a) > signed(b),
    "ble": lambda a, b: signed(a) <= signed(b),
    "bgtu": lambda a, b: a > b,
    "bleu": lambda a, b: a <= b,
}
BRANCHES = frozenset((*_COMPARED, *(f"{name}z" for name in ("beq", "bne", "blt", "bge", "bgt", "ble"))))


def target_of(name: str) -> int:
    """The number of the register that a result goes to."""
    return REGISTERS[name] or _NOWHERE


def number_of(text: str) -> int:
    """An immediate operand."""
    return int(text, 0) if text else 0


def step_of(instruction: Instruction, memory: Memory) -> Step | None:
    """The step of an instruction that is neither a branch nor a jump; None for an unknown instruction."""
    name, operands = instruction.name, instruction.operands
    if name in _BINARY or name in _WITH_NUMBER:
        return _binary(name, operands)
    if name in _UNARY:
        return _unary(_UNARY[name], target_of(operands[0]), REGISTERS[operands[1]])
    if name in ("li", "lui", "auipc"):
        shift, base = (0, 0) if name == "li" else (12, instruction.address if name == "auipc" else 0)
        return _constant(target_of(operands[0]), (base + (number_of(operands[1]) << shift)) & MASK)
    if name in _LOADS:
        return _load(operands, *_LOADS[name], memory)
    if name in _STORES:
        return _store(operands, _STORES[name], memory)
    if name.startswith(("csrr", "rdcycle", "rdinstret")):
        return _constant(target_of(operands[0]), None)
    return _nothing if name in ("nop", "fence") else None


def condition_of(instruction: Instruction) -> Condition:
    """The condition of a branch: from the registers to whether it is taken, None where that is unknown."""
    name, operands = instruction.name, instruction.operands
    first = REGISTERS[operands[0]]
    second = 0 if name not in _COMPARED else REGISTERS[operands[1]]
    compare = _COMPARED[name if name in _COMPARED else name[:-1]]

    def condition(registers: Registers) -> bool | None:
        a, b = registers[first], registers[second]
        return None if a is None or b is None else compare(a, b)

    return condition


def address_of(operand: str) -> tuple[int, int]:
    """Register and offset of an operand ``offset(register)``, or of a register alone."""
    matched = _MEMORY.fullmatch(operand)
    return (REGISTERS[matched[2]], number_of(matched[1])) if matched else (REGISTERS[operand], 0)


def _nothing(registers: Registers) -> None:
    pass


def _constant(target: int, value: Word) -> Step:
    def step(registers: Registers) -> None:
        registers[target] = value

    return step


def _unary(function: Callable[[int], int], target: int, source: int) -> Step:
    def step(registers: Registers) -> None:
        a = registers[source]
        registers[target] = None if a is None else function(a) & MASK

    return step


def _binary(name: str, operands: tuple[str, ...]) -> Step:
    target, first, last = target_of(operands[0]), REGISTERS[operands[1]], operands[2]
    if last not in REGISTERS:
        function, number = _BINARY[_WITH_NUMBER.get(name, name)], number_of(last) & MASK
        return _unary(lambda a: function(a, number), target, first)
    function, second = _BINARY[name], REGISTERS[last]

    def step(registers: Registers) -> None:
        a, b = registers[first], registers[second]
        registers[target] = None if a is None or b is None else function(a, b) & MASK

    return step


def _load(operands: tuple[str, ...], size: int, sign: int, memory: Memory) -> Step:
    target, (base, offset), load = target_of(operands[0]), address_of(operands[1]), memory.load

    def step(registers: Registers) -> None:
        a = registers[base]
        value = None if a is None else load((a + offset) & MASK, size)
        if sign and value is not None and value >> sign:
            value |= MASK << sign & MASK
        registers[target] = value

    return step


def _store(operands: tuple[str, ...], size: int, memory: Memory) -> Step:
    source, (base, offset), store = REGISTERS[operands[0]], address_of(operands[1]), memory.store

    def step(registers: Registers) -> None:
        a = registers[base]
        store(None if a is None else (a + offset) & MASK, size, registers[source])

    return step
