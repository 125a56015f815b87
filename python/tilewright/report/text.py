"""The report as text: pools, links, layers, and the memory map of each pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.base.lazy_dataclass import dataclass
from tilewright.plan import Plan
from tilewright.report.data import report_data

Row = Sequence[str]
NAME_WIDTH = 44

NOMINAL = 6
"""Where nominal MACs stand in a row of the table of layers: behind those that are computed."""

FRONT_STEP = 0.95
"""Choices of groups that differ by fewer bytes are left out."""


def report_text(plan: Plan, *, with_steps: bool = False, measured: Mapping[str, int] | None = None) -> str:
    """The report as tables of text, with a trailing newline; numbers are bytes unless the heading says otherwise.

    ``with_steps`` adds, for every pool with access rw, the buffers that begin and end at each layer and the bytes
    alive in it; ``measured`` adds a column with the layers' cycles on a target.
    """
    data = report_data(plan, with_steps=with_steps, measured=measured)
    names = Names(**data["labels"])
    parts = [_title(data), "Pools (bytes)\n" + _pools(data)]
    if data["guards"]:
        parts.append(_guards(data["guards"]))
    if data["external"]:
        parts.append(_external(data["external"]))
    if data["links"]:
        parts.append("Links (bytes in one inference)\n" + _links(data))
    if data["near"]:
        parts.append("Tensors that stay near the core, so that no layer copies them (bytes)\n" + _near(data, names))
    if data["layers"]:
        parts.append(f"Layers{_tiling(data['tiling'])}\n" + _layers(data))
    parts += _group_parts(data, names)
    if any(layer["reasons"] for layer in data["layers"]):
        parts.append("Why these kernels and tiles: the other kernels, and what idles\n" + _reasons(data))
    if data["links"] and data["layers"]:
        parts.append("Bytes over links by layer: moved, and of these compulsory\n" + _layer_links(data))
    if any(layer["levels"] for layer in data["layers"]):
        parts.append("Tiles and scratch by layer (bytes)\n" + _tiles(data))
    parts += [_memory_map(pool, names) for pool in data["pools"] if pool["buffers"]]
    parts += [_steps(pool, names) for pool in data["pools"] if pool.get("steps") and pool["access"] == "rw"]
    if names.layers:
        rows = [(layer["label"], layer["name"]) for layer in data["layers"]]
        parts.append("Layers by their names in the model\n" + table(("layer", "name"), rows, 2))
    return "\n\n".join(parts) + "\n"


def summary_text(plan: Plan) -> str:
    """The pools and links of a plan as tables of text."""
    data = report_data(plan)
    parts = [_title(data), "Pools (bytes)\n" + _pools(data)]
    if data["guards"]:
        parts.append(_guards(data["guards"]))
    if data["links"]:
        parts.append("Links (bytes in one inference)\n" + _links(data))
    return "\n\n".join(parts) + "\n"


def table(headings: Row, rows: Sequence[Row], left: int = 1) -> str:
    """Rows as lines of text; the first ``left`` columns are aligned to the left, the others to the right."""
    widths = [max(len(row[column]) for row in (headings, *rows)) for column in range(len(headings))]
    lines = []
    for row in (headings, *rows):
        cells = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return "\n".join(lines)


def shorten(name: str) -> str:
    """A name cut in its middle to at most NAME_WIDTH characters.

    Exporters join the names of whole chains of nodes; such names differ at their ends.
    """
    if len(name) <= NAME_WIDTH:
        return name
    head = NAME_WIDTH // 3
    return name[:head] + "..." + name[head + 3 - NAME_WIDTH :]


@dataclass(frozen=True, slots=True)
class Names:
    """Names of layers and buffers as tables show them; both map names of the plan to labels, where there are any."""

    layers: Mapping[str, str]
    buffers: Mapping[str, str]

    def layer(self, name: str) -> str:
        """A layer's label."""
        return shorten(self.layers.get(name, name))

    def buffer(self, name: str) -> str:
        """A buffer's label, or its name if that is short."""
        return shorten(self.buffers.get(name, name))


