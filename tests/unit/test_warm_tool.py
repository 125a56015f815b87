"""The interpreter that tests start instead of Python does what Python does, and says when nobody listens."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import warm_tool
from support.firmware import needs_host_compiler

MODEL = Path(__file__).parents[1] / "firmware" / "models" / "float_mixture" / "network.onnx"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
pytestmark = needs_host_compiler


def run(program: str | Path, words: list[str], folder: Path, **options: str) -> tuple[int, str, str]:
    """Exit status and both outputs."""
    done = subprocess.run(
        [program, *words], cwd=folder, env=CLEAN, capture_output=True, text=True, check=False, **options
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["plan", "--model", str(MODEL), "--platform", "host", "--output", "plan.json"], 0),
        (["plan", "--model", "none.onnx", "--platform", "host"], 2),
        (["plan", "--model", str(MODEL), "--platform", "qemu-virt-rv32f", "--pool", "l1=64"], 3),
        (["plan", "--help"], 0),
        (["no-command"], 2),
    ],
)
def test_a_warm_start_does_what_a_start_does(words: list[str], status: int, warm_python: Path, tmp_path: Path) -> None:
    results, files = [], []
    for name, program in (("cold", sys.executable), ("warm", warm_python)):
        folder = tmp_path / name
        folder.mkdir()
        results.append(run(program, ["-m", "tilewright", *words], folder))
        files.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert results[0] == results[1]
    assert results[0][0] == status
    assert files[0] == files[1]


def test_standard_input_is_the_callers(warm_python: Path, tmp_path: Path) -> None:
    words = ["-m", "tilewright", "report", "/dev/stdin"]
    results = [run(program, words, tmp_path, input="{") for program in (sys.executable, warm_python)]
    assert results[0] == results[1]
    assert "not valid JSON" in results[0][2]


def test_the_callers_folder_and_path_are_searched_for_modules(warm_python: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("raise SystemExit('found')\n", encoding="utf-8")
    words = ["-m", "tilewright", "plan", "--model", str(MODEL), "--platform", "host", "--algorithm", "mine:place"]
    results = [run(program, words, tmp_path) for program in (sys.executable, warm_python)]
    assert results[0] == results[1]
    assert results[0][2] == "found\n"


def test_other_programs_and_variables_go_to_the_interpreter(warm_python: Path, tmp_path: Path) -> None:
    shown = run(warm_python, ["-c", "import sys; print(sys.executable, 'tilewright' in sys.modules)"], tmp_path)
    assert shown == (0, f"{sys.executable} False\n", "")
    command = [warm_python, "-m", "tilewright", "--version"]
    done = subprocess.run(
        command, env={**CLEAN, "PYTHONVERBOSE": "1"}, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert "import 'tilewright" in done.stderr


def test_where_nobody_listens_the_interpreter_starts(tmp_path: Path) -> None:
    program = warm_tool.make(tmp_path / "silent")
    assert run(program, ["-m", "tilewright", "--version"], tmp_path)[0] == 0
    (tmp_path / "silent" / "interpreter").write_text("/nonexistent/python\n", encoding="utf-8")
    assert run(program, ["-m", "tilewright", "--version"], tmp_path)[0] == 125


def test_a_process_in_the_background_ends_when_it_is_asked(tmp_path: Path) -> None:
    folder = tmp_path / "stays"
    assert run(sys.executable, [warm_tool.__file__, "start", str(folder)], tmp_path)[0] == 0
    (folder / "interpreter").write_text("/nonexistent/python\n", encoding="utf-8")
    assert run(folder / "python", ["-m", "tilewright", "--version"], tmp_path)[0] == 0
    done = run(sys.executable, [warm_tool.__file__, "end", str(folder)], tmp_path)
    assert "s of CPU in warm starts" in done[1]
    assert run(folder / "python", ["-m", "tilewright", "--version"], tmp_path)[0] == 125
