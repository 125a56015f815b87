"""Measured cycles of each layer beside the plan's prediction: from the output of a profiled program to JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from tilewright.base.errors import bad_input
from tilewright.plan import LayerFacts, Plan
from tilewright.platform import Platform

PROFILE_FORMAT = 1
COLUMNS = ("cycles", "kernel_cycles", "wait_cycles", "copied_bytes")
"""Members of struct tilewright_profile, in the order of the printed table; MACs and the layer's name follow."""

_LINE = re.compile(r"profile (?P<model>\w+)(?P<numbers>(?: +[0-9]+){5})  (?P<layer>.*)")


def profile_json(plan: Plan, platform: Platform, lines: Iterable[str]) -> str:
    """A model's profile as JSON text, with a trailing newline; docs/reference/profile.md describes the keys.

    ``lines`` are the program's output without line ends; of several tables of the model the last counts.
    Raises bad_input ``profile-lines`` where the output has no table of the model, or a table of other layers.
    """
    counter = platform.simulator.counter.value if platform.simulator is not None else "cycles"
    rows = _tables(lines).get(plan.name, [])
    _require_layers(plan, rows)
    content = {
        "format": PROFILE_FORMAT,
        "name": plan.name,
        "model": plan.model,
        "platform": platform.name,
        "cores": plan.core.count,
        "counter": counter,
        "predicted_cycles": sum(layer.predicted_cycles for layer in plan.layers),
        "cycles": sum(row[0] for row in rows),
        "layers": [_layer(layer, row) for layer, row in zip(plan.layers, rows, strict=True)],
    }
    return json.dumps(content, indent=1) + "\n"


def _tables(lines: Iterable[str]) -> dict[str, list[tuple[int, ...]]]:
    """Model to the rows of its last complete table."""
    tables: dict[str, list[tuple[int, ...]]] = {}
    rows: dict[str, list[tuple[int, ...]]] = {}
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        if match["layer"] == "(all layers)":
            tables[match["model"]] = rows.pop(match["model"], [])
        else:
            rows.setdefault(match["model"], []).append(tuple(map(int, match["numbers"].split())))
    return tables


def _require_layers(plan: Plan, rows: Sequence[tuple[int, ...]]) -> None:
    macs = [row[len(COLUMNS)] for row in rows]
    if plan.profile is not None and macs == [layer.macs for layer in plan.layers]:
        return
    what = f"the program printed {len(rows)} layers of '{plan.name}'; its plan has {len(plan.layers)} others"
    if not rows:
        what = f"the program printed no profile of '{plan.name}'"
    raise bad_input("profile-lines", what, help="compile the model with PROFILE, and print its table after a run")


def _layer(layer: LayerFacts, row: tuple[int, ...]) -> dict[str, Any]:
    return {
        "name": layer.name,
        "label": layer.label or layer.name,
        "operator": layer.operator,
        "kernel": layer.kernel,
        "macs": layer.macs,
        "tiles": layer.tiles,
        "slots": max((slots for _, slots in layer.copies), default=0),
        "predicted_cycles": layer.predicted_cycles,
        "predicted_bytes": sum(size for _, size in layer.link_bytes),
        **dict(zip(COLUMNS, row[: len(COLUMNS)], strict=True)),
        "work": asdict(layer.work) if layer.work is not None else None,
    }
