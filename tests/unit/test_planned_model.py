"""``tilewright.plan(model, platform, **options)``."""

from __future__ import annotations

from pathlib import Path

import pytest
import tilewright
from tilewright.base.errors import TilewrightError
from tilewright.cli.main import main
from tilewright.planned_model import PlannedModel

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"
OPTIONS = {"name": "digits", "pools": {"l1": 4096}, "buffering": "single"}


@pytest.fixture(scope="module")
def digits() -> PlannedModel:
    return tilewright.plan(DIGITS, "qemu-virt-rv32", **OPTIONS)


def test_pools_links_and_layers_are_the_plan_s(digits: PlannedModel) -> None:
    pools = {pool.name: pool for pool in digits.pools}
    assert pools["l1"].capacity_bytes == 4096
    for use in digits.plan.pool_use:
        assert (pools[use.pool].used_bytes, pools[use.pool].lower_bound_bytes) == (
            use.used_bytes,
            use.lower_bound_bytes,
        )
    assert [layer.name for layer in digits.layers] == [layer.name for layer in digits.plan.layers]
    assert digits.predicted_cycles == sum(layer.predicted_cycles for layer in digits.layers) > 0
    assert digits.macs == sum(layer.macs for layer in digits.layers) > 0
    assert all(link.moved_bytes >= link.compulsory_bytes for link in digits.links)


def test_files_are_those_of_the_command(digits: PlannedModel, tmp_path: Path) -> None:
    digits.write(tmp_path / "python")
    words = ["--model", str(DIGITS), "--name", "digits", "--platform", "qemu-virt-rv32", "--buffering", "single"]
    assert main(["generate", *words, "--pool", "l1=4096", "--output-dir", str(tmp_path / "command")]) == 0
    names = sorted(path.name for path in (tmp_path / "command").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "python").iterdir())
    for name in names:
        assert (tmp_path / "python" / name).read_bytes() == (tmp_path / "command" / name).read_bytes(), name


def test_a_notebook_shows_tables(digits: PlannedModel) -> None:
    shown = digits._repr_html_()
    assert f"{digits.pools[0].used_bytes:,}" in shown
    assert all(layer.label in shown for layer in digits.layers)
    assert digits.summary().splitlines()[0] == digits.report().splitlines()[0]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"bufering": "single"}, "unknown-option"),
        ({"buffering": "triple"}, "bad-option"),
        ({"pools": {"l1": 16}}, "tile-overflow"),
    ],
)
def test_mistakes_are_told(options: dict[str, object], code: str) -> None:
    with pytest.raises(TilewrightError) as told:
        tilewright.plan(DIGITS, "qemu-virt-rv32", **options)
    assert told.value.code == code
