"""Results that travel home over several links: the plans, what the checker refuses of them, and locks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.chains import conv_chain
from support.edits import Change, copy, destination, on_step, runs, wait, without
from support.forced import levels_platform
from support.planned import link, plan_of, planned
from support.small_nodes import conv, nodes
from tilewright.base.errors import TilewrightError
from tilewright.check import Rule, check
from tilewright.graph import Graph
from tilewright.kernels.registry import choices
from tilewright.options import CompileOptions
from tilewright.pipeline import compile_model
from tilewright.plan import BufferKind, CopyStart, Layer, Loop, Plan, Step, Wait
from tilewright.platform import load_platform, with_pool_overrides
from tilewright.tiling import choice, staging
from tilewright.tiling.choice import TilingOptions, choose_tiles
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.paths import links_between
from tilewright.tiling.problem import tiling_problem
from tilewright.tiling.staging import staged_layout

TILES = (("oh", 2), ("l2.oh", 4), ("l3.oh", 8))
"""Of 16 rows: 8 tiles in l1, 4 in l2, 2 in l3."""


def stored(homes: str, *, asynchronous: bool = True, slots: str = "double") -> Plan:
    """A convolution of 16 rows whose result lives ``homes``, with two slots or one for every tile of it."""
    graph = conv((1, 4, 16, 6), (8, 4, 1, 1), (16, 6), quantized=True)
    node, result = graph.nodes[0].name, graph.outputs[0]
    pools = ("", *(f"l{number}" for number in range(2, int(homes[1:]))))
    tiles = tuple(item for item in TILES if item[0].rpartition(".")[0] in pools)
    buffers = tuple((result, pool, slots) for pool in pools)
    platform = levels_platform(asynchronous=asynchronous, homes=homes)
    return plan_of(graph, platform, planned(graph, platform, tiles=((node, tiles),), buffers=((node, buffers),)))


def steps(plan: Plan) -> list[Step]:
    layers = [step for step in plan.program if isinstance(step, Layer)]
    return [
        inner for layer in layers for step in layer.body for inner in (step.body if isinstance(step, Loop) else (step,))
    ]


def stores(plan: Plan) -> list[CopyStart]:
    """The copies of the result, from the core outward."""
    ends = ("l1->l2", "l2->l3", "l3->l4")
    found = [step for step in steps(plan) if isinstance(step, CopyStart) and step.link in ends]
    return sorted(found, key=lambda step: ends.index(step.link))


@pytest.mark.parametrize("slots", ["single", "double"])
@pytest.mark.parametrize(("homes", "counts"), [("l2", [8]), ("l3", [8, 4]), ("l4", [8, 4, 2])])
def test_each_link_has_its_own_tiles(homes: str, counts: list[int], slots: str) -> None:
    plan = stored(homes, slots=slots)
    assert check(plan) == []
    assert [step.runs.count for step in stores(plan)] == counts
    moved = dict(plan.layers[0].link_bytes)
    # The result crosses every link once.
    assert {moved[step.link] for step in stores(plan)} == {8 * 16 * 6}


def test_the_far_store_of_a_larger_tile_may_be_under_way_beside_the_next_one() -> None:
    loop = next(step for layer in stored("l3").program for step in getattr(layer, "body", ()) if isinstance(step, Loop))
    far = next(step for step in loop.body if isinstance(step, CopyStart) and step.link == "l2->l3")
    awaited = next(step for step in loop.body if isinstance(step, Wait) and step.token == far.token)
    assert awaited.runs.first - far.runs.first >= far.runs.every


def far_token(plan: Plan, number: int = 1) -> str:
    return stores(plan)[number].token


def _earlier(plan: Plan) -> tuple[Callable[[Step], bool], Change]:
    """A larger tile leaves before its last part has arrived."""
    far = stores(plan)[1]
    return copy(far.token), runs(first=far.runs.first - 2)


def _never_awaited(plan: Plan) -> tuple[Callable[[Step], bool], Change]:
    return wait(far_token(plan)), without


def _whole_slot(plan: Plan) -> tuple[Callable[[Step], bool], Change]:
    """Each tile fills the larger one's slot from its first byte."""
    return copy(stores(plan)[0].token), destination(within=())


