"""RV32IMC in the interpreter: against QEMU, the assembler's own expansion of short instructions, and this machine."""

from __future__ import annotations

import re
import subprocess
from itertools import product
from pathlib import Path

from support.firmware import RISCV_GCC, build_host, build_riscv, needs_riscv
from support.gvsoc import PLATFORM
from support.instructions import Example, program, results
from support.interpreted import interpreted, interpreter, needs_interpreter, run, spoilt_interpreter
from tilewright.platform import load_platform

pytestmark = needs_interpreter

SUPPORT = Path(__file__).parents[1] / "support"

EDGES = (0, 1, -1, 7, 31, 32, 2**15, 0x12345678, -0x12345678, 2**31 - 1, -(2**31))
NEAR = (0, 1, -1, 31, 2047, -2048)
MEMORY = (0x81828384, 0x7F017E02, 0xFFFF8000, 0x00017FFF)

PAIRS = "add sub sll slt sltu xor srl sra or and mul mulh mulhsu mulhu div divu rem remu".split()
IMMEDIATES = "addi slti sltiu xori ori andi".split()
SHIFTS = "slli srli srai".split()
BRANCHES = "beq bne blt bge bltu bgeu".split()
LOADS = "lb lh lw lbu lhu".split()
STORES = "sb sh sw".split()

BY_HAND = (
    ("div", 7, 0, -1),
    ("divu", 7, 0, -1),
    ("rem", 7, 0, 7),
    ("remu", 7, 0, 7),
    ("div", -(2**31), -1, -(2**31)),
    ("rem", -(2**31), -1, 0),
    ("div", -7, 2, -3),
    ("rem", -7, 2, -1),
    ("rem", 7, -2, 1),
    ("mulh", -(2**31), -(2**31), 2**30),
    ("mulhu", -1, -1, -2),
    ("mulhsu", -1, -1, -1),
    ("mulhsu", 2**31 - 1, -1, 2**31 - 2),
    ("sra", -8, 33, -4),
    ("sll", 1, 63, -(2**31)),
)
"""What the manual says of the cases that C leaves open."""


def pair(text: str, first: int, second: int) -> Example:
    return Example(text, {"a1": 99, "a2": first, "a3": second}, ("a1",))


def examples() -> list[Example]:
    found = [pair(f"{name} a1, a2, a3", *values) for name in PAIRS for values in product(EDGES, EDGES)]
    found += [pair(f"{name} a1, a2, {value}", edge, 0) for name in IMMEDIATES for edge in EDGES for value in NEAR]
    found += [pair(f"{name} a1, a2, {value}", edge, 0) for name in SHIFTS for edge in EDGES for value in (0, 1, 31)]
    found += [
        pair(f"{name} a2, a3, 1f\nli a1, 1\n1:", *values) for name in BRANCHES for values in product(EDGES, EDGES)
    ]
    found += [
        Example(f"{name} a1, {at}(a2)", {"a1": 0, "a2": "data+4"}, ("a1",), MEMORY)
        for name in LOADS
        for at in (*range(-4, 9), 11)
        if name[1] != "w" or at < 9
    ]
    found += [
        Example(f"{name} a1, {at}(a2)", {"a1": 0xA1B2C3D4, "a2": "data+4"}, (0, 1, 2), MEMORY)
        for name in STORES
        for at in range(-4, 5)
    ]
    found += [pair(text, 5, 6) for text in ODD]
    return found


ODD = (
    "lui a1, 0xfffff",
    "lui a1, 0x12345",
    "1: auipc a1, 0x80000\nla a2, 1b\nsub a1, a1, a2",
    "1: jal a1, 2f\nli a2, 1\n2: la a3, 1b\nsub a1, a1, a3\nadd a1, a1, a2",
    "j 2f\n1: li a1, 4\nj 3f\n2: j 1b\n3:",
    "la a1, 1f\njalr a1, 1(a1)\nli a2, 1\n1: la a3, 1b\nsub a1, a1, a3\nadd a1, a1, a2",
    "li a1, 3\n1: addi a2, a2, 4\naddi a1, a1, -1\nbnez a1, 1b\nmv a1, a2",
    "fence\nadd zero, a2, a3\nmv a1, zero",
    "lw zero, 0(s10)\nmv a1, zero",
)
"""Upper bits, jumps and what is written to register 0."""


