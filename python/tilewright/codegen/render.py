"""Jinja2, set up once: strict, without HTML escapes, templates from the shipped folder."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from tilewright.base.resources import templates


def render(template: str, **values: Any) -> str:
    """The text of a template; an undefined name is an error."""
    text = _environment(templates()).get_template(template).render(**values)
    return re.sub(r"\n{3,}", "\n\n", text)


@cache
def _environment(folder: Path) -> jinja2.Environment:
    """Kept, because compiling the templates takes longer than planning a small model."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
