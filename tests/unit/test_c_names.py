"""Names of a model become C names that clash with nothing that may stand before a generated header."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from support.firmware import ARM_GCC, RISCV_GCC, WARNINGS, needs_host_compiler
from tilewright.base import reserved_names
from tilewright.base.c_names import c_identifier, c_prefix, constants_object, unique_identifiers
from tilewright.base.resources import platforms, runtime
from tilewright.codegen.buffers import storage_of
from tilewright.options import CompileOptions
from tilewright.pipeline import compile_model
from tilewright.plan import Placement

HEADERS = (
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic "
    "stdbool stddef stdint stdio stdlib stdnoreturn string tgmath time uchar unistd wchar wctype"
).split()
KEYWORDS = (
    "alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool break case "
    "catch char char16_t char32_t char8_t class co_await co_return co_yield compl concept const const_cast "
    "consteval constexpr constinit continue decltype default delete do double dynamic_cast else enum explicit "
    "export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq "
    "nullptr operator or or_eq private protected public reflexpr register reinterpret_cast requires restrict "
    "return short signed sizeof static static_assert static_cast struct switch synchronized template this "
    "thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void "
    "volatile wchar_t while xor xor_eq"
).split()
MACROS = "INT8_MAX UINT64_MAX SIZE_MAX EINVAL ERANGE M_PI NAN INFINITY HUGE_VAL FLT_MAX errno linux unix I".split()
TYPES = "int8_t uint8_t int32_t size_t uintptr_t".split()
COMPILERS = [
    ["cc", "-std=gnu11"],
    ["clang", "-std=gnu2x"],
    ["c++", "-xc++", "-std=gnu++20"],
    [RISCV_GCC, "--specs=picolibc.specs"],
    [ARM_GCC],
]


def macros(compiler: Sequence[str]) -> set[str]:
    """Names that a compiler and its headers replace wherever they stand; a name that begins with _ is none of ours."""
    source = "".join(f"#if __has_include(<{name}.h>)\n#include <{name}.h>\n#endif\n" for name in HEADERS)
    command = [*compiler, "-E", "-dM", *(() if "-xc++" in compiler else ("-xc",)), "-"]
    text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    names = {line.split()[1] for line in text.splitlines() if line.startswith("#define ")}
    return {name for name in names if "(" not in name and not name.startswith("_")}


@pytest.mark.parametrize("compiler", COMPILERS, ids=" ".join)
def test_no_name_is_a_macro_of_a_header(compiler: list[str]) -> None:
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"needs {compiler[0]}")
    known = macros(compiler)
    assert "INT8_MAX" in known
    assert {name for name in known if c_identifier(name) == name} == set()


def test_no_name_is_a_keyword() -> None:
    assert [name for name in KEYWORDS + MACROS + TYPES if c_identifier(name) == name] == []


@pytest.mark.parametrize("name", ["X", "Y", "input", "output_1", "M_1", "module", "Eps", "data_max", "e", "W_1"])
def test_names_that_nothing_takes_stay(name: str) -> None:
    assert c_identifier(name) == name


def test_what_is_left_of_a_long_name_is_no_keyword_either() -> None:
    name = "x" * 60 + "_int"
    assert unique_identifiers([name]) == {name: "t_int"}


def model(path: Path, names: Iterable[str]) -> Path:
    """Inputs ``names`` [4], and for each its Relu, as output ``<name>.``: every name is a member of both structs."""
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in names]
    outputs = [helper.make_tensor_value_info(f"{item.name}.", TensorProto.FLOAT, [4]) for item in inputs]
    nodes = [helper.make_node("Relu", [item.name], [f"{item.name}."], item.name) for item in inputs]
    graph = helper.make_graph(nodes, "names", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)
    return path


def complaints(folder: Path, names: Iterable[str], headers: Iterable[str], prefix: str = "kws") -> str:
    """What C and C++ compilers say about the files of a model, with ``headers`` before all else."""
    options = CompileOptions(model(folder / "m.onnx", names), "host", prefix)
    files = compile_model(replace(options, profile=True)).files
    for name, content in files.items():
        (folder / name).write_bytes(content)
    before = "".join(f"#include <{name}.h>\n" for name in headers)
    (folder / "first.h").write_text(before)
    (folder / "use.cpp").write_text(f'#include "first.h"\n#include "{prefix}.h"\n#include "{prefix}_layout.h"\n')
    includes = [f"-I{runtime() / 'include'}", f"-I{folder}"]
    c_warnings = [word for word in WARNINGS if not word.startswith("-std=")]
    commands = [["cc", "-std=gnu11", *c_warnings, "-include", "first.h", str(folder / f"{prefix}.c")]]
    if shutil.which("c++") is not None:
        standards = ("gnu++11", "gnu++20")
        commands += [["c++", f"-std={name}", "-Wall", "-Wpedantic", str(folder / "use.cpp")] for name in standards]
    runs = [
        subprocess.run([*words, *includes, "-fsyntax-only"], capture_output=True, text=True, check=False)
        for words in commands
    ]
    return "".join(run.stderr for run in runs)


@needs_host_compiler
def test_headers_compile_behind_those_of_the_library(tmp_path: Path) -> None:
    assert complaints(tmp_path, KEYWORDS + MACROS + TYPES, ("stdint", "errno", "math", "complex", "limits")) == ""


@needs_host_compiler
@pytest.mark.parametrize("name", ["INT8_MAX", "thread_local", "unix"])
def test_a_name_that_is_not_reserved_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("tilewright.base.c_names.is_reserved", lambda _: False)
    assert reserved_names.is_reserved(name)
    assert "error" in complaints(tmp_path, [name], ("stdint",))


@needs_host_compiler
def test_long_names_are_no_long_texts(tmp_path: Path) -> None:
    """C promises texts of up to 4,095 bytes; -Wpedantic minds longer ones."""
    assert complaints(tmp_path, ["a" * 5000, "b/" * 3000], ()) == ""


@needs_host_compiler
@pytest.mark.parametrize("prefix", "FfRrWwXx")
def test_a_prefix_leaves_the_macros_of_unistd_alone(tmp_path: Path, prefix: str) -> None:
    assert c_prefix(prefix) == f"t_{prefix}"
    assert "error" in complaints(tmp_path, ["x"], ("unistd",), prefix)
    assert complaints(tmp_path, ["x"], ("unistd",), c_prefix(prefix)) == ""


def test_pools_and_buffers_whose_joined_names_are_the_same_have_macros_of_their_own(tmp_path: Path) -> None:
    plan = compile_model(CompileOptions(model(tmp_path / "m.onnx", ["x"]), "host", "kws")).plan
    x = plan.buffers[0]
    buffers = (replace(x, name="a_x"), replace(x, name="x"), replace(x, name="A_X_2"))
    places = (Placement("a_x", "l1", 0), Placement("x", "l1_a", 0), Placement("A_X_2", "l1", 64))
    macros = storage_of(replace(plan, buffers=buffers, placements=places, relations=())).macros
    assert macros == {"a_x": "KWS_L1_A_X", "x": "KWS_L1_A_X_2", "A_X_2": "KWS_L1_A_X_2_2"}


def constants_in(pool: str, folder: Path) -> str:
    """What the C compiler says about all files of a model whose constants lie in a pool of that name."""
    board = (platforms() / "host.toml").read_text().replace('"flash"', f'"{pool}"').replace("flash", pool)
    (folder / "board.toml").write_text(board)
    inputs, outputs = ([helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4])] for name in "xy")
    weights = helper.make_tensor("w", TensorProto.FLOAT, [4, 4], [0.5] * 16)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "net", inputs, outputs, [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), folder / "m.onnx")
    options = CompileOptions(folder / "m.onnx", str(folder / "board.toml"), "kws", io_in_pools=True)
    files = compile_model(replace(options, profile=True)).files
    for name, content in files.items():
        (folder / name).write_bytes(content)
    sources = [str(folder / name) for name in files if name.endswith(".c")]
    command = ["cc", *WARNINGS, f"-I{runtime() / 'include'}", f"-I{folder}", "-fsyntax-only", *sources]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


@needs_host_compiler
@pytest.mark.parametrize("pool", ["run", "profile", "is_misaligned", "model_sha256", "input_x", "layer_00_matmul"])
def test_a_pool_of_constants_has_a_name_that_the_model_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pool: str
) -> None:
    assert constants_in(pool, tmp_path) == ""
    for module in ("pools", "buffers", "entry"):
        monkeypatch.setattr(f"tilewright.codegen.{module}.constants_object", lambda prefix, name: f"{prefix}_{name}")
    assert "error" in constants_in(pool, tmp_path)


@pytest.mark.parametrize("pool", ["check_constants", "feed_x", "feeding", "finish", "layers", "set_weights", "start"])
def test_a_pool_of_constants_leaves_the_names_of_options_alone(pool: str) -> None:
    assert constants_object("kws", pool) == f"kws_pool_{pool}"
    assert constants_object("kws", f"{pool[0]}flash") == f"kws_{pool[0]}flash"
