"""What the interpreter of pulp-open refuses, and how it says so."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from support.firmware import RISCV_GCC
from support.gvsoc import build
from support.interpreted import needs_interpreter, run
from support.interpreted_calls import Machine

pytestmark = needs_interpreter

TRAPPED, ASLEEP, ENDLESS, NO_PROGRAM = 90, 91, 92, 93

THREE = "addi a1, a1, 1\naddi a1, a1, 1\naddi a1, a1, 1"
LOOP = ".insn i 0x7b, 4, x0, a0, "

REFUSED = {
    "vector": (".insn r 0x57, 1, 0x00, a0, a1, a2", r"0x00c59557 is vector arithmetic of Xpulpv2, and not modelled"),
    "dot_of_halves": (".insn r 0x57, 0, 0x5c, a0, a1, a2", r"vector arithmetic of Xpulpv2, and not modelled"),
    "load_half": (".insn i 0x0b, 1, a0, 2(a1)", r"a load of Xpulpv2 that moves its base on, and not modelled"),
    "store_word": (".insn s 0x2b, 2, a0, 4(a1)", r"a store of Xpulpv2 that moves its base on, and not modelled"),
    "clip_by_immediate": (".insn r 0x33, 1, 0x0a, a0, a1, a2", r"arithmetic of Xpulpv2, and not modelled"),
    "average": (".insn r 0x5b, 2, 0x02, a0, a1, a2", r"arithmetic of Xpulpv2 with a shift, and not modelled"),
    "second_loop": (f"li a0, 2\n.insn i 0x7b, 4, x1, a0, 6\n{THREE}", r"of the hardware loops of Xpulpv2, and not"),
    "atomic": (".word 0x00b6252f", r"0x00b6252f is atomic, and not modelled"),
    "float": (".word 0x00b54553", r"of floats, and not modelled"),
    "unknown": (".word 0xffffffff", r"0xffffffff is unknown, and not modelled"),
    "short_unknown": (".half 0x2000\n.half 0x0001", r"the short instruction 0x2000 is unknown"),
    "two_instructions": (f"li a0, 2\n{LOOP} 4\nnop\nnop", r"a hardware loop has fewer than three instructions"),
    "loop_off_words": (f"li a0, 2\n{LOOP} 7\n{THREE}\nnop", r"a hardware loop does not begin and end at whole words"),
    "loop_with_branch": (f"li a0, 2\n{LOOP} 6\nnop\nbnez a0, 1f\nnop\n1:", r"a hardware loop has a jump, a branch"),
    "loop_with_jump": (f"li a0, 2\n{LOOP} 6\nnop\nnop\nj 1f\n1:", r"a hardware loop has a jump, a branch"),
    "loop_with_short": (f"li a0, 2\n{LOOP} 6\nnop\n.half 0x0001\n.half 0x0001\nnop", r"loop has a short instruction"),
    "loop_from_zero": (f"li a0, 0\n{LOOP} 6\n{THREE}", r"a hardware loop counts from zero"),
    "own_base": (".insn i 0x0b, 2, a0, 4(a0)", r"p.lw loads the register that it moves on"),
    "negative_clip": ("li a1, -1\n.insn r 0x33, 5, 0x0a, a0, a0, a1", r"clips by a negative bound"),
    "negative_clipu": ("li a1, -1\n.insn r 0x33, 6, 0x0a, a0, a0, a1", r"clips by a negative bound"),
    "load_nowhere": ("lw a0, 0(zero)", r"loads 4 bytes at 0x00000000, where no memory is"),
    "load_behind_l1": ("li a1, 0x1003fffe\nlw a0, 0(a1)", r"loads 4 bytes at 0x1003fffe, where no memory is"),
    "post_load_nowhere": ("li a1, 8\n.insn i 0x0b, 2, a0, 4(a1)", r"loads 4 bytes at 0x00000008, where no memory"),
    "store_nowhere": ("li a1, 0x1c190000\nsb a0, 0(a1)", r"stores 1 bytes at 0x1c190000, where no memory is"),
    "store_to_code": ("la a1, store_to_code\nsw a0, 0(a1)", r"stores 4 bytes at 0x1c0\w+, in code"),
    "store_to_constants": ("la a1, constants\nsh a0, 2(a1)", r"stores 2 bytes at 0x1c0\w+, in constants"),
    "jump_to_data": ("la a1, data\njr a1", r"no code is here"),
    "unknown_register": ("li a1, 0x10204048\nlw a0, 0(a1)", r"a register at 0x10204048 that is not modelled"),
    "part_of_register": ("li a1, 0x10204000\nsb a0, 0(a1)", r"a register at 0x10204000 that is not modelled"),
    "control": (".insn i 0x73, 2, a0, x0, 0x300", r"control register 0x300 is not modelled"),
    "hart_number": (".insn i 0x73, 1, x0, a0, -236", r"control register 0xf14 is only read here"),
    "call_of_environment": ("ecall", r"ecall, which nobody serves"),
    "breakpoint": ("ebreak\nnop", r"ebreak"),
    "host": ("li a0, 0x18\nslli zero, zero, 0x1f\nebreak\nsrai zero, zero, 7", r"asks its host for 0x18"),
    "dma_without_counter": (
        "li a1, 0x10204400\nli a0, 0x60004\nsw a0, 0(a1)\nli a0, 0x10000000\nsw a0, 0(a1)\nli a0, 0x1c100000\n"
        "sw a0, 0(a1)",
        r"a copy of lines without bytes, or without a counter",
    ),
    "dma_from_nowhere": (
        "li a1, 0x10204400\nlw a0, 0(a1)\nli a0, 0x60004\nsw a0, 0(a1)\nli a0, 0x10000000\nsw a0, 0(a1)\n"
        "sw zero, 0(a1)",
        r"copies 4 bytes between 0x10000000 and 0x00000000, outside L1 and L2",
    ),
    "dma_of_another_kind": (
        "li a1, 0x10204400\nlw a0, 0(a1)\nli a0, 0x460004\nsw a0, 0(a1)",
        r"the DMA command 0x0046",
    ),
    "counter_that_is_free": ("li a1, 0x10204400\nli a0, 8\nsw a0, 4(a1)", r"frees the DMA's counters 0x0008"),
}
"""Function to its body, and what the interpreter says of it."""

FINE = {
    "loop": (f"li a1, 0\nli a0, 5\n.balign 4\n{LOOP} 6\n{THREE}", None),
    "words_at_any_address": ("la a1, data\nlw a0, 1(a1)\nsw a0, 3(a1)\nsh a0, 5(a1)", None),
    "fence_and_time": ("fence\n.insn i 0x73, 2, a0, x0, -1280\n.insn i 0x73, 2, a0, x0, -236", None),
}


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every function of REFUSED and FINE, without start-up: no handler of traps."""
    folder = tmp_path_factory.mktemp("refused")
    functions = [
        f".balign 4\n.globl {name}\n.type {name}, @function\n{name}:\n{body}\nret\n.size {name}, . - {name}"
        for name, (body, _) in {**REFUSED, **FINE}.items()
    ]
    text = ".option norvc\n.text\n.globl _start\n_start:\n" + "\n".join(functions)
    text += "\n.section .rodata\n.balign 4\nconstants: .word 1, 2, 3\n.data\n.balign 4\ndata: .word 1, 2, 3\n"
    (folder / "refused.S").write_text(text, encoding="utf-8")
    command = [RISCV_GCC, "-march=rv32imc", "-mabi=ilp32", "-nostdlib", "-nostartfiles", "-Wl,-Ttext=0x1c008000"]
    command += ["-Wl,--section-start=.rodata=0x1c010000", "-Wl,-Tdata=0x1c011000"]
    subprocess.run([*command, str(folder / "refused.S"), "-o", str(folder / "refused.elf")], check=True)
    return folder / "refused.elf"


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name_with_the_place(name: str, elf: Path, capfd: pytest.CaptureFixture[str]) -> None:
    machine = Machine(elf)
    status = machine.call(name)
    found = re.fullmatch(r"interpreter: core 0 at 0x(\w+) in ([\w ]+): (.*)\n", capfd.readouterr().err)
    assert status == TRAPPED
    assert found is not None
    assert found[2] == ("no function" if name == "jump_to_data" else name)
    assert name == "jump_to_data" or 0 <= int(found[1], 16) - machine.symbol(name) <= 32
    assert re.search(REFUSED[name][1], found[3])


