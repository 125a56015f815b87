"""The report as data, computed from the plan alone; docs/reference/report.md describes every key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from math import prod
from typing import Any

from tilewright.plan import (
    Buffer,
    CopyStart,
    LayerFacts,
    LayerReasons,
    Link,
    Placement,
    Plan,
    Pool,
    RelationKind,
)
from tilewright.plan.canaries import guarded_bytes
from tilewright.plan.required_values import given_copies
from tilewright.report.alive import Lifetime, all_lifetimes, living, peak, steps
from tilewright.report.groups import group_data
from tilewright.report.labels import all_labels
from tilewright.report.link_bytes import compulsory_by_link, moved_by_link
from tilewright.report.near import near_data
from tilewright.report.tiles import copies_and_kernels, layer_tiles

REPORT_FORMAT = 1


def report_json(plan: Plan, *, with_steps: bool = False, measured: Mapping[str, int] | None = None) -> str:
    """JSON text of ``report_data``, with a trailing newline."""
    return json.dumps(report_data(plan, with_steps=with_steps, measured=measured), indent=1) + "\n"


def report_data(plan: Plan, *, with_steps: bool = False, measured: Mapping[str, int] | None = None) -> dict[str, Any]:
    """The report as dictionaries and lists that JSON can hold; sizes are bytes, lifetimes half-open ticks.

    ``with_steps`` adds to every pool the buffers that begin and end at each layer and the bytes alive in it;
    ``measured`` maps layers to their cycles on a target.
    """
    alive = all_lifetimes(plan)
    tiles = layer_tiles(plan)
    macs = sum(layer.macs for layer in plan.layers)
    return {
        "format": REPORT_FORMAT,
        "name": plan.name,
        "model": plan.model,
        "model_sha256": plan.model_sha256,
        "platform": plan.platform,
        "tool_version": plan.tool_version,
        "macs": macs,
        "nominal_macs": macs if plan.nominal_macs is None else plan.nominal_macs,
        "operations": sum(layer.operations for layer in plan.layers),
        "predicted_cycles": sum(layer.predicted_cycles for layer in plan.layers),
        "tiling": _tiling(plan),
        "front": [asdict(item) for item in plan.front],
        "groups": group_data(plan),
        "labels": all_labels(plan),
        "inputs": [_interface(plan, tensor.name, tensor.buffer) for tensor in plan.inputs],
        "outputs": [_interface(plan, tensor.name, tensor.buffer) for tensor in plan.outputs],
        "pools": [_pool(plan, pool, alive, with_steps) for pool in plan.pools],
        "guards": _guards(plan),
        "external": _external(plan),
        "links": _links(plan),
        "near": near_data(plan, alive),
        "layers": [_layer(layer, tiles.get(layer.name, []), (measured or {}).get(layer.name)) for layer in plan.layers],
    }


def _tiling(plan: Plan) -> dict[str, Any] | None:
    """The cost of all tiles, its proved lower bound, and the gap between both; None where nothing was minimised."""
    if plan.tiling is None:
        return None
    cost, bound = plan.tiling.cost, plan.tiling.bound
    facts = {"objective": plan.tiling.objective, "cost": cost, "bound": bound}
    return {**facts, "gap": cost - bound, "optimal": cost == bound}


def _external(plan: Plan) -> dict[str, Any] | None:
    """Predicted cycles and bytes with the constants in a file, and in the program; None without a file."""
    if plan.external is None:
        return None
    used = next(use.used_bytes for use in plan.pool_use if use.pool == plan.external.pool)
    cycles = sum(layer.predicted_cycles for layer in plan.layers)
    return {**asdict(plan.external), "external_cycles": cycles, "external_bytes": used}


def _guards(plan: Plan) -> dict[str, Any] | None:
    """The canaries beside each buffer, and how many bytes of each pool hold some; None without guards."""
    if plan.guards is None:
        return None
    pools = [{"name": name, "canary_bytes": guarded_bytes(plan, name)} for name in plan.guards.pools]
    return {"below_bytes": plan.guards.below_bytes, "behind_bytes": plan.guards.behind_bytes, "pools": pools}


def _interface(plan: Plan, name: str, buffer: str) -> dict[str, Any]:
    size = next(item.size_bytes for item in plan.buffers if item.name == buffer)
    return {"name": name, "size_bytes": size}


def _pool(plan: Plan, pool: Pool, alive: Mapping[str, Lifetime], with_steps: bool) -> dict[str, Any]:
    use = next((use for use in plan.pool_use if use.pool == pool.name), None)
    used = use.used_bytes if use else 0
    bound = use.lower_bound_bytes if use else 0
    io_bytes = _io_bytes(plan) if pool.name == plan.io_pool else 0
    found = living(plan, pool, alive)
    return {
        "name": pool.name,
        "access": pool.access.value,
        "used_bytes": used,
        "capacity_bytes": pool.size_bytes,
        "lower_bound_bytes": bound,
        "gap_bytes": used - bound,
        "optimal": use.optimal if use else True,
        "with_io_bytes": used + io_bytes,
        "peak": peak(found),
        "buffers": _memory_map(plan, pool, alive),
        **({"steps": steps(found, io_bytes)} if with_steps else {}),
    }


def _io_bytes(plan: Plan) -> int:
    """Bytes of the inputs and outputs that the caller owns; a buffer that is both counts once.

    A fed input counts nothing: its rows are in a ring of the plan. Where a window slides, the rows of a run count.
    """
    if plan.slide is not None:
        buffers = {buffer.name: buffer for buffer in plan.buffers}
        runs = ((tensor, buffers[tensor.buffer]) for tensor in (*plan.inputs, *plan.outputs))
        return sum(buffer.size_bytes * prod(tensor.shape) // prod(buffer.shape) for tensor, buffer in runs)

    placed = {placement.buffer for placement in plan.placements}
    owned = {tensor.buffer for tensor in (*plan.inputs, *plan.outputs) if tensor.fed_axis is None} - placed
    return sum(buffer.size_bytes for buffer in plan.buffers if buffer.name in owned)


def _memory_map(plan: Plan, pool: Pool, alive: Mapping[str, Lifetime]) -> list[dict[str, Any]]:
    """The pool's buffers by offset, then by the time at which they begin."""
    buffers = {buffer.name: buffer for buffer in plan.buffers}
    views = {item.first: item.second for item in plan.relations if item.kind is RelationKind.AT_OFFSET}
    placed = [placement for placement in plan.placements if placement.pool == pool.name]
    entries = [_placed(item, buffers[item.buffer], alive[item.buffer], views.get(item.buffer)) for item in placed]
    return sorted(entries, key=lambda entry: (entry["offset_bytes"], entry["begin"], entry["name"]))


