"""Images of the caller in planes that become pixels in their own bytes: fewer bytes, the same bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conformance.build import Generated
from support.firmware import needs_host_compiler
from support.host_runs import host_outputs
from support.random_groups import random_rows
from tilewright.options import build_options
from tilewright.pipeline import Artifacts, compile_model
from tilewright.plan import Plan, kernel_steps

SEEDS = (11, 19)
LEAST = {"objective": "bytes_used"}


def compiled(seed: int, folder: Path, **values: object) -> Artifacts:
    folder.mkdir(exist_ok=True)
    path = folder / "net.onnx"
    path.write_bytes(random_rows(seed).proto().SerializeToString())
    given = {"model": path, "platform": "host", "name": "net", "static_pools": True, "io_in_pools": True, **values}
    return compile_model(build_options(("test", given)))


def used(plan: Plan) -> int:
    return sum(use.used_bytes for use in plan.pool_use if use.pool == "sram")


@needs_host_compiler
@pytest.mark.parametrize("seed", SEEDS)
def test_images_in_planes_are_interleaved_in_place(seed: int, tmp_path: Path) -> None:
    model = random_rows(seed)
    apart, least = compiled(seed, tmp_path, groups="off"), compiled(seed, tmp_path, **LEAST)
    (kernel,) = (step for step in kernel_steps(least.plan.program) if step.symbol == "tilewright_interleave_planes")
    over = (kernel.writes[0].buffer, kernel.reads[0].buffer)
    assert over in {(item.first, item.second) for item in least.plan.relations}
    assert used(least.plan) < used(apart.plan)
    feeds = {name: model.values[name] for name in model.inputs}
    wanted, got = (
        host_outputs(Generated("net", item.plan, dict(item.files)), feeds, tmp_path / way)
        for way, item in (("apart", apart), ("least", least))
    )
    assert all(np.array_equal(wanted[name], got[name], equal_nan=True) for name in wanted)


def test_a_lock_repeats_an_interleaved_image(tmp_path: Path) -> None:
    found = compiled(SEEDS[0], tmp_path, **LEAST)
    lock = tmp_path / "net.lock.json"
    lock.write_text(found.lock, encoding="utf-8")
    assert compiled(SEEDS[0], tmp_path, plan_lock=lock, **LEAST).files == found.files
