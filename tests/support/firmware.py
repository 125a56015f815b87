"""Builds small programs for QEMU and for the host out of the shipped runtime, without CMake."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from tilewright.base.resources import runtime_dir
from tilewright.codegen.linker import linker_script
from tilewright.platform import Platform

from support.objects import kept

RISCV_GCC = "riscv64-unknown-elf-gcc"
ARM_GCC = "arm-none-eabi-gcc"
WARNINGS = (
    "-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wcast-qual -Wmissing-prototypes "
    "-Wstrict-prototypes -Werror"
).split()

needs_riscv = pytest.mark.skipif(
    shutil.which(RISCV_GCC) is None or shutil.which("qemu-system-riscv32") is None,
    reason=f"needs {RISCV_GCC} and qemu-system-riscv32",
)
needs_arm = pytest.mark.skipif(
    shutil.which(ARM_GCC) is None or shutil.which("qemu-system-arm") is None,
    reason=f"needs {ARM_GCC} and qemu-system-arm",
)
needs_host_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a host C compiler")


def port_files(port: str) -> tuple[list[Path], list[str]]:
    """Sources and link options of a port, from its port.cmake."""
    folder = runtime_dir() / "ports" / port
    text = (folder / "port.cmake").read_text(encoding="utf-8")
    values = {name: words.split() for name, words in re.findall(r"set\(\s*TILEWRIGHT_PORT_(\w+)([^)]*)\)", text)}
    return [folder / name for name in values["SOURCES"]], values["LINK_OPTIONS"]


def build_riscv(platform: Platform, sources: Sequence[Path], out: Path, *, layers: Sequence[str] = ()) -> Path:
    """Compile and link a program for a QEMU platform with its port, and layers over it."""
    return _build_bare([RISCV_GCC, "--specs=picolibc.specs"], platform, sources, out, layers)


def build_arm(platform: Platform, sources: Sequence[Path], out: Path, *, layers: Sequence[str] = ()) -> Path:
    """Compile and link a program for an Arm platform in QEMU with its port, and layers over it."""
    return _build_bare([ARM_GCC, "--specs=nano.specs"], platform, sources, out, layers)


def build_host(sources: Sequence[Path], out: Path, *, layers: Sequence[str] = ()) -> Path:
    """Compile and link a program for this machine with the host's port, and layers over it."""
    return _build(["cc"], sources, out, ["host", *layers])


def _build_bare(
    compiler: list[str], platform: Platform, sources: Sequence[Path], out: Path, layers: Sequence[str]
) -> Path:
    script = out.with_suffix(".ld")
    script.write_text(linker_script(platform), encoding="utf-8")
    assert platform.target.port is not None
    options = [*platform.target.compile_options, "-T", str(script)]
    return _build([*compiler, *options], sources, out, [platform.target.port, *layers])


def _build(compiler: list[str], sources: Sequence[Path], out: Path, ports: Sequence[str]) -> Path:
    files, link_options = list(sources), [f"-I{runtime_dir() / 'include'}"]
    for port in ports:
        port_sources, port_options = port_files(port)
        files += port_sources
        link_options += [f"-I{runtime_dir() / 'ports' / port}", *port_options]
    # Each program has a linker script of its own; objects do not depend on the script, so they are shared.
    compile_words = [word for word in compiler if word != "-T" and not word.endswith(".ld")]
    includes = [word for word in link_options if word.startswith("-I")]
    objects = kept([*compile_words, "-O2", *WARNINGS, *includes], files)
    command = [*compiler, "-O2", *WARNINGS, *objects, *link_options, "-o", str(out)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert not result.stderr, result.stderr
    return out
