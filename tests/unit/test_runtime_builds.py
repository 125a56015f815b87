"""All kernels in builds that projects choose: link-time optimisation for size, Clang, the sanitizers.

Each build compiles every file of the runtime without a warning, then runs networks against stored vectors.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.firmware import WARNINGS, needs_host_compiler
from support.objects import SANITIZED, sanitized
from tilewright.base.resources import runtime_dir
from tilewright.kernels.gcc_options import LIBRARY_OPTIONS
from tilewright.options import build_options
from tilewright.pipeline import compile_model
from tilewright.tools.golden import GoldenRequest, golden_files

MODELS = Path(__file__).parents[1] / "firmware" / "models"
NETWORKS = {"qdq_residual": "0.00392157:0", "float_mixture": "1e-5:1e-4", "deeploy_residual": "0:0"}
"""Network to the tolerance of its stored outputs."""

MACROS_ONLY = {
    "layout.h",
    "section.h",
    "symbol.h",
    "xpulpv2_instructions.h",
    "map_rows.h",
    "reducer.h",
    "line_cumulative.h",
    "xpulpv2_words.h",
    "qemu_virt.h",
}
"""Headers that declare nothing by themselves."""


@dataclass(frozen=True)
class Build:
    """A compiler with its options, and a change that it must refuse: the file, a text in it, and its replacement."""

    compiler: str
    options: tuple[str, ...]
    spoilt: tuple[str, str, str]
    complaint: str


BUILDS = {
    "lto": Build(
        "gcc",
        ("-Os", "-flto=auto", *LIBRARY_OPTIONS),
        (
            "walk_set.c",
            "",
            "int tilewright_walk_set(int operand);\nint bad(void);\nint bad(void)\n"
            "{\n    return tilewright_walk_set(1);\n}\n",
        ),
        "lto-type-mismatch",
    ),
    "clang": Build(
        "clang",
        ("-O1",),
        ("conv_integer.c", "conv.padding_row[i] = ", "int32_t k = i;\nk = k;\nconv.padding_row[k] = "),
        "self-assign",
    ),
    "sanitizers": Build(
        SANITIZED[0],
        SANITIZED[1:],
        ("conv_packed.c", "row = pixels->row[2 * p + i];", "row = INT32_MAX;"),
        "signed integer overflow",
    ),
}


def every_object(build: Build, folder: Path) -> list[Path]:
    """All C files of the runtime that no platform owns, compiled without a word, those of kernels last."""
    if build == BUILDS["sanitizers"]:
        files = [path for part in (runtime_dir(), runtime_dir() / "kernels") for path in sorted(part.glob("*.c"))]
        return [Path(item) for item in sanitized(files)]
    objects: list[Path] = []
    for part in (runtime_dir(), runtime_dir() / "kernels"):
        target = folder / part.name
        target.mkdir()
        files = sorted(part.glob("*.c"))
        done = compiled(build, files, target)
        assert (done.returncode, done.stderr) == (0, "")
        objects += [target / f"{file.stem}.o" for file in files]
    return objects


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Network to the C files that run it against its vectors."""
    found = {}
    for name, tolerance in NETWORKS.items():
        folder = tmp_path_factory.mktemp(name)
        types = MODELS / name / "types.json"
        given = json.loads(types.read_text(encoding="utf-8")) if types.exists() else {}
        words = {"model": MODELS / name / "network.onnx", "platform": "host", "name": "net"}
        words["types"] = tuple(f"{tensor}={dtype}" for tensor, dtype in given.items())
        artifacts = compile_model(build_options(("test", words)))
        vectors = (MODELS / name / "inputs.npz", MODELS / name / "outputs.npz")
        files = {**artifacts.files, **golden_files(GoldenRequest(artifacts.plan, *vectors, tolerance))}
        for file, content in files.items():
            (folder / file).write_bytes(content)
        found[name] = [path for path in folder.glob("*.c") if path.name != "net_pools.c"]
    return found


