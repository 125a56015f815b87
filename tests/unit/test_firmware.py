"""The check of linked programs: what agrees with its plan passes, and each rule catches what breaks it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.firmware import needs_arm, needs_riscv
from support.linked import EXAMPLE, digits, link_digits, link_model, link_toy, painted_main, toy_plan
from tilewright.base.errors import TilewrightError
from tilewright.cli import main
from tilewright.cli.check_elf import BUDGETS
from tilewright.firmware.check_image import Verdict, check_image
from tilewright.firmware.findings import Finding, Linked, Regions
from tilewright.firmware.image import read_image
from tilewright.options import CompileOptions
from tilewright.pipeline import compile_model
from tilewright.plan import Plan
from tilewright.platform import load_platform
from tilewright.tools.simulate import simulate

POOLS = (("l1", "l1"), ("sram", "sram"))
REGIONS = Regions((("l1", 0x86000000, 0x86100000), ("sram", 0x84000000, 0x86000000), ("flash", 0x80000000, 0x84000000)))
LINKED = Linked(REGIONS, POOLS)
OWN_SCRIPT = """
ENTRY(_start)
SECTIONS {
    .text 0x80000000 : { KEEP(*(.text.tilewright.start)) *(.text .text.*) *(.rodata .rodata.* .srodata .srodata.*)
        . = ALIGN(8); tilewright_zero_table_start = .; tilewright_zero_table_end = .;
        __preinit_array_start = .; __preinit_array_end = .; __init_array_start = .; __init_array_end = .; }
    .data 0x84000000 : { __data_start = .; *(.data .data.* .sdata .sdata.*) __data_end = .; }
    __data_source = LOADADDR(.data); __global_pointer$ = ADDR(.data) + 0x800; __tls_base = 0;
    .fast 0x86000000 (NOLOAD) : { *(.bss.tilewright.l1) }
    .bss 0x84010000 (NOLOAD) : { *(.bss .bss.* .sbss .sbss.* COMMON) }
    __bss_start = ADDR(.bss); __bss_end = .; end = .; __stack = 0x86000000; __heap_start = .; __heap_end = .;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link_digits(tmp_path_factory.mktemp("linked"))


def pool_bytes() -> dict[str, int]:
    """Bytes that the digits plan uses of each pool."""
    return {use.pool: use.used_bytes for use in digits().plan.pool_use if use.used_bytes}


def checked(program: Path, plan: Plan, linked: Linked = LINKED) -> Verdict:
    return check_image(read_image(program), [plan], linked)


def rules(verdict: Verdict) -> set[str]:
    return {finding.rule for finding in verdict.findings}


@needs_riscv
def test_a_program_agrees_with_its_plan(program: Path) -> None:
    verdict = checked(program, digits().plan)
    assert verdict.findings == ()
    (model,) = verdict.models
    assert {place.pool: place.size_bytes for place in model.pools} == pool_bytes()
    assert set(pool_bytes()) == {"l1", "sram", "flash"}
    assert 300 < model.calls.stack_bytes < 1000
    assert model.calls.deepest[0][0] == "digits_run"
    assert model.constants == 8


@needs_riscv
@pytest.mark.parametrize("words", [("-flto",), ("-Os", "-msave-restore")])
def test_other_ways_to_compile(words: tuple[str, ...], tmp_path: Path) -> None:
    verdict = checked(link_digits(tmp_path, words=words), digits().plan)
    assert verdict.findings == ()
    assert 300 < verdict.models[0].calls.stack_bytes < 1000


@needs_arm
def test_a_program_for_arm(tmp_path: Path) -> None:
    platform = "mps2-an385"
    plan = digits(platform).plan
    layout = tuple((name, symbol) for name, symbol in POOLS if any(use.pool == name for use in plan.pool_use))
    verdict = checked(link_digits(tmp_path, platform), plan, Linked(symbols=layout))
    assert verdict.findings == ()
    assert 300 < verdict.models[0].calls.stack_bytes < 1000


@needs_riscv
def test_a_linker_script_of_the_user(tmp_path: Path) -> None:
    program = link_digits(tmp_path, script=OWN_SCRIPT)
    plan = digits().plan
    named = Linked(symbols=POOLS, sections=(("l1", ".fast"), ("digits.sram", ".bss")))
    assert checked(program, plan, named).findings == ()
    # Without a region, the pool of fast memory has to be in a section that says so.
    (l1, sram) = checked(program, plan, Linked(symbols=POOLS)).findings
    assert (l1.symbol, l1.expected, l1.found) == ("l1", "section .bss.tilewright.l1", "section .fast")
    assert sram.found == "section .bss"


def larger(plan: Plan) -> Plan:
    uses = tuple(replace(use, used_bytes=use.used_bytes + 16) for use in plan.pool_use)
    return replace(plan, pool_use=uses)


def other_alignment(plan: Plan) -> Plan:
    pools = (replace(pool, align_bytes=1 << 27) if pool.name == "l1" else pool for pool in plan.pools)
    return replace(plan, pools=tuple(pools))


def other_base(plan: Plan) -> Plan:
    pools = (replace(pool, base=0x90000000) if pool.name == "flash" else pool for pool in plan.pools)
    return replace(plan, pools=tuple(pools))


def pinned_in_code(plan: Plan) -> Plan:
    pools = (replace(pool, base=0x80000010) if pool.name == "l1" else pool for pool in plan.pools)
    return replace(plan, pools=tuple(pools))


def other_weights(plan: Plan) -> Plan:
    first = next(item for item in plan.buffers if item.sha256 is not None)
    return replace(plan, buffers=tuple(replace(i, sha256="0" * 64) if i is first else i for i in plan.buffers))


@needs_riscv
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (larger, {"pool-size", "layout"}),
        (other_alignment, {"pool-alignment", "layout"}),
        (other_base, {"pool-base", "layout"}),
        (pinned_in_code, {"pool-region", "pool-overlap", "layout"}),
        (other_weights, {"constant"}),
        (lambda plan: replace(plan, stack_bytes=300), {"stack", "layout"}),
        (lambda plan: replace(plan, model_sha256="0" * 64, tool_version="0", layers=()), set()),
    ],
)
def test_a_plan_that_is_another(program: Path, change: Callable[[Plan], Plan], expected: set[str]) -> None:
    assert rules(checked(program, change(digits().plan))) == expected


