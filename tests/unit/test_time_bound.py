"""The bound of a run's instructions: never below what inputs measure, and near to it; loops on data have none."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.firmware import needs_riscv
from support.linked import digits, link_model, link_toy, toy_plan
from tilewright.base.errors import TilewrightError
from tilewright.cli import main
from tilewright.firmware.check_image import check_image
from tilewright.firmware.disassembly import Disassembly, disassemble, parsed
from tilewright.firmware.findings import Linked
from tilewright.firmware.image import Machine, read_image
from tilewright.firmware.known_branches import Branch, Frame, Result, touched_by
from tilewright.firmware.riscv import effect, start
from tilewright.firmware.rv32_steps import MASK, Registers, Word, step_of
from tilewright.firmware.time_bound import instruction_bound
from tilewright.firmware.verdict_text import verdict_json, verdict_text
from tilewright.firmware.ways import meeting_points
from tilewright.options import CompileOptions
from tilewright.pipeline import Artifacts, compile_model
from tilewright.plan import Plan
from tilewright.platform import load_platform
from tilewright.tools.simulate import simulate

CORPUS = os.environ.get("TILEWRIGHT_CORPUS", "")
MAIN = """
#include <stdio.h>
#include <tilewright/port.h>
#include "{name}.h"
static _Alignas(16) uint8_t in[{input_bytes}], out[{output_bytes}];
int main(void)
{{
    const struct {name}_inputs inputs = {{(const void *)in}};
    const struct {name}_outputs outputs = {{(void *)out}};
    uint32_t seed = 1;
    for (int i = 0; i < 5; ++i) {{
        const uint32_t begin = tilewright_cycles();
        const int status = (int){name}_run(&inputs, &outputs);
        printf("%d %u\\n", status, (unsigned)(tilewright_cycles() - begin));
        for (unsigned at = 0; at < sizeof in; ++at) {{
            seed = seed * 1664525u + 1013904223u;
            in[at] = i == 3 ? 127 : (uint8_t)(seed >> 24);
        }}
    }}
    return 0;
}}
"""


def bound_and_measured(folder: Path, artifacts: Artifacts, as_library: bool = False) -> tuple[int, int]:
    plan = artifacts.plan
    sizes = {item.name: item.size_bytes for item in plan.buffers}
    first, last = (sizes[items[0].buffer] for items in (plan.inputs, plan.outputs))
    main = MAIN.format(name=plan.name, input_bytes=first, output_bytes=last)
    program = link_model(folder, artifacts, main, as_library=as_library)
    lines: list[str] = []
    assert simulate(load_platform(plan.platform), program, 240, (), lines.append) == 0
    assert all(line.startswith("0 ") for line in lines)
    image = read_image(program)
    return instruction_bound(image, disassemble(image), plan), max(int(line.split()[1]) for line in lines)


@needs_riscv
@pytest.mark.parametrize("platform", ["qemu-virt-rv32-single", "qemu-virt-rv32"])
def test_digits(tmp_path: Path, platform: str) -> None:
    bound, measured = bound_and_measured(tmp_path, digits(platform, static_pools=True))
    # Instructions that read the counter are measured too, and are fewer than bound and measurement otherwise differ by.
    assert measured <= bound <= 1.02 * measured


@needs_riscv
@pytest.mark.long
@pytest.mark.skipif(not CORPUS, reason="TILEWRIGHT_CORPUS is not set")
@pytest.mark.parametrize("name", ["ad_int8", "kws_int8", "ic_int8"])
def test_networks_of_the_corpus(tmp_path: Path, name: str) -> None:
    model = Path(CORPUS) / "onnx" / name / "network.onnx"
    options = CompileOptions(model, "qemu-virt-rv32-single", "net", quantized_io=True, static_pools=True)
    bound, measured = bound_and_measured(tmp_path, compile_model(options), as_library=True)
    assert measured <= bound <= 1.1 * measured


@needs_riscv
def test_the_verdict_says_the_bound(tmp_path: Path) -> None:
    artifacts = digits("qemu-virt-rv32-single", static_pools=True)
    main = '#include "digits.h"\nint main(void) { return (int)digits_run(0, 0); }'
    image = read_image(link_model(tmp_path, artifacts, main))
    verdict = check_image(image, [artifacts.plan], Linked(), timed=True)
    assert "  time: digits_run takes at most 6" in verdict_text(verdict)
    assert '"instructions": 6' in verdict_json(verdict)
    assert "time:" not in verdict_text(check_image(image, [artifacts.plan], Linked()))
    limited = check_image(image, [artifacts.plan], Linked(budget=(("instructions", 1000),)))
    assert [finding.rule for finding in limited.findings] == ["budget"]


@needs_riscv
def test_the_bound_has_a_budget_and_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    artifacts = digits("qemu-virt-rv32-single", static_pools=True)
    main_text = '#include "digits.h"\nint main(void) { return (int)digits_run(0, 0); }'
    program, plan = link_model(tmp_path, artifacts, main_text), str(tmp_path / "digits_plan.json")
    verdict, profile = str(tmp_path / "verdict.json"), tmp_path / "profile.json"
    words = ["check-elf", str(program), "--plan", plan, "--json", verdict, "--budget"]
    assert main([*words, "instructions=1000"]) == 2
    assert "[budget] digits_run: expected at most 1,000 instructions, found 6" in capsys.readouterr().err
    assert main([*words, "instructions=1000000"]) == 0
    layers = [{"name": layer.name, "cycles": 130_000} for layer in artifacts.plan.layers]
    profile.write_text(json.dumps({"counter": "instructions", "layers": layers}), encoding="utf-8")
    capsys.readouterr()
    report = ["report", plan, "--firmware", verdict, "--profile", str(profile)]
    assert main(report) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("chip: RAM ")
    assert re.fullmatch(
        r"time: a run takes at most 6\d\d,\d{3} instructions; 650,000 measured in its layers "
        r"\(the bound is \d\.\d % above\)",
        lines[1],
    )
    assert main([*report, "--format", "html"]) == 0
    page = capsys.readouterr().out
    assert re.search(r"<p>at most <b>6\d\d,\d{3}</b> instructions, for any input</p>", page)
    assert "<p>650,000 instructions measured</p>" in page
    assert lines[0] in page
    Path(verdict).write_text(Path(verdict).read_text(encoding="utf-8").replace('"digits"', '"other"'), encoding="utf-8")
    assert main(report) == 2
    assert "the verdict has no model 'digits'" in capsys.readouterr().err


# What the caller passes is known, what it points to is not: x[64] lies behind the pointers in the struct.
BYTES, LOOP = r"addi t2, sp, -16\n li t0, 5\n sb t0, 0(t2)\n ", r'1: addi t0, t0, -1\n bnez t0, 1b" ::: "t0", "t2"'
TOY = {
    "longer way": (
        # The longer way multiplies; the shorter one would be one instruction less.
        '__asm__ volatile("lw t0, 256(%0)\\n beqz t0, 1f\\n mul t1, t0, t0\\n mul t1, t1, t0\\n 1:" :: "r"(x) : "t0", '
        '"t1", "memory"); return 0;',
        4,
    ),
    "loop of constants": (
        '__asm__ volatile("li t0, 10\\n 1: addi t0, t0, -1\\n bnez t0, 1b" ::: "t0"); (void)x; return 0;',
        21,
    ),
    "count of single bytes": (
        f'__asm__ volatile("{BYTES}sb zero, 1(t2)\\n sb zero, 2(t2)\\n sb zero, 3(t2)\\n lw t0, 0(t2)\\n {LOOP}); '
        "(void)x; return 0;",
        17,
    ),
    "byte of an unknown word": (f'__asm__ volatile("{BYTES}lbu t0, 0(t2)\\n {LOOP}); (void)x; return 0;', 14),
}


def toy_bound(folder: Path, body: str) -> int:
    program = link_toy(folder, f"int toy_run(volatile int *x) {{ {body} }}")
    image = read_image(program)
    plan: Plan = toy_plan()
    return instruction_bound(image, disassemble(image), plan)


@needs_riscv
@pytest.mark.parametrize("case", TOY)
def test_toys(tmp_path: Path, case: str) -> None:
    body, instructions = TOY[case]
    # Two instructions follow the body: one sets the result, one returns.
    assert toy_bound(tmp_path, body) == instructions + 2


FLOATS = """
volatile float *y = (volatile float *)x;
float sum = 0;
for (int i = 0; i < 2; ++i) { sum += y[64 + i] * y[80 + i]; }
return (int)sum;
"""


@needs_riscv
def test_known_branches_change_no_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executed: list[int] = []
    learn = Branch.learn

    def counted(branch: Branch, registers: Registers, frame: Frame, touched: int, result: Result) -> None:
        executed.append(touched)
        learn(branch, registers, frame, touched, result)

    monkeypatch.setattr(Branch, "learn", counted)
    bound, few = toy_bound(tmp_path, FLOATS), len(executed)
    monkeypatch.setattr(Branch, "known", lambda self, registers, frame: None)
    assert toy_bound(tmp_path, FLOATS) == bound
    # Inside the routines for floats most ways meet branches that other ways met in the same state.
    assert len(executed) - few > 5 * few


def test_a_branch_is_known_by_the_registers_that_it_touches() -> None:
    branch, frame = Branch(), (0x80000000, 0x1000)
    registers: Registers = [0, *range(1, 33)]
    registers[10] = None
    assert branch.known(registers, frame) is None
    after = list(registers)
    after[10] = 5
    branch.learn(registers, frame, 1 << 10, (7, 0x80000010, after))
    others = [*registers[:20], 99, *registers[21:]]
    assert branch.known(others, frame) == (7, 0x80000010, [*after[:20], 99, *after[21:]])
    assert branch.known([*others[:10], 1, *others[11:]], frame) is None
    assert branch.known(others, (0x80000004, 0x1000)) is None
    # Ways that touch more make what was learnt too coarse a key.
    branch.learn(others, frame, 1 << 20, (9, 0x80000010, others))
    assert branch.known(registers, frame) is None
    assert branch.known(others, frame) == (9, 0x80000010, others)


def test_the_registers_of_instructions() -> None:
    code = parsed("80000000:\tsw a0,4(sp)\n80000004:\tbeqz a5,80000000 <one+0x4>")
    assert touched_by(code.instructions) == 1 << 10 | 1 << 2 | 1 << 15


@needs_riscv
@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("while (x[64] > 3) { } return 0;", "a loop whose end depends on data"),
        (
            "int sum = 0; for (int i = 0; i < x[64]; ++i) { sum += x[i]; } return sum;",
            "a loop whose end depends on data",
        ),
        ("x[x[64]] = 1; return 0;", "a store to an address that depends on data"),
        ("return ((int (*)(void))x[64])();", "a jump to an address that depends on data"),
        ('__asm__ volatile("ecall"); (void)x; return 0;', "the instruction ecall"),
        (f'__asm__ volatile("{BYTES}lh t0, 0(t2)\\n {LOOP}); (void)x; return 0;', "a loop whose end depends on data"),
        (f'__asm__ volatile("{BYTES}lw t0, 0(t2)\\n {LOOP}); (void)x; return 0;', "a loop whose end depends on data"),
    ],
)
def test_what_has_no_bound(tmp_path: Path, body: str, what: str) -> None:
    with pytest.raises(TilewrightError, match=what) as told:
        toy_bound(tmp_path, body)
    (place,) = told.value.at
    assert str(tmp_path) in place
    assert place.endswith(": toy_run")
    assert "check the program without INSTRUCTIONS" in str(told.value)


@needs_riscv
def test_other_machines_and_fed_models_have_no_bound(tmp_path: Path) -> None:
    image = read_image(link_toy(tmp_path, "int toy_run(volatile int *x) { return *x; }"))
    with pytest.raises(TilewrightError, match="another instruction set"):
        instruction_bound(replace(image, machine=Machine.ARM), Disassembly((), ()), toy_plan())
    plan = toy_plan()
    fed = replace(plan, inputs=(replace(plan.inputs[0], fed_axis=1),))
    with pytest.raises(TilewrightError, match="whose input is fed") as told:
        instruction_bound(image, Disassembly((), ()), fed)
    assert told.value.at == (str(image.path),)


class _NoMemory:
    def load(self, address: Word, size: int) -> Word:
        return 0x80 if size == 1 else address

    def store(self, address: Word, size: int, value: Word) -> None:
        raise AssertionError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("add a0,a1,a2", 4),
        ("sub a0,a1,a2", -10),
        ("add a0,a1,-1", -4),
        ("and a0,a1,a2", 5),
        ("sra a0,a1,0x1", -2),
        ("srl a0,a1,0x1f", 1),
        ("sll a0,a1,a2", -384),
        ("slt a0,a1,a2", 1),
        ("sltu a0,a1,a2", 0),
        ("mul a0,a1,a2", -21),
        ("mulh a0,a1,a2", -1),
        ("mulhu a0,a1,a2", 6),
        ("mulhsu a0,a1,a2", -1),
        ("div a0,a1,a2", 0),
        ("rem a0,a1,a2", -3),
        ("div a0,a2,zero", -1),
        ("rem a0,a2,zero", 7),
        ("divu a0,a1,a2", ((1 << 32) - 3) // 7),
        ("neg a0,a2", -7),
        ("not a0,a2", -8),
        ("seqz a0,a2", 0),
        ("sltz a0,a1", 1),
        ("lui a0,0x80000", -(1 << 31)),
        ("lb a0,0(a2)", -128),
        ("lbu a0,0(a2)", 128),
        ("lw a0,4(a2)", 11),
        ("add a0,a1,t0", None),
        ("mv a0,t0", None),
        ("lw a0,0(t0)", None),
    ],
)
def test_instructions(text: str, expected: int | None) -> None:
    (instruction,) = parsed(f"80000000:\t{text}").instructions
    registers: Registers = [None] * 33
    registers[0], registers[11], registers[12] = 0, -3 & MASK, 7
    step = step_of(instruction, _NoMemory())
    assert step is not None
    step(registers)
    assert registers[10] == (None if expected is None else expected & MASK)
    assert registers[0] == 0


@pytest.mark.parametrize(
    ("text", "touched"), [("mv a4,a4", (0x80006000,)), ("mv a5,a4", ()), ("addi a5,a4,8", (0x80006008,))]
)
def test_an_address_may_end_with_zeros(text: str, touched: tuple[int, ...]) -> None:
    """A jump table at a multiple of 4,096 bytes behind auipc: objdump prints ``addi a4, a4, 0`` as ``mv a4, a4``."""
    made, sum_of = parsed(f"80000000:\tauipc a4,0x6\n80000004:\t{text}").instructions
    known = effect(made, start(None), lambda _: None)
    assert known.touched == ()
    assert effect(sum_of, known.registers, lambda _: None).touched == touched


def test_ways_meet() -> None:
    lines = ["beqz a0,8", "nop", "nop", "bnez a1,0", "ret"]
    code = parsed("\n".join(f"{4 * number:x}:\t{line}" for number, line in enumerate(lines)))
    found = meeting_points(code.instructions)
    assert found[0].certain == 8
    # The ways of the loop's end meet at its start or behind it.
    assert found[12].near == {0, 16}