def _title(data: dict[str, Any]) -> str:
    return (
        f"{data['name']}: {data['model']} on {data['platform']}, {len(data['layers'])} layers, "
        f"{macs_text(data['macs'], data['nominal_macs'], 'MACs')}, {data['predicted_cycles']:,} cycles predicted"
    )


def macs_text(macs: int, nominal: int, unit: str) -> str:
    """What is computed and, where that differs, what the model as written has: ``90 MACs (100 nominal)``."""
    return f"{macs:,} {unit}" if macs == nominal else f"{macs:,} {unit} ({nominal:,} nominal)"


def _pools(data: dict[str, Any]) -> str:
    headings = ("pool", "access", "used", "capacity", "bound", "gap", "with I/O", "peak at")
    names = Names(**data["labels"])
    return table(headings, [_pool_row(pool, names) for pool in data["pools"]], 2)


def _external(cost: dict[str, Any]) -> str:
    rows = [
        ("inside", f"{cost['inside_cycles']:,}", f"{cost['inside_bytes']:,}"),
        ("external", f"{cost['external_cycles']:,}", f"{cost['external_bytes']:,}"),
    ]
    headings = ("weights", "cycles", f"bytes of {cost['pool']}")
    return "What external weights cost, as predicted: nothing may depend on their values\n" + table(headings, rows)


def _guards(guards: dict[str, Any]) -> str:
    heading = (
        f"Canaries (bytes): {guards['below_bytes']} below and {guards['behind_bytes']} behind each buffer and pool"
    )
    rows = [(pool["name"], f"{pool['canary_bytes']:,}") for pool in guards["pools"]]
    return f"{heading}\n{table(('pool', 'canaries'), rows)}"


def _pool_row(pool: dict[str, Any], names: Names) -> Row:
    capacity = "unlimited" if pool["capacity_bytes"] is None else f"{pool['capacity_bytes']:,}"
    gap = "optimal" if pool["optimal"] else _gap(pool["gap_bytes"], pool["lower_bound_bytes"])
    peak = (pool["peak"] or {}).get("layer") if pool["access"] == "rw" else None
    return (
        pool["name"],
        pool["access"],
        f"{pool['used_bytes']:,}",
        capacity,
        f"{pool['lower_bound_bytes']:,}",
        gap,
        f"{pool['with_io_bytes']:,}",
        names.layer(peak) if peak else "-",
    )


def _gap(gap: int, bound: int) -> str:
    return f"{gap:,} ({100 * gap / bound:.1f} %)" if bound else f"{gap:,}"


def _links(data: dict[str, Any]) -> str:
    rows = [
        (
            f"{link['from']} -> {link['to']}",
            f"{link['bytes']:,}",
            f"{link['compulsory_bytes']:,}",
            f"{link['copies']:,}",
        )
        for link in data["links"]
    ]
    return table(("link", "moved", "compulsory", "copies"), rows)


def _near(data: dict[str, Any], names: Names) -> str:
    rows = [
        (
            names.buffer(item["name"]),
            item["pool"],
            names.layer(item["layers"][0]),
            names.layer(item["layers"][-1]),
            f"{item['size_bytes']:,}",
        )
        for item in data["near"]
        if item["layers"]
    ]
    return table(("tensor", "pool", "from", "to", "size"), rows, 4)


def _layers(data: dict[str, Any]) -> str:
    headings: Row = (
        "layer",
        "operator",
        "kernel",
        "tile",
        "tiles",
        "MACs",
        "operations",
        "moved",
        "compulsory",
        "cycles",
    )
    rows: list[Row] = [_layer_row(layer) for layer in data["layers"]]
    if any(layer["macs"] != layer["nominal_macs"] for layer in data["layers"]):
        headings = (*headings[:NOMINAL], "nominal", *headings[NOMINAL:])
        rows = [
            (*row[:NOMINAL], _nominal(layer), *row[NOMINAL:]) for row, layer in zip(rows, data["layers"], strict=True)
        ]
    if any(layer["measured_cycles"] is not None for layer in data["layers"]):
        headings = (*headings, "measured")
        rows = [(*row, _measured(layer)) for row, layer in zip(rows, data["layers"], strict=True)]
    return table(headings, rows, 4)


