"""Strips of columns: the same values as without, in the graph and in C, at several sizes of pool down to the least."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from property.test_groups import artifacts, compiled, groups, outputs, outputs_of
from support.firmware import needs_host_compiler
from support.random_groups import random_columns
from support.random_hourglass import random_hourglass
from support.random_model import RandomModel
from tilewright.base.errors import TilewrightError
from tilewright.catalogue.evaluate import evaluate
from tilewright.check import check
from tilewright.graph import Array, Graph, Node
from tilewright.operators.movement import SliceAttributes
from tilewright.operators.spatial import Windows
from tilewright.options import CompileOptions, build_options
from tilewright.pipeline import Artifacts, imported_graph, sized_platform
from tilewright.plan import BufferKind, Plan
from tilewright.rewrites.columns import Region, Regions
from tilewright.rewrites.strips import Strips, with_strips

SEEDS = range(20)
IN_C = range(9)
COUNTS = (2, 3, 5)


def options_of(model: RandomModel, folder: Path) -> CompileOptions:
    path = folder / "net.onnx"
    path.write_bytes(model.proto().SerializeToString())
    return build_options(("test", {"model": path, "platform": "host", "name": "net"}))


def imported(model: RandomModel, folder: Path) -> Graph:
    options = options_of(model, folder)
    return imported_graph(options, sized_platform(options))


def regions(graph: Graph) -> Iterator[Region]:
    """Every region of at least two nodes."""
    found = Regions(graph)
    names = ["", *found.points]
    for number, point in enumerate(names):
        for last in names[number + 1 :]:
            region = found.between(point, last)
            if region is not None and len(region.nodes) > 1:
                yield region


def test_strips_compute_the_same_values(tmp_path: Path) -> None:
    tried, halos = 0, 0
    for seed in SEEDS:
        model = random_columns(seed)
        graph = imported(model, tmp_path)
        feeds = {name: model.values[name] for name in graph.inputs}
        wanted = evaluate(graph, feeds)
        for number, region in enumerate(regions(graph)):
            stripped = with_strips(graph, Strips(region.first, region.last.name, COUNTS[number % len(COUNTS)]))
            if stripped is None:
                continue
            got = evaluate(stripped.graph, feeds)
            assert all(np.array_equal(wanted[name], got[name], equal_nan=True) for name in graph.outputs), seed
            tried += 1
            halos += len(stripped.graph.nodes) > len(graph.nodes) + len(region.nodes)
    assert tried >= 40
    assert halos >= 20


def spoilt(node: Node) -> Node | None:
    """The node as a wrong strip would have it: a Slice one column too far left, or a window without left padding."""
    if isinstance(node.attributes, SliceAttributes) and node.attributes.starts[3] > 0:
        starts = (*node.attributes.starts[:3], node.attributes.starts[3] - 1)
        return replace(node, attributes=replace(node.attributes, starts=starts))
    if isinstance(node.attributes, Windows) and node.attributes.rank == 2 and node.attributes.pads[1] > 0:
        pads = (node.attributes.pads[0], 0, *node.attributes.pads[2:])
        return replace(node, attributes=replace(node.attributes, pads=pads))
    return None


def test_a_wrong_column_shows(tmp_path: Path) -> None:
    shown = 0
    for seed in range(6):
        model = random_columns(seed)
        graph = imported(model, tmp_path)
        feeds = {name: model.values[name] for name in graph.inputs}
        wanted = evaluate(graph, feeds)
        found = (with_strips(graph, Strips(region.first, region.last.name, 2)) for region in regions(graph))
        stripped = next((item for item in found if item is not None), None)
        for node in () if stripped is None else stripped.graph.nodes:
            wrong = spoilt(node)
            if wrong is None or stripped is None:
                continue
            nodes = [wrong if other is node else other for other in stripped.graph.nodes]
            got = evaluate(stripped.graph.with_nodes(nodes), feeds)
            shown += not all(np.array_equal(wanted[name], got[name], equal_nan=True) for name in graph.outputs)
    assert shown >= 3


def given(graph: Graph, seed: int) -> dict[str, object]:
    """Strips of one of a graph's regions, as options."""
    found = list(regions(graph))
    if not found:
        return {}
    region = found[seed % len(found)]
    return {"strips": {f"{region.first}..{region.last.name}": COUNTS[seed % len(COUNTS)]}}


def in_given_strips(model: RandomModel, folder: Path, strips: dict[str, object]) -> Artifacts | None:
    """The network in strips; None where the parts of the strips are not views."""
    try:
        return compiled(model, folder, "strips", objective="bytes_used", **strips)
    except TilewrightError as error:
        if error.code != "strips-override":
            raise
        return None


