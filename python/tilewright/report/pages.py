"""Renders the templates of pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jinja2

from tilewright.base.resources import templates
from tilewright.report.compiled_templates import CompiledTemplates


def rendered(template: str, filters: Mapping[str, Callable[..., Any]] | None = None, /, **values: Any) -> str:
    """A template of ``templates/report`` with its values; texts are escaped for HTML, unknown names are errors.

    ``filters`` are functions of the template beside those of Jinja, by name.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates() / "report"),
        bytecode_cache=CompiledTemplates(),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=True,
    )
    environment.filters |= filters or {}
    return environment.get_template(template).render(**values)
