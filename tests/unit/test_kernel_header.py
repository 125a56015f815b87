"""The C header of kernels against their declarations, and its sizes against two compilers' targets."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
from support.firmware import RISCV_GCC
from tilewright.base.resources import runtime_dir
from tilewright.kernels.c_structs import CStruct, Int32, Int32x2, RowFunction, size_bytes
from tilewright.kernels.kernel import DECLARATIONS as HEADER
from tilewright.kernels.kernel import Declaration
from tilewright.kernels.registry import all_declarations

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts/kernel_header.py"
TARGETS = {"host": ["cc"], "rv32": [RISCV_GCC, "-march=rv32imac", "-mabi=ilp32", "-ffreestanding"], "c++": ["c++"]}


@dataclass(frozen=True, slots=True)
class Bounds(CStruct):
    """Part of another."""

    bounds: Int32x2


@dataclass(frozen=True, slots=True)
class Sample(CStruct):
    """A pointer between words."""

    before: Int32
    row: Annotated[RowFunction, "a comment"]
    inner: Bounds


def declared() -> Iterator[Declaration]:
    for family in all_declarations().values():
        yield from family


def compiled(target: str, text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command, language = TARGETS[target], "c++" if target == "c++" else "c"
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    source = folder / "sizes.c"
    source.write_text(text, encoding="utf-8")
    include = f"-I{runtime_dir() / 'include'}"
    return subprocess.run(
        [*command, include, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", language, str(source)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_header_is_what_the_declarations_say() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_changed_header_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import kernel_header

    changed = tmp_path / "declarations.h"
    changed.write_text(kernel_header.header_text().replace("int32_t gather;", "int16_t gather;"), encoding="utf-8")
    monkeypatch.setattr(kernel_header, "TARGET", changed)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--check"])
    assert kernel_header.main() == 1


@pytest.mark.parametrize("target", TARGETS)
def test_compilers_lay_structs_out_as_we_say(target: str, tmp_path: Path) -> None:
    done = compiled(target, f'#include "{HEADER}"\n', tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("target", TARGETS)
def test_a_wrong_size_is_noticed(target: str, tmp_path: Path) -> None:
    text = (runtime_dir() / "include" / HEADER).read_text(encoding="utf-8")
    done = compiled(target, text.replace("int32_t gather;", "int32_t gather, more;"), tmp_path)
    assert done.returncode != 0
    assert "tilewright_conv_f32_attributes" in done.stderr


def test_fields_of_a_part_stand_in_the_place_of_the_part() -> None:
    assert Sample.struct() == "tilewright_sample_attributes"
    assert [item.name for item in Sample.c_fields()] == ["before", "row", "bounds"]
    assert Sample(1, "NULL", Bounds((2, 3))).values() == (("before", 1), ("row", "NULL"), ("bounds", (2, 3)))
    assert (size_bytes(Sample, 4), size_bytes(Sample, 8)) == (16, 24)


def test_names_are_declared_once() -> None:
    functions = {(kernel.symbol, kernel.attributes) for item in declared() for kernel in item.kernels}
    symbols = [symbol for symbol, _ in functions]
    pointed = [name for item in declared() for names in item.pointed.values() for name in names]
    numbers = [name for item in declared() for name in item.numbers]
    stacks = [name for item in declared() for name in item.stack_bytes]
    for names in (symbols, pointed, numbers, stacks):
        assert len(names) == len(set(names)) > 0
    structs = {kind for _, kind in functions if kind is not None}
    assert len({kind.struct() for kind in structs}) == len(structs)


def test_no_struct_of_attributes_is_written_by_hand() -> None:
    headers = [path for path in (runtime_dir() / "include").rglob("*.h") if path.name != Path(HEADER).name]
    assert len(headers) > 20
    assert [path.name for path in headers if "_attributes {" in path.read_text(encoding="utf-8")] == []
