"""Two plans in one page: the numbers and layers that the second one changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tilewright.plan import Plan
from tilewright.report.diff import change, diff_data, shown_facts


def compared(old: Plan, new: Plan) -> dict[str, Any]:
    """The texts of the tables: a row for cycles, each pool and each link, and the layers that differ."""
    data = diff_data(old, new)
    labels = {layer.name: layer.label or layer.name for plan in (old, new) for layer in plan.layers}
    return {
        "name": old.name,
        "model": old.model,
        "platform": old.platform,
        "model_sha256": old.model_sha256,
        "same_program": data["same_program"],
        "rows": list(_rows(data)),
        "layers": [
            {
                "name": item["name"],
                "label": labels[item["name"]],
                "change": item["change"],
                "shown": shown_facts(item) or "-",
            }
            for item in data["layers"]
        ],
    }


def _rows(data: dict[str, Any]) -> Iterator[dict[str, str]]:
    """A row for cycles, each pool and each link; pools and links that neither plan uses are left out."""
    yield _row("predicted cycles", data["predicted_cycles"])
    for pool in data["pools"]:
        if any(pool["used_bytes"]):
            yield _row(f"bytes of {pool['name']}", pool["used_bytes"])
    for link in data["links"]:
        if any(link["bytes"]):
            yield _row(f"bytes over {link['name'].replace('->', ' → ')}", link["bytes"])


def _row(what: str, pair: Sequence[int | None]) -> dict[str, str]:
    old, new, text = change(pair)
    sign = "" if text == "=" else "less" if text.startswith("-") else "more"
    return {"what": what, "old": old, "new": new, "change": text, "sign": sign}
