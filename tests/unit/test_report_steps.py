"""The marks of every step, and bytes that several buffers share counted once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.nodes import node_of
from support.planned import near_platform, plan_of, planned
from support.sound import BASE, placed_io, trails
from tilewright.check import check
from tilewright.cli import main
from tilewright.graph import DType, Graph, variable
from tilewright.plan import Plan
from tilewright.plan.json import dumps
from tilewright.report.data import report_data, report_json
from tilewright.report.text import report_text
from tilewright.rewrites.passes import optimise


def pool_steps(plan: Plan, pool: str) -> list[dict[str, object]]:
    (found,) = (item for item in report_data(plan, with_steps=True)["pools"] if item["name"] == pool)
    return found["steps"]


def test_each_layer_shows_what_begins_ends_and_is_alive() -> None:
    conv, relu = pool_steps(BASE, "l1")
    assert [item["name"] for item in conv["begins"]] == ["conv.x", "conv.w", "conv.y", "conv.scratch"]
    assert conv["ends"] == ["conv.x", "conv.w", "conv.y", "conv.scratch"]
    assert (conv["layer"], conv["alive_bytes"]) == ("conv", 40 + 8 + 48 + 16)
    assert (relu["alive_bytes"], relu["largest"]["name"]) == (256, "relu.x")
    home, later = pool_steps(BASE, "sram")
    assert home["begins"][1] == {"name": "v", "size_bytes": 128, "inside": "m", "over": None}
    # The caller owns 160 bytes there.
    assert (home["alive_bytes"], home["with_io_bytes"], later["ends"]) == (128, 288, ["v", "m"])


def test_bytes_that_are_written_over_count_once() -> None:
    (_, relu) = pool_steps(trails(0, 0), "l1")
    assert relu["alive_bytes"] == 128
    assert relu["begins"][1] == {"name": "relu.y", "size_bytes": 128, "inside": None, "over": "relu.x"}


def test_interface_in_pools_is_in_the_bytes_alive() -> None:
    for entry in pool_steps(placed_io(160), "sram"):
        assert entry["alive_bytes"] == entry["with_io_bytes"] == 288


def parts() -> Graph:
    """Two pools, one after the other, joined and pooled again."""
    like = {"kernel": (2, 2), "strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 1, 1)}
    shapes = {"x": (1, 2, 4, 4), "a": (1, 2, 4, 4), "b": (1, 2, 4, 4), "c": (2, 2, 4, 4), "y": (2, 2, 4, 4)}
    nodes = (
        node_of("first", "MaxPool", ("x",), ("a",), like),
        node_of("second", "MaxPool", ("a",), ("b",), like),
        node_of("join", "Concat", ("a", "b"), ("c",), {"axis": 0}),
        node_of("last", "MaxPool", ("c",), ("y",), like),
    )
    tensors = {name: variable(name, DType.INT8, shape) for name, shape in shapes.items()}
    return optimise(Graph("parts", nodes, tensors, ("x",), ("y",)))


def test_a_whole_lives_from_its_last_part_on() -> None:
    graph, platform = parts(), near_platform()
    plan = plan_of(graph, platform, planned(graph, platform))
    assert check(plan) == []
    first, second, last = pool_steps(plan, "sram")
    assert [item["name"] for item in first["begins"]] == ["a"]
    assert [item["name"] for item in second["begins"]] == ["c", "b"]
    assert (first["alive_bytes"], second["alive_bytes"], last["alive_bytes"]) == (32, 64, 64)
    assert second["ends"] == ["b", "a"] or second["ends"] == ["a", "b"]
    assert last["ends"] == ["c"]


def test_text_shows_marks_only_when_asked() -> None:
    assert "marks" not in report_text(BASE)
    lines = report_text(BASE, with_steps=True).splitlines()
    assert "Live and dead marks of sram (bytes): at most 128 alive, 288 with I/O" in lines
    assert "  conv   m 128, v 128 in m  -     m 128      128       288" in lines
    assert not any(line.startswith("Live and dead marks of flash") for line in lines)
    assert '"steps"' not in report_json(BASE)


def test_the_command_prints_marks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net_plan.json"
    path.write_text(dumps(BASE), encoding="utf-8")
    assert main(["report", str(path), "--steps"]) == 0
    assert capsys.readouterr().out == report_text(BASE, with_steps=True)
    assert main(["report", str(path), "--steps", "--format", "json"]) == 0
    assert capsys.readouterr().out == report_json(BASE, with_steps=True)


def test_marks_of_buffers_that_are_not_in_the_pool_are_left_out() -> None:
    moved = replace(BASE, placements=tuple(item for item in BASE.placements if item.buffer != "conv.w"))
    (conv, _) = pool_steps(moved, "l1")
    assert "conv.w" not in [item["name"] for item in conv["begins"]]
