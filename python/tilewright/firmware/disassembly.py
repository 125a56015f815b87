"""The instructions of a program, as objdump of GNU binutils or of LLVM prints them."""

from __future__ import annotations

import re
import shutil
import subprocess
from bisect import bisect_left
from collections.abc import Sequence

from tilewright.base.errors import bad_input, not_supported
from tilewright.base.lazy_dataclass import dataclass
from tilewright.firmware.image import Image, Machine

TOOLS = {
    Machine.RISCV: (
        "riscv64-unknown-elf-objdump",
        "riscv32-unknown-elf-objdump",
        "riscv-none-elf-objdump",
        "llvm-objdump",
    ),
    Machine.ARM: ("arm-none-eabi-objdump", "arm-zephyr-eabi-objdump", "llvm-objdump"),
}
"""Programs that print instructions, by instruction set, in order of preference."""

_LINE = re.compile(r"^\s*([0-9a-f]+):\s*\t?(\S+)(?:\s+(.*))?$")
_NOTE = re.compile(r"\s*(?:[@;#]\s|//|<).*$")
_UNKNOWN = frozenset((".2byte", ".4byte", ".insn", "<unknown>"))
"""The form in which objdump prints unknown instructions; data stands as .byte, .short, .word or .dword."""

UNKNOWN = ".insn"
"""The name of an instruction that objdump does not know; its only operand is the encoding, where that was printed."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: address, name, and operands as the assembler's text has them, without notes."""

    address: int
    name: str
    operands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Disassembly:
    """All instructions by address."""

    addresses: tuple[int, ...]
    instructions: tuple[Instruction, ...]

    def between(self, begin: int, end: int) -> Sequence[Instruction]:
        """The instructions in [begin, end)."""
        return self.instructions[bisect_left(self.addresses, begin) : bisect_left(self.addresses, end)]


def disassemble(image: Image, tool: str | None = None) -> Disassembly:
    """The instructions of a program.

    Raises not_supported ``machine`` for another instruction set than RISC-V and Arm's Thumb, bad_input ``objdump`` if
    the program that prints instructions is missing or fails.
    """
    if image.machine is Machine.OTHER:
        raise not_supported("machine", "code is followed for RISC-V and Arm's Thumb only", at=str(image.path))
    command = tool or next((name for name in TOOLS[image.machine] if shutil.which(name)), None)
    if command is None:
        remedy = "--objdump <program>: the one of the toolchain that linked the program"
        raise bad_input("objdump", f"none of {', '.join(TOOLS[image.machine])} is installed", help=remedy)
    words = [command, "-d", "--no-show-raw-insn", str(image.path)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise bad_input("objdump", f"cannot run {command}: {error.strerror or error}") from error
    if done.returncode != 0:
        raise bad_input("objdump", f"{command} failed: {done.stderr.strip()}", at=str(image.path))
    return parsed(done.stdout, has_own=image.machine is Machine.RISCV)


def parsed(text: str, *, has_own: bool = False) -> Disassembly:
    """Instructions from what objdump prints; data among them is left out.

    With ``has_own`` the machine may have instructions of its own, which are ``UNKNOWN`` to objdump.
    """
    found = []
    for line in text.splitlines():
        if (matched := _LINE.match(line)) is None:
            continue
        if has_own and matched[2] in _UNKNOWN:
            encoding = re.findall(r"0x[0-9a-f]+", matched[3] or "")[-1:]
            found.append(Instruction(int(matched[1], 16), UNKNOWN, tuple(encoding)))
            continue
        if matched[2].startswith(("<", ".")):
            continue
        operands = _NOTE.sub("", matched[3] or "").strip()
        found.append(Instruction(int(matched[1], 16), matched[2], _split(operands)))
    found.sort(key=lambda item: item.address)
    return Disassembly(tuple(item.address for item in found), tuple(found))


def _split(operands: str) -> tuple[str, ...]:
    """Operands at the commas outside of brackets and braces."""
    return tuple(part.strip() for part in re.split(r",\s*(?![^\[{]*[\]}])", operands) if part.strip())
