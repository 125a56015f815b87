"""Checks, from a plan alone, that layers which cannot be whole in l1 are cut.

    python several_tiles.py PLAN.json --bytes SIZE

Prints each layer's tiles. Exit status 1 if a layer whose operands take more than SIZE bytes
together has one tile, or if the plan copies nothing at all. Needs no more than Python.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("plan", type=Path)
    parser.add_argument("--bytes", type=int, required=True)
    arguments = parser.parse_args()
    plan = json.loads(arguments.plan.read_text(encoding="utf-8"))
    operands = operand_bytes(plan)
    wrong = 0
    for layer in plan["layers"]:
        size, tiles = operands.get(layer["name"], 0), layer["tiles"]
        is_wrong = size > arguments.bytes and tiles < 2
        wrong += is_wrong
        sys.stdout.write(f"{layer['name']}: {size:,} bytes, {tiles} tiles{' TOO FEW' if is_wrong else ''}\n")
    if not any(operands.values()):
        sys.stdout.write("nothing is copied\n")
    return 1 if wrong or not any(operands.values()) else 0


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


if __name__ == "__main__":
    sys.exit(main())