@needs_riscv
def test_a_finding_names_symbol_address_and_both_values(program: Path) -> None:
    (found,) = checked(program, other_weights(digits().plan)).findings
    assert found.symbol.startswith("constant ")
    assert found.address is not None
    assert found.address >= 0x80000000
    assert found.expected == "sha256 0000000000000000"
    assert str(Finding("constant", "x", 16, "a", "b")) == "[constant] x at 0x10: expected a, found b"


@needs_riscv
@pytest.mark.parametrize(
    ("linked", "expected"),
    [
        (Linked(REGIONS), {"pool-symbol"}),
        (Linked(REGIONS, (("l1", "sram"), ("sram", "sram"))), {"pool-size", "pool-region"}),
        (Linked(Regions((("l1", 0x86000000, 0x86001000),)), POOLS), {"pool-region"}),
        (Linked(REGIONS, POOLS, sections=(("l1", ".dtcm"),)), {"pool-section"}),
    ],
)
def test_pools_elsewhere(program: Path, linked: Linked, expected: set[str]) -> None:
    assert rules(checked(program, digits().plan, linked)) == expected


@needs_riscv
def test_an_object_in_a_pool(tmp_path: Path) -> None:
    last = pool_bytes()["l1"] - 4
    before = (
        f'__asm__(".globl intruder\\n.type intruder, %object\\n.size intruder, 8\\n.set intruder, l1 + {last}\\n");'
    )
    (found,) = checked(link_digits(tmp_path, before=before), digits().plan).findings
    assert found.rule == "pool-overlap"
    assert "intruder" in found.found


@needs_riscv
def test_a_file_that_was_compiled_with_another_header(tmp_path: Path) -> None:
    before = 'TILEWRIGHT_LAYOUT("digits", "0123456789abcdef")'
    (found,) = checked(link_digits(tmp_path, before=before), digits().plan).findings
    assert found.rule == "layout"
    assert found.found.startswith("digits:0123456789abcdef")


