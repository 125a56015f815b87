"""A verdict as text and as JSON."""

from __future__ import annotations

import json

from tilewright.firmware.check_image import Verdict
from tilewright.firmware.chip_memory import ChipMemory
from tilewright.firmware.findings import CheckedModel


def verdict_text(verdict: Verdict) -> str:
    """Lines for a log: what the program takes of the chip, and what agrees of each model."""
    return "".join((f"{memory_line(verdict.memory)}\n", *(_agreed(model) for model in verdict.models)))


def memory_line(memory: ChipMemory) -> str:
    """RAM and flash by use, and the bytes left of each region, on one line."""
    ram = f"pools {memory.pools:,}, stack of a run {memory.stack:,}, other data {memory.static:,}"
    flash = f"code of models {memory.code:,}, constants {memory.constants:,}, other {memory.other:,}"
    left = ", ".join(f"{name} {free:,} of {size:,}" for name, size, free in memory.left)
    line = f"chip: RAM {memory.ram:,} bytes ({ram}), flash {memory.flash:,} ({flash})"
    return f"{line}; left: {left}" if left else line


def _agreed(model: CheckedModel) -> str:
    plan, calls = model.plan, model.calls
    lines = [f"{plan.name}: the program is the plan's"]
    for place in model.pools:
        section = f" in {place.section}" if place.section else ""
        label = place.symbol or "address of the plan"
        lines.append(f"  pool {place.pool}: {label} at {place.address:#x}, {place.size_bytes:,} bytes{section}")
    lines.append(f"  constants: {model.constants} with the bytes that the plan names")
    chain = " > ".join(f"{name} {size}" for name, size in calls.deepest)
    lines.append(
        f"  stack: {calls.root.name} takes at most {calls.stack_bytes:,} of {plan.stack_bytes:,} bytes: {chain}"
    )
    for core in model.cores:
        inner = core.calls.deepest[min(1, len(core.calls.deepest) - 1)][0]
        lines.append(f"  stack of {core.who}: at most {core.stack_bytes:,} bytes, with {inner}")
    if model.instructions is not None:
        lines.append(f"  time: {plan.name}_run takes at most {model.instructions:,} instructions")
    return "".join(f"{line}\n" for line in lines)


def verdict_json(verdict: Verdict) -> str:
    """A verdict as JSON text, for other programs to read."""
    document = {
        "agrees": not verdict.findings,
        "findings": [
            {
                "rule": finding.rule,
                "symbol": finding.symbol,
                "address": finding.address,
                "expected": finding.expected,
                "found": finding.found,
            }
            for finding in verdict.findings
        ],
        "memory": {
            "line": memory_line(verdict.memory),
            **verdict.memory.amounts(),
            "pools": verdict.memory.pools,
            "static": verdict.memory.static,
            "other": verdict.memory.other,
            "left": [
                {"region": name, "size_bytes": size, "left_bytes": free} for name, size, free in verdict.memory.left
            ],
        },
        "models": [_model(model) for model in verdict.models],
    }
    return json.dumps(document, indent=2) + "\n"


def _model(model: CheckedModel) -> dict[str, object]:
    return {
        "name": model.plan.name,
        "pools": [
            {
                "pool": place.pool,
                "symbol": place.symbol,
                "address": place.address,
                "size_bytes": place.size_bytes,
                "section": place.section,
            }
            for place in model.pools
        ],
        "constants": model.constants,
        "stack_bytes": model.calls.stack_bytes,
        "stack_limit_bytes": model.plan.stack_bytes,
        **({"cores": {core.who: core.stack_bytes for core in model.cores}} if model.cores else {}),
        **({"instructions": model.instructions} if model.instructions is not None else {}),
        "deepest": [{"function": name, "frame_bytes": size} for name, size in model.calls.deepest],
    }
