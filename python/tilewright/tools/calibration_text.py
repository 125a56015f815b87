"""Fitted constants written into the text of a platform file; everything else stays as it is.

Before:  [[link]] ... setup_cycles = 40 ...          no [cost]
After:   [[link]] ... setup_cycles = 212 ...         [cost] tile_cycles = 310.5 ... at the end
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields

from tilewright.platform.costs import Costs
from tilewright.tools.calibrate import Fitted, LinkCost

_HEADER = re.compile(r"\s*\[+\s*(?P<name>[^\]]+?)\s*\]+\s*(#.*)?")
_ENDS = re.compile(r"\s*(?P<key>from|to)\s*=\s*[\"'](?P<pool>[^\"']+)[\"']")
_ALWAYS = ("call_cycles", "factor")
_KEYS = ("bytes_per_cycle", "setup_cycles", "line_cycles")


def with_constants(text: str, fitted: Fitted) -> str:
    """The platform file's text with the constants of links and of [cost] replaced."""
    blocks = _blocks(text)
    kept = [_with_link(block, fitted.links) for block in blocks if not _is_cost(block)]
    return "".join(kept).rstrip("\n") + "\n\n" + cost_text(fitted.costs)


def cost_text(costs: Costs) -> str:
    """The text of the tables [cost] and [cost.kernels]."""
    lines = ["# Measured: docs/how-to/calibrate.md.", "[cost]"]
    lines += [f"{key}_cycles = {getattr(costs, f'{key}_cycles')!r}" for key in ("layer", "tile", "fork", "row")]
    lines += ["", "[cost.kernels]"]
    for name, cost in costs.kernels:
        given = [field for field in fields(cost) if field.name in _ALWAYS or getattr(cost, field.name) != field.default]
        lines.append(f"{name} = {{ {', '.join(f'{field.name} = {getattr(cost, field.name)!r}' for field in given)} }}")
    return "\n".join(lines) + "\n"


def _blocks(text: str) -> list[str]:
    """The text cut into one piece per table; the comments directly above a header belong to its table."""
    blocks: list[list[str]] = [[]]
    comments: list[str] = []
    for line in text.splitlines(keepends=True):
        if line.strip().startswith("#"):
            comments.append(line)
            continue
        if _HEADER.fullmatch(line.rstrip("\n")):
            blocks.append([])
        blocks[-1] += [*comments, line]
        comments = []
    return ["".join(block) for block in [*blocks[:-1], [*blocks[-1], *comments]]]


def _header(block: str) -> str:
    lines = (line for line in block.splitlines() if line.strip() and not line.strip().startswith("#"))
    match = _HEADER.fullmatch(next(lines, ""))
    return match["name"] if match else ""


def _is_cost(block: str) -> bool:
    return _header(block).split(".")[0].strip() == "cost"


def _with_link(block: str, links: Mapping[str, LinkCost]) -> str:
    ends = {match["key"]: match["pool"] for match in map(_ENDS.match, block.splitlines()) if match}
    cost = links.get(f"{ends.get('from')}->{ends.get('to')}")
    if _header(block) != "link" or cost is None:
        return block
    values = (repr(cost.bytes_per_cycle), str(round(cost.setup_cycles)), str(round(cost.line_cycles)))
    for key, value in zip(_KEYS, values, strict=True):
        line = re.compile(rf"^\s*{key}\s*=.*$", re.MULTILINE)
        if line.search(block):
            block = line.sub(f"{key} = {value}", block, count=1)
        else:
            block = block.rstrip("\n") + f"\n{key} = {value}\n\n"
    return block