def _placed(placement: Placement, buffer: Buffer, lifetime: Lifetime, view: str | None) -> dict[str, Any]:
    begin, end = lifetime
    return {
        "name": buffer.name,
        "kind": buffer.kind.value,
        "tensor": buffer.tensor,
        "offset_bytes": placement.offset_bytes,
        "size_bytes": buffer.size_bytes,
        "copies": buffer.copies,
        "begin": begin,
        "end": end,
        "view_of": view,
    }


def _links(plan: Plan) -> list[dict[str, Any]]:
    moved, least = moved_by_link(plan), compulsory_by_link(plan)
    return [_link(plan, link, moved[link.name], least[link.name]) for link in plan.links]


def _link(plan: Plan, link: Link, moved: int, least: int) -> dict[str, Any]:
    """Bytes and copies of a run over a link, for layers and for comparisons of inputs with their only value."""
    compared_bytes, compared = given_copies(plan, link.name)
    return {
        "name": link.name,
        "from": link.source,
        "to": link.target,
        "bytes": moved + compared_bytes,
        "compulsory_bytes": least + compared_bytes,
        "copies": compared
        + sum(
            times
            for step, times in copies_and_kernels(plan.program)
            if isinstance(step, CopyStart) and step.link == link.name
        ),
    }


def _layer(layer: LayerFacts, levels: list[dict[str, Any]], measured: int | None) -> dict[str, Any]:
    return {
        "name": layer.name,
        "label": layer.label or layer.name,
        "operator": layer.operator,
        "kernel": layer.kernel,
        "macs": layer.macs,
        "nominal_macs": layer.macs if layer.nominal_macs is None else layer.nominal_macs,
        "operations": layer.operations,
        "tiles": layer.tiles,
        "tile": [{"dimension": name, "step": step, "extent": extent} for name, step, extent in layer.tile],
        "buffers": dict(layer.copies),
        "levels": levels,
        "link_bytes": dict(layer.link_bytes),
        "compulsory_link_bytes": dict(layer.compulsory_link_bytes),
        "predicted_cycles": layer.predicted_cycles,
        "measured_cycles": measured,
        "reasons": _reasons(layer.reasons),
    }


def _reasons(reasons: LayerReasons | None) -> dict[str, Any] | None:
    """Why a layer has its kernel and its tiles; None where no choice was made and neither lanes nor cores idle."""
    if reasons is None:
        return None
    return {
        "other_kernels": [
            {"kernel": item.kernel, "predicted_cycles": item.predicted_cycles, "calls_only": item.calls_only}
            for item in reasons.others
        ],
        "idle_lanes": reasons.idle_lanes,
        "idle_cores": reasons.idle_cores,
        "hinted": reasons.hinted,
    }
