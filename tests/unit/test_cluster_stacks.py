"""The stacks of pulp-open's cluster cores against what kernels take of them, as compiler and libraries tell it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.firmware import RISCV_GCC
from support.stacks import Functions, depth, library_functions, options, runtime_functions, with_frame
from tilewright.base.resources import runtime_dir
from tilewright.kernels.stacks import CORE_STACK_BYTES

pytestmark = pytest.mark.skipif(shutil.which(RISCV_GCC) is None, reason=f"needs {RISCV_GCC}")

RULES = ("none", "shift", "folded", "high", "layer", "long", "even", "layer_even", "exact", "rescale")
CORES = r"tilewright_core_(narrow|wide)|depthwise_integer:(slide|stride|any)|tilewright_line_\w+"
ROWS = r"\w*(row|rows|line|lines|words|longs|results)(\.\w+)*"
KERNELS = sorted(path.stem for path in (runtime_dir() / "kernels").glob("*.c"))
NO_KERNELS = {"integer_core", "integer_finish", "integer_line", "move_row", "walk"} | {
    name for name in KERNELS if name.startswith("xpulpv2_")
}
"""Files that kernels are made of."""
FAMILIES = ("map", "line", "reduce")
SCATTERED = ("map_add", "map_mul", "map_max", "map_min")
"""What tilewright_scatter combines with."""


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Functions:
    folder = tmp_path_factory.mktemp("stacks")
    return {**library_functions(folder), **runtime_functions(folder)}


def guard_bytes() -> int:
    """At a stack's end, which nothing may have written."""
    return 4 * number("GUARD_WORDS")


def number(name: str) -> int:
    text = (runtime_dir() / "ports/pulp_open/cluster.c").read_text(encoding="utf-8")
    found = re.search(rf"#define {name} (\d+)u", text)
    assert found is not None
    return int(found[1])


def pointed_from(kernel: str, file: str) -> str:
    """What pointers lead to below a kernel; names of its file end as what they are."""
    rule = next((rule for rule in sorted(RULES, key=len, reverse=True) if kernel.endswith(f"_{rule}")), "")
    line = rf"tilewright_line_{rule}"
    if file == "binary_integer":
        row = {"rescaled": "rescaled_row", "shifted": "shifted_row"}.get(kernel.removeprefix("tilewright_add_"))
        row = row or ("short_row" if rule == "rescale" else "binary_row")
        return rf"binary_integer:({row}|add|subtract|multiply)|{line}"
    if file == "requantize":
        return rf"requantize:{'short' if rule == 'rescale' else 'requantize'}_row|{line}"
    if rule:
        return rf"tilewright_(block|line)_{rule}"
    return rf"{file}:{ROWS}"


def bytes_of(kernel: str, file: str, functions: Functions) -> int:
    """Of a core's stack, with the guard: the core's own frame, the kernel, and what the kernel calls."""
    pattern = pointed_from(kernel, file)
    cores = f"{file}:run" if file in ("conv_integer", "depthwise_integer") else ""

    def pointed(name: str, caller: str) -> bool:
        return re.fullmatch(CORES if caller == cores else pattern, name) is not None

    return functions["pulp_cluster_main"].frame_bytes + depth(kernel, functions, pointed) + guard_bytes()


def kernels_of(file: str, functions: Functions) -> list[str]:
    return sorted(
        name for name, function in functions.items() if function.file == file and name.startswith("tilewright_")
    )


def bytes_with(taken: str, file: str, functions: Functions) -> int:
    """The same of a kernel that takes a function or a reducer of a file, such as map_add_f32."""
    family, _, name = taken.partition("_")
    users = [family, *(["scatter"] if file in SCATTERED else [])]

    def pointed(other: str, caller: str) -> bool:
        if functions[other].file == file:
            reducer = re.fullmatch(rf"{file}:(begin|line|end)(_{name})?", other) if family == "reduce" else None
            return other == f"tilewright_{taken}" or reducer is not None
        return re.fullmatch(rf"({'|'.join(users)}):{ROWS}", other) is not None

    deepest = max(depth(f"tilewright_{user}", functions, pointed) for user in users)
    return functions["pulp_cluster_main"].frame_bytes + deepest + guard_bytes()


def test_kernels_fit_what_they_declare(functions: Functions) -> None:
    """Without slack that other builds of the compiler cannot explain: a stack is in the plan's memory."""
    default = number("TILEWRIGHT_PULP_STACK_BYTES")
    needed = needs(functions)
    assert {name for name in CORE_STACK_BYTES if name not in needed} == set()
    short = {name: size for name, size in needed.items() if not 48 <= size <= CORE_STACK_BYTES.get(name, default)}
    assert short == {}
    long = {name: size for name, size in CORE_STACK_BYTES.items() if size <= default or size > needed[name] + 32}
    assert long == {}


def reducers_of(file: str) -> list[str]:
    """Names of a file's reducers without tilewright_, as their declarations give them."""
    text = (runtime_dir() / "kernels" / f"{file}.c").read_text(encoding="utf-8")
    text = text.replace("tilewright_reduce_", "")
    suffixes = re.findall(r"\b([a-z0-9_]+_(?:f32|[iu](?:8|16|32|64)))\b", text)
    return [f"reduce_{suffix}" for suffix in dict.fromkeys(suffixes)] if file.startswith("reduce_") else []


def needs(functions: Functions) -> dict[str, int]:
    """Bytes of kernels, and of functions that kernels take, by names without tilewright_."""
    found: dict[str, int] = {}
    for file in KERNELS:
        names = [name.removeprefix("tilewright_") for name in kernels_of(file, functions)]
        family, _, rest = file.partition("_")
        if family in FAMILIES and rest and file != "reduce_integer":
            names += reducers_of(file)
            found |= {name: bytes_with(name, file, functions) for name in names}
        elif file not in NO_KERNELS:
            found |= {name: bytes_of(f"tilewright_{name}", file, functions) for name in names}
    return found


def test_integers_do_with_the_default() -> None:
    """Those whose results are integers too: what finishes floats needs more."""
    integers = re.compile(r".*_(integer|wide|xpulpv2)(_(?!rescale)\w+)?|requantize_\w+|add_(rescaled|shifted)")
    assert [name for name in CORE_STACK_BYTES if integers.fullmatch(name)] == []


def test_a_frame_that_is_too_large_is_seen(functions: Functions) -> None:
    spoilt = with_frame(functions, "tilewright_core_narrow", 400)
    assert bytes_of("tilewright_conv_integer_folded", "conv_integer", spoilt) > number("TILEWRIGHT_PULP_STACK_BYTES")


@pytest.mark.parametrize(("name", "least"), [("sinf", 64), ("expf", 16), ("__mulsf3", 16), ("pow", 64)])
def test_frames_of_libraries_are_seen(name: str, least: int, functions: Functions) -> None:
    assert least <= depth(name, functions, lambda _name, _caller: False) <= 1024


@pytest.mark.parametrize(("size", "status"), [("768u", 0), ("600u", 1)])
def test_stacks_of_a_size_that_is_asked_for(size: str, status: int, tmp_path: Path) -> None:
    source = str(runtime_dir() / "ports/pulp_open/cluster.c")
    command = [RISCV_GCC, *options(), f"-DTILEWRIGHT_PULP_STACK_BYTES={size}", "-c", source]
    done = subprocess.run([*command, "-o", str(tmp_path / "c.o")], capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert ("no multiple of 16" in done.stderr) == bool(status)
