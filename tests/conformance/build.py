"""Compiles generated models with a small driver under AddressSanitizer and UndefinedBehaviorSanitizer."""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from support.objects import LINKER, sanitized
from tilewright.plan import InterfaceTensor, Plan

RUNTIME = Path(__file__).resolve().parents[2] / "runtime"
_SANITIZE = ("-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_FLAGS = ("-std=c11", "-ffp-contract=off", *_SANITIZE, f"-I{RUNTIME / 'include'}")
_WARNINGS = tuple(
    "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wcast-qual -Wmissing-prototypes "
    "-Wstrict-prototypes -Werror".split()
)


class BuildError(Exception):
    """The compiler refused generated code; the text is its output."""


@dataclass(frozen=True)
class Generated:
    """A model as C: its prefix, the plan and the files."""

    prefix: str
    plan: Plan
    files: dict[str, bytes]


def runtime_library(folder: Path) -> Path:
    """All of the runtime for the host, compiled once for each content of its sources."""
    sources = [
        *sorted((RUNTIME / "kernels").glob("*.c")),
        *(RUNTIME / f"{name}.c" for name in ("copy", "tile", "words")),
    ]
    common = RUNTIME / "ports" / "common"
    sources += [common / name for name in ("core_copies.c", "no_cache.c", "one_core.c")]
    sources.append(RUNTIME / "ports" / "host" / "port.c")
    headers = sorted((RUNTIME / "include").rglob("*.h"))
    content = hashlib.sha256(b"".join(path.read_bytes() for path in (*sources, *headers))).hexdigest()[:16]
    target = folder / f"runtime_{content}"
    library = target / "libruntime.a"
    target.mkdir(parents=True, exist_ok=True)
    with (target / "lock").open("w", encoding="ascii") as lock:
        # Test processes share the folder.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.exists():
            _compile_runtime(sources, library)
    return library


def _compile_runtime(sources: Sequence[Path], library: Path) -> None:
    def compiled(source: Path) -> str:
        (result,) = sanitized([source])
        return result

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compiled, sources))
    unfinished = library.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    _run(["ar", "rcs", str(unfinished), *objects])
    unfinished.replace(library)


def build(folder: Path, models: Sequence[Generated], library: Path, level: str = "-O0") -> Path:
    """One executable that runs any of the models: ``<exe> <prefix> <inputs file> <outputs file>...``.

    It takes any number of such triples and stops behind the first that fails. Generated code runs for milliseconds,
    and the kernels that it calls are optimised, so ``level`` is for the warnings that an optimiser finds.

    Raises BuildError with the compiler's words.
    """
    return build_units(folder, models, library, _driver(models), level)


def build_units(folder: Path, models: Sequence[Generated], library: Path, driver: str, level: str = "-O0") -> Path:
    """One executable of the models' C with a driver, one unit; raises BuildError with the compiler's words."""
    folder.mkdir(parents=True, exist_ok=True)
    units = []
    for model in models:
        for name, content in model.files.items():
            (folder / name).write_bytes(content)
        units += [name for name in sorted(model.files) if name.endswith(".c")]
    included = ("<stdio.h>", "<stdlib.h>", "<string.h>", *(f'"{name}"' for name in units))
    (folder / "driver.c").write_text("".join(f"#include {name}\n" for name in included) + driver)
    executable = folder / "driver"
    flags = (*_FLAGS, level, *_WARNINGS, f"-I{folder}")
    _run(["gcc", *flags, *LINKER, str(folder / "driver.c"), str(library), "-lm", "-o", str(executable)])
    return executable


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(done.stderr[-4000:])


def _driver(models: Sequence[Generated]) -> str:
    lines = [
        _HELPERS,
        *(_model_function(model) for model in models),
        "static int run(const char *prefix, const char *inputs, const char *outputs)\n{",
        '    FILE *in = fopen(inputs, "rb");',
        '    FILE *out = fopen(outputs, "wb");',
        "    if (in == NULL || out == NULL) { return 91; }",
        "    int status = 92;",
        *(
            f'    if (strcmp(prefix, "{model.prefix}") == 0) {{ status = run_{model.prefix}(in, out); }}'
            for model in models
        ),
        "    fclose(in);",
        "    return fclose(out) == 0 ? status : 93;",
        "}",
        _MAIN,
    ]
    return "\n".join(lines) + "\n"


_HELPERS = """
static void *allocated(size_t bytes, size_t align, size_t storage)
{
    return align > 1 ? aligned_alloc(align, storage) : malloc(bytes);
}

__attribute__((unused)) static void *read_exactly(FILE *in, size_t bytes, size_t align, size_t storage)
{
    void *memory = allocated(bytes, align, storage);
    if (memory == NULL || fread(memory, 1, bytes, in) != bytes) {
        exit(94);
    }
    return memory;
}

static void *fresh(size_t bytes, size_t align, size_t storage)
{
    void *memory = allocated(bytes, align, storage);
    if (memory == NULL) {
        exit(95);
    }
    memset(memory, 0xa5, align > 1 ? storage : bytes);
    return memory;
}
"""


_MAIN = """
int main(int count, char **words)
{
    if (count < 4 || count % 3 != 1) {
        return 90;
    }
    int status = 0;
    for (int at = 1; at < count && status == 0; at += 3) {
        status = run(words[at], words[at + 1], words[at + 2]);
    }
    return status;
}
"""


def _model_function(model: Generated) -> str:
    prefix, plan = model.prefix, model.plan
    lines = [f"static int run_{prefix}(FILE *in, FILE *out)", "{", "    (void)in;"]
    lines += ["    (void)read_exactly;", "    (void)fresh;"]
    for item in plan.inputs if not plan.callers_inputs else ():
        size = _size(prefix, "inputs", item)
        lines.append(f"    if (fread({prefix}_input_{item.identifier}(), 1, {size}, in) != {size}) {{ return 94; }}")
    passed = [("inputs", plan.callers_inputs, "read_exactly(in, "), ("outputs", plan.callers_outputs, "fresh(")]
    for group, items, source in passed:
        if items:
            fields = ", ".join(
                f".{item.identifier} = {source}{_size(prefix, group, item)}, {_storage(plan, item)})" for item in items
            )
            lines.append(f"    const struct {prefix}_{group} {group} = {{{fields}}};")
    arguments = ", ".join(f"&{group}" for group, items, _ in passed if items)
    lines.append(f"    const enum {prefix}_status status = {prefix}_run({arguments});")
    for item in plan.outputs:
        address = f"outputs.{item.identifier}" if plan.callers_outputs else f"{prefix}_output_{item.identifier}()"
        lines.append(f"    fwrite({address}, 1, {_size(prefix, 'outputs', item)}, out);")
    lines += [f"    free(outputs.{item.identifier});" for item in plan.callers_outputs]
    lines += [f"    free((void *)(uintptr_t)inputs.{item.identifier});" for item in plan.callers_inputs]
    return "\n".join([*lines, "    return (int)status;", "}"])


def _size(prefix: str, group: str, item: InterfaceTensor) -> str:
    return f"{prefix}_{group[:-1]}_{item.identifier}_size".upper()


def _storage(plan: Plan, item: InterfaceTensor) -> str:
    """Alignment and bytes of what a link reads in words; alignment 1 where the elements' bytes are enough."""
    buffer = next(buffer for buffer in plan.buffers if buffer.name == item.buffer)
    element = np.dtype(item.dtype).itemsize
    if buffer.align_bytes <= element:
        return "1, 0"
    return f"{buffer.align_bytes}, {-(-buffer.size_bytes // buffer.align_bytes) * buffer.align_bytes}"
