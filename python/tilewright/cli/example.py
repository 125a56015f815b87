"""``tilewright example``: a complete firmware project in a new folder, to begin from."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tilewright.base.errors import bad_input, suggestion
from tilewright.base.outputs import write_file
from tilewright.base.resources import examples

_IN_THE_TREE = """if(NOT COMMAND tilewright_add_model)
  add_subdirectory(../.. tilewright)
endif()
"""
_INSTALLED = "find_package(Tilewright REQUIRED)\n"
_TOOLCHAIN = "$(tilewright --cmake-dir)/toolchains/riscv64-unknown-elf-gcc.cmake"


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    example = commands.add_parser("example", parents=[common], help="a complete firmware project, to begin from")
    example.add_argument("name", nargs="?", help="which one; without a name, all are listed")
    example.add_argument("--output-dir", type=Path, metavar="DIR", help="a new folder; the example's name if absent")
    example.set_defaults(run=_example)


def _example(parsed: argparse.Namespace) -> int:
    known = dict(_projects())
    if parsed.name is None:
        width = max(map(len, known))
        sys.stdout.write("".join(f"{name:{width}}  {_purpose(folder)}\n" for name, folder in known.items()))
        return 0
    if parsed.name not in known:
        remedy = suggestion(parsed.name, known)
        raise bad_input("unknown-example", f"there is no example '{parsed.name}'", help=remedy)
    target = parsed.output_dir or Path(parsed.name)
    if target.exists() and any(target.iterdir()):
        raise bad_input("cannot-write", f"the folder '{target}' is not empty", help="--output-dir <a new folder>")
    for source in sorted(known[parsed.name].iterdir()):
        content = source.read_bytes()
        if source.name == "CMakeLists.txt":
            content = content.decode().replace(_IN_THE_TREE, _INSTALLED).encode()
        target.mkdir(parents=True, exist_ok=True)
        write_file(target / source.name, content)
    sys.stdout.write(
        f"{target}: build and run it in QEMU with\n"
        f'  cmake -S {target} -B {target}/build --toolchain "{_TOOLCHAIN}" '
        '-DTilewright_DIR="$(tilewright --cmake-dir)"\n'
        f"  cmake --build {target}/build\n"
        f"  ctest --test-dir {target}/build --verbose\n"
    )
    return 0


def _projects() -> Iterator[tuple[str, Path]]:
    """The examples that need no file of another one, and no SDK, by name."""
    for lists in sorted(examples().glob("*/CMakeLists.txt")):
        text = lists.read_text(encoding="utf-8")
        if _IN_THE_TREE in text and "../" not in text.replace(_IN_THE_TREE, "") and "NETWORK" not in text:
            yield lists.parent.name, lists.parent


def _purpose(folder: Path) -> str:
    """The purpose of an example: the first comment of its program."""
    for source in sorted(folder.glob("*.c")):
        for line in source.read_text(encoding="utf-8").splitlines()[:3]:
            if line.startswith("/* ") and "SPDX" not in line:
                return line.removeprefix("/* ").removesuffix(" */")
    return ""
