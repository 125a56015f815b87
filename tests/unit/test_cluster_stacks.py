"""The stacks of pulp-open's cluster cores against what kernels take of them, as compiler and libraries tell it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from support.firmware import RISCV_GCC
from support.sampled import sampled
from support.stacks import (
    Functions,
    depth,
    library_functions,
    options,
    port_functions,
    runtime_functions,
    runtime_sources,
    sources_that_read,
    targets,
    with_frame,
)
from tilewright.base.resources import runtime_dir
from tilewright.kernels.c_structs import PREFIX
from tilewright.kernels.gcc_options import COUNTED_LEVEL
from tilewright.kernels.registry import all_declarations
from tilewright.kernels.requantization import CHANNEL_RULES, VALUE_RULES, Rule
from tilewright.kernels.scalar.conv_packed import CORES as PACKED_CORES
from tilewright.kernels.stacks import declared_stack_bytes
from tilewright.platform import load_platform

pytestmark = pytest.mark.skipif(shutil.which(RISCV_GCC) is None, reason=f"needs {RISCV_GCC}")

RULES = tuple(rule.value for rule in Rule)
CORES = {
    "tilewright_conv_integer": "integer_core:narrow|tilewright_products_wide",
    "depthwise_integer:stored": r"tilewright_depthwise_(wide_)?slide_(folded|layer|high)",
    "tilewright_depthwise_integer": (
        r"tilewright_depthwise_(wide_)?(slide|stride|any|five|seven)(_folded|_layer|_high)?"
    ),
    "tilewright_depthwise_along": r"tilewright_along_[12]_\w+",
    "tilewright_fully_connected_integer": r"tilewright_vector_(wide_)?(signed|unsigned)",
    "conv_packed:gather": r"tilewright_pack_(signed|unsigned)_[46]",
    "conv_packed:gather_taps": r"tilewright_pack_(signed|unsigned)_[46]",
    "tilewright_fully_connected_packed": r"tilewright_packed_block_\w+|tilewright_block_\w+",
    "tilewright_conv_transpose_integer": r"conv_transpose_integer:add_\w+|tilewright_(block|line)_\w+",
    "tilewright_interpolate_integer": "tilewright_line_cut",
    "tilewright_max_pool_integer": r"tilewright_largest_\w+",
}
"""What attributes of kernels point to that multiplies, and what finishes where no kernel's name says the rule."""
MOVERS = ("concat", "copy", "interleave_planes", "pad", "repeat")
LINES = {"softmax_fixed": "softmax", "softmax_halves": "softmax", "l2_fixed": "normalise"}
"""Files that walk lines by tilewright_call_lines, and what works on a line."""
PIECES = {"binary_integer": "integer", "requantize": "requantize"}
"""Files of kernels that walk rows in pieces, and how the rows are called."""
SIGNS = ("signed", "unsigned")
INLINED = ("folded", "layer", "high", "away", "twice")
"""Rules that cores of packed convolutions have inside."""
RULED = {
    "conv_packed": (
        tuple(f"conv_packed_4_{name}{order}" for name in PACKED_CORES for order in ("", "_sorted")),
        CHANNEL_RULES,
    ),
    "depthwise_rows": (("depthwise_rows",), CHANNEL_RULES),
    "depthwise_rows_strided": (("depthwise_rows_strided",), CHANNEL_RULES),
    "fully_connected_packed": (tuple(f"fully_connected_packed_{sign}" for sign in SIGNS), CHANNEL_RULES),
    "conv_integer": (("conv_integer", "conv_wide"), CHANNEL_RULES),
    "depthwise_integer": (
        tuple(
            f"depthwise_{way}"
            for way in ("slide", "stride", "any", "five", "seven", "wide_slide", "wide_stride", "wide_any")
        ),
        CHANNEL_RULES,
    ),
    "depthwise_beside": (("depthwise_beside",), CHANNEL_RULES),
    "fully_connected_integer": (
        ("fully_connected_integer", "fully_connected_unsigned", "fully_connected_wide"),
        CHANNEL_RULES,
    ),
    "matmul_integer": (("matmul_integer",), VALUE_RULES),
    "binary_integer": (("add_integer", "sub_integer", "mul_integer"), VALUE_RULES),
    "mul_bytes": (("mul_bytes",), (Rule.HIGH, Rule.SHIFT, Rule.TWICE)),
    "requantize": (("requantize",), VALUE_RULES),
    "conv_xpulpv2": (("conv_xpulpv2",), CHANNEL_RULES),
    "matmul_xpulpv2": (("matmul_xpulpv2",), CHANNEL_RULES),
    "depthwise_xpulpv2": (("depthwise_xpulpv2",), CHANNEL_RULES),
}
"""C functions that several kernels share, which point to rules."""
ROWS = r"\w*(row|rows|line|lines|words|longs|results)(\.\w+)*"
KERNELS = sorted(path.stem for path in (runtime_dir() / "kernels").glob("*.c"))
FAMILIES = ("map", "line", "reduce")
TAKERS = ("map", "line", "reduce", "reduce_parts", "scatter", "pool_any")
"""Kernels that take functions of other files, with which their stacks are counted."""
SCATTERED = ("map_add", "map_mul", "map_max", "map_min")
"""What tilewright_scatter combines with."""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Functions:
    return library_functions(tmp_path_factory.mktemp("libraries"))


