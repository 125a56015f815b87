"""The pool in which a layer's kernel works, as the user gives it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.chains import conv_chain
from support.firmware import needs_host_compiler
from support.forced import Forced, differences, generated, levels_platform
from support.planned import near_platform, plan_of, planned
from support.small_nodes import conv
from tilewright.base.errors import TilewrightError
from tilewright.check import check
from tilewright.graph import Graph
from tilewright.options import CompileOptions
from tilewright.pipeline import compile_model, plan_model
from tilewright.plan import BufferKind, Core, Plan
from tilewright.platform import Platform

PLATFORMS = Path(__file__).parents[2] / "platforms"
WORKING = (BufferKind.TILE, BufferKind.SCRATCH)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four convolutions, and l3-chain whose core addresses l2 as well."""
    (tmp_path / "net.onnx").write_bytes(conv_chain(layers=4, channels=6))
    text = (PLATFORMS / "l3-chain.toml").read_text(encoding="utf-8")
    text = text.replace("access_cycles = { l1 = 1 }", "access_cycles = { l1 = 1, l2 = 4 }")
    text = text.replace('holds = ["tile"]', 'holds = ["tile", "scratch"]')
    (tmp_path / "both.toml").write_text(text, encoding="utf-8")
    return tmp_path


def options(folder: Path, levels: dict[str, str], **changes: object) -> CompileOptions:
    platform, pools = str(folder / "both.toml"), ("l1=1600",)
    base = CompileOptions(folder / "net.onnx", platform, "net", pools=pools, levels=tuple(levels.items()))
    return replace(base, **changes)  # type: ignore[arg-type]


def working(plan: Plan) -> dict[str, set[str]]:
    """Layer to the pools of what only it has: its tiles and scratch."""
    pools = {item.buffer: item.pool for item in plan.placements}
    found: dict[str, set[str]] = {}
    for buffer in plan.buffers:
        if buffer.kind in WORKING and "staged" not in buffer.name:
            found.setdefault(buffer.name.partition(".")[0], set()).add(pools[buffer.name])
    return found


def test_a_layer_works_where_the_user_wants_it(folder: Path) -> None:
    plan = plan_model(options(folder, {"conv2": "l2", "conv3": "l1"}))
    assert working(plan) == {"conv1": {"l1"}, "conv2": {"l2"}, "conv3": {"l1"}, "conv4": {"l1"}}
    assert check(plan) == []
    facts = {layer.name: layer for layer in plan.layers}
    assert {name for name, _ in facts["conv2"].link_bytes} == {"l3->l2", "l3_constants->l2", "l2->l3"}
    assert "l2->l1" in dict(facts["conv1"].link_bytes)


def test_a_lock_repeats_it(folder: Path) -> None:
    wanted = options(folder, {"conv2": "l2"})
    found = compile_model(wanted)
    path = folder / "net.lock.json"
    path.write_text(found.lock, encoding="utf-8")
    assert compile_model(replace(wanted, plan_lock=path)).files == found.files


@pytest.mark.parametrize(
    ("levels", "what"),
    [
        ({"conv9": "l2"}, "a level is given for 'conv9', which is no layer"),
        ({"conv2": "l3"}, "kernels cannot work in pool 'l3'"),
        ({"conv2": "l4"}, "kernels cannot work in pool 'l4'"),
    ],
)
def test_levels_that_cannot_be_are_refused(folder: Path, levels: dict[str, str], what: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        plan_model(options(folder, levels))
    assert caught.value.code == "level-override"
    assert what in caught.value.what


def platform(homes: str, *, asynchronous: bool) -> Platform:
    """The core addresses l1 and l2; tensors live in ``homes``."""
    found = levels_platform(asynchronous=asynchronous, homes=homes)
    pools = tuple(
        replace(pool, holds=(*pool.holds, BufferKind.SCRATCH)) if pool.name == "l2" else pool for pool in found.pools
    )
    return replace(found, pools=pools, core=Core(1, (("l1", 1), ("l2", 2))))


@needs_host_compiler
@pytest.mark.parametrize("asynchronous", [False, True])
def test_all_levels_give_the_same_bits(tmp_path: Path, asynchronous: bool) -> None:
    """Tiles in l1 or in l2, homes in l2 (where nothing is copied unless the level is l1) or behind it."""
    graph: Graph = conv((1, 4, 9, 9), (8, 4, 3, 3), (9, 9), pads=(1, 1, 1, 1))
    near = near_platform()
    cases = []
    for homes in ("l2", "l3", "l4"):
        for level in ("l1", "l2"):
            chip, number = platform(homes, asynchronous=asynchronous), len(cases)
            steps = () if (homes, level) == ("l2", "l2") else (("oh", 2), ("oc", 4))
            tiles = (("conv", steps),) if steps else ()
            found = planned(graph, chip, levels=(("conv", level),), tiles=tiles)
            assert check(plan_of(graph, chip, found)) == []
            untiled = generated(graph, near, planned(graph, near), f"u{number}")
            cases.append(Forced(graph, steps, generated(graph, chip, found, f"t{number}"), untiled, True))
            assert working(cases[-1].tiled.plan).get("conv", {level}) == {level}
    assert differences(cases, tmp_path / "runs", tmp_path / "objects", 0) == []
