"""Instructions of a chip's own, which objdump does not know, in the check of firmware."""

from __future__ import annotations

from tilewright.firmware.disassembly import Instruction, parsed
from tilewright.firmware.riscv import effect, start


def test_instructions_that_objdump_does_not_know() -> None:
    text = "1c0025b0:\t.4byte\t0x306407b\n1c0025b4:\t.insn\t4, 0x0048a58b\n1c0025b8:\t.word\t0x12345678\n"
    text += "1c0025bc:\t<unknown>\n"
    assert parsed(text, has_own=True).instructions == (
        Instruction(0x1C0025B0, ".insn", ("0x306407b",)),
        Instruction(0x1C0025B4, ".insn", ("0x0048a58b",)),
        Instruction(0x1C0025BC, ".insn", ()),
    )
    assert parsed(text).instructions == ()


def test_their_effects() -> None:
    known = dict.fromkeys(("a0", "a1", "a2", "a7"), start(None)["zero"])
    after = effect(Instruction(0x100, ".insn", ("0x0048a58b",)), known, lambda _: None)  # p.lw a1, 4(a7!)
    assert after.falls
    assert set(after.registers) == {"a0", "a2"}
    branch = effect(Instruction(0x100, ".insn", ("0xfe552ee3",)), known, lambda _: None)  # p.beqimm a0, 5, 0xfc
    assert (branch.branches, branch.falls, branch.registers) == ((0xFC,), True, known)
    lost = effect(Instruction(0x100, ".insn", ()), {**start(None), **known}, lambda _: None)
    assert set(lost.registers) == {"sp", "zero"}