SOUND = """
static int twice(volatile int *x) { return *x * 2; }
static int (*const table[])(volatile int *) = {twice};
int toy_run(volatile int *x) { return table[*x & 0](x); }
"""
BEGIN = """
void _start(void);
static int twice(volatile int *x) { return *x * 2; }
static int half(volatile int *x) { return *x / 2; }
static int (*const table[])(volatile int *) = {twice, half};
int toy_run(volatile int *x) { return *x < (long)_start ? 0 : table[*x & 1](x); }
"""
"""Code that knows where the program's code begins and calls a function by pointer."""
CODE = {
    "sound": (SOUND, set()),
    "begin of the code": (BEGIN, set()),
    "recursion": (
        "int toy_run(volatile int *x) { int y = *x; return y > 0 ? toy_run(x) + toy_run(x) + y : y; }",
        {"recursion"},
    ),
    "recursion of two": (
        "__attribute__((noinline)) int toy_a(volatile int *x); __attribute__((noinline)) int toy_b(volatile int *x);"
        "int toy_a(volatile int *x) { return *x ? toy_b(x) + *x : 0; }"
        "int toy_b(volatile int *x) { return *x ? toy_a(x) + *x : 0; }"
        "int toy_run(volatile int *x) { return toy_a(x); }",
        {"recursion"},
    ),
    "static": ("int toy_calls; int toy_run(volatile int *x) { return toy_calls += *x; }", {"static"}),
    "foreign": (
        "__attribute__((noinline)) int log_it(volatile int *x); int log_it(volatile int *x) { return *x; }"
        "int toy_run(volatile int *x) { return log_it(x) + 1; }",
        {"library"},
    ),
    "stack": (
        "int toy_run(volatile int *x) { volatile char a[*x]; a[0] = 1; return a[0]; }",
        {"stack"},
    ),
    "large frame": (
        "int toy_run(volatile int *x) { volatile char a[70000]; a[*x] = 1; return a[0]; }",
        {"stack"},
    ),
    "pointer": (
        "int toy_run(volatile int *x) { return (*(int (**)(void))x)() + 1; }",
        {"call-by-pointer"},
    ),
}


@needs_riscv
@pytest.mark.parametrize("name", CODE)
def test_code_below_run(name: str, tmp_path: Path) -> None:
    code, expected = CODE[name]
    assert rules(checked(link_toy(tmp_path, code), toy_plan(), Linked())) == expected


@needs_riscv
def test_memory_at_run_time(tmp_path: Path) -> None:
    code = (
        "#include <stdlib.h>\n__attribute__((noinline)) static void *toy_more(void) { return malloc(4); }"
        "int toy_run(volatile int *x) { return toy_more() != 0 && *x; } char __heap_start[64], __heap_end[1];"
    )
    verdict = checked(link_toy(tmp_path, code, library=True), toy_plan(), Linked())
    assert "malloc" in {finding.symbol for finding in verdict.findings if finding.rule == "library"}


@needs_riscv
def test_what_the_user_allows(tmp_path: Path) -> None:
    code = "int toy_calls; int toy_run(volatile int *x) { return toy_calls += *x; }"
    assert checked(link_toy(tmp_path, code), toy_plan(), Linked(allowed=frozenset({"toy_calls"}))).findings == ()


