"""The report as a fragment of HTML that notebooks show below a cell: pools, links and layers as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jinja2

from tilewright.base.resources import templates


def notebook_html(data: Mapping[str, Any]) -> str:
    """``report_data`` as HTML tables; styles are the notebook's own."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates() / "report"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    return environment.get_template("notebook.html.j2").render(report=data)