@pytest.mark.parametrize("name", FINE)
def test_what_is_near_is_run(name: str, elf: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert (Machine(elf).call(name), capfd.readouterr().err) == (0, "")


def test_handlers_of_traps_run() -> None:
    done = run(build('int main(void) { __asm__ volatile("lw a0, 8(zero)"); return 0; }\n'))
    assert (done.returncode, done.stdout.splitlines()[-1][:24]) == (99, "trap: mcause=0x00000005 ")
    assert "the controller at" in done.stderr
    assert "in main: loads 4 bytes at 0x00000008, where no memory is" in done.stderr


SLEEP = """#include <tilewright/port.h>
#include "registers.h"
static void work(void *argument) { (void)argument; pulp_sleep(1u << 5); }
int main(void) { tilewright_fork(1, work, 0); return 0; }
"""


def test_programs_without_an_end() -> None:
    asleep = run("--most", "3000000", build(SLEEP))
    assert (asleep.returncode, asleep.stderr) == (ENDLESS, "interpreter: no end after 3000000 instructions\n")
    endless = run("--most", "1000", build("int main(void) { for (;;) { } }\n"))
    assert (endless.returncode, endless.stderr) == (ENDLESS, "interpreter: no end after 1000 instructions\n")
    parked = run(build('int main(void) { __asm__ volatile("wfi"); return 0; }\n'))
    assert parked.returncode == ASLEEP


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"no program" * 100])
def test_what_is_no_program(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "program.elf"
    path.write_bytes(content)
    done = run(path)
    assert (done.returncode, done.stderr) == (NO_PROGRAM, f"interpreter: {path} is no program for pulp-open\n")


@pytest.mark.parametrize("words", [("--nothing",), ("--turn",), ()])
def test_wrong_arguments(words: tuple[str, ...]) -> None:
    done = run(*words)
    assert (done.returncode, done.stderr) == (NO_PROGRAM, "interpreter: wrong arguments\n")