@needs_riscv
def test_the_command(program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = program.parent / "digits_plan.json"
    words = ["check-elf", str(program), "--plan", str(plan), "--platform", "qemu-virt-rv32", "--pool-symbol", "l1=l1"]
    assert main([*words, "--pool-symbol", "digits.sram=sram", "--json", str(tmp_path / "verdict.json")]) == 0
    assert "constants: 8 with the bytes that the plan names" in capsys.readouterr().out
    assert '"agrees": true' in (tmp_path / "verdict.json").read_text(encoding="utf-8")
    assert main(words) == 2
    assert "[pool-symbol] pool sram of digits" in capsys.readouterr().err
    assert main(["report", str(plan), "--firmware", str(tmp_path / "verdict.json")]) == 0
    assert capsys.readouterr().out.startswith("chip: RAM 1")
    assert main(["report", str(plan), "--firmware", str(plan)]) == 2
    assert "no verdict of check-elf" in capsys.readouterr().err
    assert main([*words, "--budget", "stack=few"]) == 2
    assert "--budget stack=few is not <what>=<number>" in capsys.readouterr().err
    assert main([*words, "--region", "l1=here"]) == 2
    assert "--region l1=here is not <pool>=<base>:<bytes>" in capsys.readouterr().err
    assert main([*words, "--objdump", "no-such-program"]) == 2
    assert "cannot run no-such-program" in capsys.readouterr().err


def measured_stack(program: Path, platform: str) -> int:
    """What a run of a program with ``painted_main`` took, in a simulator."""
    lines: list[str] = []
    assert simulate(load_platform(platform), program, 60, (), lines.append) == 0
    (word,) = (line.split()[1] for line in lines if line.startswith("stack "))
    return int(word, 16)


@needs_riscv
@needs_arm
@pytest.mark.parametrize("platform", ["qemu-virt-rv32", "mps2-an385"])
def test_a_run_stays_within_its_stack(platform: str, tmp_path: Path) -> None:
    artifacts = digits(platform, static_pools=True)
    program = link_model(tmp_path, artifacts, painted_main(artifacts.plan, 8192))
    verdict = checked(program, artifacts.plan, Linked())
    assert verdict.findings == ()
    calls, measured = verdict.models[0].calls, measured_stack(program, platform)
    assert 0.75 * calls.stack_bytes <= measured <= calls.stack_bytes
    # Behind the table of layers stand the attributes of the last layer, whose kernel no other layer calls.
    callers = {edge.caller.name for edge in calls.edges if edge.callee.name == "tilewright_vector_signed"}
    assert callers == {"tilewright_fully_connected_integer"}


@needs_riscv
def test_a_hook_takes_stack_too(tmp_path: Path) -> None:
    artifacts = digits(static_pools=True)
    hook = "void hook(uint32_t layer) { volatile char a[1000]; for (int i = 0; i < 1000; ++i) { a[i] = (char)layer; } }"
    words = ("-DTILEWRIGHT_LAYER_HOOK=hook",)
    program = link_model(tmp_path, artifacts, f"{painted_main(artifacts.plan, 8192)}{hook}", words=words)
    (found,) = checked(program, artifacts.plan, Linked()).findings
    assert (found.rule, found.symbol) == ("library", "hook")
    allowed = checked(program, artifacts.plan, Linked(allowed=frozenset({"hook"})))
    assert allowed.findings == ()
    # The painted stack shows the hook's frame, which a bound without the hook does not contain.
    assert 1000 < measured_stack(program, "qemu-virt-rv32") <= allowed.models[0].calls.stack_bytes


@needs_riscv
def test_memory_of_the_chip(program: Path) -> None:
    memory = checked(program, digits().plan).memory
    listing = subprocess.run(["riscv64-unknown-elf-size", program], capture_output=True, text=True, check=True).stdout
    text, data, bss = map(int, listing.splitlines()[1].split()[:3])
    assert (memory.flash, memory.ram - memory.stack) == (text + data, data + bss)
    used = pool_bytes()
    assert (memory.pools, memory.constants) == (used["l1"] + used["sram"], used["flash"])
    assert 5000 < memory.code < memory.flash - memory.constants < 16000
    assert memory.left[0] == ("l1", 0x100000, 0x100000 - used["l1"])


@needs_riscv
def test_a_budget(program: Path) -> None:
    amounts = dict(checked(program, digits().plan).memory.amounts())
    assert {*amounts, "instructions"} == set(BUDGETS)
    held = Linked(REGIONS, POOLS, budget=tuple(amounts.items()))
    assert checked(program, digits().plan, held).findings == ()
    tight = Linked(REGIONS, POOLS, budget=tuple((name, most - 1) for name, most in amounts.items()))
    assert [item.symbol for item in checked(program, digits().plan, tight).findings] == list(amounts)


def test_the_stack_that_a_user_gives() -> None:
    options = CompileOptions(EXAMPLE, "qemu-virt-rv32", "digits", quantized_io=True, stack_bytes=640)
    files = compile_model(options).files
    assert b"#define DIGITS_STACK_BYTES 640u" in files["digits.h"]
    assert b"#define DIGITS_STACK_BYTES 4096u" in digits().files["digits.h"]


def test_files_that_are_no_programs(tmp_path: Path) -> None:
    for content in (b"", b"text", b"\x7fELF\1\1\1" + bytes(100)):
        (tmp_path / "x.elf").write_bytes(content)
        with pytest.raises(TilewrightError) as raised:
            read_image(tmp_path / "x.elf")
        assert raised.value.code in ("elf-file", "elf-stripped")
    with pytest.raises(TilewrightError, match="cannot read the program"):
        read_image(tmp_path / "absent.elf")


@needs_riscv
def test_calls_are_followed_however_deep_they_nest(tmp_path: Path) -> None:
    """Deeper than Python lets functions call each other."""
    count = sys.getrecursionlimit() + 500
    lines = ["static __attribute__((noinline)) int toy_0(volatile int *x) { return *x; }"]
    lines += [
        f"static __attribute__((noinline)) int toy_{n}(volatile int *x) {{ return toy_{n - 1}(x) + x[{n}]; }}"
        for n in range(1, count)
    ]
    code = "\n".join([*lines, f"int toy_run(volatile int *x) {{ return toy_{count - 1}(x) + 1; }}"])
    verdict = checked(link_toy(tmp_path, code), toy_plan())
    (model,) = verdict.models
    assert len(model.calls.deepest) == count + 1
    assert model.calls.stack_bytes >= 16 * count
    assert {finding.rule for finding in verdict.findings} == {"stack"}, "more than the header says"
