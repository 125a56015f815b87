"""A project that names no build type runs as many instructions as one in Release: kernels and copies are optimised."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from support.firmware import needs_riscv
from tilewright.base.resources import runtime_dir

ROOT = Path(__file__).parents[2]
NETWORK = ROOT / "tests/firmware/models/qdq_residual/network.onnx"
PROJECT = f"""cmake_minimum_required(VERSION 3.22)
project(p LANGUAGES C)
enable_testing()
add_subdirectory([[{ROOT}]] tilewright)
tilewright_add_model(net MODEL [[{NETWORK}]] PLATFORM qemu-virt-rv32 POOLS l1=1536 STATIC_POOLS IO_IN_POOLS)
add_executable(firmware main.c)
target_link_libraries(firmware PRIVATE net)
tilewright_use_port(firmware PLATFORM qemu-virt-rv32)
tilewright_add_simulation_test(NAME count TARGET firmware)
"""
FIRMWARE = r"""#include <stdio.h>
#include <tilewright/port.h>
#include "net.h"
int main(void)
{
    const uint32_t begin = tilewright_cycles();
    const enum net_status status = net_run();
    printf("instructions %lu\n", (unsigned long)(tilewright_cycles() - begin));
    return (int)status;
}
"""
MOST_MORE = 1.03
"""How many times the instructions of -O3 the same tiled network takes at -O2, at most."""


def built(python: Path, project: Path, name: str, *settings: str) -> Path:
    """The build folder of a project, configured with settings of CMake's cache and built."""
    build = project / name
    toolchain = ROOT / "cmake/toolchains/riscv64-unknown-elf-gcc.cmake"
    call = ["cmake", "-S", project, "-B", build, "-G", "Ninja", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}"]
    call += [f"-DTILEWRIGHT_PYTHON={python}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    for command in ([*call, *(f"-D{setting}" for setting in settings)], ["cmake", "--build", build]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return build


def instructions(build: Path) -> int:
    done = subprocess.run(["ctest", "-V", "-R", "count"], cwd=build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    found = re.search(r"instructions (\d+)", done.stdout)
    assert found is not None, done.stdout
    return int(found[1])


def is_as_fast(count: int, release: int) -> bool:
    return count <= MOST_MORE * release


@needs_riscv
def test_without_a_build_type_the_count_is_that_of_release(tmp_path: Path, warm_python: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
    (tmp_path / "main.c").write_text(FIRMWARE, encoding="utf-8")
    without = built(warm_python, tmp_path, "without")
    release = instructions(built(warm_python, tmp_path, "release", "CMAKE_BUILD_TYPE=Release"))
    assert is_as_fast(instructions(without), release)
    assert not is_as_fast(instructions(built(warm_python, tmp_path, "plain", "TILEWRIGHT_OPTIMIZE=")), release)
    entries = json.loads((without / "compile_commands.json").read_text(encoding="utf-8"))
    levels = {Path(entry["file"]).name: re.findall(r" (-O\w+)", entry["command"]) for entry in entries}
    assert levels["core_copies.c"] == ["-O2"]


@pytest.mark.parametrize("port", sorted(path.parent.name for path in runtime_dir().glob("ports/*/port.cmake")))
def test_every_port_has_its_copies_optimised(port: str) -> None:
    text = (runtime_dir() / "ports" / port / "port.cmake").read_text(encoding="utf-8")
    values = {name: words.split() for name, words in re.findall(r"set\(\s*TILEWRIGHT_PORT_(\w+)([^)]*)\)", text)}
    folder = runtime_dir() / "ports" / port
    copying = [name for name in values["SOURCES"] if copies((folder / name).read_text(encoding="utf-8"))]
    assert copying
    assert set(copying) <= set(values["OPTIMIZED_SOURCES"])


def copies(text: str) -> bool:
    return re.search(r"^tilewright_token_t\s+(__wrap_)?tilewright_copy_start\(", text, re.MULTILINE) is not None


def test_a_file_that_only_waits_copies_nothing() -> None:
    assert not copies("enum tilewright_port_status tilewright_copy_wait(uint32_t link, tilewright_token_t token)\n{\n")
