"""The platform files of boards: the digits' network is compiled and linked for each by its compiler."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from support.firmware import needs_arm, needs_riscv
from tilewright.base.resources import platforms
from tilewright.cli.main import main
from tilewright.platform import load_platform

ROOT = Path(__file__).parents[2]
ARM = "arm-none-eabi-gcc -mthumb --specs=nosys.specs"
RISCV = "riscv64-unknown-elf-gcc --specs=picolibc.specs -mabi=ilp32"
COMPILERS = {
    "ch32v307": "riscv64-unknown-elf-gcc --specs=picolibc.specs -march=rv32imafc -mabi=ilp32f",
    "esp32-c3": f"{RISCV} -march=rv32imc",
    "esp32-c6": f"{RISCV} -march=rv32imac",
    "gd32vf103": f"{RISCV} -march=rv32imac",
    "nrf52840": f"{ARM} -mcpu=cortex-m4",
    "rp2040": f"{ARM} -mcpu=cortex-m0plus",
    "rp2350": f"{ARM} -mcpu=cortex-m33",
    "stm32f407": f"{ARM} -mcpu=cortex-m4",
    "stm32h743": f"{ARM} -mcpu=cortex-m7",
    "stm32u585": f"{ARM} -mcpu=cortex-m33",
}
FIRST = ("esp32-c3", "rp2040", "stm32h743")
"""Those that every run builds: each a family of its own, and one with several memories."""
PROGRAM = """
#include "digits.h"
int8_t image[DIGITS_INPUT_IMAGE_SIZE], scores[DIGITS_OUTPUT_SCORES_SIZE];
int main(void)
{
    return (int)digits_run(&(struct digits_inputs){image}, &(struct digits_outputs){scores});
}
"""


def boards() -> list[object]:
    marks = {True: [], False: [pytest.mark.long]}
    return [
        pytest.param(name, marks=[needs_arm if compiler.startswith("arm") else needs_riscv, *marks[name in FIRST]])
        for name, compiler in COMPILERS.items()
    ]


@pytest.mark.parametrize("board", boards())
def test_the_network_is_linked_for_each_board(board: str, tmp_path: Path) -> None:
    words = ["generate", "--model", str(ROOT / "examples" / "digits" / "digits.onnx"), "--platform", board]
    words += ["--name", "digits", "--quantized-io", "--static-pools", "--bundle", str(tmp_path / "digits")]
    assert main(words) == 0
    (tmp_path / "Makefile").write_text("include digits/digits.mk\n", encoding="utf-8")
    (tmp_path / "main.c").write_text(PROGRAM, encoding="utf-8")
    compiler = COMPILERS[board]
    archiver = compiler.split("-gcc")[0] + "-ar"
    run(["make", f"CC={compiler}", f"AR={archiver}", "CFLAGS=-Werror", "build/digits/libdigits.a"], tmp_path)
    program = "-Idigits -Idigits/include main.c build/digits/libdigits.a -nostartfiles -Wl,-e,main -lm -o firmware.elf"
    run([*shlex.split(compiler), *program.split()], tmp_path)
    assert (tmp_path / "firmware.elf").is_file()


def run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("board", COMPILERS)
def test_a_board_says_where_its_numbers_come_from(board: str) -> None:
    text = (platforms() / f"{board}.toml").read_text(encoding="utf-8")
    assert "# Memories: " in text
    assert "not run" in text
    assert "are a guess" in text
    platform = load_platform(board)
    assert (platform.target.port, platform.simulator, platform.target.compile_options) == (None, None, ())
