"""Rendering of the package's templates by Jinja2, without HTML escapes."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from tilewright.base.resources import templates
from tilewright.report.compiled_templates import CompiledTemplates


def render(template: str, **values: Any) -> str:
    """The text of a template. Raises jinja2.UndefinedError for a name that ``values`` does not have."""
    text = _environment(templates()).get_template(template).render(**values)
    return re.sub(r"\n{3,}", "\n\n", text)


@cache
def _environment(folder: Path) -> jinja2.Environment:
    """The environment of Jinja2; cached, because compiling templates takes longer than planning a small model."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        bytecode_cache=CompiledTemplates(),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
