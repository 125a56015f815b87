"""The verdicts of benchmarks/cluster.py on made-up measurements: what is within the limits, and what is not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest
from tilewright.base.toml_file import tomllib
from tilewright.options import build_options
from tilewright.pipeline import compile_model

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import cluster
import micro_models

CASE = cluster.Case(Path("net"), 8, buffering="double")


def profile(cycles: int, tiles: int = 8, copied_bytes: int = 40_000) -> dict[str, Any]:
    return {"layers": [{"name": "conv", "tiles": tiles, "cycles": cycles, "copied_bytes": copied_bytes}]}


@pytest.mark.parametrize(
    ("both", "missed"),
    [
        (100_000, 0),  # nothing is hidden that could not be
        (115_000, 0),  # 1.10 * (100,000 + 2 / 8 * 20,000)
        (115_501, 1),
        (120_000, 1),  # kernels and copies one behind the other
    ],
)
def test_overlap_is_judged_by_the_longer_part_and_the_ends(both: int, missed: int) -> None:
    assert cluster.overlapped_layers(CASE, profile(both), profile(100_000), profile(20_000)) == missed


@pytest.mark.parametrize(("tiles", "copied_bytes"), [(3, 40_000), (8, 8 * 2047)])
def test_few_or_small_tiles_are_not_judged(tiles: int, copied_bytes: int) -> None:
    layers = [profile(cycles, tiles, copied_bytes) for cycles in (900_000, 100_000, 20_000)]
    assert cluster.overlapped_layers(CASE, *layers) == 0


def test_double_buffering_must_be_faster(tmp_path: Path) -> None:
    cases = [cluster.Case(Path("net"), 8, buffering=how, profile=False) for how in ("single", "double")]
    for doubled, missed in ((999, 0), (1000, 1), (1001, 1)):
        logs = {}
        for case, cycles in zip(cases, (1000, doubled), strict=True):
            logs[case.target] = tmp_path / case.target
            logs[case.target].write_text(f"pool l1: 3 bytes\nrun 0: cycles {cycles}\n", encoding="utf-8")
        assert cluster.doubled_networks(cases, logs) == missed


@pytest.mark.parametrize(
    ("predicted", "missed"),
    [
        ((960, 870), 0),
        ((1051, 960), 1),  # the whole by more than 5 %
        ((1000, 989), 0),
        ((1000, 991), 1),  # a large layer by more than 10 %
    ],
)
def test_predictions_of_networks_and_of_their_large_layers_are_judged(predicted: tuple[int, int], missed: int) -> None:
    large = {"name": "conv", "kernel": "tilewright_conv", "predicted_cycles": predicted[1], "cycles": 900}
    small = {"name": "add", "kernel": "tilewright_add", "predicted_cycles": 100, "cycles": 50}
    whole = {"predicted_cycles": predicted[0], "cycles": 1000, "layers": [large, small]}
    assert cluster.predicted_layers(CASE, whole) == missed


def test_multiply_accumulates_as_written_are_those_of_all_channels(tmp_path: Path) -> None:
    chain = micro_models.Chain(1, 3, 6, 6)
    chain.conv(8, 3)
    chain.conv(0, 3, depthwise=True)
    chain.dense(10)
    onnx.save(chain.model(), tmp_path / "network.onnx")
    (tmp_path / "types.json").write_text('{"image": "uint8"}', encoding="utf-8")
    assert cluster.written_macs(tmp_path) == 36 * 8 * 27 + 36 * 8 * 9 + 36 * 8 * 10


def test_a_log_is_cut_out_of_those_of_all_tests() -> None:
    text = f"    Start 2: {CASE.target}.t\n1: run 0: cycles 1\n2: run 0: cycles 7\n12: run 0: cycles 9\n"
    assert cluster.output_of(CASE, text) == ["run 0: cycles 7"]


def test_micro_models_are_the_same_each_time() -> None:
    for build in micro_models.MODELS.values():
        model = build().model()
        onnx.checker.check_model(model)
        assert model.SerializeToString() == build().model().SerializeToString()


def predictions(model: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Predicted cycles of the layers of a micro-benchmark with 58,000 bytes of l1."""
    monkeypatch.setattr(micro_models, "MODELS", {model: micro_models.MODELS[model]})
    target = micro_models.write_models(folder)[0]
    types = json.loads((target / "types.json").read_text(encoding="utf-8"))
    given = tomllib.loads((target / "options.toml").read_text(encoding="utf-8"))
    values = {
        "model": target / "network.onnx",
        "platform": str(cluster.PLATFORM),
        "pools": ["l1=58000"],
        "types": types,
    }
    options = build_options(("test", {**values, "name": "net", "buffering": "single"}), ("options.toml", given))
    return {layer.name: layer.predicted_cycles for layer in compile_model(options).plan.layers}


MEASURED = {
    "rows": {"add_1": 16_584, "add_3": 18_711, "add_5": 37_977, "add_7": 41_167},
    "windows_folded": {
        "conv_2": 34_702,
        "conv_6": 62_799,
        "conv_8": 31_754,
        "conv_10": 21_998,
        "conv_14": 31_560,
        "conv_16": 17_097,
        "conv_22": 27_876,
        "conv_24": 16_859,
    },
    "windows_layer": {
        "conv_4": 39_399,
        "conv_15": 74_815,
        "conv_21": 35_299,
        "conv_27": 26_599,
        "conv_38": 38_838,
        "conv_44": 18_513,
        "conv_61": 31_278,
        "conv_67": 17_763,
    },
}
"""Cycles of layers of micro-benchmarks, eight cores and 58,000 bytes of l1, in GVSoC."""


@pytest.mark.parametrize("model", MEASURED)
def test_micro_benchmarks_are_predicted(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predicted = predictions(model, tmp_path, monkeypatch)
    found = {name: predicted[name] for name in MEASURED[model]}
    assert found == pytest.approx(MEASURED[model], rel=cluster.LAYER_LIMIT)
