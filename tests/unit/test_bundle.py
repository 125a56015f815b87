"""``generate --bundle``: the how-to's lines with plain make, three compilers, and what a bundle consists of."""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.firmware import needs_arm, needs_host_compiler, needs_riscv
from support.sampled import sampled
from tilewright.cli.main import main
from tilewright.tools.bundle import CODE_OPTIONS

ROOT = Path(__file__).parents[2]
HOW_TO = (ROOT / "docs" / "how-to" / "plain-make.md").read_text(encoding="utf-8")
COMMAND = re.findall(r"```sh\n(.*?)\n```", HOW_TO, re.DOTALL)[0]
MAKEFILE = re.findall(r"```make\n(.*?)```", HOW_TO, re.DOTALL)[0]
PROGRAM = r"""
#include <stdio.h>
#include "digits.h"
#include "images.h"
int main(void)
{
    int correct = 0;
    for (int n = 0; n < DIGITS_IMAGES; ++n) {
        int8_t image[64], scores[10];
        const struct digits_inputs inputs = {image};
        const struct digits_outputs outputs = {scores};
        for (int i = 0; i < 64; ++i) {
            image[i] = digits_quantize_image((float)digits_images[n][i]);
        }
        if (digits_run(&inputs, &outputs) != DIGITS_OK) {
            return 1;
        }
        correct += digits_argmax_scores(scores) == digits_labels[n];
    }
    printf("%d of %d\n", correct, DIGITS_IMAGES);
    return 0;
}
"""


def bundled(folder: Path, platform: str = "host") -> Path:
    """The how-to's command for a platform; gives the bundle's folder."""
    words = shlex.split(COMMAND)[1:]
    words[words.index("digits.onnx")] = str(ROOT / "examples" / "digits" / "digits.onnx")
    words[words.index("host")] = platform
    words[words.index("third_party/digits")] = str(folder / "third_party" / "digits")
    assert main(words) == 0
    return folder / "third_party" / "digits"