def _nominal(layer: dict[str, Any]) -> str:
    return "-" if layer["macs"] == layer["nominal_macs"] else f"{layer['nominal_macs']:,}"


def _measured(layer: dict[str, Any]) -> str:
    return "-" if layer["measured_cycles"] is None else f"{layer['measured_cycles']:,}"


def _group_parts(data: dict[str, Any], names: Names) -> list[str]:
    """The tables of groups and of the choices between them."""
    parts = []
    if data["groups"]:
        heading = "Groups of layers: the rows of each block, and of the ring behind\n"
        parts.append(heading + _groups(data["groups"], names))
    if data["front"]:
        parts.append("Groups of layers: bytes against cycles, as predicted\n" + _front(data["front"]))
    return parts


def _groups(groups: Sequence[dict[str, Any]], names: Names) -> str:
    """A row for each stage; the first of a group says at how many iterations the group runs."""
    rows = [
        (
            names.layer(stage["layer"]),
            f"{group['iterations']:,}" if stage is group["stages"][0] else "",
            f"{stage['rows']:,}/{stage['all_rows']:,}" if stage["rows"] else "all",
            f"{stage['first']:,}",
            f"{stage['every']:,}" if stage["blocks"] > 1 else "once",
            f"{stage['ring_rows']:,}" if stage["ring"] else "-",
            f"{stage['ring_bytes']:,}" if stage["ring"] else "-",
        )
        for group in groups
        for stage in group["stages"]
    ]
    return table(("layer", "iterations", "rows", "first at", "every", "ring rows", "bytes"), rows)


def _front(choices: Sequence[dict[str, Any]]) -> str:
    """The choices of groups that need at least 5 % fewer bytes than the one before, the taken one and the last."""
    shown, least = list[dict[str, Any]](), choices[0]["cycles"]
    for item in choices:
        if not shown or item["taken"] or item is choices[-1] or item["bytes"] <= FRONT_STEP * shown[-1]["bytes"]:
            shown.append(item)
    rows = [
        (
            f"{item['bytes']:,}",
            f"{item['cycles']:,}",
            f"{item['cycles'] / least:.3f}" if least else "-",
            "taken" if item["taken"] else "",
        )
        for item in shown
    ]
    return table(("bytes", "cycles", "ratio", ""), rows, 0)


_COST_UNITS = {
    "cycles": "cycles",
    "bytes_moved": "bytes moved (over far links twice)",
    "bytes_used": "bytes of tiles",
}
"""What the cost of tiles counts, by objective."""


def _tiling(facts: dict[str, Any] | None) -> str:
    """The end of the title of the table of layers: the cost of all tiles and its gap to the bound."""
    if facts is None:
        return ""
    unit = _COST_UNITS[facts["objective"]]
    gap = (
        "the least of all tiles tried" if facts["optimal"] else f"{_gap(facts['gap'], facts['bound'])} above the bound"
    )
    return f": {facts['cost']:,} {unit}, {gap}"


def _layer_row(layer: dict[str, Any]) -> Row:
    cut = [
        f"{part['dimension']} {part['step']}/{part['extent']}"
        for part in layer["tile"]
        if part["step"] < part["extent"]
    ]
    return (
        layer["label"],
        layer["operator"],
        layer["kernel"],
        ", ".join(cut) or "whole",
        f"{layer['tiles']:,}",
        f"{layer['macs']:,}",
        f"{layer['operations']:,}",
        f"{sum(layer['link_bytes'].values()):,}",
        f"{sum(layer['compulsory_link_bytes'].values()):,}",
        f"{layer['predicted_cycles']:,}",
    )


