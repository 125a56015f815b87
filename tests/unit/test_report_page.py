"""The report's page: what it says of hand-made plans, as data and as a file."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest
from support import plans
from support.sound import BASE, placed_io
from tilewright.base.errors import TilewrightError
from tilewright.cli import main
from tilewright.plan import Placement, Plan, Relation, RelationKind, Tradeoff
from tilewright.plan.json import dumps, loads
from tilewright.plan.lifetimes import lifetimes
from tilewright.plan.stages import stage_spans
from tilewright.report.data import report_data
from tilewright.report.drawing import draw
from tilewright.report.html import report_html
from tilewright.report.measured import measured_cycles, read_profile
from tilewright.report.page import page_data
from tilewright.report.touches import Edge, Touched, alive_steps, edges, touched_buffers
from tilewright.report.verdict import verdict


def buffer(plan: Plan, name: str) -> dict[str, object]:
    return next(item for pool in page_data(plan)["pools"] for item in pool["buffers"] if item["name"] == name)


def test_steps_follow_marks_around_and_inside_layers() -> None:
    spans = stage_spans(BASE.program)
    alive = lifetimes(BASE.program)
    assert len(spans) == 2
    assert alive_steps(spans, alive["conv.x"]) == (0, 1)
    assert alive_steps(spans, alive["relu.x"]) == (1, 2)
    assert alive_steps(spans, alive["m"]) == (0, 2)
    assert alive_steps(spans, (spans[0][0] + 1, spans[0][1])) == (0, 1)
    assert alive_steps(spans, (0, spans[1][1])) == (0, 2)


def test_every_buffer_knows_who_writes_and_reads_it() -> None:
    touched = touched_buffers(BASE)
    assert touched["m"] == Touched(written=(0,))
    assert touched["v"] == Touched(read=(1,))
    assert touched["w"] == Touched(read=(0,))
    assert touched["conv.y"] == Touched((0,), (0,))
    assert touched["conv.scratch"] == Touched((0,))


def test_data_flows_through_views() -> None:
    flow = edges(BASE, touched_buffers(BASE))
    assert flow == (Edge(None, 0, "x"), Edge(0, 1, "v"), Edge(1, None, "out"))


def test_parts_that_share_no_byte_do_not_feed_each_other() -> None:
    relations = (
        Relation(RelationKind.AT_OFFSET, "v", "m", 0),
        Relation(RelationKind.AT_OFFSET, "out", "x", 0),
    )
    apart = replace(BASE, relations=(*relations, Relation(RelationKind.AT_OFFSET, "m", "x", 1024)))
    assert Edge(1, None, "out") in edges(apart, touched_buffers(apart))
    assert Edge(0, None, "out") not in edges(apart, touched_buffers(apart))


def test_ends_of_the_graph_have_the_names_of_inputs_and_outputs() -> None:
    """Also where a layer reads the input through a view with a name of its own."""
    document = json.loads(dumps(BASE))
    (x,) = (item for item in document["buffers"] if item["name"] == "x")
    document["buffers"].append({**x, "name": "seen"})
    document["relations"].append({"kind": "at_offset", "first": "seen", "second": "x", "offset_bytes": 0})
    document["inputs"][0]["name"] = "picture"
    program = json.dumps(document["program"]).replace('"buffer": "x"', '"buffer": "seen"')
    plan = loads(json.dumps({**document, "program": json.loads(program)}))
    assert edges(plan, touched_buffers(plan))[0] == Edge(None, 0, "seen")
    assert [node["name"] for node in page_data(plan)["graph"]["nodes"]] == ["picture", "conv", "relu", "out"]


def test_chains_stay_straight_and_long_edges_have_a_column_of_their_own() -> None:
    drawing = draw(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert drawing.nodes == ((0, 0), (0, 1), (0, 2), (0, 3))
    assert drawing.edges[-1] == ((0, 0), (1, 1), (1, 2), (0, 3))
    branches = draw(4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    assert branches.nodes == ((0, 0), (0, 1), (1, 1), (0, 2))
    assert draw(0, []).nodes == ()


def test_no_two_nodes_or_ways_stand_on_one_point() -> None:
    count = 60
    links = sorted({(node // 2, node) for node in range(1, count)} | {(node, node + 7) for node in range(count - 7)})
    drawing = draw(count, links)
    inner = [point for way in drawing.edges for point in way[1:-1] if len(way) > 2]
    assert len(set(drawing.nodes)) == count
    assert not set(inner) & set(drawing.nodes)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("conv.x", ["l1 is the pool for this tile.", "At the start of the pool."]),
        ("conv.w", ["l1 is the pool for this tile.", "Directly above conv.x, which is alive at the same time."]),
        ("v", ["sram is the pool for this intermediate.", "Lies at the start of m, whose bytes it shares."]),
    ],
)
def test_reasons(name: str, expected: list[str]) -> None:
    why = buffer(BASE, name)["why"]
    assert isinstance(why, list)
    assert why[:2] == expected


def test_reasons_of_gaps_choices_and_overwriting() -> None:
    moved = plans.shifted(BASE, {"relu.x": 64, "relu.y": 200})
    first = next(item for item in BASE.buffers if item.name == "relu.y")
    buffers = tuple(replace(item, pools=("sram", "l1")) if item == first else item for item in BASE.buffers)
    trail = Relation(RelationKind.TRAILS, "relu.y", "relu.x", 0)
    plan = replace(BASE, placements=moved, buffers=buffers, relations=(*BASE.relations, trail))
    assert buffer(plan, "relu.x")["why"][1].startswith("Nothing that lives at the same time lies below")  # type: ignore[index]
    why = buffer(plan, "relu.y")["why"]
    assert why[:3] == [  # type: ignore[index]
        "l1 is the second choice for this tile among sram, l1.",
        "Written over relu.x, which dies with that layer.",
        "8 bytes above relu.x, the nearest below that is alive at the same time.",
    ]


def test_the_peak_is_told_by_those_who_make_it() -> None:
    whole = [item["name"] for item in page_data(BASE)["pools"][0]["buffers"] if "peak" in item["why"][-1]]
    assert whole == ["relu.x", "relu.y"]


def test_pressure_is_the_most_that_lives_in_each_step() -> None:
    l1, sram, _ = page_data(BASE)["pools"]
    assert l1["pressure_bytes"] == [112, 256]
    assert sram["pressure_bytes"] == [128, 128]


def test_callers_buffers_are_listed_unless_they_are_placed() -> None:
    assert [(item["name"], item["size_bytes"]) for item in page_data(BASE)["callers"]] == [("x", 32), ("out", 128)]
    assert page_data(placed_io(160))["callers"] == []


def test_tiles_are_told_as_the_plan_has_them() -> None:
    (kernel,) = page_data(BASE)["layers"][0]["kernels"]
    assert kernel["indices"] == [["oc", 4, 2, 0], ["oh", 8, 3, 0]]
    assert [operand["tensor"] for operand in kernel["operands"]] == ["x", "w", "m"]
    assert kernel["operands"][0]["axes"][0] == [[["oh", 1]], -1, 1, 1, 8]


def test_operands_with_long_names_have_labels() -> None:
    long = "functional/batch_normalization/Conv2D"
    plan = loads(dumps(BASE).replace('"m"', json.dumps(long)))
    operands = page_data(plan)["layers"][0]["kernels"][0]["operands"]
    assert [(item["tensor"], item.get("label")) for item in operands] == [
        ("x", None),
        ("w", None),
        (long, "conv output"),
    ]


def test_the_page_is_one_file_that_asks_for_nothing() -> None:
    page = report_html(BASE)
    assert len(page) < 100_000
    assert not re.search(r"(src|href)=\"(?!#|data:)", page)
    assert "default-src 'none'" in page
    assert page == report_html(BASE)


def test_names_of_a_model_cannot_break_the_page() -> None:
    evil = '</script><img src="http://example.org/x"><b>&'
    layers = tuple(replace(layer, name=layer.name) for layer in BASE.layers)
    named = replace(BASE, model=evil, layers=(replace(layers[0], operator=evil), layers[1]))
    page = report_html(named)
    assert evil not in page
    assert "<img" not in re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, flags=re.S)
    assert data is not None
    assert json.loads(data[1])["model"] == evil


def test_measured_cycles_come_from_a_profile(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(
        json.dumps({"counter": "instructions", "layers": [{"name": "conv", "cycles": 123}]}), encoding="utf-8"
    )
    measured = read_profile(path, BASE)
    layers = page_data(BASE, measured)["layers"]
    assert [layer["measured_cycles"] for layer in layers] == [123, None]
    assert "instructions measured" in report_html(BASE, measured)
    assert "measured</th>" not in report_html(BASE)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ([], "profile-json"),
        ({"layers": 1}, "profile-json"),
        ({"layers": [1]}, "profile-json"),
        ({"layers": [{"name": "conv", "cycles": "many"}]}, "profile-json"),
        ({"layers": [{"name": "conv", "cycles": True}]}, "profile-json"),
        ({"layers": [{"name": "conv", "cycles": -1}]}, "profile-json"),
        ({"layers": [{"name": "other", "cycles": 1}]}, "profile-layer"),
    ],
)
def test_a_profile_that_does_not_fit(content: object, code: str) -> None:
    with pytest.raises(TilewrightError) as error:
        measured_cycles(content, BASE, "profile.json")
    assert error.value.code == code


def test_the_command_line_writes_each_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, profile, page = tmp_path / "net_plan.json", tmp_path / "p.json", tmp_path / "net_report.html"
    plan.write_text(dumps(BASE), encoding="utf-8")
    profile.write_text(json.dumps({"layers": [{"name": "relu", "cycles": 45_678}]}), encoding="utf-8")
    assert main(["report", str(plan), "--format", "html", "--output", str(page), "--profile", str(profile)]) == 0
    assert capsys.readouterr().out == f"{page}\n"
    assert "45,678" in page.read_text(encoding="utf-8")
    assert main(["report", str(plan), "--profile", str(profile)]) == 0
    assert "45,678" in capsys.readouterr().out
    assert main(["report", str(plan), "--format", "json", "--profile", str(profile)]) == 0
    assert json.loads(capsys.readouterr().out)["layers"][1]["measured_cycles"] == 45_678
    assert main(["report", str(plan), "--profile", str(tmp_path / "absent.json")]) == 2
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    assert main(["report", str(plan), "--profile", str(tmp_path / "broken.json")]) == 2


def test_a_profile_says_which_part_of_a_count_is_what() -> None:
    entry = {"name": "conv", "cycles": 100, "kernel_cycles": 70, "wait_cycles": 20}
    measured = measured_cycles({"layers": [entry, {"name": "relu", "cycles": 9, "wait_cycles": True}]}, BASE, "p.json")
    conv, relu = page_data(BASE, measured)["layers"]
    assert (conv["measured_kernel"], conv["measured_wait"]) == (70, 20)
    assert (relu["measured_kernel"], relu["measured_wait"]) == (None, None)


def test_the_verdict_says_whether_the_plan_fits_and_what_decides() -> None:
    """Of the plan's pools l1 has 256 bytes and is full; with the caller's buffers sram takes 288 of 512."""
    found = verdict(report_data(BASE))
    ram, flash = found["memory"]
    assert (found["state"], found["sentence"]) == ("fits", "Fits.")
    assert [(pool["name"], pool["percent"]) for pool in ram["pools"]] == [("l1", 100.0), ("sram", 25.0)]
    assert [(pool["name"], pool["percent"]) for pool in flash["pools"]] == [("flash", None)]
    assert [(item["pool"], item["layer"]) for item in found["decides"]] == [("l1", "relu"), ("sram", "conv")]
    assert found["cycles_per_mac"] == pytest.approx(2_000 / 768)
    assert found["steps"] == []


@pytest.mark.parametrize(("capacity", "state"), [(127, "no"), (128, "beside"), (287, "beside"), (288, "fits")])
def test_a_pool_that_is_too_small_is_named(capacity: int, state: str) -> None:
    pools = tuple(replace(pool, size_bytes=capacity) if pool.name == "sram" else pool for pool in BASE.pools)
    found = verdict(report_data(replace(BASE, pools=pools)))
    assert found["state"] == state
    assert ("sram" in found["sentence"]) == (state != "fits")


def test_next_steps_are_the_nearest_that_are_worth_a_word() -> None:
    pairs = ((900, 100), (500, 200), (490, 204), (480, 206), (400, 300), (300, 900))
    front = tuple(Tradeoff(size, cycles, taken=size == 490) for size, cycles in pairs)
    smaller, faster = verdict(report_data(replace(BASE, front=front)))["steps"]
    assert (smaller["title"], smaller["bytes"], round(smaller["cycles_percent"])) == ("smaller", 400, 47)
    assert (faster["title"], faster["cycles"], round(faster["bytes_percent"])) == ("faster", 100, 84)
    first = (replace(front[0], taken=True), *front[4:])
    assert [step["title"] for step in verdict(report_data(replace(BASE, front=first)))["steps"]] == ["smaller"]
    assert "other groups of layers take" in report_html(replace(BASE, front=first))


def test_the_table_is_a_csv_file_that_names_c_functions() -> None:
    page = report_html(BASE, measured_cycles({"layers": [{"name": "conv", "cycles": 123}]}, BASE, "p.json"))
    link = re.search(r'download="net_layers.csv" href="data:text/csv;charset=utf-8,([^"]*)"', page)
    assert link is not None
    rows = list(csv.DictReader(io.StringIO(unquote(link[1]))))
    assert [(row["name"], row["function"], row["measured_cycles"]) for row in rows] == [
        ("conv", "net_layer_00_conv", "123"),
        ("relu", "net_layer_01_relu", ""),
    ]


def test_a_buffer_whose_place_changes_is_told_elsewhere() -> None:
    placements = tuple(Placement(item.buffer, item.pool, 8) if item.buffer == "w" else item for item in BASE.placements)
    assert buffer(replace(BASE, placements=placements), "w")["offset_bytes"] == 8
