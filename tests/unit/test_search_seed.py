"""The seed of what draws random numbers: other numbers give other plans, equal ones the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.chains import conv_chain
from tilewright.check import check
from tilewright.options import CompileOptions, Groups
from tilewright.pipeline import compile_model, plan_model
from tilewright.plan import Plan

SEEDS = range(6)


@pytest.fixture
def options(tmp_path: Path) -> CompileOptions:
    path = tmp_path / "net.onnx"
    path.write_bytes(conv_chain(layers=4, channels=6))
    return CompileOptions(path, "qemu-virt-rv32f", "net", pools=("l1=8000",))


def tiles(plan: Plan) -> list[object]:
    return [layer.tile for layer in plan.layers]


def test_random_tiles_follow_the_seed(options: CompileOptions) -> None:
    drawn = replace(options, strategy="random_max")
    plans = [plan_model(replace(drawn, search_seed=seed)) for seed in SEEDS]
    assert all(check(plan) == [] for plan in plans)
    assert len({repr(tiles(plan)) for plan in plans}) > 1
    assert plans[0] == plan_model(drawn)
    assert compile_model(replace(drawn, search_seed=3)).files == compile_model(replace(drawn, search_seed=3)).files


def test_random_placement_follows_the_seed(options: CompileOptions) -> None:
    drawn = replace(options, algorithm="tetris_random", platform="qemu-virt-rv32f-single", pools=(), groups=Groups.OFF)
    plans = [plan_model(replace(drawn, search_seed=seed)) for seed in SEEDS]
    assert all(check(plan) == [] for plan in plans)
    assert len({plan.placements for plan in plans}) > 1


def test_a_lock_records_it(options: CompileOptions) -> None:
    assert '"search_seed": 3' in compile_model(replace(options, search_seed=3)).lock
    assert "search_seed" not in compile_model(options).lock
