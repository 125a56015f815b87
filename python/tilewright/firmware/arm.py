"""Effects of Thumb instructions, by the names that objdump gives them."""

from __future__ import annotations

import re

from tilewright.firmware.compared_ends import Comparing
from tilewright.firmware.disassembly import Instruction
from tilewright.firmware.machine import STACK_POINTER, Call, Effect, Reader, Registers, Value, with_value, without

_CONDITION = "eq|ne|cs|cc|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
_NAME = re.compile(
    rf"(?P<name>push|pop|vpush|vpop|bx|blx|bl|b|ldmia|ldmfd|ldmdb|ldm|stmdb|stmfd|stmia|stm|ldr|ldrd|str|strd"
    rf"|movs|mov|movw|movt|adds|add|addw|subs|sub|subw|vldmia|vstmdb)(?P<condition>{_CONDITION})?(?:\.[nw])?"
)
_CLOBBERED = ("r0", "r1", "r2", "r3", "ip", "r12", "lr")
_NO_RESULT = re.compile(r"(cmp|cmn|tst|teq|it|nop|str|stm|vstr|vstm|dmb|dsb|isb|wfi|wfe|bkpt|cps|svc|pld|vcmp|msr|udf)")
_TWO_RESULTS = re.compile(r"(ldrd|[su]mull|[su]mlal|umaal)")
_MEMORY = re.compile(r"\[(\w+)(?:,\s*#(-?\d+))?\](!)?")
_SWITCHES = ("tbb", "tbh")
_RETURNS = ("lr", "r14")

COMPARING = Comparing(
    sums=frozenset(("add", "adds", "addw", "add.w", "adds.w")),
    compares=frozenset(("cmp", "cmp.w")),
    saves=frozenset(("push", "stmdb", "stmfd")),
    restores=frozenset(("pop", "ldmia.w", "ldmia", "ldmfd")),
    passed=frozenset(_CLOBBERED),
)


def start(_global_pointer: int | None) -> Registers:
    """The known registers at the start of a function: the stack pointer alone."""
    return {STACK_POINTER: Value(0, on_stack=True)}


def effect(instruction: Instruction, registers: Registers, read: Reader) -> Effect:
    """What an instruction does when these registers are known.

    A conditional instruction may have its effect or none: of the two stack pointers behind it the deeper one counts.
    """
    name, operands = instruction.name, instruction.operands
    if name.startswith(_SWITCHES):
        return Effect(registers, falls=False, call=Call(None, is_jump=True))
    if name in ("cbz", "cbnz"):
        return Effect(registers, branches=(int(operands[-1], 16),))
    matched = _NAME.fullmatch(name)
    if matched is None:
        return Effect(_killed(name, operands, registers))
    bare, condition = matched["name"], matched["condition"] is not None
    if bare in ("b", "bl", "bx", "blx"):
        return _jump(bare, condition, operands[-1], registers)
    if bare in ("push", "vpush", "stmdb", "stmfd", "vstmdb", "pop", "vpop", "ldmia", "ldmfd", "ldm", "vldmia"):
        return _several(bare, condition, operands, registers)
    if bare in ("ldr", "ldrd", "str", "strd"):
        return _access(instruction, bare, condition, registers, read)
    if condition or not operands:
        return Effect(_killed(name, operands, registers))
    return _computed(instruction, bare, registers)


def _jump(name: str, condition: bool, operand: str, registers: Registers) -> Effect:
    if name == "b":
        return Effect(registers, falls=condition, branches=(int(operand, 16),))
    if name == "bl":
        return Effect(without(registers, *_CLOBBERED), call=Call(int(operand, 16)))
    if name == "bx" and operand in _RETURNS:
        return Effect(registers, falls=condition)
    value = registers.get(operand)
    target = None if value is None or value.on_stack else value.number & ~1
    if name == "bx":
        return Effect(registers, falls=condition, call=Call(target, is_jump=True))
    return Effect(without(registers, *_CLOBBERED), call=Call(target))


def _several(name: str, condition: bool, operands: tuple[str, ...], registers: Registers) -> Effect:
    """Instructions that move several registers to or from memory."""
    names = _listed(operands[-1])
    is_store = name in ("push", "vpush", "stmdb", "stmfd", "vstmdb")
    on_stack = len(operands) == 1 or operands[0] == "sp!"
    if not is_store:
        if "pc" in names:
            return Effect(registers, falls=condition)
        registers = without(registers, *(item for item in names if item != STACK_POINTER))
    if not on_stack:
        return Effect(without(registers, operands[0].rstrip("!")) if "!" in operands[0] else registers)
    pointer = registers.get(STACK_POINTER)
    size = sum(8 if item.startswith("d") else 4 for item in names)
    if pointer is None or (condition and not is_store):
        return Effect(registers)
    return Effect(with_value(registers, STACK_POINTER, pointer.plus(-size if is_store else size)))


