"""Orders of the user's own: what they see, what they may give, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tilewright.base.errors import TilewrightError
from tilewright.check import check
from tilewright.options import CompileOptions
from tilewright.pipeline import compile_model, plan_model
from tilewright.plan import Plan
from tilewright.storage.own_order import NetworkOrder

SEEN: list[NetworkOrder] = []
BRANCHES = ("a", "b", "d", "c", "e", "sum")
"""Layers in the model's order: b and d are large and read a, c reads b, e reads d, sum reads c and e."""
NO_FUNCTION = 3


def branch_by_branch(network: NetworkOrder) -> Sequence[str]:
    SEEN.append(network)
    return ["a", "d", "e", "b", "c", "sum"]


def by_number(network: NetworkOrder) -> Sequence[object]:
    return [*range(len(network.layers))]


def too_early(network: NetworkOrder) -> Sequence[str]:
    return ["a", "c", "b", "d", "e", "sum"]


def one_twice(network: NetworkOrder) -> Sequence[str]:
    return ["a", "b", "b", "d", "c", "e", "sum"]


def without_one(network: NetworkOrder) -> Sequence[str]:
    return ["a", "b", "d", "c", "e"]


def failing(network: NetworkOrder) -> Sequence[str]:
    raise RuntimeError("no idea")


def of_another_form(layers: NetworkOrder) -> Sequence[str]:
    return []


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Two branches that grow and shrink again."""
    random = np.random.default_rng(3)
    nodes, constants = [], []
    for name, source, inputs, outputs in (("a", "x", 2, 2), ("b", "a", 2, 16), ("d", "a", 2, 16)):
        nodes.append(_convolution(name, source, inputs, outputs, random, constants))
    for name, source in (("c", "b"), ("e", "d")):
        nodes.append(_convolution(name, source, 16, 2, random, constants))
    nodes.append(helper.make_node("Add", ["c_y", "e_y"], ["y"], "sum"))
    info = helper.make_tensor_value_info
    ends = [[info(name, TensorProto.FLOAT, [1, 2, 8, 8])] for name in ("x", "y")]
    graph = helper.make_graph(nodes, "branches", *ends, constants)
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def _convolution(
    name: str, source: str, inputs: int, outputs: int, random: np.random.Generator, constants: list[onnx.TensorProto]
) -> onnx.NodeProto:
    weights = random.standard_normal((outputs, inputs, 3, 3)).astype(np.float32)
    constants.append(numpy_helper.from_array(weights, f"{name}_w"))
    source = source if source == "x" else f"{source}_y"
    return helper.make_node("Conv", [source, f"{name}_w"], [f"{name}_y"], name, pads=[1, 1, 1, 1], kernel_shape=[3, 3])


def planned(model: Path, order: str, platform: str = "qemu-virt-rv32f") -> Plan:
    return plan_model(replace(CompileOptions(model, platform, "net"), order=order))


def names(plan: Plan) -> tuple[str, ...]:
    return tuple(layer.name for layer in plan.layers)


@pytest.mark.parametrize("platform", ["qemu-virt-rv32f", "qemu-virt-rv32f-single", "l3-chain"])
def test_layers_run_in_its_order(model: Path, platform: str) -> None:
    assert names(planned(model, "model", platform)) == BRANCHES
    plan = planned(model, f"{__name__}:branch_by_branch", platform)
    assert names(plan) == ("a", "d", "e", "b", "c", "sum")
    assert check(plan) == []


def test_it_sees_values_their_bytes_and_what_an_order_needs(model: Path) -> None:
    SEEN.clear()
    planned(model, f"{__name__}:branch_by_branch")
    network = SEEN[0]
    layers = {layer.name: layer for layer in network.layers}
    assert tuple(layers) == BRANCHES
    assert layers["sum"].after == {"c", "e"}
    assert layers["c"].reads == layers["b"].writes
    assert set(layers["sum"].over) <= set(layers["sum"].reads)
    assert network.sizes[layers["b"].writes[0]] == 16 * 8 * 8 * 4
    assert network.sizes["x"] == 0
    assert network.peak_bytes(branch_by_branch(network)) < network.peak_bytes(BRANCHES)
    with pytest.raises(ValueError, match="'c' would run before 'b'"):
        network.peak_bytes(too_early(network))


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("by_number", "there is no layer 0"),
        ("too_early", "layer 'c' would run before 'b', which it needs"),
        ("one_twice", "layer 'b' would run twice"),
        ("without_one", "layer 'sum' is left out"),
        ("failing", "RuntimeError: no idea"),
    ],
)
def test_a_wrong_answer_is_refused_by_name(function: str, told: str, model: Path) -> None:
    with pytest.raises(TilewrightError, match=told) as caught:
        planned(model, f"{__name__}:{function}")
    assert caught.value.code == "own-order"
    assert f"{__name__}:{function}" in caught.value.what


@pytest.mark.parametrize(
    "name", ["fastest", "nowhere:order", f"{__name__}:NO_FUNCTION", f"{__name__}:of_another_form", "os:remove"]
)
def test_what_is_no_order_is_refused(name: str, model: Path) -> None:
    with pytest.raises(TilewrightError) as caught:
        planned(model, name)
    assert caught.value.code == "unknown-order"


def test_a_lock_repeats_it_without_asking(model: Path) -> None:
    SEEN.clear()
    options = replace(CompileOptions(model, "qemu-virt-rv32f", "net"), order=f"{__name__}:branch_by_branch")
    searched = compile_model(options)
    asked = len(SEEN)
    path = model.with_name("net.lock.json")
    path.write_text(searched.lock, encoding="utf-8")
    repeated = compile_model(replace(options, plan_lock=path))
    assert repeated.files == searched.files
    assert len(SEEN) == asked > 0
