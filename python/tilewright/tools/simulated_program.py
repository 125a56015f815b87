"""A model's generated files and a main file as a program: compiled for a platform, and run in its simulator."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tilewright.base import resources
from tilewright.codegen.render import render
from tilewright.platform import Platform, load_platform, platform_file
from tilewright.tools.manifest import manifest_name

SECONDS = 600
"""The longest that a program may run."""


class StepError(Exception):
    """A command that cannot be started or fails; the text says which, with the end of what it printed."""


def printed_by(platform: str, name: str, files: Mapping[str, bytes], main: str) -> str:
    """What a program prints in the platform's simulator.

    Args:
        name: the C prefix of the model.
        files: the model's generated files by name.
        main: the content of the C file that has main().

    Raises:
        StepError: a step fails, or the program does not return 0.
    """
    with tempfile.TemporaryDirectory(prefix="tilewright-") as temporary:
        folder = Path(temporary)
        _write(folder, platform, name, files, main)
        _step("cmake", "-S", temporary, "-B", f"{temporary}/build", *_definitions(load_platform(platform)))
        _step("cmake", "--build", f"{temporary}/build")
        words = ("--platform", str(platform_file(platform)), "--elf", f"{temporary}/build/program")
        return _step(sys.executable, "-m", "tilewright", "simulate", *words, "--timeout", str(SECONDS))


def _write(folder: Path, platform: str, name: str, files: Mapping[str, bytes], main: str) -> None:
    names = {
        "functions": resources.cmake().as_posix(),
        "manifest": manifest_name(name),
        "platform": platform_file(platform).resolve().as_posix(),
    }
    (folder / "model").mkdir()
    for file, content in files.items():
        (folder / "model" / file).write_bytes(content)
    (folder / "CMakeLists.txt").write_text(render("study_project.cmake.j2", **names), encoding="utf-8")
    (folder / "main.c").write_text(main, encoding="utf-8")


def _definitions(platform: Platform) -> tuple[str, ...]:
    """Definitions for CMake's command line: this interpreter, and the shipped toolchain for the platform's options."""
    words = " ".join(platform.target.compile_options)
    own = (f"-DTILEWRIGHT_PYTHON={sys.executable}",)
    for part, name in (("-march=rv", "riscv64-unknown-elf-gcc"), ("-mcpu=cortex", "arm-none-eabi-gcc")):
        if part in words:
            return (*own, f"-DCMAKE_TOOLCHAIN_FILE={resources.cmake() / 'toolchains' / name}.cmake")
    return own


def _step(*command: str) -> str:
    """Standard output of a command."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise StepError(f"'{command[0]}' cannot be started: {error.strerror}") from error
    if done.returncode != 0:
        told = (done.stdout + done.stderr).strip()[-500:]
        raise StepError(f"'{Path(command[0]).name} {command[1]}' failed: {told}")
    return done.stdout
