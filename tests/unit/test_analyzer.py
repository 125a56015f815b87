"""Static analyzers over the runtime and generated code: no warning but those that a reference page accepts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.firmware import RISCV_GCC, needs_riscv
from support.linked import EXAMPLE, digits, write_model
from tilewright.base.resources import runtime_dir
from tilewright.options import CompileOptions
from tilewright.pipeline import compile_model

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "static-analysis.md"
needs_clang_tidy = pytest.mark.skipif(shutil.which("clang-tidy") is None, reason="needs clang-tidy")
needs_cppcheck = pytest.mark.skipif(shutil.which("cppcheck") is None, reason="needs cppcheck")
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


def of_page(heading: str) -> set[str]:
    """The checks that a table of the page accepts; ``2.4`` behind ``misra-c2012-2.3`` is a rule of MISRA too."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    cells = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
    names = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    return {f"misra-c2012-{name}" if name[0].isdigit() else name for name in names}


@pytest.mark.long
@needs_clang_tidy
def test_the_runtime_has_the_accepted_findings_of_clang_tidy() -> None:
    runtime = runtime_dir()
    folders = (runtime, runtime / "kernels", runtime / "ports" / "common", runtime / "ports" / "qemu_virt")
    sources = [path for folder in folders for path in sorted(folder.glob("*.c")) if "xpulpv2" not in path.name]
    assert tidied(sources, (runtime / "include", runtime / "ports" / "qemu_virt")) == of_page("clang-tidy")


@needs_clang_tidy
def test_generated_code_has_none_of_clang_tidy(tmp_path: Path) -> None:
    sources = write_model(tmp_path, digits("qemu-virt-rv32-single", static_pools=True, guards=True))
    own = [path for path in sources if path.name != "digits_weights.c"]
    assert tidied(own, (tmp_path, runtime_dir() / "include")) == set()
    wrong = tmp_path / "wrong.c"
    wrong.write_text("int f(int x);\nint f(int x) { return x + (int)sizeof(sizeof(x)); }\n", encoding="utf-8")
    assert tidied([wrong], ()) == {"bugprone-sizeof-expression"}


@pytest.mark.long
@needs_cppcheck
def test_misra_rules_that_are_broken_are_accepted(tmp_path: Path) -> None:
    options = CompileOptions(EXAMPLE, "qemu-virt-rv32-single", "digits", quantized_io=True, static_pools=True)
    artifacts = compile_model(replace(options, check_constants=True, guards=True, protect=True))
    own = [path for path in write_model(tmp_path, artifacts) if path.name != "digits_weights.c"]
    sources = [*own, *(runtime_dir() / name for name in artifacts.plan.kernel_sources)]
    found = cppchecked(sources, (tmp_path, runtime_dir() / "include"), tmp_path)
    assert "misra-c2012-15.5" in found
    assert found <= of_page("cppcheck with MISRA")


@pytest.mark.long
@needs_cppcheck
def test_misra_rules_that_the_runtime_breaks_are_accepted(tmp_path: Path) -> None:
    """All of the runtime for RISC-V, some minutes of a processor."""
    runtime = runtime_dir()
    folders = (runtime, runtime / "kernels", runtime / "ports" / "common", runtime / "ports" / "qemu_virt")
    sources = [path for folder in folders for path in sorted(folder.glob("*.c")) if "xpulpv2" not in path.name]
    found = cppchecked(sources, (runtime / "include", runtime / "ports" / "qemu_virt"), tmp_path)
    assert "misra-c2012-19.2" in found
    assert found <= of_page("cppcheck with MISRA")


@needs_cppcheck
def test_a_rule_that_is_broken_is_found(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.c"
    body = "{\n    if (x > 1) {\n        goto end;\n    }\n    x = 1;\nend:\n    return x;\n}\n"
    wrong.write_text(f"int f(int x);\nint f(int x)\n{body}", encoding="utf-8")
    assert "misra-c2012-15.1" in cppchecked([wrong], (), tmp_path) - of_page("cppcheck with MISRA")


def tidied(sources: Sequence[Path], includes: Sequence[Path]) -> set[str]:
    """Names of the checks of which clang-tidy warns; of aliases the first."""
    command = ["clang-tidy", "--quiet", "--checks=-*,cert-*,bugprone-*", *map(str, sources), "--", "-std=c11"]
    command += [f"-I{folder}" for folder in includes]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = re.findall(r"^\S+?:\d+:\d+: (?:warning|error): .*\[([\w.,-]+)\]$", done.stdout, re.M)
    return {sorted(names.split(","))[0] for names in lines}


def cppchecked(sources: Sequence[Path], includes: Sequence[Path], folder: Path) -> set[str]:
    """What cppcheck and its MISRA add-on find in sources, by name."""
    built = folder / "cppcheck"
    built.mkdir()
    words = "cppcheck -q --std=c11 --enable=warning,portability,performance --addon=misra --platform=unix32".split()
    # As C11 alone: each way through the preprocessor would be looked at else, which takes three times as long.
    words += ["-D__STDC_VERSION__=201112L", "-U__cplusplus", f"-j{os.cpu_count() or 1}"]
    words += [f"--cppcheck-build-dir={built}", "--template={id}", *(f"-I{item}" for item in includes)]
    done = subprocess.run([*words, *map(str, sources)], capture_output=True, text=True, check=True)
    return set(done.stderr.split())