def _listed(braces: str) -> list[str]:
    names = []
    for part in braces.strip("{}").split(","):
        first, _, last = part.strip().partition("-")
        if last:
            kind = first[0]
            names += [f"{kind}{number}" for number in range(int(first[1:]), int(last[1:]) + 1)]
        else:
            names.append(first)
    return names


def _access(instruction: Instruction, name: str, condition: bool, registers: Registers, read: Reader) -> Effect:
    operands = instruction.operands
    moved = _moved(operands, registers)
    if name.startswith("ldr"):
        if operands[0] == "pc":
            return _loaded_jump(instruction, condition, registers, read)
        results = operands[:2] if name == "ldrd" else operands[:1]
        moved = without(moved, *results)
    address = _address(instruction, registers)
    if address is None:
        return Effect(moved)
    word = read(address) if name == "ldr" and not condition else None
    is_literal = word is not None and "[pc" in operands[1]
    touched = (address, word) if word is not None and is_literal else (address,)
    return Effect(with_value(moved, operands[0], Value(word)) if word is not None else moved, touched=touched)


def _loaded_jump(instruction: Instruction, condition: bool, registers: Registers, read: Reader) -> Effect:
    """A jump to an address from memory: a return where it lies on the stack."""
    if "[sp" in instruction.operands[1]:
        return Effect(registers, falls=condition)
    address = _address(instruction, registers)
    word = None if address is None else read(address)
    return Effect(registers, falls=condition, call=Call(None if word is None else word & ~1, is_jump=True))


def _address(instruction: Instruction, registers: Registers) -> int | None:
    """The address of a memory operand, where its register is known; ``pc`` is the instruction's own, aligned."""
    operand = next((item for item in instruction.operands if item.startswith("[")), "")
    matched = _MEMORY.fullmatch(operand)
    if matched is None:
        return None
    value = Value(instruction.address + 4 & ~3) if matched[1] == "pc" else registers.get(matched[1])
    return None if value is None or value.on_stack else value.plus(int(matched[2] or 0)).number


def _moved(operands: tuple[str, ...], registers: Registers) -> Registers:
    """The registers behind an access that moves its address register: ``[sp, #-8]!`` and ``[sp], #8``."""
    for place, operand in enumerate(operands):
        matched = _MEMORY.fullmatch(operand)
        if matched is None:
            continue
        behind = operands[place + 1] if place + 1 < len(operands) else ""
        if not matched[3] and not behind:
            return registers
        value, step = registers.get(matched[1]), (matched[2] if matched[3] else behind.lstrip("#"))
        if value is None or not re.fullmatch(r"-?\d+", step or ""):
            return without(registers, matched[1])
        return with_value(registers, matched[1], value.plus(int(step)))
    return registers


def _computed(instruction: Instruction, name: str, registers: Registers) -> Effect:
    """Moves and sums."""
    operands = instruction.operands
    value = _result(instruction, name, registers)
    is_address = value is not None and not value.on_stack and name in ("add", "adds", "addw", "movt")
    touched = (value.number,) if value is not None and is_address else ()
    return Effect(with_value(registers, operands[0], value), touched=touched)


def _result(instruction: Instruction, name: str, registers: Registers) -> Value | None:
    operands = instruction.operands
    if name in ("mov", "movs", "movw"):
        return _operand(operands[1], registers)
    if name == "movt":
        low, high = registers.get(operands[0]), _operand(operands[1], registers)
        return None if low is None or high is None else Value((high.number << 16) + (low.number & 0xFFFF))
    first = operands[0] if len(operands) == 2 else operands[1]
    base = Value(instruction.address + 4 & ~3) if first == "pc" else registers.get(first)
    step = _operand(operands[-1], registers) if len(operands) < 4 else None
    if base is None or step is None or step.on_stack:
        return None
    return base.plus(-step.number if name.startswith("sub") else step.number)


def _operand(text: str, registers: Registers) -> Value | None:
    return Value(int(text[1:], 0)) if text.startswith("#") else registers.get(text)


def _killed(name: str, operands: tuple[str, ...], registers: Registers) -> Registers:
    """The registers without those that an instruction writes, for instructions whose results are not followed."""
    if not operands or _NO_RESULT.match(name):
        return registers
    results = operands[:2] if _TWO_RESULTS.match(name) else operands[:1]
    moved = (matched[1] for item in operands if (matched := _MEMORY.fullmatch(item)) and matched[3])
    return without(registers, *results, *moved)
