"""Strips that the user gives for layers: they are taken, or refused with the layers and the reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs.pages import ROOT, blocks
from support.chains import conv_chain
from tilewright.base.errors import TilewrightError
from tilewright.options import build_options, read_options_file
from tilewright.pipeline import Artifacts, compile_model

LAYERS = 4


def compiled(folder: Path, **values: object) -> Artifacts:
    path = folder / "net.onnx"
    path.write_bytes(conv_chain(LAYERS, size=16))
    return compile_model(build_options(("test", {"model": path, "platform": "host", "name": "net", **values})))


def names(found: Artifacts) -> list[str]:
    return [layer.name for layer in found.plan.layers]


def test_layers_run_once_for_each_strip(tmp_path: Path) -> None:
    found = compiled(tmp_path, strips={"conv1..conv2": 3})
    parts = [f"conv{layer}.{number}" for number in range(3) for layer in (1, 2)]
    assert names(found) == [*parts, "conv3", "conv4"]


def test_two_regions_and_one_behind_the_start(tmp_path: Path) -> None:
    found = compiled(tmp_path, strips={"conv1..conv1": 2, "conv2..conv3": 2})
    assert names(found) == ["conv1.0", "conv1.1", "conv2.0", "conv3.0", "conv2.1", "conv3.1", "conv4"]


def test_constants_are_stored_once(tmp_path: Path) -> None:
    def constants(found: Artifacts) -> int:
        return sum(array.size for array in found.constants.values() if array.dtype == "float32")

    assert constants(compiled(tmp_path, strips={"conv1..conv3": 3})) == constants(compiled(tmp_path))


def test_the_table_of_the_page(tmp_path: Path) -> None:
    """groups.md, as an options file."""
    page = (ROOT / "docs" / "explanation" / "groups.md").read_text(encoding="utf-8")
    (text,) = (item.text for item in blocks(page) if item.language == "toml" and item.text.startswith("strips"))
    options = tmp_path / "options.toml"
    options.write_text(text, encoding="utf-8")
    assert "conv1.3" in names(compiled(tmp_path, **read_options_file(options)))


@pytest.mark.parametrize(
    ("values", "code", "said"),
    [
        ({"strips": {"conv1..conv9": 2}}, "strips-override", "conv9"),
        ({"strips": {"conv1": 2}}, "strips-override", "<first>..<last>"),
        ({"strips": {"conv3..conv2": 2}}, "strips-override", "conv3"),
        ({"strips": {"conv1..conv4": 2}}, "strips-override", "conv4"),
        ({"strips": {"conv1..conv2": 2}, "feed": "x"}, "strips-override", "FEED"),
        ({"strips": {"conv1..conv2": 2}, "groups": "off"}, "bad-option", "GROUPS"),
        ({"strips": {"conv1..conv2": 2}, "platform": "qemu-virt-rv32f"}, "strips-override", "platform"),
        ({"strips": {"conv1..conv2": 1}}, "bad-option", "strips"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, values: dict[str, object], code: str, said: str) -> None:
    with pytest.raises(TilewrightError) as error:
        compiled(tmp_path, **values)
    assert error.value.code == code, error.value
    assert said in f"{error.value.what} {error.value.at}"


def test_layers_behind_fed_ones_may_be_in_strips(tmp_path: Path) -> None:
    found = compiled(tmp_path, strips={"conv2..conv3": 2}, feed="x")
    assert names(found) == ["feed x", "conv1", "conv2.0", "conv3.0", "conv2.1", "conv3.1", "conv4"]