def make(folder: Path, *words: str) -> str:
    done = subprocess.run(["make", *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_host_compiler
def test_the_howto_builds_a_program_that_classifies(tmp_path: Path) -> None:
    bundled(tmp_path)
    (tmp_path / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    (tmp_path / "main.c").write_text(PROGRAM, encoding="utf-8")
    shutil.copy(ROOT / "examples" / "digits" / "images.h", tmp_path)
    printed = make(tmp_path, "CFLAGS=-Wall -Wextra -Werror")
    assert re.search(r"-O2 .*-Os .*conv_packed\.c", printed)
    correct, images = subprocess.run(["./firmware"], cwd=tmp_path, capture_output=True, text=True).stdout.split(" of ")
    assert int(correct) >= 0.95 * int(images)
    assert "conv_packed.c" not in make(tmp_path)


@pytest.mark.parametrize(
    ("platform", "compiler"),
    [
        pytest.param("qemu-virt-rv32", "riscv64-unknown-elf-gcc --specs=picolibc.specs", marks=needs_riscv),
        pytest.param("mps2-an385", "arm-none-eabi-gcc", marks=needs_arm),
    ],
)
def test_cross_compilers_take_it(tmp_path: Path, platform: str, compiler: str) -> None:
    bundled(tmp_path, platform)
    (tmp_path / "Makefile").write_text("include third_party/digits/digits.mk\n", encoding="utf-8")
    archiver = re.sub("gcc.*", "ar", compiler)
    make(tmp_path, f"CC={compiler}", f"AR={archiver}", "CFLAGS=-Werror", "build/digits/libdigits.a")


def test_a_bundle_describes_itself(tmp_path: Path) -> None:
    folder = bundled(tmp_path)
    build = json.loads((folder / "digits_build.json").read_bytes())
    assert all((folder / name).is_file() for name in build["sources"])
    listed = json.loads((folder / "digits_manifest.json").read_bytes())["files"]
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found == {*listed, "digits_manifest.json"}
    assert not any(str(ROOT) in (folder / name).read_text(encoding="utf-8") for name in found)


def test_what_a_bundle_no_longer_needs_is_removed(tmp_path: Path) -> None:
    folder = bundled(tmp_path, "qemu-virt-rv32")
    assert (folder / "runtime" / "copy.c").is_file()
    bundled(tmp_path)
    assert not (folder / "runtime" / "copy.c").exists()


def test_options_are_those_of_cmake() -> None:
    kernels = (ROOT / "cmake" / "TilewrightKernels.cmake").read_text(encoding="utf-8")
    always = re.findall(r"target_compile_options\(\"\$\{target\}\" PRIVATE (-ffp[^)]*)\)", kernels)
    assert always == [" ".join(CODE_OPTIONS[1:])]


def test_options_are_those_of_the_scons_tool() -> None:
    # SCons loads its tool in an interpreter that need not have this package, so the tool cannot import the options.
    tool = (ROOT / "python" / "tilewright" / "scons" / "tilewright.py").read_text(encoding="utf-8")
    (written,) = re.findall(r"^CODE_OPTIONS = (\(.*\))$", tool, re.MULTILINE)
    assert ast.literal_eval(written) == CODE_OPTIONS


def test_one_folder_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["generate", "--model", "x.onnx", "--platform", "host", "--output-dir", "a", "--bundle", "b"]
    assert main(words) != 0
    assert "--bundle: not allowed with argument --output-dir" in capsys.readouterr().err


STAND_INS = """
cmake_minimum_required(VERSION 3.22)
project(sdk LANGUAGES C)
set(ESP_PLATFORM {esp})
set(COMPONENT_LIB __idf_digits)
function(idf_component_register)
  cmake_parse_arguments(arg "" "" "SRCS;INCLUDE_DIRS" ${{ARGN}})
  add_library(${{COMPONENT_LIB}} STATIC ${{arg_SRCS}})
  target_include_directories(${{COMPONENT_LIB}} PUBLIC ${{arg_INCLUDE_DIRS}})
endfunction()
{zephyr}
add_subdirectory({bundle} digits)
get_target_property(type {target} TYPE)
message(STATUS "{target} is a ${{type}}")
"""
ZEPHYR = """
macro(zephyr_library_named name)
  set(ZEPHYR_CURRENT_LIBRARY ${name})
  add_library(${name} STATIC)
endmacro()
macro(zephyr_library_sources)
  target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endmacro()
macro(zephyr_include_directories)
  include_directories(${ARGN})
  target_include_directories(${ZEPHYR_CURRENT_LIBRARY} PUBLIC ${ARGN})
endmacro()
"""


@needs_host_compiler
@pytest.mark.parametrize(
    ("esp", "zephyr", "target"), sampled([("OFF", ZEPHYR, "digits"), ("ON", "", "__idf_digits"), ("OFF", "", "digits")])
)
def test_sdks_compile_it_by_its_own_lists(tmp_path: Path, esp: str, zephyr: str, target: str) -> None:
    """ESP-IDF and Zephyr (stand-ins for the functions that a bundle calls) and plain CMake compile a bundle."""
    bundle = bundled(tmp_path)
    lists = STAND_INS.format(esp=esp, zephyr=zephyr, bundle=bundle, target=target)
    (tmp_path / "CMakeLists.txt").write_text(lists, encoding="utf-8")
    configured = subprocess.run(["cmake", "-S", ".", "-B", "build"], cwd=tmp_path, capture_output=True, text=True)
    assert configured.returncode == 0, configured.stderr
    assert f"{target} is a STATIC_LIBRARY\n" in configured.stdout
    built = subprocess.run(["cmake", "--build", "build", "-v"], cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    assert re.search(r"-ffp-contract=off .*-O2 .*-Os .*conv_packed\.c", built.stdout)


def test_platformio_compiles_single_files_with_their_options(tmp_path: Path) -> None:
    """The script, with a stand-in for PlatformIO's environment."""
    script = (bundled(tmp_path) / "platformio_options.py").read_text(encoding="utf-8")
    library = json.loads((tmp_path / "third_party" / "digits" / "library.json").read_text(encoding="utf-8"))
    assert library["build"]["extraScript"] == "platformio_options.py"
    env = Environment("riscv32-esp-elf-gcc")
    exec(compile(script, "platformio_options.py", "exec"), {"Import": lambda name: None, "env": env})
    assert env.compiled("/lib/digits/runtime/kernels/conv_packed.c") == [
        "-g",
        "-fno-schedule-insns",
        "-fno-tree-ter",
        "-Os",
        "-fno-tree-scev-cprop",
    ]
    assert env.compiled("/lib/digits/digits.c") is None
    other = Environment("clang")
    exec(compile(script, "platformio_options.py", "exec"), {"Import": lambda name: None, "env": other})
    assert other.middleware is None


class Environment(dict[str, Any]):
    """What the script calls of an environment of SCons in PlatformIO."""

    def __init__(self, compiler: str) -> None:
        super().__init__(CC=compiler, CCFLAGS=["-g"])
        self.middleware: Callable[[Any, Any], Any] | None = None

    def subst(self, text: str) -> str:
        return str(self[text.removeprefix("$")])

    def Append(self, CCFLAGS: list[str]) -> None:
        self["CCFLAGS"] = self["CCFLAGS"] + CCFLAGS

    def AddBuildMiddleware(self, callback: Callable[[Any, Any], Any], pattern: str) -> None:
        assert pattern == "*.c"
        self.middleware = callback

    def Object(self, node: Any, CCFLAGS: list[str]) -> list[str]:
        return CCFLAGS

    def compiled(self, path: str) -> Any:
        assert self.middleware is not None
        node = SimpleNamespace(srcnode=lambda: SimpleNamespace(get_path=lambda: path))
        made = self.middleware(self, node)
        return None if made is node else made


@pytest.mark.long
def test_package_managers_take_it(tmp_path: Path) -> None:
    """PlatformIO and ESP-IDF's component manager, both from PyPI, pack a bundle, and refuse a spoilt manifest."""
    bundle = bundled(tmp_path)
    programs = tmp_path / "tools" / "bin"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "tools"], check=True)
    install = [programs / "python", "-m", "pip", "install", "--quiet", "platformio", "idf-component-manager"]
    subprocess.run(install, check=True)
    platformio = [programs / "pio", "pkg", "pack", bundle, "--output", tmp_path / "digits.tar.gz"]
    component = [programs / "compote", "component", "pack", "--name", "digits", "--project-dir", bundle]
    component += ["--dest-dir", tmp_path / "packed"]
    for command in (platformio, component):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    with tarfile.open(tmp_path / "digits.tar.gz") as packed:
        assert "runtime/kernels/conv_packed.c" in packed.getnames()
    for file, command in (("library.json", platformio), ("idf_component.yml", component)):
        text = (bundle / file).read_text(encoding="utf-8")
        (bundle / file).write_text(text.replace("0.1.0", "no version"), encoding="utf-8")
        assert subprocess.run(command, capture_output=True, check=False).returncode != 0, file
