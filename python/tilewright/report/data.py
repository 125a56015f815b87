"""The report as data: what docs/reference/report.md describes, computed from the plan alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tilewright.lifetime import layer_at, lifetimes, tick_count
from tilewright.plan import (
    Buffer,
    BufferKind,
    CopyStart,
    LayerFacts,
    Link,
    Placement,
    Plan,
    Pool,
    RelationKind,
)
from tilewright.report.tiles import copies_and_kernels, layer_tiles

REPORT_FORMAT = 1


def report_json(plan: Plan) -> str:
    """JSON text of ``report_data``, with a trailing newline."""
    return json.dumps(report_data(plan), indent=1) + "\n"


def report_data(plan: Plan) -> dict[str, Any]:
    """The report as dictionaries and lists that JSON can hold; sizes are bytes, lifetimes half-open ticks."""
    alive = _all_lifetimes(plan)
    tiles = layer_tiles(plan)
    return {
        "format": REPORT_FORMAT,
        "name": plan.name,
        "model": plan.model,
        "model_sha256": plan.model_sha256,
        "platform": plan.platform,
        "tool_version": plan.tool_version,
        "macs": sum(layer.macs for layer in plan.layers),
        "operations": sum(layer.operations for layer in plan.layers),
        "predicted_cycles": sum(layer.predicted_cycles for layer in plan.layers),
        "inputs": [_interface(plan, tensor.name, tensor.buffer) for tensor in plan.inputs],
        "outputs": [_interface(plan, tensor.name, tensor.buffer) for tensor in plan.outputs],
        "pools": [_pool(plan, pool, alive) for pool in plan.pools],
        "links": [_link(plan, link) for link in plan.links],
        "layers": [_layer(layer, tiles.get(layer.name, [])) for layer in plan.layers],
    }


def _all_lifetimes(plan: Plan) -> dict[str, tuple[int, int]]:
    """Lifetimes of every buffer; one without marks lives throughout."""
    throughout = (0, tick_count(plan.program))
    marked = lifetimes(plan.program)
    return {buffer.name: marked.get(buffer.name, throughout) for buffer in plan.buffers}


def _interface(plan: Plan, name: str, buffer: str) -> dict[str, Any]:
    size = next(item.size_bytes for item in plan.buffers if item.name == buffer)
    return {"name": name, "size_bytes": size}


def _pool(plan: Plan, pool: Pool, alive: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    use = next((use for use in plan.pool_use if use.pool == pool.name), None)
    used = use.used_bytes if use else 0
    bound = use.lower_bound_bytes if use else 0
    return {
        "name": pool.name,
        "access": pool.access.value,
        "used_bytes": used,
        "capacity_bytes": pool.size_bytes,
        "lower_bound_bytes": bound,
        "gap_bytes": used - bound,
        "optimal": use.optimal if use else True,
        "with_io_bytes": used + (_io_bytes(plan) if pool.name == plan.io_pool else 0),
        "peak": _peak(plan, pool, alive),
        "buffers": _memory_map(plan, pool, alive),
    }


def _io_bytes(plan: Plan) -> int:
    """Bytes that the caller owns, each buffer once."""
    placed = {placement.buffer for placement in plan.placements}
    owned = {tensor.buffer for tensor in (*plan.inputs, *plan.outputs)} - placed
    return sum(buffer.size_bytes for buffer in plan.buffers if buffer.name in owned)


def _memory_map(plan: Plan, pool: Pool, alive: Mapping[str, tuple[int, int]]) -> list[dict[str, Any]]:
    """The pool's buffers by offset, then by the time at which they begin."""
    entries = [_placed(plan, placement, alive) for placement in plan.placements if placement.pool == pool.name]
    return sorted(entries, key=lambda entry: (entry["offset_bytes"], entry["begin"], entry["name"]))


def _placed(plan: Plan, placement: Placement, alive: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    buffer = next(buffer for buffer in plan.buffers if buffer.name == placement.buffer)
    begin, end = alive[buffer.name]
    view = next((item.second for item in plan.relations if _is_view(item.kind) and item.first == buffer.name), None)
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


def _is_view(kind: RelationKind) -> bool:
    return kind is RelationKind.AT_OFFSET


def _peak(plan: Plan, pool: Pool, alive: Mapping[str, tuple[int, int]]) -> dict[str, Any] | None:
    """The first tick at which most bytes are alive, the layer there, and those bytes. Views count with their root."""
    spans = _root_spans(plan, pool, alive)
    if not spans:
        return None
    ticks = sorted({begin for _, (begin, end) in spans if begin < end})
    sums = {tick: sum(buffer.size_bytes for buffer, (begin, end) in spans if begin <= tick < end) for tick in ticks}
    if not sums:
        return None
    tick = max(ticks, key=lambda tick: (sums[tick], -tick))
    at_peak = [(buffer, span) for buffer, span in spans if span[0] <= tick < span[1]]
    largest = sorted(at_peak, key=lambda item: (-item[0].size_bytes, item[0].name))
    return {
        "tick": tick,
        "layer": layer_at(plan.program, tick),
        "alive_bytes": sums[tick],
        "alive": [buffer.name for buffer, _ in largest if buffer.kind is not BufferKind.CONSTANT],
    }


def _root_spans(plan: Plan, pool: Pool, alive: Mapping[str, tuple[int, int]]) -> list[tuple[Buffer, tuple[int, int]]]:
    parents = {item.first: item.second for item in plan.relations if _is_view(item.kind)}
    placed = {placement.buffer for placement in plan.placements if placement.pool == pool.name}
    spans: dict[str, tuple[int, int]] = {}
    for name in (buffer.name for buffer in plan.buffers if buffer.name in placed):
        root = name
        while root in parents:
            root = parents[root]
        begin, end = alive[name]
        first, last = spans.get(root, (begin, end))
        spans[root] = (min(first, begin), max(last, end))
    return [(buffer, spans[buffer.name]) for buffer in plan.buffers if buffer.name in spans]


def _link(plan: Plan, link: Link) -> dict[str, Any]:
    return {
        "name": link.name,
        "from": link.source,
        "to": link.target,
        "bytes": sum(dict(layer.link_bytes).get(link.name, 0) for layer in plan.layers),
        "compulsory_bytes": sum(dict(layer.compulsory_link_bytes).get(link.name, 0) for layer in plan.layers),
        "copies": sum(
            times
            for step, times in copies_and_kernels(plan.program, 1, 1)
            if isinstance(step, CopyStart) and step.link == link.name
        ),
    }


def _layer(layer: LayerFacts, levels: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": layer.name,
        "operator": layer.operator,
        "kernel": layer.kernel,
        "macs": layer.macs,
        "operations": layer.operations,
        "tiles": layer.tiles,
        "tile": [{"dimension": name, "step": step, "extent": extent} for name, step, extent in layer.tile],
        "buffers": dict(layer.copies),
        "levels": levels,
        "link_bytes": dict(layer.link_bytes),
        "compulsory_link_bytes": dict(layer.compulsory_link_bytes),
        "predicted_cycles": layer.predicted_cycles,
        "measured_cycles": None,
    }