def _next_slot(plan: Plan) -> tuple[Callable[[Step], bool], Change]:
    """Each tile of the core has a slot of its own, of which the far store reads every second one."""
    return copy(stores(plan)[0].token), destination(period=1)


def _parts_of_another(plan: Plan) -> tuple[Callable[[Step], bool], Change]:
    """Tiles go to the place of the whole tensor, which the slot does not hold."""
    return copy(stores(plan)[0].token), lambda step: replace(
        step, destination=replace(step.destination, within=stores(plan)[0].destination.rectangle)
    )


SPOILT = {
    "earlier": (_earlier, "double", {Rule.UNWRITTEN_READ, Rule.READ_BEFORE_WAIT, Rule.SLOT_CONTENT}),
    "never awaited, one slot": (_never_awaited, "single", {Rule.NEVER_AWAITED, Rule.OVERWRITTEN_BEFORE_WAIT}),
    "never awaited, two slots": (_never_awaited, "double", {Rule.NEVER_AWAITED, Rule.OVERWRITTEN_BEFORE_WAIT}),
    "whole slot": (_whole_slot, "double", {Rule.SLOT_CONTENT, Rule.UNWRITTEN_READ}),
    "next slot": (_next_slot, "double", {Rule.SLOT_CONTENT, Rule.UNWRITTEN_READ, Rule.READ_BEFORE_WAIT}),
    "parts of another": (_parts_of_another, "double", {Rule.SLOT_CONTENT, Rule.UNWRITTEN_READ}),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_store_is_refused(name: str) -> None:
    spoil, slots, rules = SPOILT[name]
    plan = stored("l3", slots=slots)
    assert check(plan) == []
    found = {violation.rule for violation in check(on_step(plan, *spoil(plan)))}
    assert found & rules, found


def test_lines_that_are_rounded_up_into_a_part_of_a_slot_are_refused() -> None:
    plan = stored("l3")
    links = tuple(replace(item, round_up_bytes=16 if item.name == "l1->l2" else 1) for item in plan.links)
    # Rows of 6 pixels of 8 channels are whole units; rows of 6 bytes are not.
    wide = stores(plan)[0].destination.buffer
    buffer = next(item for item in plan.buffers if item.name == wide)
    assert buffer.kind is BufferKind.TILE
    assert 8 * 6 % 16 == 0
    assert check(replace(plan, links=links)) == []
    uneven = tuple(replace(item, round_up_bytes=64 if item.name == "l1->l2" else 1) for item in plan.links)
    assert Rule.LINK_ROUND_UP in {violation.rule for violation in check(replace(plan, links=uneven))}


def test_the_shortest_chain_is_taken() -> None:
    platform = levels_platform(asynchronous=False, homes="l4")
    assert [item.name for item in links_between(platform, "l1", "l4", write=True)] == ["l1->l2", "l2->l3", "l3->l4"]
    assert [item.name for item in links_between(platform, "l1", "l4", write=False)] == ["l2->l1", "l3->l2", "l4->l3"]
    shorter = replace(platform, links=(*platform.links, link("l2", "l4")))
    assert [item.name for item in links_between(shorter, "l1", "l4", write=True)] == ["l1->l2", "l2->l4"]
    assert len(links_between(shorter, "l1", "l4", write=False)) == 3
    assert links_between(replace(platform, links=platform.links[:2]), "l1", "l4", write=True) == ()


def test_a_missing_way_home_is_named() -> None:
    platform = levels_platform(asynchronous=False, homes="l3")
    one_way = replace(platform, links=tuple(item for item in platform.links if item.name != "l2->l3"))
    graph = conv((1, 4, 16, 6), (8, 4, 1, 1), (16, 6), quantized=True)
    with pytest.raises(TilewrightError, match="no link from pool 'l1' to pool 'l3'"):
        planned(graph, one_way)


def test_a_lock_repeats_larger_tiles_of_results(tmp_path: Path) -> None:
    model = tmp_path / "net.onnx"
    model.write_bytes(conv_chain(layers=3, channels=12))
    options = CompileOptions(model, "l3-chain", "net", pools=("l2=2400", "l1=1400"))
    first = compile_model(options)
    assert any(copies.link == "l2->l3" for copies in stores(first.plan))
    (tmp_path / "net.lock.json").write_text(first.lock, encoding="utf-8")
    second = compile_model(replace(options, plan_lock=tmp_path / "net.lock.json"))
    assert second.files == first.files


def test_everything_lives_in_l3_of_l3_chain(tmp_path: Path) -> None:
    model = tmp_path / "net.onnx"
    model.write_bytes(conv_chain(layers=3, channels=12))
    platform = load_platform("l3-chain")
    assert [pool.size_bytes for pool in platform.pools[:3]] == [128_000, 512_000, 1_024_000]
    plan = compile_model(CompileOptions(model, "l3-chain", "net")).plan
    homes = {placed.pool for placed in plan.placements if not placed.buffer.endswith((".tile", ".staged", ".scratch"))}
    assert homes == {"l3", "l3_constants"}


@pytest.mark.parametrize(("reads", "writes"), [(4, 1), (16, 4)])
def test_far_links_may_round_up(reads: int, writes: int) -> None:
    units = {"l3->l2": reads, "constants->l2": reads, "l2->l3": writes}
    plans = []

    @settings(max_examples=15, deadline=None, derandomize=True)
    @given(graph=nodes(), l1=st.sampled_from([600, 4096]), l2=st.sampled_from([1500, 1 << 16]))
    def draw(graph: Graph, l1: int, l2: int) -> None:
        platform = with_pool_overrides(levels_platform(asynchronous=True, homes="l3"), [f"l1={l1}", f"l2={l2}"])
        links = tuple(replace(item, round_up_bytes=units.get(item.name, 1)) for item in platform.links)
        rounding = replace(platform, links=links)
        try:
            found = planned(graph, rounding, io_in_pools=True)
        except TilewrightError:
            return
        plan = replace(plan_of(graph, rounding, found), io_in_pools=True)
        assert check(plan) == []
        plans.append(plan)

    draw()
    assert len(plans) >= 5


def test_the_loop_order_reckons_with_far_links(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = conv((1, 276, 25, 5), (276, 276, 1, 1), (25, 5), quantized=True)
    platform = with_pool_overrides(load_platform("l3-chain"), ["l2=16000", "l1=4000"])
    with_far = planned(graph, platform).schedule.layers[0]
    monkeypatch.setattr(choice, "_goes_far", lambda problem: False)
    without = planned(graph, platform).schedule.layers[0]
    assert dict(with_far.link_bytes)["l3->l2"] < dict(without.link_bytes)["l3->l2"]
    assert dict(with_far.link_bytes)["l3->l2"] == dict(with_far.compulsory_link_bytes)["l3->l2"]
    assert dict(without.link_bytes)["l3->l2"] > dict(without.compulsory_link_bytes)["l3->l2"]


def test_a_larger_tile_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many candidates of a layer have the same larger tiles."""
    seen: list[tuple[object, ...]] = []

    def counted(operand: TileOperand, number: int, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
        seen.append((id(operand), number, shape))
        return staged_layout(operand, number, shape)

    monkeypatch.setattr(staging, "staged_layout", counted)
    graph = conv((1, 4, 9, 9), (16, 4, 3, 3), (9, 9), quantized=True)
    platform = levels_platform(asynchronous=True, homes="l4")
    problem = tiling_problem(
        graph, graph.nodes[0], choices(graph.nodes[0], graph)[0], platform, dict.fromkeys(graph.tensors, "l4")
    )
    choose_tiles(problem, {pool.name: None for pool in platform.pools}, TilingOptions())
    assert 0 < len(seen) == len(set(seen))
