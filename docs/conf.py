# SPDX-License-Identifier: Apache-2.0
"""The documentation as a site: ``make docs``, or sphinx-build -W docs <folder>."""

import re
from pathlib import Path
from typing import Any

project = "Tilewright"
version = release = re.findall(
    r'^__version__ = "(.*)"',
    (Path(__file__).parents[1] / "python" / "tilewright" / "__init__.py").read_text(encoding="utf-8"),
    re.MULTILINE,
)[0]
extensions = ["myst_parser"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"Tilewright {version}"
html_copy_source = False
exclude_patterns: list[str] = []
# Directives of the tests in tests/docs have words that no lexer knows.
highlight_language = "none"


def _reach_by_table(app: object, name: str, source: list[str]) -> None:
    """Pages of single operators are reached from the table of all, not from the list at the side."""
    del app
    if name.startswith("reference/operators/"):
        source[0] = f"---\norphan: true\n---\n{source[0]}"


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _reach_by_table)
