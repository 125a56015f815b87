"""The report as a fragment of HTML that notebooks show below a cell: pools, links and layers as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.report.pages import rendered


def notebook_html(data: Mapping[str, Any]) -> str:
    """``report_data`` as HTML tables; styles are the notebook's own."""
    return rendered("notebook.html.j2", report=data)
