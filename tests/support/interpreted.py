"""The interpreter of programs for pulp-open (tests/support/interpreter), compiled when a test wants it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tilewright.platform import Platform, load_platform

from support.firmware import RISCV_GCC, WARNINGS
from support.objects import kept

SOURCES = Path(__file__).parent / "interpreter"
_BUILT = Path(__file__).parents[2] / "build" / "interpreter"

WAYS = {
    "interpreter": (),
    "interpreter in short turns": ("--turn", "3"),
    "interpreter in long turns with early copies": ("--turn", "5000", "--copies", "early"),
}
"""Orders of harts and of copies; a program gives the same bits in all of them."""

MISSING = [name for name in (RISCV_GCC, "cc") if shutil.which(name) is None]
needs_interpreter = pytest.mark.skipif(bool(MISSING), reason=f"needs {' and '.join(MISSING)}")


@cache
def interpreter() -> Path:
    """The executable; libinterpreter.so lies beside it."""
    files = sorted(SOURCES.glob("*.[ch]"))
    content = b"".join(file.name.encode() + file.read_bytes() for file in files)
    folder = _BUILT / hashlib.sha256(content).hexdigest()[:16]
    if not (folder / "interpreter").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=folder.parent))
        _compile(made)
        try:
            made.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(made)
    return folder / "interpreter"


def _compile(folder: Path) -> None:
    parts = [str(path) for path in sorted(SOURCES.glob("*.c")) if path.name != "main.c"]
    command = ["cc", *WARNINGS, "-O2", "-flto", "-fno-semantic-interposition"]
    library = folder / "libinterpreter.so"
    subprocess.run([*command, "-fPIC", "-shared", *parts, "-lm", "-o", str(library)], check=True)
    linked = [f"-L{folder}", "-linterpreter", "-Wl,-rpath,$ORIGIN"]
    subprocess.run([*command, str(SOURCES / "main.c"), *linked, "-o", str(folder / "interpreter")], check=True)


def spoilt_interpreter(folder: Path, file: str, old: str, new: str) -> Path:
    """An interpreter with one change to one of its files; the objects of the others are kept between tests."""
    text = (SOURCES / file).read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{file} has {text.count(old)} times {old!r}"
    folder.mkdir(exist_ok=True)
    spoilt = folder / file
    spoilt.write_text(text.replace(old, new), encoding="utf-8")
    command = ["cc", *WARNINGS, "-O1", "-fPIC", f"-I{SOURCES}"]
    others = kept(command, [path for path in sorted(SOURCES.glob("*.c")) if path.name not in (file, "main.c")])
    library, linked = folder / "libinterpreter.so", [f"-L{folder}", "-linterpreter", "-Wl,-rpath,$ORIGIN"]
    subprocess.run([*command, "-shared", str(spoilt), *others, "-lm", "-o", str(library)], check=True)
    main = kept(command, [SOURCES / "main.c"])
    subprocess.run([*command, *main, *linked, "-o", str(folder / "interpreter")], check=True)
    return folder / "interpreter"


def interpreted(*options: str, program: Path | None = None, name: str = "pulp-open") -> Platform:
    """A platform of PULP whose simulator is the interpreter."""
    platform = load_platform(name)
    assert platform.simulator is not None
    command = (str(program or interpreter()), *options, "{elf}")
    simulator = replace(
        platform.simulator, install_dir=None, prepare=(), command=command, counter="instructions", python_modules=()
    )
    return replace(platform, simulator=simulator)


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """What the interpreter prints, and why it refuses a program."""
    command = [str(word) for word in (interpreter(), *arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
