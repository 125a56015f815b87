"""Reports show what a model as written multiplies beside what its plan computes, where these differ."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import onnx
import pytest
import tilewright
from support.dead_networks import DEAD, Network
from tilewright.cli.main import main
from tilewright.plan.json import dumps, loads
from tilewright.planned_model import PlannedModel
from tilewright.report.data import report_data
from tilewright.report.html import report_html
from tilewright.report.text import report_text

PIXELS = 7 * 6
NOMINAL = (PIXELS * 16 * 27, PIXELS * 16 * 9, PIXELS * 16 * 8)
LEFT = (PIXELS * 12 * 27, PIXELS * 12 * 9, PIXELS * 12 * 8)
"""Twelve of 16 channels stay: eleven, and a dead one that fills up a four."""


def written(path: Path, dead: tuple[int, ...]) -> Path:
    net = Network()
    net.pointwise(net.depthwise(net.dead_conv(net.image(), 16, dead=dead), 16), 8, 16, "y")
    onnx.save(net.model("y", dtypes={"y": np.int8}), path)
    return path


@pytest.fixture(scope="module")
def lean(tmp_path_factory: pytest.TempPathFactory) -> PlannedModel:
    return tilewright.plan(written(tmp_path_factory.mktemp("lean") / "net.onnx", DEAD), "host", name="net")


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> PlannedModel:
    return tilewright.plan(written(tmp_path_factory.mktemp("dense") / "net.onnx", ()), "host", name="net")


def test_layers_and_sums_have_both(lean: PlannedModel) -> None:
    assert [(layer.nominal_macs, layer.macs) for layer in lean.layers] == list(zip(NOMINAL, LEFT, strict=True))
    assert (lean.nominal_macs, lean.macs) == (sum(NOMINAL), sum(LEFT))
    data = report_data(lean.plan)
    assert (data["nominal_macs"], data["macs"]) == (sum(NOMINAL), sum(LEFT))
    assert loads(dumps(lean.plan)) == lean.plan


def test_text_has_both(lean: PlannedModel) -> None:
    text = report_text(lean.plan)
    assert f"{sum(LEFT):,} MACs ({sum(NOMINAL):,} nominal), " in text.splitlines()[0]
    (heading,) = (line.split() for line in text.splitlines() if "MACs" in line and "operations" in line)
    at = heading.index("nominal") - len(heading)
    rows = [line.split() for line in text.splitlines() if "host" not in line and f"{LEFT[0]:,}" in line]
    assert rows[0][at - 1 : at + 1 or None] == [f"{LEFT[0]:,}", f"{NOMINAL[0]:,}"]


def test_page_table_and_notebook_have_both(lean: PlannedModel) -> None:
    page = report_html(lean.plan)
    for shown in (page, lean._repr_html_()):
        assert f"{sum(LEFT):,} multiply-accumulates ({sum(NOMINAL):,} nominal)" in shown
    assert f'<td class="n">{LEFT[1]:,}</td><td class="n">{NOMINAL[1]:,}</td>' in page
    link = page.split('href="data:text/csv;charset=utf-8,')[1].split('"')[0]
    rows = list(csv.DictReader(io.StringIO(unquote(link))))
    assert [int(row["nominal_macs"]) for row in rows] == list(NOMINAL)


def test_one_number_where_nothing_is_left_out(dense: PlannedModel) -> None:
    assert dense.nominal_macs == dense.macs == sum(NOMINAL)
    for shown in (report_text(dense.plan), dense._repr_html_(), dumps(dense.plan)):
        assert "nominal" not in shown
    page = report_html(dense.plan).split("<script")[0]
    assert "nominal)" not in page
    assert ">nominal<" not in page


def test_inspect_has_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "net.onnx", DEAD)
    assert main(["inspect", str(path)]) == 0
    assert f"3 layers, {sum(LEFT):,} multiply-accumulates ({sum(NOMINAL):,} nominal), " in capsys.readouterr().out
    assert main(["inspect", str(path), "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["nominal_macs"], data["macs"]) == (sum(NOMINAL), sum(LEFT))


def test_operators_of_constants_alone_count_nowhere(tmp_path: Path) -> None:
    net = Network()
    x, table = net.input("x", [2, 4]), np.ones((4, 4), np.float32)
    net.node("MatMul", x, net.node("MatMul", net.constant(table), net.constant(table)), output="y")
    onnx.save(net.model("y"), tmp_path / "net.onnx")
    found = tilewright.plan(tmp_path / "net.onnx", "host", name="net")
    assert found.nominal_macs == found.macs == 2 * 4 * 4
