"""Puts this folder on the import path; golden files; skips that fail CI; warm starts; simulators of pulp-open."""

from __future__ import annotations

import difflib
import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import warm_tool
from support.gvsoc import PLATFORM, needs_gvsoc
from support.interpreted import WAYS, interpreted, needs_interpreter
from support.skips import unexpected
from tilewright.platform import Platform

UPDATE = "--update-golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(UPDATE, action="store_true", help="write golden files anew; look at the difference")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption(UPDATE) and os.environ.get("CI"):
        raise pytest.UsageError(f"{UPDATE} is not for continuous integration")


def pytest_collection_finish() -> None:
    """What was imported and collected lives to the end: each look for unused cycles would walk over it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In continuous integration a skip that tests/support/skips.py does not allow fails the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not os.environ.get("CI") or reporter is None or hasattr(session.config, "workerinput"):
        return
    skipped = [(report.nodeid, str(report.longrepr)) for report in reporter.stats.get("skipped", ())]
    lines = unexpected(skipped)
    if lines:
        reporter.section("skips that continuous integration does not expect (tests/support/skips.py)", red=True)
        for line in lines:
            reporter.line(line)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compares a text with a file, or writes the file."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption(UPDATE):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        expected = path.read_text(encoding="utf-8") if path.exists() else ""
        difference = difflib.unified_diff(expected.splitlines(), text.splitlines(), str(path), "generated", lineterm="")
        lines = "\n".join(difference)
        assert expected == text, f"{lines}\n{UPDATE} writes the file anew"

    return compare


@pytest.fixture(scope="session")
def warm_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An interpreter that has imported Tilewright before it is started; for tests of what a start does, not of it."""
    with warm_tool.listening(tmp_path_factory.mktemp("warm")) as program:
        yield program


@pytest.fixture(
    params=[
        pytest.param(None, id="GVSoC", marks=needs_gvsoc),
        *(pytest.param(way, id=way, marks=needs_interpreter) for way in WAYS),
    ]
)
def pulp_open(request: pytest.FixtureRequest) -> Platform:
    """pulp-open in each simulator: in GVSoC, and in the interpreter with several orders of harts and copies."""
    return PLATFORM if request.param is None else interpreted(*WAYS[request.param])
