"""Options that GCC needs for kernels: every build takes them from the manifest, and no source has them inside."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.firmware import needs_host_compiler
from tilewright.base.resources import runtime_dir
from tilewright.kernels import index
from tilewright.kernels.gcc_options import FOLDER, LIBRARY_OPTIONS

ROOT = Path(__file__).parents[2]
PROJECT = f"""cmake_minimum_required(VERSION 3.22)
project(p LANGUAGES C)
add_subdirectory([[{ROOT}]] tilewright)
tilewright_add_model(digits MODEL [[{ROOT / "examples/digits/digits.onnx"}]] PLATFORM host)
"""
PRAGMA = re.compile(r"GCC optimize|__attribute__\(\(optimize")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("a project")
    (folder / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
    return folder


def commands(python: Path, project: Path, compiler: str, share: str, build_type: str = "") -> dict[str, list[str]]:
    """C file to the words of its command, of those that are compiled for the model."""
    build = project / f"{compiler}-{share}-{build_type}"
    call = ["cmake", "-S", project, "-B", build, "-G", "Ninja", f"-DCMAKE_C_COMPILER={compiler}"]
    call += [f"-DTILEWRIGHT_PYTHON={python}", f"-DTILEWRIGHT_SHARE_KERNELS={share}"]
    call += [f"-DCMAKE_BUILD_TYPE={build_type}"] if build_type else []
    done = subprocess.run([*call, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    return {Path(entry["file"]).name: entry["command"].split() for entry in entries}


@needs_host_compiler
@pytest.mark.parametrize("share", ["OFF", "ON"])
def test_cmake_gives_gcc_what_the_manifest_says(project: Path, share: str, warm_python: Path) -> None:
    found = commands(warm_python, project, "gcc", share)
    for name in ("digits.c", "walk.c", "conv_packed.c", "integer_finish.c"):
        assert set(LIBRARY_OPTIONS) <= set(found[name])
    glue = found["conv_packed.c"]
    assert glue.index("-Os") > glue.index("-O2")
    assert "-fno-ssa-phiopt" in found["integer_finish.c"]
    assert not {"-Os", "-fno-ssa-phiopt"} & set(found["walk.c"])


@needs_host_compiler
@pytest.mark.parametrize("build_type", ["Release", "MinSizeRel", "Debug"])
def test_kernels_whose_stacks_are_counted_have_one_level(build_type: str, tmp_path: Path, warm_python: Path) -> None:
    text = PROJECT.replace("PLATFORM host", "PLATFORM pulp-open")
    (tmp_path / "CMakeLists.txt").write_text(text, encoding="utf-8")
    found = commands(warm_python, tmp_path, "gcc", "OFF", build_type)
    levels = {name: [word for word in words if word.startswith("-O")][-1] for name, words in found.items()}
    assert levels["walk.c"] == levels["digits.c"] == "-O2"
    assert levels["conv_xpulpv2.c"] == "-Os"


@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
def test_cmake_gives_clang_none_of_it(project: Path, warm_python: Path) -> None:
    for words in commands(warm_python, project, "clang", "OFF").values():
        assert not {*LIBRARY_OPTIONS, "-Os", "-fno-ssa-phiopt"} & set(words)


def test_options_are_those_of_files_that_exist() -> None:
    named = [name for names in index.SOURCES.values() for name in names]
    assert named
    assert [name for name in named if not (runtime_dir() / FOLDER / name).is_file()] == []


def inside(text: str) -> bool:
    return PRAGMA.search(text) is not None


def test_no_source_has_options_inside() -> None:
    files = [path for suffix in ("c", "h") for path in runtime_dir().rglob(f"*.{suffix}")]
    assert len(files) > 200
    assert [path.name for path in files if inside(path.read_text(encoding="utf-8"))] == []
    assert inside('#pragma GCC optimize("Os")')
