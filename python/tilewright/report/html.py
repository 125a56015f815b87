"""The report as a page: one HTML file that contains Plotly's script, so that the page needs no network."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tilewright.base.errors import bad_input
from tilewright.base.resources import templates
from tilewright.plan import Plan
from tilewright.report.measured import Measured
from tilewright.report.page import page_data
from tilewright.report.pages import rendered

_SCRIPTS = ("common.js", "maps.js", "layers.js", "graph.js", "tiles.js")


def report_html(plan: Plan, measured: Measured | None = None) -> str:
    """The page as HTML text; the same plan, measured cycles and version of Plotly give the same text.

    Raises bad_input ``no-plotly`` where Plotly is not installed.
    """
    data = page_data(plan, measured.layers if measured else None)
    data["counter"] = measured.counter if measured else "cycles"
    layers = data["layers"]
    known = [layer["measured_cycles"] for layer in layers if layer["measured_cycles"] is not None]
    folder = templates() / "report"
    return rendered(
        "page.html.j2",
        {"breakable": _breakable},
        report=data,
        rows=[_row(layer) for layer in layers],
        operators=sorted({layer["operator"] for layer in layers}),
        measured_cycles=sum(known) if known else None,
        style=_own(folder / "style.css"),
        scripts=[_own(folder / name) for name in _SCRIPTS],
        plotly=_plotly(),
        data=_embedded(data),
    )


def _row(layer: dict[str, Any]) -> dict[str, Any]:
    """A layer's entry of the report, with the columns that the table of layers shows."""
    cut = [f"{part['dimension']} {part['step']}/{part['extent']}" for part in layer["tile"]]
    shown = [text for text, part in zip(cut, layer["tile"], strict=True) if part["step"] < part["extent"]]
    return {
        **layer,
        "tile": ", ".join(shown) or "whole",
        "moved": sum(layer["link_bytes"].values()),
        "compulsory": sum(layer["compulsory_link_bytes"].values()),
        "predicted": layer["predicted_cycles"],
        "measured": layer["measured_cycles"],
    }


def _embedded(data: dict[str, Any]) -> Markup:
    """JSON text without "<", so that no string in it can end the script element around it."""
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return Markup(text)


def _breakable(name: str) -> Markup:
    """A name that the browser may break behind each of the signs _ / . : and ;."""
    return Markup("<wbr>").join(re.split(r"(?<=[_/.:;])", name))


def _own(path: Path) -> Markup:
    return Markup(path.read_text(encoding="utf-8").rstrip())


def _plotly() -> Markup:
    """Plotly's script, read from the files of its Python package; importing the package would be slow."""
    found = find_spec("plotly")
    folders = list(found.submodule_search_locations or ()) if found else []
    scripts = [Path(folder) / "package_data" / "plotly.min.js" for folder in folders]
    for script in scripts:
        if script.is_file():
            return Markup(script.read_text(encoding="utf-8").replace("</script", "<\\/script"))
    raise bad_input("no-plotly", "the report's page needs the Python package plotly", help="pip install plotly")
