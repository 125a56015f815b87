"""The differences between two plans: bytes of pools, bytes over links, layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.plan import Plan
from tilewright.report.data import report_data
from tilewright.report.text import shorten, table

DIFF_FORMAT = 1
_POOL_NUMBERS = ("used_bytes", "lower_bound_bytes", "capacity_bytes")
_LINK_NUMBERS = ("bytes", "copies")
_LAYER_FACTS = ("kernel", "tile", "buffers", "link_bytes", "predicted_cycles")


def diff_data(old: Plan, new: Plan) -> dict[str, Any]:
    """The differences as data: pools and links with [old, new] numbers, None where absent; sizes are bytes.

    A layer that differs is ``added``, ``removed``, ``changed``, or ``moved`` (the same facts at another place
    in the order).
    """
    before, after = report_data(old), report_data(new)
    return {
        "format": DIFF_FORMAT,
        "old": {"name": old.name, "model_sha256": old.model_sha256, "platform": old.platform},
        "new": {"name": new.name, "model_sha256": new.model_sha256, "platform": new.platform},
        "pools": _numbers(before["pools"], after["pools"], _POOL_NUMBERS),
        "links": _numbers(before["links"], after["links"], _LINK_NUMBERS),
        "predicted_cycles": [before["predicted_cycles"], after["predicted_cycles"]],
        "layers": _layers(before["layers"], after["layers"]),
        "same_program": (old.program, old.buffers, old.placements) == (new.program, new.buffers, new.placements),
    }


def diff_text(old: Plan, new: Plan) -> str:
    """The differences as tables of text, with a trailing newline."""
    data = diff_data(old, new)
    pools = [(item["name"], *change(item["used_bytes"])) for item in data["pools"]]
    links = [(item["name"], *change(item["bytes"])) for item in data["links"]]
    parts = ["Pools (bytes)\n" + table(("pool", "old", "new", "change"), pools)]
    if links:
        parts.append("Links (bytes in one inference)\n" + table(("link", "old", "new", "change"), links))
    cycles = [("all layers", *change(data["predicted_cycles"]))]
    parts.append("Predicted cycles\n" + table(("", "old", "new", "change"), cycles))
    if data["layers"]:
        rows = [(shorten(item["name"]), item["change"], shown_facts(item)) for item in data["layers"]]
        parts.append("Layers that differ\n" + table(("layer", "", "old -> new"), rows, 3))
    else:
        same = "The programs are the same." if data["same_program"] else "Layers are the same; addresses differ."
        parts.append(same)
    return "\n\n".join(parts) + "\n"


def _numbers(
    before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]], keys: Sequence[str]
) -> list[dict[str, Any]]:
    old, new = ({item["name"]: item for item in items} for items in (before, after))
    return [
        {"name": name, **{key: [old.get(name, {}).get(key), new.get(name, {}).get(key)] for key in keys}}
        for name in dict.fromkeys((*old, *new))
    ]


def _layers(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    old, new = ({item["name"]: item for item in items} for items in (before, after))
    kept_old, kept_new = [name for name in old if name in new], [name for name in new if name in old]
    moved = {name for name, other in zip(kept_old, kept_new, strict=True) if name != other}
    found = []
    for name in dict.fromkeys((*old, *new)):
        if name not in old or name not in new:
            found.append({"name": name, "change": "removed" if name in old else "added", "facts": {}})
            continue
        facts = {key: [old[name][key], new[name][key]] for key in _LAYER_FACTS if old[name][key] != new[name][key]}
        if facts or name in moved:
            found.append({"name": name, "change": "changed" if facts else "moved", "facts": facts})
    return found


def change(pair: Sequence[int | None]) -> tuple[str, str, str]:
    """The old number, the new one and the difference as texts; ``=`` where there is none."""
    old, new = pair
    shown = ["-" if value is None else f"{value:,}" for value in pair]
    more = (new or 0) - (old or 0)
    share = f" ({100 * more / old:+.1f} %)" if old and more else ""
    return shown[0], shown[1], f"{more:+,}{share}" if more else "="


def shown_facts(layer: dict[str, Any]) -> str:
    """What differs in a layer, old and new; empty where nothing but its place does."""
    texts = []
    for key, (old, new) in layer["facts"].items():
        if key == "tile":
            texts.append(f"tile {_tile(old)} -> {_tile(new)}")
        elif key in ("link_bytes", "buffers"):
            label = "moved" if key == "link_bytes" else "slots"
            texts.append(f"{label} {sum(old.values()):,} -> {sum(new.values()):,}")
        else:
            texts.append(f"{old:,} -> {new:,} cycles" if key == "predicted_cycles" else f"{old} -> {new}")
    return "; ".join(texts)


def _tile(parts: Sequence[dict[str, Any]]) -> str:
    cut = [f"{part['dimension']} {part['step']}/{part['extent']}" for part in parts if part["step"] < part["extent"]]
    return ", ".join(cut) or "whole"
