"""C of networks whose tensors share bytes, run on this machine under sanitizers: what the graph says, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conformance.build import Generated, build
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.firmware import needs_host_compiler
from support.forced import generated, late_library, levels_platform, random_inputs, run
from support.networks import Network, networks
from support.onnx_models import ModelBuilder, imported, outputs_of, random_feeds, runtime_outputs
from support.planned import near_platform, plan_of, planned
from tilewright.catalogue.evaluate import evaluate
from tilewright.check import check
from tilewright.graph import DType, Graph
from tilewright.graph.edit import with_attributes
from tilewright.options import Buffering
from tilewright.rewrites.passes import optimise
from tilewright.rewrites.rows import without_skipped_rows
from tilewright.storage.joining import plan_storage

EFFORT = settings(
    max_examples=3,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
)


def models_of(graph: Graph, number: int) -> list[Generated]:
    """The graph with homes that the core addresses, and behind links."""
    far = levels_platform(asynchronous=True)
    homes = {
        f"near{number}": (near_platform(), Buffering.AUTO),
        f"far{number}": (far, Buffering.DOUBLE),
    }
    found = []
    for name, (platform, buffering) in homes.items():
        plan = planned(graph, platform, buffering=buffering)
        assert check(plan_of(graph, platform, plan)) == []
        found.append(generated(graph, platform, plan, name))
    return found


def assert_runs(graphs: Sequence[Graph], folder: Path, objects: Path, seed: int) -> None:
    models = [models_of(graph, number) for number, graph in enumerate(graphs)]
    every = [model for pair in models for model in pair]
    executable = build(folder, every, late_library(objects, every))
    for graph, pair in zip(graphs, models, strict=True):
        inputs = random_inputs(graph, seed)
        values = evaluate(graph, dict(zip(graph.inputs, inputs, strict=True)))
        wanted = b"".join(np.ascontiguousarray(values[name]).tobytes() for name in graph.outputs)
        for model in pair:
            assert run(executable, model, inputs, folder) == wanted, model.prefix


@needs_host_compiler
@EFFORT
@given(st.lists(networks(), min_size=10, max_size=10), st.integers(0, 99))
def test_random_networks_compute_what_the_graph_says(
    tmp_path_factory: pytest.TempPathFactory, graphs: list[Graph], seed: int
) -> None:
    folder = tmp_path_factory.mktemp("storage")
    assert_runs(graphs, folder, folder, seed)


def joined(dtype: DType, axis: int, extents: tuple[int, ...]) -> Graph:
    """Branches of odd extents, joined, sliced apart, and mapped; beside them a chain that has the peak.

    Other nodes read the whole of what is sliced: else only the positions of the slice were computed.
    """
    net = Network(dtype)
    x = net.input((1, 3, 4, 5))
    peak = net.pooled(net.pooled(net.pooled(net.input((1, 24, 4, 5)))))
    parts, others = [], []
    for extent in extents:
        shape = list(net.shape(x))
        source = net.pooled(x)
        piece = net.sliced(source, axis, 0, 1, min(extent, shape[axis]))
        parts.append(net.mapped(net.pooled(piece)))
        others.append(net.mapped(source))
    shape = list(net.shape(parts[0]))
    shape[axis] = sum(net.shape(part)[axis] for part in parts)
    whole = net.add("Concat", parts, tuple(shape), axis=axis)
    half = net.mapped(net.sliced(whole, axis, 1, 2, shape[axis] // 2))
    source = net.pooled(whole)
    last = net.mapped(net.sliced(source, axis, shape[axis] - 1, 1, 1))
    outputs = (half, last, peak, *others, net.mapped(source))
    return optimise(Graph("joined", tuple(net.nodes), net.tensors, tuple(net.inputs), outputs))


@needs_host_compiler
def test_parts_on_every_axis_share_bytes_with_their_whole(tmp_path: Path) -> None:
    graphs = [
        joined(dtype, axis, extents)
        for dtype in (DType.INT8, DType.FLOAT32)
        for axis, extents in ((1, (1, 2, 3)), (2, (3, 1)), (3, (1, 4, 2)))
    ]
    for graph in graphs:
        operators = {layer.problem.node.operator for layer in planned(graph, near_platform()).layers}
        assert "Concat" not in operators
        assert "Slice" not in operators
    assert_runs(graphs, tmp_path, tmp_path, 7)


@needs_host_compiler
def test_outputs_that_are_views_are_right(tmp_path: Path) -> None:
    shape = (1, 3, 4)
    net = Network(DType.FLOAT32)
    x = net.input(shape)
    view = net.add("Reshape", [x], (1, 12))
    turned = net.add("Transpose", [x], (4, 1, 3), perm=(2, 0, 1))
    part = net.sliced(x, 1, 1, 1, 2)
    mapped = net.mapped(x)
    again = net.add("Reshape", [mapped], (12,))
    third = net.add("Reshape", [mapped], (3, 4))
    whole = net.add("Concat", [x, mapped], (1, 6, 4), axis=1)
    twice = net.add("Concat", [mapped, mapped], (1, 6, 4), axis=1)
    outputs = (view, turned, part, mapped, again, third, whole, twice)
    every = Graph("views", tuple(net.nodes), net.tensors, (x,), outputs)
    graphs = [every, *(Graph("view", tuple(net.nodes), net.tensors, (x,), (name,)) for name in outputs)]
    assert_runs([optimise(graph) for graph in graphs], tmp_path, tmp_path, 3)


@needs_host_compiler
def test_models_whose_outputs_are_inputs_and_constants(tmp_path: Path) -> None:
    build_model = ModelBuilder()
    x = build_model.input("x", (2, 6))
    constant = build_model.constant(np.arange(12, dtype=np.float32).reshape(3, 4))
    shape = build_model.constant(np.array([3, 4]))
    relu = build_model.node("Relu", x)
    outputs = [
        build_model.node("Identity", x),
        build_model.node("Reshape", x, shape),
        build_model.node("Identity", constant),
        build_model.node("Transpose", constant, perm=[1, 0]),
        relu,
        build_model.node("Identity", relu),
        build_model.node("Reshape", relu, shape),
    ]
    model = build_model.model(*outputs)
    graph = optimise(imported(tmp_path, model))
    assert len(graph.outputs) == len(set(graph.outputs)) == len(outputs)
    assert_runs([graph], tmp_path, tmp_path, 5)
    feeds = random_feeds(model)
    for got, want in zip(outputs_of(graph, feeds), runtime_outputs(model, feeds).values(), strict=True):
        np.testing.assert_array_equal(got, want)


def strided_pixels(folder: Path) -> list[Graph]:
    """1x1 convolutions with strides, of what a layer computed and others read too, and of the model's input."""
    graphs = []
    for pads, strides, direct in (([0] * 4, [2, 3], False), ([0] * 4, [3, 1], True), ([0, 0, 1, 1], [2, 2], False)):
        net = ModelBuilder()
        x = net.input("x", [1, 1, 9, 7])
        whole = x if direct else net.node("MaxPool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        weights = net.constant(np.arange(1, 5, dtype=np.float32).reshape(4, 1, 1, 1) / 3)
        net.node("Conv", whole, weights, strides=strides, pads=pads, output="y")
        net.node("Neg", whole, output="z")
        graphs.append(optimise(imported(folder, net.model("y", "z"))))
    return graphs


@needs_host_compiler
def test_strided_pixels_read_their_rows_only(tmp_path: Path) -> None:
    graphs = strided_pixels(tmp_path)
    stored = [plan_storage(graph, levels_platform(asynchronous=True)) for graph in graphs]
    convolutions = [node for item in stored for node in item.graph.nodes if node.operator == "Conv"]
    assert [node.attributes.strides for node in convolutions] == [(1, 3), (1, 1), (2, 2)]
    assert_runs(graphs, tmp_path, tmp_path, 7)


def test_rows_stay_where_a_slice_of_them_would_have_to_be_copied(tmp_path: Path) -> None:
    platform = levels_platform(asynchronous=True)
    aligned = replace(platform, links=tuple(replace(link, align_bytes=64) for link in platform.links))
    graph = strided_pixels(tmp_path)[0]
    assert plan_storage(graph, aligned).graph is graph
    fewer, slices = without_skipped_rows(graph)
    assert (len(slices), len(fewer.nodes)) == (1, len(graph.nodes) + 1)


def test_slices_of_rows_are_those_that_are_read(tmp_path: Path) -> None:
    graph = strided_pixels(tmp_path)[0]
    fewer, slices = without_skipped_rows(graph)
    inputs = dict(zip(graph.inputs, random_inputs(graph, 3), strict=True))
    wanted = evaluate(graph, inputs)["y"]
    assert np.array_equal(evaluate(fewer, inputs)["y"], wanted)
    spoilt = [
        with_attributes(node, starts=(0, 0, 1, 0), steps=(1, 1, 1, 1)) if node.name in slices else node
        for node in fewer.nodes
    ]
    assert not np.array_equal(evaluate(fewer.with_nodes(spoilt, fewer.tensors), inputs)["y"], wanted)