def compiled(build: Build, files: Sequence[Path], folder: Path) -> subprocess.CompletedProcess[str]:
    """The files as objects in the folder, by one call of the compiler."""
    includes = [f"-I{runtime_dir() / name}" for name in ("include", "test_support")]
    command = [build.compiler, *WARNINGS, "-ffp-contract=off", "-D_DEFAULT_SOURCE", *build.options, *includes]
    command += [f"-I{parent}" for parent in {file.parent for file in files}]
    words = [*command, "-c", *map(str, files)]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def linked(build: Build, objects: Sequence[Path], program: Path) -> subprocess.CompletedProcess[str]:
    command = [build.compiler, *build.options, "-Werror", *map(str, objects), "-lm", "-o", str(program)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def first_complaint(build: Build, objects: Sequence[Path], network: Sequence[Path], folder: Path) -> str:
    """What compiler, linker or program say to a network with objects of the runtime; nothing if all is well."""
    folder.mkdir()
    runtime = runtime_dir()
    common = ("common/core_copies.c", "common/no_cache.c", "common/one_core.c")
    ports = [runtime / "ports" / name for name in ("host/port.c", *common)]
    done = compiled(build, [*network, *ports, runtime / "test_support" / "golden.c"], folder)
    if done.returncode:
        return done.stderr
    done = linked(build, [*sorted(folder.glob("*.o")), *objects], folder / "program")
    if done.returncode:
        return done.stderr
    done = subprocess.run([folder / "program"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr or done.stdout


@needs_host_compiler
@pytest.mark.parametrize("name", BUILDS)
def test_every_kernel_in_another_build(name: str, networks: dict[str, list[Path]], tmp_path: Path) -> None:
    build = BUILDS[name]
    if shutil.which(build.compiler) is None:
        pytest.skip(f"needs {build.compiler}")
    objects = every_object(build, tmp_path)
    assert len(objects) > 150
    for network, files in networks.items():
        assert first_complaint(build, objects, files, tmp_path / network) == "", network
    assert build.complaint in spoilt_complaint(build, objects, networks["qdq_residual"], tmp_path)


def spoilt_complaint(build: Build, objects: Sequence[Path], network: Sequence[Path], folder: Path) -> str:
    """What ``first_complaint`` says where one file of the runtime is spoilt."""
    file, right, wrong = build.spoilt
    original = runtime_dir() / "kernels" / file
    text = original.read_text(encoding="utf-8") if right else ""
    assert right in text
    path = folder / file
    path.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    done = compiled(build, [path], folder)
    if done.returncode:
        return done.stderr
    others = [item for item in objects if item.stem.rpartition("_")[0] != path.stem and item.stem != path.stem]
    return first_complaint(build, [*others, path.with_suffix(".o")], network, folder / "spoilt")


def is_linked_as_c(text: str) -> bool:
    return 'extern "C"' in text


@needs_host_compiler
def test_every_header_is_c_for_cpp(tmp_path: Path) -> None:
    headers = sorted((runtime_dir() / "include" / "tilewright").rglob("*.h"))
    lines = [f'#include "{path}"\n' for path in headers]
    assert len(lines) > 30
    every = tmp_path / "every.cpp"
    every.write_text("".join(lines), encoding="utf-8")
    command = ["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{runtime_dir() / 'include'}"]
    done = subprocess.run([*command, str(every)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    others = [path for path in runtime_dir().rglob("*.h") if path.name not in MACROS_ONLY]
    assert [path for path in others if not is_linked_as_c(path.read_text(encoding="utf-8"))] == []
    assert not is_linked_as_c("void tilewright_walk(void);")


def test_kernels_say_themselves_that_they_need_the_mathematical_library() -> None:
    """Builds link it where a C file includes its header; they do not look into headers."""
    headers = [*(runtime_dir() / "include").rglob("*.h"), *(runtime_dir() / "ports").rglob("*.h")]
    assert len(headers) > len(MACROS_ONLY)
    assert [path.name for path in headers if "<math.h>" in path.read_text(encoding="utf-8")] == []
