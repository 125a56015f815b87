"""The report as a page: one HTML file that draws its data with scripts of its own and needs no network."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from tilewright.base.resources import templates
from tilewright.plan import Plan
from tilewright.report.compared import compared
from tilewright.report.firmware_line import Firmware
from tilewright.report.measured import Measured
from tilewright.report.page import page_data
from tilewright.report.pages import rendered
from tilewright.report.timeline import timeline
from tilewright.report.verdict import verdict

_SCRIPTS = ("common.js", "maps.js", "layers.js", "timeline.js", "groups.js", "graph.js", "tiles.js")


def report_html(
    plan: Plan, measured: Measured | None = None, firmware: Firmware | None = None, other: Plan | None = None
) -> str:
    """The page as HTML text; the same plans, measured cycles and checked program give the same text.

    ``other`` is an older plan, or one of other options, with which the page compares.
    """
    data = page_data(plan, measured)
    data["compared"] = other and {"timeline": timeline(other), "labels": [layer.label for layer in other.layers]}
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
        has_nominal=any(layer["macs"] != layer["nominal_macs"] for layer in layers),
        style=_own(folder / "style.css"),
        scripts=[_own(folder / name) for name in _SCRIPTS],
        data=_embedded(data),
        verdict=verdict(data),
        firmware=firmware,
        csv=_csv(data),
        compared=other and compared(other, plan),
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


def _csv(data: dict[str, Any]) -> str:
    """The table of layers as the address of a CSV file: its text, quoted."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    columns = (
        "name",
        "label",
        "operator",
        "kernel",
        "function",
        "tiles",
        "macs",
        "nominal_macs",
        "moved",
        "compulsory",
    )
    unit = data["counter"]
    lines.writerow(("step", *columns, "predicted_cycles", f"measured_{unit}", f"kernel_{unit}", f"wait_{unit}"))
    for step, layer in enumerate(map(_row, data["layers"])):
        counts = (layer[key] for key in ("predicted", "measured", "measured_kernel", "measured_wait"))
        lines.writerow((step, *(layer[key] for key in columns), *counts))
    return f"data:text/csv;charset=utf-8,{quote(text.getvalue())}"


def _embedded(data: dict[str, Any]) -> Markup:
    """JSON text without "<", so that no string in it can end the script element around it."""
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return Markup(text)


def _breakable(name: str) -> Markup:
    """A name that the browser may break behind each of the signs _ / . : and ;."""
    return Markup("<wbr>").join(re.split(r"(?<=[_/.:;])", name))


def _own(path: Path) -> Markup:
    return Markup(path.read_text(encoding="utf-8").rstrip())
