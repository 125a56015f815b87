"""Every command and snippet of README and docs/ does what the page says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from docs import setups
from docs.pages import ROOT, Block, blocks, pages
from docs.pages import setups as setups_of
from docs.session import Session, WrongPage, matches, tool_environment

TUTORIAL = ROOT / "docs" / "tutorial" / "first-firmware.md"
PROGRAMS = ("cmake", "ninja", "cc", "riscv64-unknown-elf-gcc", "qemu-system-riscv32")

needs_programs = pytest.mark.skipif(
    not all(map(shutil.which, PROGRAMS)), reason="needs the programs that scripts/setup.sh installs"
)
SESSIONS = [path for path in pages() if path != TUTORIAL and blocks(path.read_text(encoding="utf-8"))]


def session(tmp_path: Path, page: Path, environment: dict[str, str]) -> Session:
    folder = tmp_path / "a folder"
    folder.mkdir()
    return Session(str(page.relative_to(ROOT)), folder, environment)


@pytest.fixture
def environment(tmp_path: Path, warm_python: Path) -> dict[str, str]:
    """The tool of the source tree, as ``tilewright`` and as a ``python3`` that starts it warm."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "python3").symlink_to(warm_python)
    shim = programs / "tilewright"
    shim.write_text(f'#!/bin/sh\nexec "{warm_python}" -m tilewright "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    variables = tool_environment()
    return {**variables, "PATH": os.pathsep.join([str(programs), variables["PATH"]])}


@needs_programs
@pytest.mark.parametrize("page", SESSIONS, ids=lambda path: str(path.relative_to(ROOT)))
def test_page(page: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    text = page.read_text(encoding="utf-8")
    here = session(tmp_path, page, environment)
    for name in setups_of(text):
        environment.update(getattr(setups, name)(here.folder) or {})
    here.run_page(text)


def clean_environment(source: Path) -> dict[str, str]:
    """What a new user has: a supported Python without Tilewright, and a folder, wheel or URL to install it from."""
    kept = ("PATH", "HOME", "LANG", "TMPDIR", "XDG_CACHE_HOME")
    variables = {name: os.environ[name] for name in kept if name in os.environ}
    variables |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    own = Path(sys.executable).parent
    paths = [path for path in variables["PATH"].split(os.pathsep) if path and Path(path) != own]
    paths.insert(0, str(Path(sys.base_prefix) / "bin"))
    return {**variables, "PATH": os.pathsep.join(paths), "TILEWRIGHT": str(source), "PIP_NO_COMPILE": "1"}


def wheel_without_extension(folder: Path) -> Path:
    """A wheel from a copy of the sources; searches of the tutorial's size need no native code."""
    sources = folder / "sources"
    names = ("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml")
    for name in ("cmake", "platforms", "python", "runtime", "templates"):
        ignored = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(ROOT / name, sources / name, ignore=ignored)
    for name in names:
        shutil.copy(ROOT / name, sources / name)
    build = "from scikit_build_core.build import build_wheel; build_wheel('../dist')"
    pure = {**os.environ, "TILEWRIGHT_PURE": "true"}
    subprocess.run([sys.executable, "-c", build], cwd=sources, check=True, capture_output=True, env=pure)
    (wheel,) = (folder / "dist").glob("tilewright-*.whl")
    shutil.rmtree(sources)
    return wheel


def requirements_at_hand(folder: Path) -> Path:
    """A folder for PYTHONPATH with what these tests run with, Tilewright aside: pip has nothing else to unpack."""
    folder.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "tilewright" not in path.name:
            (folder / path.name).symlink_to(path)
    return folder


@needs_programs
def test_tutorial_from_an_empty_folder(tmp_path: Path) -> None:
    pytest.importorskip("scikit_build_core")
    environment = clean_environment(wheel_without_extension(tmp_path))
    environment["PYTHONPATH"] = str(requirements_at_hand(tmp_path / "requirements"))
    here = session(tmp_path, TUTORIAL, environment)
    assert here.run_page(TUTORIAL.read_text(encoding="utf-8")) > 10


@needs_programs
@pytest.mark.long
def test_tutorial_from_the_sources(tmp_path: Path) -> None:
    here = session(tmp_path, TUTORIAL, clean_environment(ROOT))
    assert here.run_page(TUTORIAL.read_text(encoding="utf-8")) > 10


@pytest.mark.long
def test_make_demo_of_the_readme(tmp_path: Path) -> None:
    """The first command of README.md, in a copy that has nothing yet; `make test` is what runs this."""
    shutil.copytree(ROOT, tmp_path / "tilewright", ignore=shutil.ignore_patterns(".git", ".venv", "build", "*.so"))
    command = ["make", "-C", str(tmp_path / "tilewright"), "demo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "360 images, onnxruntime" in done.stdout
    installed = (tmp_path / "tilewright" / ".venv").glob("lib/*/site-packages/*")
    assert "pytest" not in {path.name for path in installed}, "the demo waits for packages that only tests need"


def test_the_tutorial_ends_with_a_firmware_in_the_simulator() -> None:
    text = TUTORIAL.read_text(encoding="utf-8")
    assert not setups_of(text), "the tutorial begins with nothing"
    commands = "".join(block.text for block in blocks(text) if block.language == "sh")
    assert "ctest --test-dir build" in commands


WRONG_PAGES = {
    "a command that fails": "```sh\nfalse\n```\n",
    "a command that should fail": "<!-- test: fails -->\n```sh\ntrue\n```\n",
    "another output": "```sh\necho one\n```\n```text\ntwo\n```\n",
    "a command that nobody types": "```\nmake test\n```\n",
    "nobody tests it": "```toml\nname = 1\n```\n",
    "a test that is not there": "<!-- test: by=tests/none.py -->\n```c\nint x;\n```\n",
    "a test that knows nothing of the page": "<!-- test: by=tests/conftest.py -->\n```c\nint x;\n```\n",
    "lines that no file has": "<!-- test: of=README.md -->\n```c\nint unheard_of;\n```\n",
    "a package that is not installed": "<!-- test: packages -->\n```sh\napt-get install gnuplot\n```\n",
    "C that does not compile": "`a.h`:\n```c\n\n```\n<!-- test: compile=a.h -->\n```c\nint x = y;\n```\n",
}


@pytest.mark.parametrize("what", WRONG_PAGES)
def test_a_wrong_page_is_noticed(what: str, tmp_path: Path, environment: dict[str, str]) -> None:
    here = session(tmp_path, ROOT / "README.md", environment)
    with pytest.raises(WrongPage):
        here.run_page(WRONG_PAGES[what])


def test_variables_and_folders_stay_from_block_to_block(tmp_path: Path, environment: dict[str, str]) -> None:
    page = "```sh\nmkdir a; cd a; export B='x y'\n```\n\n```sh\necho \"$B\"; pwd\n```\n```text\nx y\n.../a\n```\n"
    assert session(tmp_path, ROOT / "README.md", environment).run_page(page) == 2


@pytest.mark.parametrize(
    ("expected", "holds"),
    [("a\n", True), ("b\n", True), ("a\nc\n", False), ("a\n...\nc\n", True), ("...c\n", True), ("d\n", False)],
)
def test_outputs_are_compared_by_line(expected: str, holds: bool) -> None:
    assert matches(expected, "a\nb\nabc\nc\n") == holds


def test_figures_may_be_left_open() -> None:
    printed = "pool l1 needs  1,344 bytes (66.4 %)\n"
    assert not matches("pool l1 needs 2 bytes (3.5 %)\n", printed)
    assert matches("pool l1 needs 2 bytes (3.5 %)\n", printed, any_figures=True)
    assert not matches("pool l2 needs 2 bytes\n", printed, any_figures=True)


def test_files_are_named_by_the_text_before() -> None:
    (block,) = blocks("Write this into `main.c`:\n\n```c\nint x;\n```\n")
    assert block == Block("c", "int x;\n", 3, {}, "main.c")
    assert block.file == "main.c"
