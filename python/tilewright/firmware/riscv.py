"""Effects of RISC-V instructions, by the names that objdump gives them."""

from __future__ import annotations

import re

from tilewright.firmware.compared_ends import Comparing
from tilewright.firmware.disassembly import UNKNOWN, Instruction
from tilewright.firmware.machine import STACK_POINTER, Call, Effect, Reader, Registers, Value, with_value, without

_BRANCHES = frozenset(
    "beq bne blt bge bltu bgeu beqz bnez blez bgez bltz bgtz bgt ble bgtu bleu p.beqimm p.bneimm".split()
)
_STORES = frozenset("sb sh sw sd fsw fsd fsh p.sb p.sh p.sw".split())
_LOADS = frozenset("lb lbu lh lhu lw lwu ld flw fld flh lr.w".split())
_NO_RESULT = frozenset("nop fence fence.i ebreak ecall wfi unimp".split())
_ENDS = frozenset("ret mret sret dret".split())
_CLOBBERED = ("ra", *(f"t{n}" for n in range(7)), *(f"a{n}" for n in range(8)))
_MEMORY = re.compile(r"(-?\w*)\((\w+)!?\)")
_NAMES = (
    *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1"),
    *(f"a{n}" for n in range(8)),
    *(f"s{n}" for n in range(2, 12)),
    *(f"t{n}" for n in range(3, 7)),
)
"""Registers by number."""
_BRANCH = 0x63
"""The opcode of all branches, those of a chip's own included."""
_SYSTEM = 0x73
"""The opcode of accesses to control and status registers (CSR), which older assemblers get as data."""
_SAVE = re.compile(r"__riscv_save_(\d+)")


COMPARING = Comparing(
    sums=frozenset(("add", "addi")),
    compares=_BRANCHES,
    saves=frozenset(("sw",)),
    restores=frozenset(("lw",)),
    passed=frozenset(_CLOBBERED),
)


