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
from support.processes import left_after
from tilewright.base.errors import TilewrightError
from tilewright.platform import Counter, Platform, Simulator, load_platform
from tilewright.tools.simulate import TIMEOUT_STATUS, simulate

ENOUGH_S = 100.0
"""For a loaded machine to do what takes a moment; programs that must not end by themselves stay longer."""

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
    assert time.monotonic() - start < ENOUGH_S
    assert left_after(program, ENOUGH_S) == []
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
    child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(300)"
    words = f"subprocess.Popen([sys.executable, '-c', {child!r}, sys.argv[1]]); time.sleep(300)"
    assert simulate(_script(load_platform("host"), words), program, timeout_s=1) == TIMEOUT_STATUS
    assert left_after(program, ENOUGH_S) == []


def _sleeper(folder: Path) -> Path:
    """A program that says by a file beside it that it runs, and stays; it ignores SIGTERM."""
    program = folder / "program"
    program.write_text("#!/bin/sh\ntrap '' TERM\n: > \"$0.runs\"\nsleep 300\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def _launcher(program: Path, before: str = "") -> subprocess.Popen[bytes]:
    words = (
        # What runs the tests may ignore these signals (nohup, a job in the background), and children with it.
        "import os, signal, subprocess, sys, time; signal.signal(signal.SIGHUP, signal.SIG_DFL); "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "
        f"from tilewright.platform import load_platform; from tilewright.tools.simulate import simulate\n{before}\n"
        f"sys.exit(simulate(load_platform('host'), {str(program)!r}, timeout_s=300))"
    )
    return subprocess.Popen([sys.executable, "-c", words])


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGTERM, 128 + signal.SIGTERM),
        (signal.SIGHUP, 128 + signal.SIGHUP),
        (signal.SIGINT, -signal.SIGINT),
    ],
)
def test_terminating_the_launcher_ends_the_simulator(tmp_path: Path, number: int, status: int) -> None:
    program = _sleeper(tmp_path)
    launcher = _launcher(program)
    end = time.monotonic() + ENOUGH_S
    while not (tmp_path / "program.runs").exists():
        assert launcher.poll() is None, "the launcher is gone before the simulator runs"
        assert time.monotonic() < end, "the simulator does not run"
        time.sleep(0.05)
    launcher.send_signal(number)
    assert launcher.wait(timeout=ENOUGH_S) == status
    assert left_after(program, ENOUGH_S) == []


def test_signals_that_are_ignored_stay_so(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nkill -HUP $PPID\nexit 5\n", encoding="utf-8")
    program.chmod(0o755)
    launcher = _launcher(program, "signal.signal(signal.SIGHUP, signal.SIG_IGN)")
    assert launcher.wait(timeout=ENOUGH_S) == 5


TERMINATED_WHILE = {
    "it starts": """
    def __init__(self, *words, **named):
        super().__init__(*words, **named)
        os.kill(os.getpid(), signal.SIGTERM)
""",
    "it is ended": """
    def wait(self, timeout=None):
        while not os.path.exists(self.args[0] + ".runs"):
            time.sleep(0.05)
        if self.poll() is None:
            os.kill(os.getpid(), signal.SIGTERM)
        return super().wait(timeout)
""",
}


@pytest.mark.parametrize("moment", TERMINATED_WHILE)
def test_no_moment_is_too_early_or_too_late_to_terminate(tmp_path: Path, moment: str) -> None:
    """A signal comes before the call that starts a process has returned, or a second one while the first is handled."""
    program = _sleeper(tmp_path)
    launcher = _launcher(program, f"class Popen(subprocess.Popen):{TERMINATED_WHILE[moment]}\nsubprocess.Popen = Popen")
    assert launcher.wait(timeout=ENOUGH_S) == 128 + signal.SIGTERM
    assert left_after(program, ENOUGH_S) == []
