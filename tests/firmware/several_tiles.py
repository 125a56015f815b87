"""Checks, from a plan alone, that layers which cannot be whole in l1 are cut."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any


def are_cut(plan: dict[str, Any], l1_bytes: int) -> bool:
    """Whether the plan copies anything, and cuts each layer whose operands exceed l1; prints each layer's tiles."""
    operands = operand_bytes(plan)
    wrong = 0
    for layer in plan["layers"]:
        size, tiles = operands.get(layer["name"], 0), layer["tiles"]
        is_wrong = size > l1_bytes and tiles < 2
        wrong += is_wrong
        sys.stdout.write(f"{layer['name']}: {size:,} bytes, {tiles} tiles{' TOO FEW' if is_wrong else ''}\n")
    if not any(operands.values()):
        sys.stdout.write("nothing is copied\n")
    return not wrong and any(operands.values())


def operand_bytes(plan: dict[str, Any]) -> dict[str, int]:
    """Bytes, by layer, of the whole buffers that its copies move tile by tile."""
    buffers = {buffer["name"]: buffer for buffer in plan["buffers"]}
    sizes = {}
    for layer in (step for step in plan["program"] if step["step"] == "layer"):
        copies = [step for step in walk(layer["body"]) if step["step"] == "copy_start"]
        names = {side["buffer"] for copy in copies for side in (copy["source"], copy["destination"])}
        homes = [buffers[name]["size_bytes"] for name in names if buffers[name]["kind"] != "tile"]
        sizes[layer["name"]] = sum(homes)
    return sizes


def walk(steps: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for step in steps:
        yield step
        yield from walk(step.get("body", []))
