"""The data of the report's page: the report, and for each buffer its steps, its users and its reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.plan import Buffer, BufferKind, Plan, Pool, RelationKind
from tilewright.plan.stages import function_name, numbered_layers, stage_spans
from tilewright.report.alive import Lifetime, Living, all_lifetimes, living
from tilewright.report.data import report_data
from tilewright.report.drawing import draw
from tilewright.report.measured import Measured
from tilewright.report.reasons import reasons
from tilewright.report.tile_boxes import layer_geometry
from tilewright.report.timeline import timeline
from tilewright.report.touches import Edge, Touched, alive_steps, edges, touched_buffers


def page_data(plan: Plan, measured: Measured | None = None) -> dict[str, Any]:
    """``report_data`` and the data of the drawings; sizes are bytes, steps are half-open ranges of stages' numbers."""
    alive = all_lifetimes(plan)
    touched = touched_buffers(plan)
    spans = stage_spans(plan.program)
    report = report_data(plan, measured=measured.layers if measured else None)
    pools = {pool.name: pool for pool in plan.pools}
    for entry in report["pools"]:
        found = living(plan, pools[entry["name"]], alive)
        entry["buffers"] = _buffers(found, touched, spans)
        entry["pressure_bytes"] = _pressure(found, spans)
        entry["where"] = _where(pools[entry["name"]])
    functions = _functions(plan)
    for number, (entry, kernels) in enumerate(zip(report["layers"], layer_geometry(plan), strict=True)):
        entry["kernels"] = kernels
        entry["function"] = functions[number]
        entry["measured_kernel"] = measured.kernels.get(entry["name"]) if measured else None
        entry["measured_wait"] = measured.waits.get(entry["name"]) if measured else None
    flow = edges(plan, touched)
    report["callers"] = _callers(plan)
    report["graph"] = _graph(plan, flow)
    report["timeline"] = timeline(plan)
    return report


def _functions(plan: Plan) -> list[str]:
    """For each stage the C function of its layer."""
    return [
        function_name(plan.name, item.first, item.layer)
        for item in numbered_layers(plan.program)
        for _ in item.layer.stages
    ]


def _buffers(found: Living, touched: Mapping[str, Touched], spans: Sequence[Lifetime]) -> list[dict[str, Any]]:
    """The pool's buffers by address; buffers that lie in another buffer (views) follow all others."""
    why = reasons(found.plan, found)
    views = {item.first: item.second for item in found.plan.relations if item.kind is RelationKind.AT_OFFSET}
    names = sorted(found.spans, key=lambda name: (name in views, found.spans[name], found.lives[name], name))
    return [
        {
            **_described(found.buffers[name]),
            "offset_bytes": found.spans[name][0],
            "ticks": list(found.lives[name]),
            "steps": list(alive_steps(spans, found.lives[name])),
            "written": list(touched[name].written),
            "read": list(touched[name].read),
            "inside": views.get(name),
            "why": why.of(name),
        }
        for name in names
    ]


def _described(buffer: Buffer) -> dict[str, Any]:
    return {
        "name": buffer.name,
        "kind": buffer.kind.value,
        "tensor": buffer.tensor or "",
        "dtype": buffer.dtype,
        "shape": list(buffer.shape),
        "size_bytes": buffer.size_bytes,
        "slots": buffer.copies if buffer.kind is BufferKind.TILE else 1,
    }


def _pressure(found: Living, spans: Sequence[Lifetime]) -> list[int]:
    """For each stage the most bytes alive at any tick of its layer and of the marks before it."""
    ticks = sorted({begin for begin, end in found.lives.values() if begin < end})
    most: dict[Lifetime, int] = {}
    behind, position = 0, 0
    for first, end in dict.fromkeys(spans):
        here = [first]
        while position < len(ticks) and ticks[position] < end:
            here.append(ticks[position])
            position += 1
        most[first, end] = max(found.bytes_at(tick) for tick in here if tick >= behind)
        behind = end
    return [most[span] for span in spans]


def _where(pool: Pool) -> str:
    """The pool's base address or its section, as the platform or the user gives it; empty if neither is given."""
    if pool.base is not None:
        return f"0x{pool.base:x}"
    return pool.section or ""


def _callers(plan: Plan) -> list[dict[str, Any]]:
    """Inputs and outputs that the caller owns; of fed ones the caller owns rows alone (``fed``)."""
    placed = {item.buffer for item in plan.placements}
    buffers = {buffer.name: buffer for buffer in plan.buffers}
    names = dict.fromkeys(tensor.buffer for tensor in (*plan.inputs, *plan.outputs) if tensor.buffer not in placed)
    fed = {tensor.buffer for tensor in (*plan.inputs, *plan.outputs) if tensor.fed_axis is not None}
    return [{**_described(buffers[name]), "pool": plan.io_pool, "fed": name in fed} for name in names]


def _interface_of_views(plan: Plan) -> dict[str, str]:
    """For each buffer the input or output of the model in which it lies, by its name in the model; else itself."""
    inside = {item.first: item.second for item in plan.relations if item.kind is RelationKind.AT_OFFSET}
    interface = {item.buffer: item.name for item in (*plan.inputs, *plan.outputs)}
    found = {}
    for buffer in plan.buffers:
        name = buffer.name
        while name in inside and name not in interface:
            name = inside[name]
        found[buffer.name] = interface.get(name, buffer.name)
    return found


def _graph(plan: Plan, flow: Sequence[Edge]) -> dict[str, Any]:
    """Nodes (the model's inputs, its layers, its outputs) with their points, and edges between numbers of nodes."""
    tensors = {buffer.name: buffer for buffer in plan.buffers}
    owners = _interface_of_views(plan)
    inputs = list(dict.fromkeys(owners[edge.buffer] for edge in flow if edge.source is None))
    outputs = list(dict.fromkeys(owners[edge.buffer] for edge in flow if edge.target is None))
    first, count = len(inputs), len(plan.layers)
    ends = [
        (
            inputs.index(owners[edge.buffer]) if edge.source is None else first + edge.source,
            first + count + outputs.index(owners[edge.buffer]) if edge.target is None else first + edge.target,
        )
        for edge in flow
    ]
    drawing = draw(first + count + len(outputs), ends)
    kinds = [*["input"] * first, *["layer"] * count, *["output"] * len(outputs)]
    names = [*inputs, *(layer.name for layer in plan.layers), *outputs]
    return {
        "nodes": [
            {"kind": kind, "name": name, "layer": number - first if kind == "layer" else None, "at": list(point)}
            for number, (kind, name, point) in enumerate(zip(kinds, names, drawing.nodes, strict=True))
        ],
        "edges": [
            {
                "ends": list(pair),
                "tensor": tensors[edge.buffer].tensor or edge.buffer,
                "shape": list(tensors[edge.buffer].shape),
                "size_bytes": tensors[edge.buffer].size_bytes,
                "way": [list(point) for point in way],
            }
            for edge, pair, way in zip(flow, ends, drawing.edges, strict=True)
        ],
    }