@needs_riscv
def test_base_and_multiplication_against_qemu(tmp_path: Path) -> None:
    judge = load_platform("qemu-virt-rv32")
    asked = examples()
    wanted = results(program(asked, judge, tmp_path), judge, asked)
    elf = program(asked, PLATFORM, tmp_path)
    got = results(elf, interpreted(), asked)
    assert [(e.text, e.given, g, w) for e, g, w in zip(asked, got, wanted, strict=True) if g != w] == []
    assert len(asked) > 3000
    known, executed = (set(run("--operations", *words).stdout.splitlines()) for words in ((), (elf,)))
    others = {"csrrs", "ecall", "wfi"}  # of test_interpreter_refusals
    base = {name for name in known if not name.startswith(("p.", "pv.", "lp.")) and ".s" not in name}
    assert base == {*executed & known, *others}
    spoilt = interpreted(program=spoilt_interpreter(tmp_path, "rv32.c", "divisor == 0 ? dividend : 0", "0"))
    assert {e.text for e, g, w in zip(asked, results(elf, spoilt, asked), wanted, strict=True) if g != w} == {
        "rem a1, a2, a3"
    }


def test_cases_that_c_leaves_open(tmp_path: Path) -> None:
    asked = [pair(f"{name} a1, a2, a3", first, second) for name, first, second, _ in BY_HAND]
    got = results(program(asked, PLATFORM, tmp_path), interpreted(), asked)
    assert [words["a1"] for words in got] == [wanted & 0xFFFFFFFF for *_, wanted in BY_HAND]


SHORT = {
    "c.addi4spn": "addi {0},{1},{2}",
    "c.lw": "lw {0},{1}",
    "c.sw": "sw {0},{1}",
    "c.addi": "addi {0},{0},{1}",
    "c.jal": "jal ra,{0}",
    "c.li": "addi {0},zero,{1}",
    "c.addi16sp": "addi {0},{0},{1}",
    "c.lui": "lui {0},{1}",
    "c.srli": "srli {0},{0},{1}",
    "c.srai": "srai {0},{0},{1}",
    "c.andi": "andi {0},{0},{1}",
    "c.sub": "sub {0},{0},{1}",
    "c.xor": "xor {0},{0},{1}",
    "c.or": "or {0},{0},{1}",
    "c.and": "and {0},{0},{1}",
    "c.j": "jal zero,{0}",
    "c.beqz": "beq {0},zero,{1}",
    "c.bnez": "bne {0},zero,{1}",
    "c.slli": "slli {0},{0},{1}",
    "c.slli64": "slli {0},{0},0x0",
    "c.srli64": "srli {0},{0},0x0",
    "c.srai64": "srai {0},{0},0x0",
    "c.lwsp": "lw {0},{1}",
    "c.jr": "jalr zero,0({0})",
    "c.mv": "add {0},zero,{1}",
    "c.ebreak": "ebreak",
    "c.jalr": "jalr ra,0({0})",
    "c.add": "add {0},{0},{1}",
    "c.swsp": "sw {0},{1}",
}
"""Short instructions, as the disassembler writes them, and what the manual says that they stand for."""


