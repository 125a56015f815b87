"""``tilewright example``: projects that configure without the source tree around them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.firmware import needs_host_compiler
from tilewright.base import resources
from tilewright.cli.main import main


def test_all_are_listed_with_what_they_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["example"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {"digits", "wake-word", "own-operator"} <= {line.split()[0] for line in lines}
    assert "wake-word     Listens to a stored recording, one frame at a time, and says when it hears the word." in lines


@needs_host_compiler
def test_a_project_is_complete(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "my project"
    assert main(["example", "digits", "--output-dir", str(folder)]) == 0
    assert "ctest --test-dir" in capsys.readouterr().out
    assert "find_package(Tilewright REQUIRED)" in (folder / "CMakeLists.txt").read_text(encoding="utf-8")
    toolchain = resources.cmake() / "toolchains" / "riscv64-unknown-elf-gcc.cmake"
    words = [f"-DTilewright_DIR={resources.cmake()}", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}"]
    command = ["cmake", "-S", folder, "-B", tmp_path / "build", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_misuse_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["example", "digit", "--output-dir", str(tmp_path / "new")]) == 2
    assert "did you mean 'digits'?" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    (tmp_path / "main.c").write_text("mine", encoding="utf-8")
    assert main(["example", "digits", "--output-dir", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert (tmp_path / "main.c").read_text(encoding="utf-8") == "mine"
