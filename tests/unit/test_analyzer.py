"""GCC's static analyzer over the runtime and generated code: no warning but those that a reference page accepts."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.firmware import RISCV_GCC, needs_riscv
from support.linked import digits, write_model
from tilewright.base.resources import runtime_dir

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "static-analysis.md"
WORDS = [RISCV_GCC, "--specs=picolibc.specs", "-march=rv32imac", "-mabi=ilp32", "-std=c11", "-O2", "-fanalyzer", "-c"]


def analyzed(sources: Sequence[Path], includes: Sequence[Path]) -> set[tuple[str, str]]:
    """(file, warning) of all that the analyzer says about C sources; files of the project by their path in it."""
    found = set()
    folders = [f"-I{folder}" for folder in includes]
    for source in sources:
        command = [*WORDS, *folders, str(source), "-o", "/dev/null"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        for file, warning in re.findall(r"^(\S+?):\d+:\d+: warning: .*\[(-Wanalyzer[\w-]+)\]$", done.stderr, re.M):
            path = Path(file).resolve()
            found.add((str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name, warning))
    return found


def accepted() -> set[tuple[str, str]]:
    """(file, warning) of the page's table."""
    return set(re.findall(r"^\| `([^`]+)` \| `(-W[^`]+)` \|", PAGE.read_text(encoding="utf-8"), re.M))


@needs_riscv
@pytest.mark.long
def test_the_runtime_has_the_accepted_warnings_only() -> None:
    runtime = runtime_dir()
    folders = (runtime, runtime / "kernels", runtime / "ports" / "common", runtime / "ports" / "qemu_virt")
    sources = [path for folder in folders for path in sorted(folder.glob("*.c")) if "xpulpv2" not in path.name]
    assert len(sources) > 100
    assert analyzed(sources, (runtime / "include", runtime / "ports" / "qemu_virt")) == accepted()


@needs_riscv
def test_generated_code_has_none(tmp_path: Path) -> None:
    sources = write_model(tmp_path, digits(static_pools=True, check_constants=True))
    own = [path for path in sources if path.name != "digits_weights.c"]
    assert len(own) == 2
    assert analyzed([*own, runtime_dir() / "check.c"], (tmp_path, runtime_dir() / "include")) == set()


@needs_riscv
def test_a_mistake_is_found(tmp_path: Path) -> None:
    source = tmp_path / "wrong.c"
    source.write_text("int f(int *p);\nint f(int *p) { if (p == 0) { return *p; } return 0; }\n", encoding="utf-8")
    assert analyzed([source], ()) == {("wrong.c", "-Wanalyzer-null-dereference")}
