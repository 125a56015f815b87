"""Tilers of the user's own: what they see, what they may give, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from support.chains import conv_chain
from tilewright.base.errors import TilewrightError
from tilewright.check import check
from tilewright.options import build_options
from tilewright.pipeline import plan_model
from tilewright.plan import Plan
from tilewright.tiling.own_tiler import OperatorTiling

SEEN: list[OperatorTiling] = []
NOT_CALLABLE = 3


def one_row(operator: OperatorTiling) -> Mapping[str, int]:
    SEEN.append(operator)
    return {dimension.name: 1 for dimension in operator.dimensions if dimension.name == "oh" and dimension.can_be_cut}


def beyond(operator: OperatorTiling) -> Mapping[str, int]:
    return {"oh": 10_000}


def no_steps(operator: OperatorTiling) -> Mapping[str, int]:
    return {"oh": 0}


def of_nothing(operator: OperatorTiling) -> Mapping[str, int]:
    return {"depth": 1}


def failing(operator: OperatorTiling) -> Mapping[str, int]:
    raise RuntimeError("no idea")


def of_another_form(layer: OperatorTiling) -> Mapping[str, int]:
    return {}


def planned(folder: Path, strategy: str, l1: int = 4096) -> Plan:
    model = folder / "net.onnx"
    model.write_bytes(conv_chain())
    given = {"model": str(model), "platform": "qemu-virt-rv32", "strategy": strategy, "pools": {"l1": l1}}
    return plan_model(build_options(("test", given)))


def test_its_steps_are_taken_and_the_rest_is_chosen(tmp_path: Path) -> None:
    SEEN.clear()
    plan = planned(tmp_path, f"{__name__}:one_row")
    tiles = [{name: step for name, step, _ in layer.tile} for layer in plan.layers if layer.copies]
    assert tiles
    assert {tile["oh"] for tile in tiles} == {1}
    assert check(plan) == []
    assert plan.tiling is None, "nothing is proved about tiles that were given"


def test_it_sees_dimensions_operands_and_bytes(tmp_path: Path) -> None:
    SEEN.clear()
    planned(tmp_path, f"{__name__}:one_row")
    operator = SEEN[0]
    whole = {dimension.name: dimension.extent for dimension in operator.dimensions}
    assert operator.capacities["l1"] == 4096
    assert any(operand.is_written for operand in operator.operands)
    assert {operand.near for operand in operator.operands} == {"l1"}
    smaller = {**whole, "oh": 1}
    assert 0 < operator.near_bytes(smaller)["l1"] < operator.near_bytes(whole)["l1"]
    assert 0 < operator.kernel_cycles(smaller) < operator.kernel_cycles(whole)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("beyond", "exceeds its extent"),
        ("no_steps", "'oh' = 0, which is no step"),
        ("of_nothing", "no dimension 'depth'"),
        ("failing", "RuntimeError: no idea"),
    ],
)
def test_a_wrong_answer_is_refused_by_name(function: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match=told) as caught:
        planned(tmp_path, f"{__name__}:{function}")
    assert caught.value.code == "own-tiler"
    assert f"{__name__}:{function}" in caught.value.what


@pytest.mark.parametrize(
    "name",
    ["best", ":tiler", "nowhere:tiler", "broken_module:f", f"{__name__}:NOT_CALLABLE", f"{__name__}:of_another_form"],
)
def test_what_is_no_tiler_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_module.py").write_text("f = (")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(TilewrightError) as caught:
        planned(tmp_path, name)
    assert caught.value.code == "unknown-strategy"