@needs_host_compiler
def test_networks_in_given_strips_give_the_same_bits(tmp_path: Path) -> None:
    tried = 0
    for seed in IN_C:
        model = random_columns(seed) if seed % 4 else random_hourglass(seed + 7)
        folder = tmp_path / str(seed)
        folder.mkdir()
        strips = given(imported(model, folder), seed)
        if not strips:
            continue
        found = in_given_strips(model, folder, strips)
        if found is None:
            continue
        apart = compiled(model, folder, "apart", groups="off")
        wanted, got = (outputs(item, model, folder / item.plan.name) for item in (apart, found))
        assert all(np.array_equal(wanted[name], got[name], equal_nan=True) for name in wanted), seed
        tried += bool(groups(found.plan))
    assert tried >= 5


def used(plan: Plan) -> int:
    return next(use.used_bytes for use in plan.pool_use if use.pool == "sram")


def is_in_strips(plan: Plan) -> bool:
    return any(layer.name.endswith(".1") for layer in plan.layers)


@dataclass(frozen=True)
class WideChain:
    """Two convolutions on a wide image, a third with strides 4, and a mean: strips pay."""

    seed: int

    @property
    def values(self) -> dict[str, Array]:
        return {"x": np.random.default_rng(self.seed).normal(size=(1, 3, 12, 48)).astype(np.float32)}

    def compiled(self, folder: Path, prefix: str, **values: object) -> Artifacts:
        path = folder / "wide.onnx"
        path.write_bytes(self.model())
        return artifacts(path, prefix, **values)

    def model(self) -> bytes:
        numbers = np.random.default_rng(self.seed)
        nodes, constants, source = [], [], "x"
        for number, (channels, before, stride) in enumerate(((12, 3, 1), (12, 12, 1), (4, 12, 4))):
            weights = numbers.normal(size=(channels, before, 3, 3)).astype(np.float32)
            constants.append(numpy_helper.from_array(weights, f"w{number}"))
            form = {"pads": [1, 1, 1, 1], "strides": [stride, stride]}
            nodes.append(helper.make_node("Conv", [source, f"w{number}"], [f"t{number}"], f"conv{number}", **form))
            source = f"t{number}"
        nodes.append(helper.make_node("GlobalAveragePool", [source], ["y"], "mean"))
        info = helper.make_tensor_value_info
        ends = [[info("x", TensorProto.FLOAT, [1, 3, 12, 48])], [info("y", TensorProto.FLOAT, None)]]
        graph = helper.make_graph(nodes, "wide", *ends, constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        return bytes(model.SerializeToString(deterministic=True))


@needs_host_compiler
def test_pools_down_to_the_least(tmp_path: Path) -> None:
    model = WideChain(0)
    wanted = outputs_of(model.compiled(tmp_path, "apart", groups="off"), model.values, tmp_path / "apart")
    least = model.compiled(tmp_path, "least", objective="bytes_used")
    assert is_in_strips(least.plan)
    alone = model.compiled(tmp_path, "alone", groups="auto")
    assert not is_in_strips(alone.plan), "strips cost, so a pool that is large enough has none"
    sizes = [used(least.plan) + (used(alone.plan) - used(least.plan)) * part // 4 for part in range(5)]
    for number, size in enumerate(sizes):
        found = model.compiled(tmp_path, f"n{number}", pools=[f"sram={size}"])
        assert used(found.plan) <= size
        got = outputs_of(found, model.values, tmp_path / found.plan.name)
        assert all(np.array_equal(wanted[name], got[name]) for name in wanted), size
    with pytest.raises(TilewrightError, match=f"needs {used(least.plan):,} bytes"):
        model.compiled(tmp_path, "less", pools=[f"sram={used(least.plan) - 1}"])


def test_a_lock_repeats_strips(tmp_path: Path) -> None:
    model = WideChain(1)
    found = model.compiled(tmp_path, "net", objective="bytes_used")
    assert is_in_strips(found.plan)
    lock = tmp_path / "net.lock.json"
    lock.write_text(found.lock, encoding="utf-8")
    again = model.compiled(tmp_path, "net", objective="bytes_used", plan_lock=lock)
    assert again.plan == found.plan
    assert again.files == found.files


def test_a_part_at_another_column_is_refused(tmp_path: Path) -> None:
    plan = WideChain(2).compiled(tmp_path, "net", objective="bytes_used").plan
    parts = [item for item in plan.buffers if item.kind is BufferKind.INTERMEDIATE and item.name.endswith(".1")]
    parts = [item for item in parts if any(relation.first == item.name for relation in plan.relations)]
    assert parts
    for part in parts:
        relations = [
            replace(item, offset_bytes=item.offset_bytes + 16, starts=(*item.starts[:3], item.starts[3] + 1))
            if item.first == part.name
            else item
            for item in plan.relations
        ]
        assert check(replace(plan, relations=tuple(relations))), part.name
