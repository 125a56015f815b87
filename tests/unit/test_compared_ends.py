"""Addresses that functions compute only to compare with them."""

from __future__ import annotations

import pytest
from tilewright.firmware import arm, riscv
from tilewright.firmware.compared_ends import Comparing, only_compared
from tilewright.firmware.disassembly import parsed

RISCV = """
 1000: sw s1,20(sp)
 1004: lui s0,0x2
 1008: add s0,s0,600 # 2258 <table>
 100c: add s1,s0,20
 1010: lw a5,0(s0)
 1014: add s0,s0,4
 1018: jalr a5
 101c: bne s0,s1,1010 <run+0x10>
 1020: lw s1,20(sp)
 1024: ret
"""
ARM = """
 1000: push {r4, r5, lr}
 1004: ldr r4, [pc, #20]
 1008: add.w r5, r4, #20
 100c: ldr.w r3, [r4], #4
 1010: blx r3
 1014: cmp r4, r5
 1018: bne.n 100c <run+0xc>
 101c: pop {r4, r5, pc}
"""
END = 0x226C


def compared(text: str, maker: int, machine: Comparing) -> bool:
    code = parsed(text, has_own=True).instructions
    return only_compared(code, {END: {maker}}, machine) == {END}


def test_the_end_of_a_table_is_only_compared() -> None:
    assert compared(RISCV, 0x100C, riscv.COMPARING)
    assert compared(ARM, 0x1008, arm.COMPARING)


def test_the_table_itself_is_used() -> None:
    assert not compared(RISCV, 0x1008, riscv.COMPARING)
    assert not compared(RISCV, 0x1010, riscv.COMPARING)
    assert not compared(ARM, 0x100C, arm.COMPARING)


@pytest.mark.parametrize(
    "line",
    [
        "1020: lw a0,0(s1)",
        "1020: mv a0,s1",
        "1020: add a0,s1,8",
        "1020: sw s1,0(a0)",
        "1020: sw s1,8(sp)",
        "1020: bne a0,a1,1000 <run>",
        "1020: .insn 0x1234",
    ],
)
def test_what_may_use_an_address_in_another_way(line: str) -> None:
    """Loads, moves and sums, stores, a way back to where the register is saved, and instructions nobody knows."""
    assert not compared(RISCV.replace("1020: lw s1,20(sp)", line), 0x100C, riscv.COMPARING)


def test_registers_that_calls_get_are_used() -> None:
    assert not compared(RISCV.replace("s1", "a1"), 0x100C, riscv.COMPARING)
    assert not compared(ARM.replace("r5", "r1"), 0x1008, arm.COMPARING)
