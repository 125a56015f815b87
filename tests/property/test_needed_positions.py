"""Slices behind random networks: what they throw away is not computed, and what is left has the same bits."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from property.test_strips import imported
from support.firmware import needs_host_compiler
from support.host_runs import generated, host_outputs
from support.random_groups import random_columns, random_rows
from support.random_model import RandomModel
from tilewright.catalogue.evaluate import evaluate
from tilewright.catalogue.macs import macs_of_nodes
from tilewright.graph import Graph, State
from tilewright.graph.edit import make_node
from tilewright.operators.movement import SliceAttributes
from tilewright.options import build_options
from tilewright.pipeline import imported_graph, sized_platform
from tilewright.rewrites import needed_positions
from tilewright.rewrites.needed_positions import only_needed_positions

SEEDS = range(24)


def cut(graph: Graph, chance: random.Random) -> Graph | None:
    """The graph with a Slice behind an output of four axes, which keeps some rows, some columns, or some of both."""
    images = [name for name in graph.outputs if len(graph.tensor(name).shape) == 4 and graph.tensor(name).shape[2] > 1]
    if not images:
        return None
    whole = graph.tensor(images[-1])
    starts, shape = [0, 0, 0, 0], list(whole.shape)
    for axis in chance.choice(((2,), (3,), (2, 3))):
        shape[axis] = chance.randint(1, whole.shape[axis])
        starts[axis] = chance.randint(0, whole.shape[axis] - shape[axis])
    part = replace(whole, name="part", shape=tuple(shape))
    attributes = SliceAttributes(tuple(starts), (1, 1, 1, 1))
    node = make_node("Slice", [whole.name], ["part"], name="cut", attributes=attributes)
    outputs = tuple("part" if name == whole.name else name for name in graph.outputs)
    found = replace(graph, outputs=outputs)
    return found.with_nodes([*graph.nodes, node], {**graph.tensors, "part": part})


def macs(graph: Graph) -> int:
    return sum(macs_of_nodes(graph).values())


@pytest.mark.parametrize("grown", [random_rows, random_columns])
def test_what_is_left_has_the_same_bits(grown: Callable[[int], RandomModel], tmp_path: Path) -> None:
    changed, saved = 0, 0
    for seed in SEEDS:
        model = grown(seed)
        graph = cut(imported(model, tmp_path), random.Random(seed))
        if graph is None:
            continue
        found = only_needed_positions(graph)
        feeds = {name: model.values[name] for name in graph.inputs}
        wanted, got = evaluate(graph, feeds), evaluate(found, feeds)
        assert found.outputs == graph.outputs
        assert all(np.array_equal(wanted[name], got[name], equal_nan=True) for name in graph.outputs), seed
        assert only_needed_positions(found) is found
        changed += found is not graph
        saved += macs(found) < macs(graph)
    assert changed >= 4
    assert saved >= 3


def test_a_column_less_gives_other_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison above sees it where a read of a window is a position too narrow."""
    reads_along = needed_positions.reads_along

    def narrow(*given: object) -> object:
        found = reads_along(*given)  # type: ignore[arg-type]
        return found and tuple(replace(read, first=min(read.first + 1, read.last)) for read in found)

    monkeypatch.setattr(needed_positions, "reads_along", narrow)
    wrong = 0
    for seed in SEEDS:
        model = random_columns(seed)
        graph = cut(imported(model, tmp_path), random.Random(seed))
        if graph is None:
            continue
        feeds = {name: model.values[name] for name in graph.inputs}
        wanted = evaluate(graph, feeds)
        try:
            got = evaluate(only_needed_positions(graph), feeds)
        except (ValueError, AssertionError):
            wrong += 1
            continue
        wrong += not all(np.array_equal(wanted[name], got[name], equal_nan=True) for name in graph.outputs)
    assert wrong >= 2


def recording(last: int, pads: tuple[int, int] = (1, 1)) -> bytes:
    """x [1, 4, 24] -> conv 3 -> relu -> conv 3 -> the last so many of 24 -> y."""
    chance = np.random.default_rng(5)
    nodes, constants, source = [], [], "x"
    for number in range(2):
        weights = chance.standard_normal((4, 4, 3)).astype(np.float32)
        constants.append(numpy_helper.from_array(weights, f"w{number}"))
        nodes.append(helper.make_node("Conv", [source, f"w{number}"], [f"c{number}"], f"conv{number}", pads=list(pads)))
        nodes.append(helper.make_node("Relu", [f"c{number}"], [f"t{number}"], f"relu{number}"))
        source = f"t{number}"
    for name, value in (("starts", 24 - last), ("ends", 24), ("axes", 2)):
        constants.append(numpy_helper.from_array(np.array([value], np.int64), name))
    nodes.append(helper.make_node("Slice", [source, "starts", "ends", "axes"], ["y"], "last"))
    ends = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)]
        for name, shape in (("x", [1, 4, 24]), ("y", [1, 4, last]))
    ]
    graph = helper.make_graph(nodes, "net", *ends, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


@needs_host_compiler
@pytest.mark.parametrize(("last", "pads"), [(3, (1, 1)), (1, (2, 0)), (20, (1, 1))])
def test_layers_keep_their_names_and_the_c_its_bits(last: int, pads: tuple[int, int], tmp_path: Path) -> None:

    model = onnx.load_model_from_string(recording(last, pads))
    whole = onnx.load_model_from_string(recording(24, pads))
    feeds = {"x": np.random.default_rng(1).standard_normal((1, 4, 24)).astype(np.float32)}
    found, all_of_it = (generated(item, tmp_path / name) for item, name in ((model, "some"), (whole, "all")))
    got = host_outputs(found, feeds, tmp_path / "some")
    assert np.array_equal(got["y"], host_outputs(all_of_it, feeds, tmp_path / "all")["y"][:, :, 24 - last :])
    names = [layer.name for layer in found.plan.layers]
    assert [name for name in names if "conv" in name] == ["conv0", "conv1"]
    macs = [sum(layer.macs for layer in item.plan.layers) for item in (found, all_of_it)]
    assert macs[0] < macs[1] * (last + 4) / 24


def test_states_and_fed_inputs_keep_their_positions(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(recording(3))
    options = build_options(("test", {"model": path, "platform": "host", "name": "net"}))
    narrowed = imported_graph(options, sized_platform(options))
    assert "x.needed" in narrowed.tensors
    fed = imported_graph(replace(options, feed="x"), sized_platform(options))
    assert not any("needed" in name for name in fed.tensors)
    plain = with_slice(whole_graph(tmp_path))
    assert only_needed_positions(plain) is not plain
    assert only_needed_positions(plain, "x") is plain
    remembering = replace(plain, states=(State("x", "y"),))
    assert only_needed_positions(remembering) is remembering


def whole_graph(folder: Path) -> Graph:
    """The network without its Slice, as it is imported."""
    path = folder / "whole.onnx"
    path.write_bytes(recording(24))
    options = build_options(("test", {"model": path, "platform": "host", "name": "net"}))
    return imported_graph(options, sized_platform(options))


def with_slice(graph: Graph) -> Graph:
    """The graph with a Slice behind its result, which keeps the last four positions."""
    whole = graph.tensor("y")
    part = replace(whole, name="part", shape=(*whole.shape[:2], 4))
    node = make_node("Slice", ["y"], ["part"], name="cut", attributes=SliceAttributes((0, 0, 20), (1, 1, 1)))
    tensors = {**graph.tensors, "part": part}
    return replace(graph, outputs=("part",)).with_nodes([*graph.nodes, node], tensors)