def tool(name: str, *arguments: str | Path) -> str:
    command = [RISCV_GCC.replace("gcc", name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def disassembled(words: list[int], size_bytes: int, folder: Path) -> list[tuple[str, list[str]]]:
    """Name and operands of each instruction, as the stock tool says."""
    (folder / "words.bin").write_bytes(b"".join(word.to_bytes(size_bytes, "little") for word in words))
    options = ["-b", "binary", "-m", "riscv:rv32", "-M", "no-aliases", "-z", "-w"]
    text = tool("objdump", "-D", *options, folder / "words.bin")
    lines = re.findall(r"^ *([0-9a-f]+):\t[0-9a-f]+ +\t(\S+)(?:\t(\S+))?", text, re.MULTILINE)
    assert len(lines) == len(words)
    return [(name, relative(name, operands.split(","), int(at, 16))) for at, name, operands in lines]


def relative(name: str, operands: list[str], at: int) -> list[str]:
    """The target of a jump or branch as a distance."""
    if name not in ("c.j", "c.jal", "c.beqz", "c.bnez", "jal", "beq", "bne"):
        return operands
    distance = int(operands[-1], 16) - at
    return [*operands[:-1], str(distance - (distance >> 31 << 32))]


def is_reserved(name: str, operands: list[str]) -> bool:
    """Whether the disassembler reads what RV32 lacks: a short shift by 32 or more, or a stack pointer moved by 0."""
    is_long = name in ("c.slli", "c.srli", "c.srai") and int(operands[1], 16) >= 32
    return is_long or (name, operands) == ("c.addi16sp", ["sp", "0"])


def expansions(words: list[int], path: Path | None = None) -> list[int]:
    """What an interpreter makes of short instructions; 0 where they are none."""
    command = [path or interpreter(), "--expand"]
    text = "\n".join(f"{word:x}" for word in words)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return [int(line, 16) for line in done.stdout.split()]


def short_ones(folder: Path) -> list[tuple[int, str, list[str]]]:
    """Every short instruction of RV32C without floats."""
    words = [word for word in range(2**16) if word & 3 != 3]
    return [
        (word, name, operands)
        for word, (name, operands) in zip(words, disassembled(words, 2, folder), strict=True)
        if name in SHORT and not is_reserved(name, operands)
    ]


def wrong_expansions(path: Path, folder: Path) -> list[str]:
    """Short instructions whose expansion is not what the manual says, one line each."""
    short = short_ones(folder)
    long = disassembled(expansions([word for word, _, _ in short], path), 4, folder)
    return [
        f"{word:04x}: {name} {operands}: {got}, not {wanted}"
        for (word, name, operands), (longer, given) in zip(short, long, strict=True)
        if (got := f"{longer} {','.join(given)}".strip()) != (wanted := SHORT[name].format(*operands))
    ]


def test_every_short_instruction_stands_for_what_the_manual_says(tmp_path: Path) -> None:
    known = short_ones(tmp_path)
    assert len(known) == 28823
    assert {name for _, name, _ in known} == set(SHORT)
    assert wrong_expansions(interpreter(), tmp_path) == []


def test_no_other_short_instruction_is_known(tmp_path: Path) -> None:
    known = {word for word, _, _ in short_ones(tmp_path)}
    others = [word for word in range(2**16) if word & 3 != 3 and word not in known]
    assert set(expansions(others)) == {0}


def test_a_wrong_expansion_is_seen(tmp_path: Path) -> None:
    spoilt = spoilt_interpreter(tmp_path, "compressed.c", "bits(word, 9, 4, 2)", "bits(word, 8, 5, 1)")
    wrong = wrong_expansions(spoilt, tmp_path)
    assert wrong
    assert all("c.swsp" in text for text in wrong)


def test_a_program_prints_what_it_prints_on_this_machine(tmp_path: Path) -> None:
    source = SUPPORT / "mixed_work.c"
    wanted = subprocess.run([build_host([source], tmp_path / "host")], capture_output=True, text=True, check=True)
    got = run(build_riscv(PLATFORM, [source], tmp_path / "pulp.elf"))
    assert (got.returncode, got.stdout, got.stderr) == (0, wanted.stdout, "")
    assert len(got.stdout.splitlines()) == 5
