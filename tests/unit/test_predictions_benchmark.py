"""The verdicts of benchmarks/predictions.py on made-up measurements, and the platforms that it measures."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tilewright.base.resources import platforms_dir
from tilewright.base.toml_file import tomllib

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import predictions
from predictions import BOARDS, Case, Measured

PRETENDED = frozenset({"l3-chain"})
"""Platforms whose copies cost what those of another chip would."""

CASE = Case("qemu-virt-rv32", Path("onnx/net"), 16_000)


@pytest.mark.parametrize(
    ("measured", "mark"),
    [
        (Measured(105, 100, passed=True), ""),
        (Measured(95, 100, passed=True), ""),
        (Measured(106, 100, passed=True), "missed"),
        (Measured(94, 100, passed=True), "missed"),
        (Measured(100, 0, passed=True), "missed"),
        (Measured(100, 100, passed=False), "wrong output"),
    ],
)
def test_five_per_cent_and_right_outputs(measured: Measured, mark: str) -> None:
    assert predictions.row(CASE, measured).split(" | ")[-1].removesuffix(" |") == mark
    assert measured.is_close is (mark == "")


def test_a_row_shows_the_error_with_its_sign() -> None:
    assert predictions.row(CASE, Measured(950, 1000, passed=True)) == (
        "| qemu-virt-rv32 | net | 16,000 | 950 | 1,000 | \N{MINUS SIGN}5.0 % |  |"
    )


def test_all_platforms_that_qemu_runs_are_measured() -> None:
    tables = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in platforms_dir().glob("*.toml")}
    commands = {name: table["simulator"]["command"][0] for name, table in tables.items() if "simulator" in table}
    assert set(BOARDS) == {name for name, command in commands.items() if command.startswith("qemu-")} - PRETENDED
    for name, board in BOARDS.items():
        has_l1 = any(pool["name"] == "l1" for pool in tables[name]["pool"])
        assert all(bool(size) is has_l1 for size in board.sizes), name


def test_a_text_chooses_platforms_and_networks() -> None:
    chosen = list(predictions.chosen_cases(Path("corpus"), "rv32f"))
    assert {case.platform for case in chosen} == {"qemu-virt-rv32f", "qemu-virt-rv32f-single"}
    assert {case.folder.name for case in predictions.chosen_cases(Path("corpus"), "kws_f32")} == {"kws_f32"}
