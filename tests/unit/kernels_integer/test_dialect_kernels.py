"""Kernels of the Deeploy dialect against the operators' references, tile by tile."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import Ring
from support.integer_nodes import check, choices_of, integers, node_graph
from tilewright.graph import Array, RequantizeShift

STEPS = [{}, {"d0": 1, "d1": 3, "d2": 2}]
NARROW = ["int8", "uint8", "int16"]


def values(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Array:
    return integers(np.random.default_rng(seed), dtype, shape)


@pytest.mark.parametrize("operator", ["iLayerNorm", "iRMSNorm"])
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("largest", [300_000, 1 << 30], ids=["narrow", "wide"])
@pytest.mark.parametrize("steps", [*STEPS, {"d1": 4, "d3": 10}], ids=str)
def test_norms(operator: str, dtype: str, largest: int, steps: dict) -> None:
    x = values(dtype, (2, 7, 5, 37))
    w = integers(np.random.default_rng(1), "int32", (37,), -largest, largest)
    b = integers(np.random.default_rng(2), "int32", (37,), -90_000, 90_000)
    inputs = [x, w, b] if operator == "iLayerNorm" else [x, w]
    shift = {"narrow": 14, "wide": 26}["wide" if largest > 300_000 else "narrow"]
    graph, feeds = node_graph(operator, inputs, (1, 2), x.shape, "int8", {"shift": shift})
    lines, parts = check(graph, feeds, steps)
    assert dict(lines.fields)["wide"] == int(largest > 300_000 or dtype == "int16")
    assert lines.uncut == {"d3"}
    assert not parts.uncut
    check(graph, feeds, steps, in_place=True)


@pytest.mark.parametrize("fill", [-128, 0, 127])
def test_norms_of_equal_elements(fill: int) -> None:
    """Nothing is left of the variance but the one that is added."""
    x = np.full((3, 8), fill, np.int8)
    w, b = np.full(8, 4_000_000, np.int32), np.arange(8, dtype=np.int32) * 65536 * 40
    check(*node_graph("iLayerNorm", [x, w, b], (1, 2), x.shape, "int8", {"shift": 16}))
    check(*node_graph("iRMSNorm", [x, w], (1,), x.shape, "int8", {"shift": 16}))


def test_norms_in_rings() -> None:
    x, w = values("int8", (1, 6, 4, 9)), integers(np.random.default_rng(3), "int32", (9,), -90_000, 90_000)
    graph, feeds = node_graph("iRMSNorm", [x, w], (1,), x.shape, "int8", {"shift": 12})
    check(graph, feeds, {"d1": 2}, rings=(Ring(0, 3, 4), Ring(2, 3, 3)))


@pytest.mark.parametrize("steps", STEPS, ids=str)
@pytest.mark.parametrize("dtype", NARROW)
def test_no_norm(dtype: str, steps: dict) -> None:
    x, w = values(dtype, (2, 5, 6, 7)), values("int8", (6, 7), 1)
    b = integers(np.random.default_rng(2), "int32", (7,), -5000, 5000)
    graph, feeds = node_graph("iNoNorm", [x, w, b], (1, 2), x.shape, "int8", {"multiplier": -425, "shift": 13})
    check(graph, feeds, steps)


@pytest.mark.parametrize("operator", ["iSoftmax", "ITAMax", "ITAPartialMax"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("steps", STEPS, ids=str)
def test_probabilities(operator: str, dtype: str, steps: dict) -> None:
    attributes = {"levels": 256}
    if operator == "iSoftmax":
        attributes |= {"a": 1, "b": 68, "c": 2418, "log2": 50}
    elif operator == "ITAPartialMax":
        attributes["group"] = 16
    x = values(dtype, (2, 5, 3, 48))
    x[0, 0, 0], x[0, 0, 1] = x[0, 0, 0].min(), np.arange(48)
    graph, feeds = node_graph(operator, [x], (), x.shape, "uint8", attributes)
    if operator == "ITAPartialMax" and dtype == "uint8":
        assert not choices_of(graph)
        return
    check(graph, feeds, steps)
    check(graph, feeds, steps, in_place=True)


def test_powers_that_do_not_fit_are_left_alone() -> None:
    x = values("int8", (4, 64))
    attributes = {"a": 70_000, "b": 345, "c": 62395, "log2": 255, "levels": 256}
    assert not choices_of(node_graph("iSoftmax", [x], (), x.shape, "uint8", attributes)[0])
    assert choices_of(node_graph("iSoftmax", [x], (), x.shape, "uint8", {**attributes, "a": 1})[0])


@pytest.mark.parametrize("operator", ["IntegerSum", "IntegerMean"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32"])
@pytest.mark.parametrize("axes", [(1,), (3,), (0, 2), (1, 2, 3), (0, 1, 2, 3)], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(operator: str, dtype: str, axes: tuple[int, ...], keepdims: bool) -> None:
    x = values(dtype, (2, 4, 5, 8))
    if operator == "IntegerSum" and dtype == "int32":
        x >>= 9
    shape = [1 if axis in axes else extent for axis, extent in enumerate(x.shape) if keepdims or axis not in axes]
    attributes = {"axes": axes, "keepdims": keepdims}
    result = dtype if operator == "IntegerMean" else "int32"
    graph, feeds = node_graph(operator, [x], (), shape, result, attributes)
    check(graph, feeds)
    steps = {f"d{axis}": 3 for axis in range(4) if axis not in axes}
    check(graph, feeds, steps, in_place=True)


@pytest.mark.parametrize("dtypes", [("int8", "uint8"), ("int32", "int32"), ("uint8", "int16")], ids=str)
@pytest.mark.parametrize("steps", STEPS, ids=str)
def test_quotients(dtypes: tuple[str, str], steps: dict) -> None:
    a = values(dtypes[0], (2, 5, 4, 3))
    b = values(dtypes[1], (2, 5, 4, 1), 1)
    b.reshape(-1)[:2] = 0
    small = {"numerator": 3_276_800, "eta": 200, "epsilon": 0}
    large = {"numerator": 16384 * 200_000 >> (0 if dtypes[0] != "int32" else 4), "eta": 200_000, "epsilon": 1}
    for attributes in (small, large):
        check(*node_graph("IntegerDiv", [a, b], (), a.shape, "int32", attributes), steps)


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul"])
def test_sixteen_bits(operator: str) -> None:
    a, b = values("int16", (2, 3, 7)), values("uint16", (3, 1), 1)
    attributes = {"a_zero_point": 0, "b_zero_point": 5}
    if operator == "Mul":
        a, b = a >> 3, b >> 3
    check(*node_graph(operator, [a, b], (), a.shape, "int32", attributes))
    epilogue = RequantizeShift((77,), (-5,), 20, -128, 127)
    check(*node_graph(operator, [a, b], (), a.shape, "int8", attributes, epilogue), {"d1": 2})


def test_a_wrong_result_is_noticed() -> None:
    """The comparison finds a node whose shift is off by one."""
    x, w = values("int8", (3, 16)), np.full(16, 90_000, np.int32)
    graph, feeds = node_graph("iRMSNorm", [x, w], (1,), x.shape, "int8", {"shift": 12})
    node = graph.nodes[0]
    other = node_graph("iRMSNorm", [x, w], (1,), x.shape, "int8", {"shift": 11})[0].nodes[0]
    from kernel_harness import run_kernel
    from tilewright.catalogue.evaluate import evaluate_node

    (got,) = run_kernel(choices_of(graph)[0], graph, feeds)
    data = graph.tensor(node.inputs[1]).data
    wanted = evaluate_node(other, graph, {**feeds, node.inputs[1]: data})["out"]
    assert (got != wanted).any()
