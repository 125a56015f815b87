"""What the report's page says first: whether the model fits, what decides, how long it takes, and what comes next.

Before:  report_data of a plan
After:   {"state": "fits", "sentence": "...", "memory": [RAM, flash], "cycles_per_mac": 2.98, "steps": [...]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

WORTH = 0.95
"""A next choice is shown if it takes at most this share of the plan's bytes or cycles."""

Report = Mapping[str, Any]


def verdict(report: Report) -> dict[str, Any]:
    """The verdict on ``report_data``; sizes are bytes, shares per cent (None where nothing limits a pool)."""
    pools = report["pools"]
    state, sentence = _fit(pools)
    macs, cycles = report["macs"], report["predicted_cycles"]
    return {
        "state": state,
        "sentence": sentence,
        "memory": [_memory("RAM", pools, "rw"), _memory("flash", pools, "ro")],
        "decides": _decides(report),
        "cycles_per_mac": cycles / macs if macs else None,
        "steps": _steps(report["front"]),
    }


def _fit(pools: Sequence[Report]) -> tuple[str, str]:
    """``no``, ``beside`` (only if the caller's buffers lie elsewhere) or ``fits``, and a sentence for people."""
    limited = [pool for pool in pools if pool["capacity_bytes"] is not None]
    over = _names(pool for pool in limited if pool["used_bytes"] > pool["capacity_bytes"])
    if over:
        return "no", f"Does not fit: {over} would have to be larger."
    beside = _names(pool for pool in limited if pool["with_io_bytes"] > pool["capacity_bytes"])
    if beside:
        return "beside", f"Fits where the caller's inputs and outputs lie elsewhere: {beside} has no room for them too."
    if not limited:
        return "fits", "Fits: no pool has a limit."
    return "fits", "Fits."


def _names(pools: Any) -> str:
    return ", ".join(pool["name"] for pool in pools)


def _memory(title: str, pools: Sequence[Report], access: str) -> dict[str, Any]:
    """The pools of RAM or flash with what each takes of its capacity; pools that nothing uses are left out."""
    rows = [
        {
            "name": pool["name"],
            "used_bytes": pool["used_bytes"],
            "capacity_bytes": pool["capacity_bytes"],
            "percent": 100 * pool["used_bytes"] / pool["capacity_bytes"] if pool["capacity_bytes"] else None,
        }
        for pool in pools
        if pool["access"] == access and pool["used_bytes"]
    ]
    return {"title": title, "used_bytes": sum(row["used_bytes"] for row in rows), "pools": rows}


def _decides(report: Report) -> list[dict[str, str]]:
    """For each pool that is written: the layer at its peak, and whether fewer bytes are possible there."""
    labels = report["labels"]["layers"]
    found = []
    for pool in report["pools"]:
        layer = (pool["peak"] or {}).get("layer")
        if pool["access"] != "rw" or not layer:
            continue
        room = "no placement takes less" if pool["optimal"] else f"{pool['gap_bytes']:,} bytes above the lower bound"
        found.append({"pool": pool["name"], "layer": labels.get(layer, layer), "room": room})
    return found


def _steps(front: Sequence[Report]) -> list[dict[str, Any]]:
    """The next choice of groups of fewer bytes and of fewer cycles, each beside what the plan takes."""
    taken = next((at for at, item in enumerate(front) if item["taken"]), None)
    if taken is None:
        return []
    now = front[taken]
    steps = []
    for title, key, others in (("smaller", "bytes", front[taken + 1 :]), ("faster", "cycles", front[taken - 1 :: -1])):
        others = others if title == "smaller" or taken else []
        better = [item for item in others if item[key] < now[key]]
        step = next((item for item in better if item[key] <= WORTH * now[key]), better[-1] if better else None)
        if step is not None:
            steps.append({"title": title, **_against(step, now)})
    return steps


def _against(step: Report, now: Report) -> dict[str, Any]:
    shares = {f"{key}_percent": 100 * (step[key] / now[key] - 1) if now[key] else 0.0 for key in ("bytes", "cycles")}
    return {"bytes": step["bytes"], "cycles": step["cycles"], **shares}