def _reasons(data: dict[str, Any]) -> str:
    rows = []
    for layer in data["layers"]:
        found = layer["reasons"]
        if found is None:
            continue
        others = "; ".join(_other_kernel(item) for item in found["other_kernels"]) or "-"
        idle = [f"{100 * found[key]:.0f} %" for key in ("idle_lanes", "idle_cores")]
        rows.append((layer["label"], layer["kernel"], others, *idle, "yes" if found["hinted"] else "-"))
    return table(("layer", "taken", "not taken", "idle lanes", "idle cores", "decided tiles"), rows, 3)


def _other_kernel(item: dict[str, Any]) -> str:
    if item["predicted_cycles"] is None:
        return f"{item['kernel']}: its tiles do not fit"
    calls = " for its calls alone" if item["calls_only"] else ""
    return f"{item['kernel']}: {item['predicted_cycles']:,} cycles{calls}"


def _layer_links(data: dict[str, Any]) -> str:
    names = [link["name"] for link in data["links"]]
    rows = []
    for layer in data["layers"]:
        pairs = [(layer["link_bytes"].get(name), layer["compulsory_link_bytes"].get(name, 0)) for name in names]
        rows.append((layer["label"], *("-" if moved is None else f"{moved:,} / {least:,}" for moved, least in pairs)))
    return table(("layer", *names), rows)


def _tiles(data: dict[str, Any]) -> str:
    names = Names(**data["labels"])
    rows = [
        (
            layer["label"],
            entry["pool"] or "-",
            names.buffer(entry["tensor"] or entry["buffer"]),
            "x".join(str(extent) for extent in entry["shape"]) if entry["kind"] == "tile" else entry["kind"],
            str(entry["slots"]),
            f"{entry['size_bytes']:,}",
            f"{entry['loads']:,}",
            f"{entry['stores']:,}",
        )
        for layer in data["layers"]
        for entry in layer["levels"]
    ]
    return table(("layer", "pool", "holds", "tile", "slots", "size", "loads", "stores"), rows, 4)


def _steps(pool: dict[str, Any], names: Names) -> str:
    most = max(entry["alive_bytes"] for entry in pool["steps"])
    with_io = max(entry["with_io_bytes"] for entry in pool["steps"])
    title = f"Live and dead marks of {pool['name']} (bytes): at most {most:,} alive, {with_io:,} with I/O"
    headings = ("layer", "begins", "ends", "largest", "alive", "with I/O")
    rows = [
        (
            names.layer(entry["layer"]),
            ", ".join(_begun(item, names) for item in entry["begins"]) or "-",
            ", ".join(names.buffer(name) for name in entry["ends"]) or "-",
            f"{names.buffer(entry['largest']['name'])} {entry['largest']['size_bytes']:,}" if entry["largest"] else "-",
            f"{entry['alive_bytes']:,}",
            f"{entry['with_io_bytes']:,}",
        )
        for entry in pool["steps"]
    ]
    return f"{title}\n" + table(headings, rows, 4)


def _begun(item: dict[str, Any], names: Names) -> str:
    places = [f" {word} {names.buffer(item[key])}" for word, key in (("in", "inside"), ("over", "over")) if item[key]]
    return f"{names.buffer(item['name'])} {item['size_bytes']:,}{''.join(places)}"


def _memory_map(pool: dict[str, Any], names: Names) -> str:
    rows = [_buffer_row(entry, names) for entry in pool["buffers"]]
    title = f"Memory map of {pool['name']}: [begin, end) in bytes, alive in [from, to) ticks"
    return f"{title}\n" + table(("buffer", "kind", "begin", "end", "size", "slots", "from", "to"), rows, 2)


def _buffer_row(entry: dict[str, Any], names: Names) -> Row:
    begin, size = entry["offset_bytes"], entry["size_bytes"]
    view = f" (view of {names.buffer(entry['view_of'])})" if entry["view_of"] else ""
    return (
        names.buffer(entry["name"]) + view,
        entry["kind"],
        f"{begin:,}",
        f"{begin + size:,}",
        f"{size:,}",
        str(entry["copies"]),
        str(entry["begin"]),
        str(entry["end"]),
    )