@pytest.fixture(scope="module")
def functions(libraries: Functions, tmp_path_factory: pytest.TempPathFactory) -> Functions:
    folder = tmp_path_factory.mktemp("stacks")
    return {**libraries, **port_functions(folder), **runtime_functions()}


def guard_bytes() -> int:
    """Bytes at the end of a stack that no core may have written."""
    return 4 * number("GUARD_WORDS")


def number(name: str) -> int:
    text = (runtime_dir() / "ports/pulp_open/cluster.c").read_text(encoding="utf-8")
    found = re.search(rf"#define {name} (\d+)u", text)
    assert found is not None
    return int(found[1])


def rule_of(kernel: str) -> str:
    """The rule that a kernel's name ends with."""
    return next((rule for rule in sorted(RULES, key=len, reverse=True) if kernel.endswith(f"_{rule}")), "")


def pointed_from(kernel: str, file: str, caller: str) -> str:
    """A regular expression of the functions to which pointers lead from a caller below a kernel."""
    rule = rule_of(kernel)
    line = rf"tilewright_line_{rule}"
    if caller == "tilewright_walk" and file in PIECES:
        own = {f"add_{way}": f"binary_integer:{way}_row" for way in ("products", "rescaled", "shifted")}
        return own.get(kernel, rf"tilewright_{PIECES[file]}_{'short_' if rule == 'rescale' else ''}row")
    if file in PIECES:
        return rf"tilewright_combine_\w+|{line}"
    if caller == "tilewright_walk" and file == "mul_bytes":
        return rf"tilewright_{kernel}"
    if caller == "tilewright_walk" and file in MOVERS:
        return "tilewright_move_row"
    if caller == f"{file}:tilewright_call_lines" and file in LINES:
        return f"{file}:{LINES[file]}"
    if caller == "tilewright_conv_packed":
        return rf"tilewright_packed_{rule if rule in INLINED else 'any'}_[46]_(to\d+|wide)"
    caller = caller.partition(".")[0]
    if caller in CORES:
        return CORES[caller] if file == "conv_packed" else rf"{CORES[caller]}|{line}"
    return rf"tilewright_(block|line)_{rule}" if rule else rf"{file}:{ROWS}"


def bytes_of(kernel: str, symbol: str, functions: Functions) -> int:
    """Stack of a core that runs a kernel: the core's own frame, the kernel, what the kernel calls, and the guard."""
    file = functions[symbol].file
    deepest = depth(symbol, functions, partial(pointed_from, kernel, file))
    return functions["pulp_cluster_main"].frame_bytes + deepest + guard_bytes()


