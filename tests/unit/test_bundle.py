"""``generate --bundle``: the how-to's lines with plain make, three compilers, and what a bundle consists of."""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from support.firmware import needs_arm, needs_host_compiler, needs_riscv
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
    assert re.search(r"-O2 .*-Os .*conv_integer\.c", printed)
    correct, images = subprocess.run(["./firmware"], cwd=tmp_path, capture_output=True, text=True).stdout.split(" of ")
    assert int(correct) >= 0.95 * int(images)
    assert "conv_integer.c" not in make(tmp_path)


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
    # SCons loads its tool in an interpreter that need not have this package, so the tool cannot import them.
    tool = (ROOT / "python" / "tilewright" / "scons" / "tilewright.py").read_text(encoding="utf-8")
    (written,) = re.findall(r"^CODE_OPTIONS = (\(.*\))$", tool, re.MULTILINE)
    assert ast.literal_eval(written) == CODE_OPTIONS


def test_one_folder_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["generate", "--model", "x.onnx", "--platform", "host", "--output-dir", "a", "--bundle", "b"]
    assert main(words) != 0
    assert "--bundle: not allowed with argument --output-dir" in capsys.readouterr().err
