"""The SCons tool: the example in QEMU, the how-to's lines, changes and mistakes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.firmware import needs_host_compiler, needs_riscv
from tilewright.base.resources import cmake, platforms, scons

ROOT = Path(__file__).parents[2]
HOW_TO = (ROOT / "docs" / "how-to" / "scons.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", HOW_TO, re.DOTALL)
README_MAIN = re.findall(r"```c\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)[0]

pytest.importorskip("SCons")


def run_scons(folder: Path, *words: str, status: int = 0) -> str:
    """What SCons prints, both streams. The package is found as this process finds it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "SCons", "-C", str(folder), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a space in its name: the how-to's first snippet, the README's program, a model."""
    folder = tmp_path / "a project"
    folder.mkdir()
    (folder / "SConstruct").write_text(SNIPPETS[0], encoding="utf-8")
    (folder / "main.c").write_text(README_MAIN, encoding="utf-8")
    make_model(folder / "kws.onnx")
    return folder


def make_model(path: Path, *variant: str) -> None:
    subprocess.run([sys.executable, str(ROOT / "tests" / "cmake" / "make_model.py"), str(path), *variant], check=True)


@needs_riscv
def test_example_runs_in_qemu(tmp_path: Path) -> None:
    for example in ("digits", "scons"):
        shutil.copytree(ROOT / "examples" / example, tmp_path / example)
    output = run_scons(tmp_path / "scons", "run")
    assert "360 images, onnxruntime" in output
    assert re.search(r"-fno-tree-ter .*fully_connected_integer\.c", output)
    assert re.search(r"-O2 .*-Os .*conv_packed\.c", output)
    assert not re.search(r"-Os .*fully_connected_integer\.c", output)


@needs_host_compiler
def test_only_changes_are_generated_and_compiled(project: Path) -> None:
    assert "status 0, first score 0" in run_scons(project, "run")
    manifest = project / "tilewright" / "kws" / "kws_manifest.json"
    assert "Memory map of" in run_scons(project, "kws_report")
    assert "<title>kws: memory report</title>" in (manifest.parent / "kws_report.html").read_text(encoding="utf-8")
    before = manifest.stat().st_mtime_ns
    assert "`firmware' is up to date" in run_scons(project, "firmware")
    make_model(project / "kws.onnx", "weights")
    compiled = run_scons(project, "firmware")
    assert manifest.stat().st_mtime_ns != before
    assert "kws_weights.c" in compiled
    assert "runtime/kernels" not in compiled
    (manifest.parent / "kws.c").unlink()
    assert "up to date" in run_scons(project, "firmware")
    run_scons(project, "-c")
    assert not manifest.exists()


@needs_host_compiler
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("STATIC_POOLS", "STATIC_POLS", "TilewrightModel(kws): unknown keyword 'STATIC_POLS'"),
        ('PLATFORM="host", ', "", "TilewrightModel(kws): PLATFORM is missing"),
        ("kws.onnx", "no.onnx", "-m tilewright generate"),
        ("STATIC_POOLS=True", 'POOLS=["srma=5"]', "did you mean 'sram'"),
        (
            'Port("host")',
            'Port("host", PORT="hots")',
            "there is no port 'hots'; known: counting, host",
        ),
    ],
)
def test_mistakes_are_told(project: Path, old: str, new: str, message: str) -> None:
    (project / "SConstruct").write_text(SNIPPETS[0].replace(old, new), encoding="utf-8")
    output = run_scons(project, status=2)
    assert message in output
    assert "Traceback" not in output


@needs_host_compiler
def test_platformio_lines_in_its_order_of_scripts(project: Path) -> None:
    """The board's script makes the program first; scripts that come 'post' add to it."""
    (project / "add_model.py").write_text(SNIPPETS[1], encoding="utf-8")
    (project / ".venv" / "bin").mkdir(parents=True)
    wrapper = project / ".venv" / "bin" / "python"
    wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    shutil.copy(platforms() / "host.toml", project / "board.toml")
    (project / "SConstruct").write_text(
        "env = Environment(PROJECT_DIR=Dir('.').get_abspath(), BUILD_DIR='#build', PROGNAME='firmware')\n"
        "projenv = env.Clone()\n"
        "env.Program('$BUILD_DIR/${PROGNAME}.elf', projenv.Object('$BUILD_DIR/main', 'main.c'))\n"
        "SConscript('add_model.py', exports=['env', 'projenv'])\n",
        encoding="utf-8",
    )
    run_scons(project)
    done = subprocess.run([project / "build" / "firmware.elf"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("status 0")


def test_same_keywords_as_in_cmake() -> None:
    """The tool has all keywords of CMake's function but PORT, which is a CMake target."""
    text = (cmake() / "TilewrightModel.cmake").read_text(encoding="utf-8")
    call = re.search(r"function\(tilewright_add_model target\).*?PARSE_ARGV 1\s+arg(.*?)\)", text, re.DOTALL)
    assert call
    tool = (scons() / "tilewright.py").read_text(encoding="utf-8")
    constants = re.findall(r"^(?:VALUES|LISTS|FLAGS|FILES|OWN) = (.*?[)}])$", tool, re.MULTILINE | re.DOTALL)
    assert len(constants) == 5
    known = {word for line in constants for word in re.findall(r'"([A-Z_]+)"', line)}
    assert known == set(re.findall(r"[A-Z_]{2,}", call[1])) - {"PORT"}