def names_of(function: str) -> list[str]:
    """The names of a C function as a kernel: one for each rule to which its attributes may point."""
    stems, rules = RULED.get(function, ((), ()))
    return [f"{stem}_{rule.value}" for stem in stems for rule in rules] or [function]


def bytes_with(taken: str, file: str, functions: Functions, taker: str = "") -> int:
    """As ``bytes_of``, for a kernel that takes a function or a reducer of a file, such as map_add_f32."""
    family, _, name = taken.partition("_")
    users = [family, *(["scatter"] if file in SCATTERED else []), *(["pool_any"] if family == "reduce" else [])]
    users = [taker] if taker else users

    own = [rf"tilewright_{taken}", *([rf"{file}:(begin|line|end)(_{name})?"] if family == "reduce" else [])]
    pattern = "|".join([*own, rf"({'|'.join(users)}):{ROWS}"])
    deepest = max(depth(f"tilewright_{user}", functions, lambda _caller: pattern) for user in users)
    return functions["pulp_cluster_main"].frame_bytes + deepest + guard_bytes()


def test_kernels_fit_what_they_declare(functions: Functions) -> None:
    """Declared stacks suffice, at most 32 bytes to spare for other compilers: plans pay for each byte."""
    default = number("TILEWRIGHT_PULP_STACK_BYTES")
    needed = needs(functions)
    assert {name for name in declared_stack_bytes() if name not in needed} == set()
    short = {name: size for name, size in needed.items() if not 48 <= size <= declared_stack_bytes().get(name, default)}
    assert short == {}
    long = {name: size for name, size in declared_stack_bytes().items() if size <= default or size > needed[name] + 32}
    assert long == {}


def test_kernels_fit_without_floats_in_the_core(functions: Functions, libraries: Functions) -> None:
    """Where libgcc computes floats, its frames lie below those of kernels."""
    default, more = number("TILEWRIGHT_PULP_STACK_BYTES"), number("SOFT_FLOAT_BYTES")
    without = [option for option in options() if "TILEWRIGHT_ZFINX" not in option]
    others = runtime_functions(sources=sources_that_read("TILEWRIGHT_ZFINX"), compiled_with=without)
    functions = {**functions, **libraries, **others}
    needed = needs(functions)
    short = {name: size for name, size in needed.items() if size > declared_stack_bytes().get(name, default) + more}
    assert short == {}
    assert any(size > declared_stack_bytes().get(name, default) for name, size in needed.items())


def reducers_of(file: str) -> list[str]:
    """Names of a file's reducers without tilewright_, as their declarations give them."""
    text = (runtime_dir() / "kernels" / f"{file}.c").read_text(encoding="utf-8")
    text = text.replace("tilewright_reduce_", "")
    suffixes = re.findall(r"\b([a-z0-9_]+_(?:f32|[iu](?:8|16|32|64)))\b", text)
    return [f"reduce_{suffix}" for suffix in dict.fromkeys(suffixes)] if file.startswith("reduce_") else []


def needs(functions: Functions) -> dict[str, int]:
    """Stack bytes of kernels, and of functions that kernels take, by their names without tilewright_."""
    found: dict[str, int] = {}
    in_parts: list[int] = []
    for declared in (item for family in all_declarations().values() for item in family):
        for kernel in declared.kernels:
            names = names_of(kernel.symbol.removeprefix(PREFIX))
            found |= {name: bytes_of(name, kernel.symbol, functions) for name in names}
    for file in KERNELS:
        family, _, rest = file.partition("_")
        if family in FAMILIES and rest and file not in ("reduce_integer", "reduce_parts"):
            own = [name for name, function in functions.items() if function.file == file and name.startswith(PREFIX)]
            names = [name.removeprefix(PREFIX) for name in own] + reducers_of(file)
            found |= {name: bytes_with(name, file, functions) for name in names}
            if family == "reduce":
                in_parts += [bytes_with(name, file, functions, "reduce_parts") for name in names]
    # One kernel takes all reducers part by part, and declares what the deepest of them needs.
    found["reduce_parts"] = max(in_parts)
    return found


