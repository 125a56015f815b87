"""Addresses that a function computes only to compare with them, as the end of an array that it walks through.

Before:  s0 = table, s1 = s0 + 20; loop: load from s0, call, s0 = s0 + 4, branch to the loop unless s0 = s1
After:   table + 20 is compared only; what lies there, another array by chance, is nothing that the function knows
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from tilewright.base.lazy_dataclass import dataclass
from tilewright.firmware.disassembly import UNKNOWN, Instruction
from tilewright.firmware.machine import STACK_POINTER

_MOST_MAKERS = 4
"""The end of an array is computed once for each loop over it; what more instructions make is taken for used."""

_WORD = re.compile(r"\b[a-z]\w*")
_RANGE = re.compile(r"\br(\d+)-r(\d+)")


@dataclass(frozen=True, slots=True)
class Comparing:
    """What an instruction set has: names of instructions, and registers that calls do not leave as they are.

    Attributes:
        sums: instructions that add to a register, the result being their first operand.
        compares: instructions that read registers only to compare them.
        saves: stores that keep a register's value on the stack.
        restores: loads that bring such a value back.
        passed: registers in which a call may get a value or give one back.
    """

    sums: frozenset[str]
    compares: frozenset[str]
    saves: frozenset[str]
    restores: frozenset[str]
    passed: frozenset[str]


def only_compared(
    instructions: Sequence[Instruction], makers: Mapping[int, Collection[int]], machine: Comparing
) -> frozenset[int]:
    """Those of the addresses that a function touches that it does nothing with but compare.

    Args:
        makers: address to the instructions that compute or access it.
    """
    if any(item.name == UNKNOWN for item in instructions):
        return frozenset()
    by_address = {item.address: item for item in instructions}
    few = {address: found for address, found in makers.items() if len(found) <= _MOST_MAKERS}
    return frozenset(
        address
        for address, found in few.items()
        if all(_is_only_compared(instructions, by_address[maker], machine) for maker in found)
    )


def _is_only_compared(instructions: Sequence[Instruction], maker: Instruction, machine: Comparing) -> bool:
    """Whether nothing reads the result of a sum but comparisons."""
    if maker.name.removeprefix("c.") not in machine.sums or maker.operands[0] in {*machine.passed, STACK_POINTER}:
        return False
    register = maker.operands[0]
    others = [item for item in instructions if item is not maker and register in _registers(item)]
    saves = [item for item in others if _is_on_stack(item) and item.name.removeprefix("c.") in machine.saves]
    if not all(item in saves or _is_harmless(item, machine) for item in others):
        return False
    return not any(_may_follow(item, maker, instructions) for item in saves)


def _is_harmless(item: Instruction, machine: Comparing) -> bool:
    name = item.name.removeprefix("c.")
    return name in machine.compares or (name in machine.restores and _is_on_stack(item))


def _is_on_stack(item: Instruction) -> bool:
    """Whether an instruction accesses the stack: by its pointer, or as push and pop do."""
    return len(item.operands) == 1 or STACK_POINTER in _WORD.findall(item.operands[-1]) or item.operands[0] == "sp!"


def _may_follow(save: Instruction, maker: Instruction, instructions: Sequence[Instruction]) -> bool:
    """Whether a store may run after a sum: it stands behind the sum, or something behind the store leads back to it."""
    back = range(instructions[0].address, save.address + 1)
    behind = (item for item in instructions if item.address > save.address and item.operands)
    return save.address > maker.address or any(_target(item) in back for item in behind)


def _target(item: Instruction) -> int:
    """The address that a jump names; -1 where the last operand is none."""
    return int(item.operands[-1], 16) if re.fullmatch("[0-9a-f]+", item.operands[-1]) else -1


def _registers(item: Instruction) -> set[str]:
    """All words of an instruction's operands; ranges of registers name those between them too."""
    words = {word for operand in item.operands for word in _WORD.findall(operand)}
    for first, last in (match.groups() for operand in item.operands for match in _RANGE.finditer(operand)):
        words |= {f"r{number}" for number in range(int(first), int(last) + 1)}
    return words
