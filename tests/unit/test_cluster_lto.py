"""Link-time optimisation in a project for a cluster: its cores' stacks stay what plans reckon with."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from support.firmware import needs_riscv
from support.linked import EXAMPLE, digits, link_model
from tilewright.firmware.check_image import check_image
from tilewright.firmware.findings import Linked
from tilewright.firmware.image import read_image

ROOT = Path(__file__).parents[2]
PROJECT = f"""cmake_minimum_required(VERSION 3.22)
project(p LANGUAGES C)
set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
add_subdirectory([[{ROOT}]] tilewright)
tilewright_add_model(model MODEL [[{EXAMPLE}]] PLATFORM pulp-open NAME digits QUANTIZED_IO STATIC_POOLS)
add_executable(firmware main.c)
target_link_libraries(firmware PRIVATE model)
tilewright_use_port(firmware PLATFORM pulp-open)
tilewright_check_firmware(firmware)
"""
FIRMWARE = """#include "digits.h"
int main(void)
{
    static int8_t image[64];
    int8_t scores[10];
    const struct digits_inputs inputs = {image};
    const struct digits_outputs outputs = {scores};
    return digits_run(&inputs, &outputs) == DIGITS_OK ? scores[0] == 127 : 1;
}
"""


@needs_riscv
def test_a_program_of_a_project_agrees_with_its_plan(tmp_path: Path, warm_python: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
    (tmp_path / "main.c").write_text(FIRMWARE, encoding="utf-8")
    toolchain = ROOT / "cmake/toolchains/riscv64-unknown-elf-gcc.cmake"
    words = ["-G", "Ninja", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", f"-DTILEWRIGHT_PYTHON={warm_python}"]
    subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", *words], check=True, capture_output=True)
    command = ["cmake", "--build", tmp_path / "build", "--verbose"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "digits: the program is the plan's" in done.stdout
    lines = [line for line in done.stdout.splitlines() if " -flto" in line and line.endswith(".c")]
    counted = [line for line in lines if re.search("/runtime/(kernels/.*|ports/pulp_open/cluster).c$", line)]
    assert len(counted) > 9
    assert all(line.rindex(" -fno-lto") > line.rindex(" -flto") for line in counted)
    (own,) = (line for line in lines if line.endswith("/main.c"))
    assert "-fno-lto" not in own


@needs_riscv
def test_kernels_that_are_optimised_with_all_else_are_told(tmp_path: Path) -> None:
    """Frames grow beyond the cores' stacks, and a call of the port is no call any more."""
    plan = digits("pulp-open", static_pools=True).plan
    program = link_model(tmp_path, digits("pulp-open", static_pools=True), FIRMWARE, words=["-flto"])
    findings = check_image(read_image(program), [plan], Linked(core_stack_bytes=512)).findings
    assert {("stack", "workers"), ("static", "mailbox")} <= {(item.rule, item.symbol) for item in findings}
