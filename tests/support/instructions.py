"""Programs of single instructions: registers and memory before, what they are afterwards."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.base.resources import runtime_dir
from tilewright.platform import Platform
from tilewright.tools.simulate import simulate

from support.firmware import build_riscv

DATA_WORDS = 8

_MAIN = r"""
#include <stdint.h>
#include <stdio.h>

enum { WORDS = %d };
extern void examples(uint32_t *results);
static uint32_t results[WORDS];

int main(void)
{
    examples(results);
    for (int i = 0; i < WORDS; i++) {
        printf("%%08x\n", (unsigned)results[i]);
    }
    return 0;
}
"""

_FRAME = """
.text
.option norvc
.balign 4
.globl examples
.type examples, @function
examples:
addi sp, sp, -64
{saved}
mv s11, a0
la s10, data
{body}
{restored}
addi sp, sp, 64
ret
.size examples, . - examples
.bss
.balign 4
data: .zero {bytes}
"""

_KEPT = ("ra", *(f"s{number}" for number in range(12)))


@dataclass(frozen=True, slots=True)
class Example:
    """One or several lines of assembler.

    ``given`` are registers before (numbers, or places in ``memory`` as ``data+3``), ``shown`` registers
    after, or words of memory by their number. Registers t6, s10 and s11 are not the example's.
    """

    text: str
    given: Mapping[str, int | str]
    shown: Sequence[str | int]
    memory: Sequence[int] = field(default=())

    def lines(self) -> list[str]:
        """The assembler that sets up, runs and keeps the results behind s11."""
        words = [*self.memory, *([0] * (DATA_WORDS - len(self.memory)))]
        before = [f"li t6, {word & 0xFFFFFFFF:#x}\nsw t6, {4 * at}(s10)" for at, word in enumerate(words)]
        before += [
            f"la {name}, {value}" if isinstance(value, str) else f"li {name}, {value & 0xFFFFFFFF:#x}"
            for name, value in self.given.items()
        ]
        stores = [
            f"sw {shown}, {4 * at}(s11)" if isinstance(shown, str) else f"lw t6, {4 * shown}(s10)\nsw t6, {4 * at}(s11)"
            for at, shown in enumerate(self.shown)
        ]
        return [*before, self.text, *stores, f"addi s11, s11, {4 * len(self.shown)}"]


def macros() -> str:
    """The macros by which the kernels write instructions of Xpulpv2, out of their header."""
    header = runtime_dir() / "include" / "tilewright" / "kernels" / "xpulpv2_instructions.h"
    text = header.read_text(encoding="utf-8")
    found = re.findall(r"\"\.macro tilewright_(?:p_|lp_|dots).*?\"\.endm\\n\"", text, re.DOTALL)
    lines = [line for macro in found for line in re.findall(r"\"((?:[^\"\\]|\\.)*)\"", macro)]
    return "".join(line.replace(r"\\", "\\").replace(r"\n", "\n") for line in lines)


def program(examples: Sequence[Example], platform: Platform, folder: Path) -> Path:
    """Runs the examples one after the other and prints every word that they show, in hexadecimal."""
    saved = [f"{{op}} {name}, {4 * at}(sp)" for at, name in enumerate(_KEPT)]
    frame = {
        "saved": "\n".join(line.format(op="sw") for line in saved),
        "restored": "\n".join(line.format(op="lw") for line in saved),
        "body": "\n".join(line for example in examples for line in example.lines()),
        "bytes": 4 * DATA_WORDS,
    }
    (folder / "examples.S").write_text(macros() + _FRAME.format(**frame), encoding="utf-8")
    words = sum(len(example.shown) for example in examples)
    (folder / "main.c").write_text(_MAIN % words, encoding="utf-8")
    return build_riscv(platform, [folder / "main.c", folder / "examples.S"], folder / f"{platform.name}.elf")


def results(elf: Path, platform: Platform, examples: Sequence[Example]) -> list[dict[str | int, int]]:
    """The words that each example shows, unsigned."""
    lines: list[str] = []
    assert simulate(platform, elf, 60, heard=lines.append) == 0
    words = iter([int(line, 16) for line in lines])
    return [{shown: next(words) for shown in example.shown} for example in examples]
