"""The report: what a hand-made plan must say, in JSON and as text."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from support import plans
from support.sound import BASE, placed_io
from tilewright.plan import BufferKind, PoolUse
from tilewright.plan.json import dumps, loads
from tilewright.report.data import report_data, report_json
from tilewright.report.labels import buffer_labels
from tilewright.report.text import NAME_WIDTH, report_text, shorten


def test_pools_state_use_bound_gap_and_interface() -> None:
    use = (PoolUse("l1", 256, 200, False), *BASE.pool_use[1:])
    l1, sram, flash = report_data(replace(BASE, pool_use=use))["pools"]
    assert (l1["name"], l1["access"], l1["used_bytes"], l1["capacity_bytes"]) == ("l1", "rw", 256, 256)
    assert (l1["lower_bound_bytes"], l1["gap_bytes"], l1["optimal"]) == (200, 56, False)
    # The caller owns x (32 bytes) and out (128).
    assert (sram["used_bytes"], sram["with_io_bytes"]) == (128, 288)
    assert (flash["access"], flash["capacity_bytes"], flash["optimal"]) == ("ro", None, True)


def test_interface_in_pools_is_not_counted_twice() -> None:
    pools = {pool["name"]: pool for pool in report_data(placed_io(160))["pools"]}
    assert pools["sram"]["used_bytes"] == pools["sram"]["with_io_bytes"] == 288


def test_links_count_bytes_and_copies() -> None:
    links = {link["name"]: link for link in report_data(BASE)["links"]}
    assert links["in"] | {"name": ""} == {
        "name": "",
        "from": "sram",
        "to": "l1",
        "bytes": 384,
        "compulsory_bytes": 384,
        "copies": 7,
    }
    assert links["load"]["copies"] == 2
    assert links["out"]["copies"] == 7


def test_layers_have_the_fields_of_the_reference() -> None:
    (layer, _) = report_data(BASE)["layers"]
    assert layer["tile"] == [{"dimension": "oh", "step": 3, "extent": 8}]
    assert layer["buffers"] == {"x": 2}
    assert layer["link_bytes"] == {"in": 192, "out": 128}
    assert [(entry["pool"], entry["buffer"], entry["loads"], entry["stores"]) for entry in layer["levels"]] == [
        ("l1", "conv.x", 6, 0),
        ("l1", "conv.w", 2, 0),
        ("l1", "conv.y", 0, 6),
        ("l1", "conv.scratch", 0, 0),
    ]
    assert (layer["levels"][0]["shape"], layer["levels"][0]["slots"]) == ([5, 4], 2)
    assert (layer["macs"], layer["operations"], layer["tiles"], layer["measured_cycles"]) == (384, 768, 6, None)


def test_peak_names_layer_and_buffers() -> None:
    (l1, sram, _) = report_data(BASE)["pools"]
    assert l1["peak"] == {"tick": 20, "layer": "relu", "alive_bytes": 256, "alive": ["relu.x", "relu.y"]}
    # A view and its root are the same bytes.
    assert (sram["peak"]["alive_bytes"], sram["peak"]["alive"]) == (128, ["m"])


def test_memory_map_stands_by_offset() -> None:
    (l1, sram, _) = report_data(BASE)["pools"]
    assert [entry["name"] for entry in l1["buffers"]] == [
        "conv.x",
        "relu.x",
        "conv.w",
        "conv.y",
        "conv.scratch",
        "relu.y",
    ]
    assert [(entry["name"], entry["view_of"]) for entry in sram["buffers"]] == [("m", None), ("v", "m")]


def test_json_is_stable_text() -> None:
    text = report_json(BASE)
    assert text == report_json(plans.two_layers())
    assert json.loads(text) == report_data(BASE)


def test_text_is_what_people_read() -> None:
    text = report_text(replace(BASE, pool_use=(PoolUse("l1", 256, 200, False), *BASE.pool_use[1:])))
    lines = text.splitlines()
    assert lines[0] == "net: net.onnx on test, 2 layers, 768 MACs, 2,000 cycles predicted"
    assert "  l1     rw       256        256    200  56 (28.0 %)       256     relu" in lines
    assert "  flash  ro        12  unlimited     12      optimal        12        -" in lines
    assert "  conv   Conv      tw_conv  oh 3/8      6   384         768    320         320   1,000" in lines
    assert "  conv   l1    x             5x4          2    40      6       0" in lines
    assert "  conv   192 / 192  128 / 128     -" in lines
    assert "  v (view of m)  intermediate      0  128   128      1     1  29" in lines
    assert all(line == line.rstrip() for line in lines)
    assert text.endswith("\n")


def test_long_names_are_shortened_in_the_middle() -> None:
    name = "model/" + "x" * 100 + "/conv_17"
    assert len(shorten(name)) == NAME_WIDTH
    assert shorten(name).endswith("/conv_17")
    assert shorten("short") == "short"


def test_layers_are_told_by_their_labels() -> None:
    layers = tuple(replace(layer, label=f"{number:02d} conv 3x3 4ch") for number, layer in enumerate(BASE.layers))
    plan = replace(BASE, layers=layers)
    assert "  00 conv 3x3 4ch  Conv" in report_text(plan)
    assert [layer["name"] for layer in report_data(plan)["layers"]] == ["conv", "relu"]


def test_long_names_of_buffers_become_different_labels() -> None:
    long = {buffer.name: f"{buffer.name}/{'x' * 100}" for buffer in BASE.buffers if buffer.kind is BufferKind.TILE}
    text = re.sub(r'"((?:conv|relu)\.\w+)"', lambda found: f'"{long.get(found[1], found[1])}"', dumps(BASE))
    plan = loads(text)
    labels = buffer_labels(plan)
    assert set(labels) == set(long.values())
    assert len(set(labels.values())) == len(labels)


def test_a_plan_without_layers_has_a_report() -> None:
    empty = replace(
        BASE, program=(), layers=(), links=(), buffers=(), placements=(), inputs=(), outputs=(), pool_use=()
    )
    assert "Layers" not in report_text(empty)
    assert [pool["peak"] for pool in report_data(empty)["pools"]] == [None, None, None]
