"""The reference pages against the code: what they list is what there is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from tilewright.base import settings
from tilewright.base.errors import ExitStatus
from tilewright.cli import main
from tilewright.options import CompileOptions, read_options_file
from tilewright.plan import Runs, Wait
from tilewright.platform.types import PlatformFile

from docs import setups
from docs.pages import ROOT, blocks

REFERENCE = ROOT / "docs" / "reference"
GENERATOR = ROOT / "scripts" / "reference_pages.py"


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def words_of(text: str) -> set[str]:
    """The names in a page that stand in backticks."""
    quoted = re.findall(r"`([^`\n]+)`", text)
    return {word for words in quoted for word in re.findall(r"\w+", words)}


# Pages say nothing of the machine that prints them.
MANY_CORES = """
import os, runpy, sys
os.cpu_count = lambda: 61
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_generated_pages_are_what_the_code_says() -> None:
    command = [sys.executable, "-c", MANY_CORES, GENERATOR, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}scripts/reference_pages.py writes them anew"


def tables_below(kind: Any, title: str = "") -> Iterator[tuple[str, str]]:
    """Table and key of everything that can stand in a platform file."""
    for key in settings.keys_of(kind):
        inner = next((item for item in (key.item, key.type) if is_dataclass(item)), None)
        if inner is not None:
            yield from tables_below(inner, f"{title}.{key.name}".strip("."))
        elif not key.setting.is_name:
            yield title, key.name


def test_platform_keys() -> None:
    """Each key stands below its table, and nothing else does."""
    title, documented = "", []
    table = page("platform.md").partition("<!-- keys:")[2].partition("<!-- end of keys")[0]
    row = r"^\| (?:\*\*\[+([\w.]+)\]+\*\*|`(\w+)`) \| [^|]*\| [^|]*\| [^|]+\|$"
    for heading, key in re.findall(row, table, re.MULTILINE):
        title = heading or title
        documented += [] if heading else [(title, key)]
    assert len(documented) > 40
    assert sorted(documented) == sorted(tables_below(PlatformFile))


def test_keys_of_the_options_file() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", page("options.md"), re.MULTILINE)
    assert rows == [field.name for field in fields(CompileOptions)]


def signatures() -> Iterator[tuple[str, str, str]]:
    """Each public function: its name, the signature in its comment, and its body."""
    for path in sorted((ROOT / "cmake").glob("Tilewright*.cmake")):
        text = path.read_text(encoding="utf-8")
        pattern = r"#\[\[\n((?:(?!#\]\]).)*?)\n\n(?:(?!#\]\]).)*?#\]\]\nfunction\((tilewright_\w+)(.*?)\nendfunction"
        for comment, name, body in re.findall(pattern, text, re.DOTALL):
            yield name, comment, body


def test_keywords_of_cmake_functions() -> None:
    names = []
    for name, comment, body in signatures():
        call = re.search(r"cmake_parse_arguments\(\s*PARSE_ARGV \d\s+arg(.*?)\)", body, re.DOTALL)
        assert call is not None
        parsed = set(re.findall(r"[A-Z_]{2,}", call[1]))
        shown = re.findall(r"(?:[(\[|]|^| )([A-Z][A-Z_]+)(?=[ \])]|$)", comment, re.MULTILINE)
        assert {*shown} >= parsed, name
        names.append(name)
    assert len(names) >= 5
    overview = (ROOT / "cmake" / "Tilewright.cmake").read_text(encoding="utf-8")
    assert set(names) == set(re.findall(r"^  (tilewright_\w+)  ", overview, re.MULTILINE))
    assert set(names) <= words_of(page("cmake.md"))


