"""The verdicts of benchmarks/cluster.py on made-up measurements: what is within the limits, and what is not."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import onnx
import pytest
from tilewright.base.toml_file import tomllib
from tilewright.options import build_options
from tilewright.pipeline import compile_model

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import cluster
import micro_floats
import micro_models
import micro_shapes

CASE = cluster.Case(Path("net"), 8, buffering="double")


def layer(cycles: int, wait_cycles: int, tiles: int = 8, copied_bytes: int = 40_000) -> dict[str, Any]:
    """A layer of a profile."""
    return {
        "name": "conv",
        "tiles": tiles,
        "cycles": cycles,
        "wait_cycles": wait_cycles,
        "copied_bytes": copied_bytes,
    }


KERNELS, COPIES = layer(100_000, 0), layer(20_500, 20_000)
"""A layer whose kernels take longer than its copies, without its copies and without its kernels."""


@pytest.mark.parametrize(
    ("waits", "is_overlapped"),
    [
        (0, True),
        (5_000, True),  # the ends, 2 / 8 * 20,000
        (8_000, True),  # and 15 % of 20,000
        (8_001, False),
        (20_000, False),  # kernels and copies one behind the other
    ],
)
def test_long_kernels_hide_the_waits_between_the_ends(waits: int, is_overlapped: bool) -> None:
    assert cluster.is_overlapped(layer(100_000 + waits, waits), KERNELS, COPIES) is is_overlapped


@pytest.mark.parametrize(
    ("cycles", "is_overlapped"),
    [
        (100_000, True),
        (122_000, True),  # 1.10 * 100,000 + 2 / 16 * 96,000
        (122_001, False),
        (130_000, False),  # kernels and copies one behind the other
    ],
)
def test_long_copies_hide_the_kernels(cycles: int, is_overlapped: bool) -> None:
    parts = layer(30_000, 0, 16), layer(100_000, 96_000, 16)
    for waits in (0, 96_000):
        assert cluster.is_overlapped(layer(cycles, waits, 16), *parts) is is_overlapped


@pytest.mark.parametrize(
    ("tiles", "copied_bytes", "is_judged"),
    [(3, 40_000, False), (4, 40_000, True), (8, 8 * 2048 - 1, False), (8, 8 * 2048, True)],
)
def test_few_or_small_tiles_are_not_judged(tiles: int, copied_bytes: int, is_judged: bool) -> None:
    behind = layer(120_000, 20_000, tiles, copied_bytes)
    assert cluster.is_overlapped(behind, KERNELS, COPIES) is (False if is_judged else None)


@pytest.mark.parametrize(
    ("waits", "missed"),
    [
        ({"double": 8_000, "single": 20_000}, 0),
        ({"double": 8_001, "single": 20_000}, 2),  # a layer with one core and with eight
        ({"double": 8_000, "single": 8_000}, 2),  # limits that copies behind kernels meet judge nothing
        ({"double": 20_000, "single": 8_000}, 4),
    ],
)
def test_single_buffering_must_miss_the_limits_of_overlap(
    waits: dict[str, int],
    missed: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(cases: Iterable[cluster.Case], folder: Path) -> dict[str, Path]:
        found = {case.target: folder / case.target for case in cases}
        for case in cases:
            waited = waits[case.buffering]
            parts = {"": layer(100_000 + waited, waited), "COPIES": KERNELS, "KERNELS": COPIES}
            is_single = case.buffering == "single"
            text = json.dumps({"layers": [parts[case.leave_out]]}) if case.profile else f"run 0: cycles {9 + is_single}"
            found[case.target].write_text(text, encoding="utf-8")
        return found

    monkeypatch.setattr(cluster, "run", run)
    assert cluster.overlap(Path("models"), tmp_path, "KeywordSpotting") == (1 if missed else 0)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == (f"{missed} missed: limits" if missed else "all within their limits")


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
    for build in (*micro_models.MODELS.values(), *micro_shapes.SHAPES.values(), *micro_floats.FLOATS.values()):
        model = build().model()
        onnx.checker.check_model(model)
        assert model.SerializeToString() == build().model().SerializeToString()


def predictions(model: str, folder: Path) -> dict[str, int]:
    """Predicted cycles of the layers of a micro-benchmark with 58,000 bytes of l1."""
    build = {**micro_models.MODELS, **micro_shapes.SHAPES}[model]
    target = micro_models.write_models(folder, {model: build})[0]
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
        "conv_2": 29_962,
        "conv_6": 50_141,
        "conv_8": 25_478,
        "conv_10": 17_311,
        "conv_14": 25_063,
        "conv_16": 14_011,
        "conv_18": 12_543,
        "conv_22": 25_914,
        "conv_24": 15_568,
        "conv_26": 18_053,
    },
    "windows_layer": {
        "conv_4": 34_649,
        "conv_15": 64_418,
        "conv_21": 30_357,
        "conv_27": 22_401,
        "conv_38": 32_676,
        "conv_44": 15_705,
        "conv_50": 14_113,
        "conv_61": 30_032,
        "conv_67": 17_326,
        "conv_73": 18_383,
    },
    "copied": {"conv_4": 29_289, "conv_10": 75_449, "conv_22": 57_585, "conv_28": 112_272},
    "far_taps": {"conv_4": 136_850, "conv_10": 273_120, "conv_16": 422_040},
    "doubled": {"convtranspose_9": 551_568, "convtranspose_14": 772_362},
    "pools": {"maxpool_2": 15_024, "maxpool_5": 4_655, "maxpool_8": 4_343},
    "normalised": {"ilayernorm_1": 117_888, "ilayernorm_3": 108_172, "ilayernorm_7": 110_153},
    "attention_symmetric": {
        "matmul_6": 33_766,
        "matmul_9": 29_148,
        "matmul_16": 29_442,
        "matmul_19": 23_383,
        "matmul_29": 72_819,
        "matmul_39": 19_511,
        "matmul_46": 56_383,
        "matmul_49": 42_693,
    },
    "attention_with_zero_points": {
        "matmul_6": 51_691,
        "matmul_9": 37_884,
        "matmul_16": 39_676,
        "matmul_19": 29_906,
        "matmul_29": 88_155,
        "matmul_39": 25_031,
        "matmul_46": 72_738,
        "matmul_49": 51_235,
    },
    "remainders": {"conv_4": 15_816, "conv_9": 24_930, "conv_14": 16_024, "conv_19": 27_867, "gemm_25": 18_898},
}
"""Cycles of layers of micro-benchmarks, eight cores and 58,000 bytes of l1, in GVSoC."""


@pytest.mark.parametrize("model", MEASURED)
def test_micro_benchmarks_are_predicted(model: str, tmp_path: Path) -> None:
    predicted = predictions(model, tmp_path)
    found = {name: predicted[name] for name in MEASURED[model]}
    assert found == pytest.approx(MEASURED[model], rel=cluster.LAYER_LIMIT)