def test_integers_do_with_the_default() -> None:
    """No kernel with integer results declares a stack of its own, but those that compute pixels together and call a
    function to finish; kernels that finish floats need more.
    """
    integers = re.compile(
        r"(?!conv_packed).*_(integer|wide|xpulpv2)(_(?!rescale)\w+)?|requantize_\w+|add_(products|rescaled|shifted)"
    )
    assert [name for name in declared_stack_bytes() if integers.fullmatch(name)] == []


def test_every_pointer_leads_somewhere(functions: Functions) -> None:
    """A call through a pointer that leads nowhere would count as no stack at all."""
    missed = {kernel: caller for kernel, caller in led_nowhere(functions) if kernel not in TAKERS}
    assert missed == {}


def led_nowhere(functions: Functions) -> Iterator[tuple[str, str]]:
    """Kernels of the families that clusters run, and what below them calls through a pointer without a target."""
    families = load_platform("pulp-open").target.kernels
    symbols = {kernel.symbol for family in families for item in all_declarations()[family] for kernel in item.kernels}
    for symbol in sorted(symbols):
        for name in names_of(symbol.removeprefix(PREFIX)):
            yield from ((name, caller) for caller in callers_without_targets(name, symbol, functions))


def callers_without_targets(kernel: str, symbol: str, functions: Functions) -> list[str]:
    callers: list[str] = []

    def pointed(caller: str) -> str:
        callers.append(caller)
        return pointed_from(kernel, functions[symbol].file, caller)

    depth(symbol, functions, pointed)
    return [caller for caller in dict.fromkeys(callers) if not targets(caller, functions, pointed)]


def test_a_frame_behind_a_pointer_is_seen(functions: Functions) -> None:
    spoilt = with_frame(functions, "tilewright_packed_folded_6_to4", 400)
    needed = bytes_of("conv_packed_6_to4_sorted_folded", "tilewright_conv_packed", spoilt)
    assert needed > number("TILEWRIGHT_PULP_STACK_BYTES")


def test_a_frame_that_is_too_large_is_seen(functions: Functions) -> None:
    spoilt = with_frame(functions, "integer_core:narrow", 400)
    assert bytes_of("conv_integer_folded", "tilewright_conv_integer", spoilt) > number("TILEWRIGHT_PULP_STACK_BYTES")


@pytest.mark.parametrize(("name", "least"), [("sinf", 64), ("expf", 16), ("__muldf3", 16), ("pow", 64)])
def test_frames_of_libraries_are_seen(name: str, least: int, functions: Functions) -> None:
    assert least <= depth(name, functions, lambda _caller: "(?!)") <= 1024


@pytest.mark.parametrize(("size", "status"), [("768u", 0), ("600u", 1)])
def test_stacks_of_a_size_that_is_asked_for(size: str, status: int, tmp_path: Path) -> None:
    source = str(runtime_dir() / "ports/pulp_open/cluster.c")
    command = [RISCV_GCC, *options(), f"-DTILEWRIGHT_PULP_STACK_BYTES={size}", "-c", source]
    done = subprocess.run([*command, "-o", str(tmp_path / "c.o")], capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert ("no multiple of 16" in done.stderr) == bool(status)


@pytest.mark.parametrize("build_type", sampled(["-Os", "-O3"]))
def test_frames_are_the_same_in_all_build_types(build_type: str, functions: Functions) -> None:
    """As at -O2, of every tenth file, beside the deepest callees; without a level of their own frames differ."""
    chosen = [path for path in runtime_sources() if path.stem in ("walk", "integer_core", "reduce")]
    chosen += list(runtime_sources())[::10]
    wanted = {name: item.frame_bytes for name, item in functions.items()}
    got, free = (runtime_functions(build_type, chosen, counted) for counted in (COUNTED_LEVEL, ()))
    assert {name for name, item in got.items() if item.frame_bytes != wanted.get(name)} == set()
    assert {name for name, item in free.items() if item.frame_bytes != wanted.get(name)} != set()