def test_exit_statuses() -> None:
    line = next(line for line in page("cmake.md").splitlines() if line.startswith("Exit status"))
    assert set(map(int, re.findall(r"\b\d+\b", line))) == {*map(int, ExitStatus), 130}


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a small model with constants, one hidden tensor, and a lock."""
    folder = tmp_path_factory.mktemp("generated")
    setups.two_layers(folder / "kws.onnx")
    words = ["--model", str(folder / "kws.onnx"), "--platform", "host", "--name", "kws"]
    assert main(["plan", "--update", *words, "--plan-lock", str(folder / "kws.lock.json")]) == 0
    assert main(["generate", *words, "--output-dir", str(folder)]) == 0
    return folder


def keys_of(value: Any, below: frozenset[str]) -> Iterator[str]:
    """All keys of objects, but not below those whose keys are names of the model."""
    if isinstance(value, list):
        for item in value:
            yield from keys_of(item, below)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            if key not in below:
                yield from keys_of(item, below)


NAMES = frozenset({"files", "pools", "buffers", "link_bytes", "compulsory_link_bytes", "addresses", "tile", "slots"})


@pytest.mark.parametrize(
    ("file", "name"),
    [("kws_manifest.json", "cmake.md"), ("kws.lock.json", "cmake.md")],
)
def test_json_keys(generated: Path, file: str, name: str) -> None:
    content = json.loads((generated / file).read_text(encoding="utf-8"))
    assert set(keys_of(content, NAMES)) - {"sha256", "model", "options"} <= words_of(page(name))


@pytest.mark.parametrize("steps", [False, True])
def test_keys_of_the_report(generated: Path, steps: bool, capsys: pytest.CaptureFixture[str]) -> None:
    plan = str(generated / "kws_plan.json")
    assert main(["report", plan, "--format", "json", *(["--steps"] if steps else [])]) == 0
    content = json.loads(capsys.readouterr().out)
    layers = frozenset({"buffers", "link_bytes", "compulsory_link_bytes"})
    found = set(content) | set(keys_of(content["pools"], frozenset()))
    found |= set(keys_of(content["layers"], layers)) | set(keys_of(content["links"], frozenset()))
    assert found <= words_of(page("report.md"))


def test_keys_of_the_difference(generated: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = str(generated / "kws_plan.json")
    assert main(["diff", plan, plan, "--format", "json"]) == 0
    assert set(keys_of(json.loads(capsys.readouterr().out), frozenset())) <= words_of(page("report.md"))


def test_messages_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--diagnostics", "json", "check", "none.json"]) == 2
    assert set(json.loads(capsys.readouterr().err)) <= words_of(page("cmake.md"))


def test_generated_c(generated: Path) -> None:
    """Names in the block and the table of files of generated-c.md."""
    (block,) = blocks(page("generated-c.md"))
    header = (generated / "kws.h").read_text(encoding="utf-8")
    for name in re.findall(r"\b(?:KWS|kws)_\w+", block.text):
        assert re.search(rf"\b{name}\b", header), name
    rows = re.findall(r"^\| `(kws\w*\.\w+)` \|", page("generated-c.md"), re.MULTILINE)
    written = {path.name for path in generated.glob("kws*")} - {"kws.onnx", "kws.lock.json"}
    assert written <= {*rows, "kws_report.json"}


def test_plans_fit_their_schema(generated: Path) -> None:
    """Plans fit their schema; a plan with a misspelt key or an unknown step does not."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((REFERENCE / "plan.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    plan = json.loads((generated / "kws_plan.json").read_text(encoding="utf-8"))
    assert [error.message for error in validator.iter_errors(plan)] == []
    for spoilt in ({**plan, "plattform": "host"}, {**plan, "program": [{"step": "jump"}]}):
        assert not validator.is_valid(spoilt)


def test_steps_in_json() -> None:
    """The JSON block of plan.md is a wait step, and its keys are those of Wait and Runs."""
    (block,) = (block for block in blocks(page("plan.md")) if block.language == "json")
    step = json.loads(block.text)
    assert step["step"] == "wait"
    assert set(step) - {"step"} <= {field.name for field in fields(Wait)}
    assert set(step["runs"]) <= {field.name for field in fields(Runs)}


def test_tables_of_the_options_file(tmp_path: Path) -> None:
    """The TOML blocks of cmake.md can be read as options files, and show every table."""
    found: dict[str, Any] = {}
    path = tmp_path / "options.toml"
    for block in blocks(page("cmake.md")):
        if block.language == "toml":
            path.write_text(block.text, encoding="utf-8")
            found |= read_options_file(path)
    assert found["tiles"] == {"Conv_18": {"oc": 16, "oh": 4, "l2": {"oc": 64}}}
    assert set(found) == {"tiles", "buffers", "homes", "levels"}
