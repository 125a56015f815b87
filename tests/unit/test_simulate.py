"""Firmware's exit status comes back, output is passed on, and nothing outlives its timeout."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support.firmware import build_host, build_riscv, needs_host_compiler, needs_riscv
from support.processes import left_over
from tilewright.errors import TilewrightError
from tilewright.platform import Counter, Platform, Simulator, load_platform
from tilewright.simulate import TIMEOUT_STATUS, simulate

QEMU_PLATFORMS = ("qemu-virt-rv32", "qemu-virt-rv32-single", "qemu-virt-rv32f", "qemu-virt-rv32f-single")

HELLO = r"""
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <tilewright/port.h>

static int initialised = 41;
static uint32_t cleared[64];
static uint32_t cleared_pool[64] __attribute__((section(".bss.tilewright.sram")));
static const uint32_t constants[2] __attribute__((section(".rodata.tilewright.kws.flash"), aligned(16))) = {3, 4};
volatile float half = 0.5f;

static void work(void *argument)
{
    *(uint32_t *)argument += 1u + tilewright_core_id();
}

int main(void)
{
    uint32_t forked = 0;
    uint32_t sum = 0;
    for (unsigned i = 0; i < 64; i++) {
        sum += cleared[i] + cleared_pool[i];
    }
    tilewright_fork(1, work, &forked);
    tilewright_barrier();
    tilewright_cache_clean(0, 0);
    tilewright_cache_invalidate(0, 0);
    errno = 5;
    uint32_t start = tilewright_cycles();
    uint32_t passed = tilewright_cycles() - start;
    printf("hello %d %u %u %u %d %.2f %d\n", ++initialised, (unsigned)sum, (unsigned)forked,
           (unsigned)constants[1], errno, (double)(half * half), passed > 0u && passed < 100u);
    return STATUS;
}
"""
GREETING = "hello 42 0 1 4 5 0.25 1\n"


def build(platform: Platform, text: str, folder: Path) -> Path:
    source = folder / "main.c"
    source.write_text(text, encoding="utf-8")
    return build_riscv(platform, [source], folder / "main.elf")


@needs_riscv
@pytest.mark.parametrize(("name", "status"), [*((name, 0) for name in QEMU_PLATFORMS), ("qemu-virt-rv32", 7)])
def test_hello(name: str, status: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    platform = load_platform(name)
    program = build(platform, HELLO.replace("STATUS", str(status)), tmp_path)
    assert simulate(platform, program, timeout_s=60) == status
    assert capfd.readouterr().out.replace("\r", "") == GREETING


@needs_riscv
@pytest.mark.parametrize(("returned", "status"), [(255, 255), (256, 1), (-1, 255)])
def test_no_failure_looks_like_success(returned: int, status: int, tmp_path: Path) -> None:
    platform = load_platform("qemu-virt-rv32")
    program = build(platform, f"int main(void) {{ return {returned}; }}\n", tmp_path)
    assert simulate(platform, program, timeout_s=60) == status


@needs_riscv
def test_endless_loop_is_killed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    platform = load_platform("qemu-virt-rv32")
    loop = '#include <stdio.h>\nint main(void)\n{\n    puts("begun");\n    for (;;) {\n    }\n}\n'
    program = build(platform, loop, tmp_path)
    start = time.monotonic()
    assert simulate(platform, program, timeout_s=2) == TIMEOUT_STATUS
    assert time.monotonic() - start < 20
    assert left_over(program) == []
    output = capfd.readouterr()
    assert "begun" in output.out
    assert "killed after 2 s" in output.err


@needs_riscv
@pytest.mark.parametrize(
    ("instructions", "cause"),
    [
        (".word 0", "mcause=0x00000002"),
        ("sb zero, 0x40(zero)", "mcause=0x00000007"),
        ("li sp, 0; ebreak", "mcause=0x00000003"),
    ],
)
def test_trap_is_told(instructions: str, cause: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    platform = load_platform("qemu-virt-rv32")
    text = f'int main(void)\n{{\n    __asm__ volatile("{instructions}");\n    return 0;\n}}\n'
    assert simulate(platform, build(platform, text, tmp_path), timeout_s=60) == 99
    output = capfd.readouterr().out
    assert "trap:" in output
    assert cause in output
    assert "mepc=0x8000" in output


@needs_riscv
def test_stack_that_does_not_fit_is_a_link_error(tmp_path: Path) -> None:
    platform = load_platform("qemu-virt-rv32")
    program = "static volatile char big[0x1fff800];\nint main(void)\n{\n    return big[1];\n}\n"
    with pytest.raises(AssertionError, match="no 4096 bytes left for the stack"):
        build(platform, program, tmp_path)


@needs_host_compiler
def test_host_program_with_arguments(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "main.c"
    source.write_text(
        "#include <stdio.h>\nint main(int argc, char **argv)\n{\n    puts(argv[argc - 1]);\n    return argc;\n}\n",
        encoding="utf-8",
    )
    program = build_host([source], tmp_path / "with space")
    assert simulate(load_platform("host"), program, timeout_s=60, args=("a b", "c")) == 3
    assert capfd.readouterr().out == "c\n"


def test_missing_simulator_and_program(tmp_path: Path) -> None:
    platform = load_platform("host")
    program = tmp_path / "program"
    with pytest.raises(TilewrightError, match="no program to run"):
        simulate(platform, program, timeout_s=1)
    program.write_text("", encoding="utf-8")
    absent = replace(platform, simulator=Simulator(("no-such-simulator", "{elf}"), Counter.CYCLES))
    with pytest.raises(TilewrightError, match="'no-such-simulator' of platform 'host' is not installed"):
        simulate(absent, program, timeout_s=1)
    with pytest.raises(TilewrightError, match="has no \\[simulator\\]"):
        simulate(replace(platform, simulator=None), program, timeout_s=1)


def _script(platform: Platform, words: str) -> Platform:
    command = (sys.executable, "-c", f"import sys, os, signal, subprocess, time; {words}", "{elf}", "{work_dir}")
    return replace(platform, simulator=Simulator(command, Counter.CYCLES))


def test_work_dir_exists_and_goes_away(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program"
    program.touch()
    words = "assert os.path.isdir(sys.argv[2]); print(sys.argv[2]); sys.exit(5)"
    assert simulate(_script(load_platform("host"), words), program, timeout_s=60) == 5
    assert not Path(capfd.readouterr().out.strip()).exists()


def test_signal_becomes_a_status(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.touch()
    platform = _script(load_platform("host"), "os.kill(os.getpid(), signal.SIGABRT)")
    assert simulate(platform, program, timeout_s=60) == 128 + signal.SIGABRT


def test_children_of_a_simulator_die_with_it(tmp_path: Path) -> None:
    """A launcher script that leaves its simulator behind, even one that ignores SIGTERM."""
    program = tmp_path / "program"
    program.touch()
    child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    words = f"subprocess.Popen([sys.executable, '-c', {child!r}, sys.argv[1]]); time.sleep(60)"
    assert simulate(_script(load_platform("host"), words), program, timeout_s=1) == TIMEOUT_STATUS
    time.sleep(0.2)
    assert left_over(program) == []


def test_terminating_the_launcher_ends_the_simulator(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nsleep 60\n", encoding="utf-8")
    program.chmod(0o755)
    words = (
        "import sys; from tilewright.platform import load_platform; from tilewright.simulate import simulate; "
        f"sys.exit(simulate(load_platform('host'), {str(program)!r}, timeout_s=60))"
    )
    launcher = subprocess.Popen([sys.executable, "-c", words])
    deadline = time.monotonic() + 30
    while len(left_over(program)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    launcher.terminate()
    assert launcher.wait(timeout=30) == 128 + signal.SIGTERM
    assert left_over(program) == []
