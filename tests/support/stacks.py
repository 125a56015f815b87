"""Bytes of stack that calls take on RV32: the compiler tells them of C, instructions tell them of libraries."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path

from tilewright.base.resources import runtime_dir
from tilewright.kernels.gcc_options import COUNTED_LEVEL, LIBRARY_OPTIONS, options_of_source
from tilewright.platform import load_platform

from support.firmware import RISCV_GCC
from support.objects import call_graph

OBJDUMP = RISCV_GCC.replace("gcc", "objdump")
IN_ASSEMBLER = {"tilewright_xpulpv2_": 64}
"""Prefix to bytes of functions whose frames are written by hand."""


@dataclass(slots=True)
class Function:
    """Bytes of its own frame, the functions that it calls, and the file that it stands in."""

    frame_bytes: int
    callees: set[str] = field(default_factory=set)
    file: str = ""


Functions = Mapping[str, Function]
Pointed = Callable[[str], str]
"""A regular expression of the functions that a caller's pointers lead to."""


def options() -> list[str]:
    """How the platform compiles the runtime."""
    runtime = runtime_dir()
    includes = [f"-I{runtime / 'include'}", f"-I{runtime / 'ports'}"]
    return ["--specs=picolibc.specs", *load_platform("pulp-open").target.compile_options, *includes]


def runtime_sources() -> tuple[Path, ...]:
    """Files of kernels and of the cluster."""
    runtime = runtime_dir()
    return (*sorted((runtime / "kernels").glob("*.c")), runtime / "split.c", runtime / "ports/pulp_open/cluster.c")


def sources_that_read(macro: str) -> tuple[Path, ...]:
    """Files of ``runtime_sources`` that name a macro, or include a header of the runtime that does."""
    return tuple(path for path in runtime_sources() if macro in _with_headers(path))


@cache
def _with_headers(path: Path) -> str:
    """The text of a file and of all headers of the runtime that it includes."""
    text = path.read_text(encoding="utf-8")
    names = re.findall(r'^#include "(.+)"$', text, re.MULTILINE)
    places = (path.parent, runtime_dir() / "include", runtime_dir() / "ports")
    found = (next(place / name for place in places if (place / name).exists()) for name in names)
    return text + "".join(map(_with_headers, found))


def runtime_functions(
    build_type: str = "-O2",
    sources: Sequence[Path] = (),
    counted: Sequence[str] = COUNTED_LEVEL,
    compiled_with: Sequence[str] = (),
) -> dict[str, Function]:
    """Functions of the runtime as projects of a build type get them; static ones are <stem of the file>:<name>.

    ``sources`` are all files unless some are given; ``counted`` is the level of kernels, whatever the build type;
    ``compiled_with`` are other options than the platform's.
    """
    runtime = runtime_dir()
    found: dict[str, Function] = {}
    for source in sources or runtime_sources():
        own = options_of_source(str(source.relative_to(runtime)))
        words = [RISCV_GCC, *(compiled_with or options()), build_type, *counted, *LIBRARY_OPTIONS, *own]
        _read_graph(call_graph(words, source), source.stem, found)
    return found


def port_functions(folder: Path) -> dict[str, Function]:
    """Functions that the port has in place of the compiler's library."""
    found: dict[str, Function] = {}
    source, target = runtime_dir() / "ports/pulp_open/zfinx.S", folder / "zfinx.o"
    subprocess.run([RISCV_GCC, *options(), "-c", str(source), "-o", str(target)], check=True)
    _read_objects(target, found)
    return found


def _read_graph(text: str, file: str, found: dict[str, Function]) -> None:
    def short(title: str) -> str:
        path, _, name = title.rpartition(":")
        return f"{Path(path).stem}:{name}" if path else name

    for title, frame in re.findall(r'node: \{ title: "([^"]+)" label: "[^"]*?\\n(\d+) bytes', text):
        found[short(title)] = Function(int(frame), file=file)
    for caller, callee in re.findall(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', text):
        found[short(caller)].callees.add(short(callee))


@lru_cache(maxsize=1)
def _archives(folder: Path) -> tuple[str, ...]:
    """The libraries that firmware is linked with."""
    source = folder / "empty.c"
    source.write_text("int main(void) { return 0; }\n", encoding="utf-8")
    command = [RISCV_GCC, *options(), str(source), "-o", str(folder / "empty"), "-lm", "-Wl,--trace"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return tuple(sorted({word for word in (done.stdout + done.stderr).split() if word.endswith(".a")}))


def library_functions(folder: Path) -> dict[str, Function]:
    """Functions of libc, libm and libgcc, under all their names."""
    found: dict[str, Function] = {}
    for archive in _archives(folder):
        _read_objects(archive, found)
    return found


def _read_objects(path: str | Path, found: dict[str, Function]) -> None:
    command = [OBJDUMP, "-tdr", "--no-show-raw-insn", str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    for member in re.split(r"^\S+:\s+file format .*$", done.stdout, flags=re.MULTILINE)[1:]:
        _read_member(member, found)


def _read_member(text: str, found: dict[str, Function]) -> None:
    at: dict[tuple[str, int], Function] = {}
    for address, section, name in re.findall(r"^([0-9a-f]{8}) .{6}F (\S+)\t[0-9a-f]+ (?:\.hidden )?(\S+)$", text, re.M):
        found[name] = at.setdefault((section, int(address, 16)), Function(0))
    section, current = "", None
    for line in text.splitlines():
        if opened := re.match(r"Disassembly of section (\S+):", line):
            section = opened[1]
        elif label := re.match(r"([0-9a-f]+) <[^>]+>:", line):
            current = at.get((section, int(label[1], 16)), current)
        elif current is None:
            continue
        elif frame := re.search(r"\taddi?\s+sp,sp,-(\d+)", line):
            current.frame_bytes = max(current.frame_bytes, int(frame[1]))
        elif call := re.search(r"R_RISCV_(?:CALL_PLT|CALL|JAL|RVC_JUMP)\s+([A-Za-z_]\w*)", line):
            current.callees.add(call[1])


@cache
def _matching(pattern: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(filter(re.compile(pattern).fullmatch, names))


def targets(caller: str, functions: Functions, pointed: Pointed) -> tuple[str, ...]:
    """The functions that a caller's pointers lead to, itself aside."""
    return tuple(name for name in _matching(pointed(caller), tuple(functions)) if name != caller)


def depth(name: str, functions: Functions, pointed: Pointed, above: tuple[str, ...] = ()) -> int:
    """Bytes that a call takes; through pointers it reaches what ``pointed(caller)`` says."""
    if name in above:
        return 0
    if name not in functions:
        return next(size for prefix, size in IN_ASSEMBLER.items() if name.startswith(prefix))
    function = functions[name]
    deepest = 0
    for callee in sorted(function.callees):
        called = targets(name, functions, pointed) if callee == "__indirect_call" else (callee,)
        for target in called:
            deepest = max(deepest, depth(target, functions, pointed, (*above, name)))
    return function.frame_bytes + deepest


def with_frame(functions: Functions, name: str, frame_bytes: int) -> dict[str, Function]:
    """The function with a frame of another size in bytes."""
    return {**functions, name: replace(functions[name], frame_bytes=frame_bytes)}
