"""Puts this folder on the import path, so that tests share tests/support; golden files."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

UPDATE = "--update-golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(UPDATE, action="store_true", help="write golden files anew; look at the difference")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption(UPDATE) and os.environ.get("CI"):
        raise pytest.UsageError(f"{UPDATE} is not for continuous integration")


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
