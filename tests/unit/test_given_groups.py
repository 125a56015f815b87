"""Groups and blocks that the user gives for layers: they are taken, recorded in locks, or refused with the layer."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs.pages import ROOT, blocks
from support.chains import conv_chain
from tilewright.base.errors import TilewrightError
from tilewright.options import build_options, read_options_file
from tilewright.pipeline import Artifacts, compile_model
from tilewright.plan import Layer, Loop, Plan

LAYERS = 4


def compiled(folder: Path, **values: object) -> Artifacts:
    path = folder / "net.onnx"
    path.write_bytes(conv_chain(LAYERS, size=16))
    return compile_model(build_options(("test", {"model": path, "platform": "host", "name": "net", **values})))


def together(plan: Plan) -> list[tuple[str, ...]]:
    return [tuple(stage.name for stage in step.stages) for step in plan.program if isinstance(step, Layer)]


def rows(plan: Plan) -> dict[str, int]:
    """Rows of a block of each stage that runs in blocks."""
    found = {}
    for layer in (step for step in plan.program if isinstance(step, Layer)):
        for loop in (step for step in layer.body if isinstance(step, Loop)):
            found.update({layer.stages[int(index.name.rpartition("_")[2])].name: index.step for index in loop.indices})
    return found


def test_layers_run_together_as_the_user_says(tmp_path: Path) -> None:
    given = {"conv1": "front", "conv2": "front", "conv3": "alone", "conv4": "alone"}
    assert together(compiled(tmp_path, group=given).plan) == [("conv1", "conv2"), ("conv3",), ("conv4",)]
    assert together(compiled(tmp_path, group={"conv2": "a", "conv3": "a"}).plan)[1:] == [("conv2", "conv3"), ("conv4",)]


def test_the_tables_of_the_page(tmp_path: Path) -> None:
    """groups.md, as an options file."""
    page = (ROOT / "docs" / "explanation" / "groups.md").read_text(encoding="utf-8")
    (text,) = (item.text for item in blocks(page) if item.language == "toml" and item.text.startswith("group"))
    options = tmp_path / "options.toml"
    options.write_text(text, encoding="utf-8")
    found = compiled(tmp_path, **read_options_file(options)).plan
    assert together(found) == [("conv1", "conv2"), ("conv3",), ("conv4",)]
    assert rows(found)["conv2"] == 3


def test_blocks_have_the_rows_that_the_user_says(tmp_path: Path) -> None:
    group = dict.fromkeys(("conv1", "conv2", "conv3", "conv4"), "all")
    for count in (1, 3, 5):
        found = compiled(tmp_path, group=group, block={"conv2": count, "conv4": 2}).plan
        assert {name: rows(found)[name] for name in ("conv2", "conv4")} == {"conv2": count, "conv4": 2}


def test_a_lock_records_what_is_given(tmp_path: Path) -> None:
    given: dict[str, object] = {"group": {"conv1": "front", "conv2": "front"}, "block": {"conv2": 3}}
    found = compiled(tmp_path, **given)
    lock = tmp_path / "net.lock.json"
    lock.write_text(found.lock, encoding="utf-8")
    again = compiled(tmp_path, plan_lock=lock, **given)
    assert again.files == found.files
    with pytest.raises(TilewrightError) as error:
        compiled(tmp_path, plan_lock=lock, **{**given, "block": {"conv2": 1}})
    assert error.value.code == "plan-lock"


@pytest.mark.parametrize(
    ("values", "code", "said"),
    [
        ({"group": {"conv9": "a"}}, "group-override", "conv9"),
        ({"block": {"conv9": 2}}, "block-override", "conv9"),
        ({"group": {"conv1": "a", "conv3": "a"}}, "group-override", "conv2"),
        ({"group": {"conv1": "alone"}, "block": {"conv1": 2}}, "block-override", "conv1"),
        ({"group": {"conv1": "a", "conv2": "a"}, "groups": "off"}, "bad-option", "GROUPS"),
        ({"block": {"conv1": 2}, "platform": "qemu-virt-rv32f"}, "group-override", "platform"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, values: dict[str, object], code: str, said: str) -> None:
    with pytest.raises(TilewrightError) as error:
        compiled(tmp_path, **values)
    assert error.value.code == code
    assert said in error.value.what
