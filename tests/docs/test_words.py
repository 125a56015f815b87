"""Commands, files and keywords of CMake functions that pages mention are there."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from tilewright.cli import main

from docs.pages import ROOT, pages

TOP = (
    "benchmarks",
    "cmake",
    "docs",
    "examples",
    "platforms",
    "python",
    "runtime",
    "scripts",
    "templates",
    "tests",
    "zephyr",
)
PAGES = [*pages(), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md"]
NEWCOMERS = ROOT / "docs" / "explanation" / "coming-from-deeploy-or-tvm.md"


def quoted() -> Iterator[tuple[str, str]]:
    """Every text in backticks, with its page."""
    for page in PAGES:
        for text in re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8")):
            yield str(page.relative_to(ROOT)), text


def test_commands_are_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    known = set(re.findall(r"^    (\S+)  ", capsys.readouterr().out, re.MULTILINE))
    assert {"generate", "plan", "report"} <= known
    scripts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "runtime" / "gdb").glob("*.py"))
    known |= set(re.findall(r"\"tilewright (\w+)\"", scripts))
    unknown = [
        (page, text)
        for page, text in quoted()
        if (word := re.match(r"tilewright ([a-z][a-z-]*)(?= |$)", text)) and word[1] not in known
    ]
    assert unknown == []


def test_files_are_files() -> None:
    missing = []
    for page, text in quoted():
        found = re.fullmatch(rf"(?:{'|'.join(TOP)})/[\w./*-]+?", text)
        if found and not list(ROOT.glob(text.rstrip("/"))):
            missing.append((page, text))
    assert missing == []


def test_keywords_of_the_newcomers_page() -> None:
    """Its third column speaks of this project; words in capitals are keywords, macros or names there."""
    sources = [*(ROOT / "cmake").glob("*.cmake"), *(ROOT / "python").rglob("*.py")]
    known = set(re.findall(r"[A-Z_]{4,}", "".join(path.read_text(encoding="utf-8") for path in sources)))
    rows = [line.split("|") for line in NEWCOMERS.read_text(encoding="utf-8").splitlines() if line.count("|") == 4]
    words = {
        word
        for row in rows
        for text in re.findall(r"`([^`]+)`", row[3])
        for word in re.findall(r"\b[A-Z_]{4,}\b", text)
    }
    assert len(words) > 8
    assert {word for word in words if not word.startswith("_")} <= known