def saved_bytes(name: str) -> int | None:
    """Bytes by which libgcc's ``__riscv_save_<n>`` lowers its caller's stack pointer on RV32; None for other names."""
    if (matched := _SAVE.fullmatch(name)) is None:
        return None
    return 16 * (int(matched[1]) // 4 + 1)


def start(global_pointer: int | None) -> Registers:
    """The known registers at the start of a function: stack pointer, ``zero`` and ``gp``."""
    known = {STACK_POINTER: Value(0, on_stack=True), "zero": Value(0)}
    return known if global_pointer is None else {**known, "gp": Value(global_pointer)}


def effect(instruction: Instruction, registers: Registers, read: Reader) -> Effect:
    """What an instruction does when these registers are known."""
    name, operands = instruction.name.removeprefix("c."), instruction.operands
    if name == UNKNOWN:
        return _unknown(instruction, registers)
    if name in _BRANCHES:
        return Effect(registers, branches=(int(operands[-1], 16),))
    if name in _ENDS:
        return Effect(registers, falls=False)
    if name in ("j", "jal", "jr", "jalr"):
        return _jump(name, operands, registers)
    if name in _STORES:
        return _store(operands, registers)
    if name in _NO_RESULT or not operands:
        return Effect(registers)
    if name in _LOADS:
        return _load(name, operands, registers, read)
    value = _result(instruction, name, operands, registers)
    is_sum = name in ("add", "addi") or _adds_nothing(name, operands)
    touched = (value.number,) if value is not None and is_sum and not value.on_stack else ()
    return Effect(with_value(registers, operands[0], value), touched=touched)


def _adds_nothing(name: str, operands: tuple[str, ...]) -> bool:
    """Whether an instruction is ``addi a4, a4, 0``, which disassemblers print as ``mv a4, a4``.

    It adds the lower twelve bits to an address, where auipc or lui has made the whole of it already.
    """
    return name == "mv" and operands[0] == operands[1]


def _unknown(instruction: Instruction, registers: Registers) -> Effect:
    """An instruction of the chip's own: it may change the registers in the fields rd and rs1 of its encoding."""
    if not instruction.operands:
        return Effect({name: value for name, value in registers.items() if name in (STACK_POINTER, "gp", "zero")})
    code = int(instruction.operands[0], 16)
    if code & 0x7F == _BRANCH:
        offset = (code >> 7 & 0x1E) | (code >> 20 & 0x7E0) | (code << 4 & 0x800) | (code >> 19 & 0x1000)
        return Effect(registers, branches=(instruction.address + offset - (offset >> 12 << 13),))
    if code & 0x7F == _SYSTEM:
        # The stack pointer is only read from a CSR by code that saved it there before.
        return Effect(without(registers, *{_NAMES[code >> 7 & 31]} - {"zero", STACK_POINTER}))
    return Effect(without(registers, *{_NAMES[code >> at & 31] for at in (7, 15)} - {"zero"}))


def _jump(name: str, operands: tuple[str, ...], registers: Registers) -> Effect:
    if name == "j":
        return Effect(registers, falls=False, branches=(int(operands[0], 16),))
    if name == "jr":
        target = _target(operands[-1], registers)
        return Effect(registers, falls=False, call=Call(target, is_jump=True))
    link = operands[0] if len(operands) > 1 else "ra"
    target = int(operands[-1], 16) if name == "jal" else _target(operands[-1], registers)
    if link == "zero":
        return Effect(registers, falls=False, call=Call(target, is_jump=True))
    return Effect(without(registers, *_CLOBBERED), call=Call(target))


def _target(operand: str, registers: Registers) -> int | None:
    matched = _MEMORY.fullmatch(operand)
    register, offset = (matched[2], _number(matched[1])) if matched else (operand, 0)
    value = registers.get(register)
    return None if value is None or value.on_stack else value.plus(offset).number


def _store(operands: tuple[str, ...], registers: Registers) -> Effect:
    address = _address(operands[-1], registers)
    if "!" in operands[-1] and (matched := _MEMORY.match(operands[-1])):
        registers = without(registers, matched[2])
    return Effect(registers, touched=() if address is None else (address,))


def _load(name: str, operands: tuple[str, ...], registers: Registers, read: Reader) -> Effect:
    address = _address(operands[-1], registers)
    word = read(address) if address is not None and name == "lw" else None
    after = with_value(registers, operands[0], None if word is None else Value(word))
    return Effect(after, touched=() if address is None else (address,))


def _address(operand: str, registers: Registers) -> int | None:
    matched = _MEMORY.fullmatch(operand)
    value = registers.get(matched[2]) if matched else None
    if matched is None or value is None or value.on_stack:
        return None
    return value.plus(_number(matched[1])).number


def _result(instruction: Instruction, name: str, operands: tuple[str, ...], registers: Registers) -> Value | None:
    """The value that an instruction computes, None where it is unknown."""
    if name in ("lui", "auipc", "li"):
        number = _number(operands[1])
        base = instruction.address if name == "auipc" else 0
        return Value((base + (number if name == "li" else number << 12)) % (1 << 32))
    if name == "mv":
        return registers.get(operands[1])
    if name in ("add", "addi", "sub") and len(operands) == 3:
        first, second = registers.get(operands[1]), _operand(operands[2], registers)
        if first is not None and second is not None and not second.on_stack:
            number = second.number if second.number < 1 << 31 else second.number - (1 << 32)
            return first.plus(-number if name == "sub" else number)
        return None
    if name in ("and", "andi") and operands[0] == STACK_POINTER and STACK_POINTER in registers:
        # Alignment: below by less than the step.
        step = -_number(operands[2]) if re.fullmatch(r"-\d+", operands[2]) else 4096
        return registers[STACK_POINTER].plus(1 - step)
    return None


def _operand(text: str, registers: Registers) -> Value | None:
    return Value(_number(text)) if re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", text) else registers.get(text)


def _number(text: str) -> int:
    return int(text, 0) if text else 0
