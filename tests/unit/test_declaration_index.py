"""The index of declarations against the files, and what a start reads by it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from tilewright.catalogue.operators import OPERATORS
from tilewright.kernels import index

SCRIPT = Path(__file__).parents[2] / "scripts/declaration_index.py"
READ = """
import sys
from tilewright.catalogue.operators import OPERATORS
assert OPERATORS["Conv"].name == "Conv" and "Gelu" in OPERATORS and len(OPERATORS) > 100
print(*(name for name in sys.modules if name.startswith(("tilewright.operators.", "tilewright.kernels."))))
"""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import declaration_index

    return declaration_index


def test_the_index_is_what_the_files_declare() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_changed_index_is_noticed(script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    changed = tmp_path / "index.py"
    changed.write_text(script.index_text().replace('"Gather", ', ""), encoding="utf-8")
    monkeypatch.setattr(script, "TARGET", changed)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--check"])
    assert script.main() == 1


def test_an_operator_of_two_files_is_refused(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    same = SimpleNamespace(OPERATORS=(SimpleNamespace(name="Gather"),))
    monkeypatch.setattr(script, "import_module", lambda name: same)
    with pytest.raises(SystemExit, match="declared twice: Gather"):
        script.index_text()


def test_every_operator_of_the_index_is_in_its_file() -> None:
    named = [name for names in index.OPERATORS.values() for name in names]
    assert [name for name in named if OPERATORS[name].name != name] == []
    assert list(OPERATORS) == named


def test_an_unknown_operator_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="Nothing"):
        OPERATORS["Nothing"]


def test_only_what_is_asked_for_is_read() -> None:
    done = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True)
    read = done.stdout.split()
    assert "tilewright.operators.conv" in read
    assert not {"tilewright.operators.recurrent", "tilewright.kernels.scalar.gelu"} & set(read)
