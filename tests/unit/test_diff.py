"""What changed between two plans."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.chains import conv_chain
from tilewright import cli
from tilewright.options import CompileOptions
from tilewright.pipeline import compile_model
from tilewright.plan import Plan
from tilewright.plan.json import dumps
from tilewright.report.diff import diff_data, diff_text


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Plan]:
    model = tmp_path_factory.mktemp("model") / "net.onnx"
    model.write_bytes(conv_chain())
    sizes = ("l1=4000", "l1=1200")
    first, second = (
        compile_model(CompileOptions(model, "qemu-virt-rv32", "net", pools=(size,))).plan for size in sizes
    )
    return first, second


def test_numbers_are_those_of_the_plans(plans: tuple[Plan, Plan]) -> None:
    old, new = plans
    data = diff_data(old, new)
    used = {pool["name"]: pool["used_bytes"] for pool in data["pools"]}
    assert used["l1"] == [next(use.used_bytes for use in plan.pool_use if use.pool == "l1") for plan in plans]
    assert used["l1"][0] > used["l1"][1]
    moved = {link["name"]: link["bytes"] for link in data["links"]}
    assert moved["sram->l1"][1] > moved["sram->l1"][0]
    assert [layer["change"] for layer in data["layers"]] == ["changed"] * len(data["layers"])
    assert "tile" in data["layers"][0]["facts"]
    assert not data["same_program"]


def test_equal_plans_do_not_differ(plans: tuple[Plan, Plan]) -> None:
    data = diff_data(plans[0], plans[0])
    assert data["layers"] == []
    assert data["same_program"]
    assert "The programs are the same." in diff_text(plans[0], plans[0])
    placements = tuple(replace(item, offset_bytes=item.offset_bytes + 16) for item in plans[0].placements)
    assert "addresses differ" in diff_text(plans[0], replace(plans[0], placements=placements))


def test_layers_come_and_go(plans: tuple[Plan, Plan]) -> None:
    old, new = plans[0], replace(plans[0], layers=plans[0].layers[1:])
    assert diff_data(old, new)["layers"] == [{"name": "conv1", "change": "removed", "facts": {}}]
    assert diff_data(new, old)["layers"] == [{"name": "conv1", "change": "added", "facts": {}}]
    turned = replace(old, layers=old.layers[::-1])
    assert {layer["change"] for layer in diff_data(old, turned)["layers"]} == {"moved"}


def test_the_command(plans: tuple[Plan, Plan], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / "old.json", tmp_path / "new.json"]
    for path, plan in zip(paths, plans, strict=True):
        path.write_text(dumps(plan), encoding="utf-8")
    assert cli.main(["diff", *map(str, paths)]) == 0
    text = capsys.readouterr().out
    assert "Layers that differ" in text
    assert "conv1" in text
    assert cli.main(["diff", *map(str, paths), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(diff_data(*plans)))
    assert cli.main(["diff", str(paths[0]), str(tmp_path / "none.json")]) == 2
