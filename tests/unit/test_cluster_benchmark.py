"""The verdicts of benchmarks/cluster.py on made-up measurements: what is within the limits, and what is not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import onnx
import pytest

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
