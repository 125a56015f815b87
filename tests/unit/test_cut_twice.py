"""Dimensions that are cut into blocks, and these into tiles."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from onnx import TensorProto, helper
from support.firmware import needs_host_compiler
from support.forced import Forced, differences, generated, levels_platform
from support.planned import near_platform, planned
from support.small_nodes import conv, kernel_of
from tilewright.base.errors import TilewrightError
from tilewright.check import check
from tilewright.graph import Graph
from tilewright.operators.nest import axis_range, clipped
from tilewright.options import CompileOptions, Objective
from tilewright.pipeline import compile_model, plan_model
from tilewright.plan import Plan
from tilewright.tiling.cut_twice import blocked
from tilewright.tiling.problem import TilingProblem, tiling_problem


def padded() -> Graph:
    return conv((1, 3, 12, 6), (4, 3, 3, 3), (6, 6), pads=(1, 1, 1, 1), strides=(2, 1))


def problem_of(graph: Graph) -> TilingProblem:
    platform = levels_platform(asynchronous=False, homes="l3")
    return tiling_problem(graph, graph.nodes[0], kernel_of(graph), platform, dict.fromkeys(graph.tensors, "l3"))


def test_tiles_of_blocks_touch_what_tiles_of_the_dimension_touch() -> None:
    whole = problem_of(padded())
    for block in (2, 3):
        parts = blocked(whole, "oh", block)
        for at, lower in product(range(6 // block), range(block)):
            rows = at * block + lower
            for before, after in zip(whole.operands, parts.operands, strict=True):
                for axis, cut, extent in zip(before.axes, after.axes, before.extents, strict=True):
                    spans = {name: (0, length) for name, length in whole.extents.items()}
                    tile = {**spans, "oh": (rows, rows + 1)}
                    inner = {**spans, f"oh_by_{block}": (at, at + 1), "oh": (lower, lower + 1)}
                    assert clipped(axis_range(cut, extent, {}), inner) == clipped(axis_range(axis, extent, {}), tile)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A product of two matrices of 16 KiB, of which the larger tiles of an l2 of 16,000 bytes hold parts."""
    sides = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (64, 64)) for name in "aby"]
    graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["y"], "product")], "g", sides[:2], sides[2:])
    path = tmp_path / "product.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
    return path


def of_levels(model: Path, *steps: tuple[str, int], plan_lock: Path | None = None) -> CompileOptions:
    options = CompileOptions(model, "l3-chain", "net", pools=("l1=4000", "l2=16000"), objective=Objective.BYTES_MOVED)
    return replace(options, tiles=(("product", steps),) if steps else (), plan_lock=plan_lock)


def far_bytes(plan: Plan) -> int:
    moved = dict(plan.layers[0].link_bytes)
    return sum(moved[name] for name in ("l3->l2", "l2->l3"))


def test_blocks_are_found_where_tensors_would_travel_twice(model: Path) -> None:
    plan = plan_model(of_levels(model))
    tile = {name: (step, extent) for name, step, extent in plan.layers[0].tile}
    assert any("_by_" in name for name in tile), tile
    assert check(plan) == []
    # The best tiles of one cut for each dimension, which the user may still ask for.
    once = plan_model(of_levels(model, ("m", 13), ("n", 2)))
    assert far_bytes(once) == 114_688
    assert far_bytes(plan) < 70_000


def test_a_lock_repeats_blocks(model: Path) -> None:
    found = compile_model(of_levels(model))
    lock = model.with_name("net.lock.json")
    lock.write_text(found.lock, encoding="utf-8")
    assert "_by_" in found.lock
    assert compile_model(of_levels(model, plan_lock=lock)).files == found.files


def test_the_user_gives_blocks(model: Path) -> None:
    plan = plan_model(of_levels(model, ("m_by_32", 1), ("m", 8)))
    tile = {name: (step, extent) for name, step, extent in plan.layers[0].tile}
    assert (tile["m_by_32"], tile["m"]) == ((1, 2), (8, 32))


@pytest.mark.parametrize(
    ("steps", "what"),
    [
        ((("m_by_30", 1),), "there is no dimension 'm_by_30'"),
        ((("m_by_32", 2),), "m_by_32 = 2, where a tile has one block"),
        ((("m_by_32", 1), ("m", 48)), "m = 48 exceeds its extent, 32"),
    ],
)
def test_blocks_that_cannot_be_are_refused(model: Path, steps: tuple[tuple[str, int], ...], what: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        plan_model(of_levels(model, *steps))
    assert caught.value.code == "tile-override"
    assert what in caught.value.what


@needs_host_compiler
@pytest.mark.parametrize("asynchronous", [False, True])
def test_blocks_give_the_same_bits(tmp_path: Path, asynchronous: bool) -> None:
    graph, near = padded(), near_platform()
    platform = levels_platform(asynchronous=asynchronous, homes="l3")
    cases = []
    for steps in ((("oh_by_3", 1), ("oc", 4), ("oh", 2)), (("oh_by_2", 1), ("ow_by_3", 1), ("oh", 1), ("ow", 2))):
        number = len(cases)
        tiled = generated(graph, platform, planned(graph, platform, tiles=(("conv", steps),)), f"t{number}")
        untiled = generated(graph, near, planned(graph, near), f"u{number}")
        cases.append(Forced(graph, steps, tiled, untiled, True))
    assert differences(cases, tmp_path / "runs", tmp_path / "objects", 0) == []
