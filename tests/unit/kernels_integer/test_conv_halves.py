"""Convolutions of int16 tensors with int8 weights against the reference: in tiles, in rings, by every rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_harness import Ring, run_kernel
from support.integer_nodes import check, choices_of, integers, node_graph
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import Array, Epilogue, Graph, RequantizeShift, RequantizeTwice, Rescale

GEOMETRIES: dict[str, dict[str, Any]] = {
    "point": {"x": (1, 6, 5, 7), "kernel": (1, 1), "channels": 9},
    "padded": {"x": (2, 5, 9, 7), "kernel": (3, 3), "pads": (1, 1, 1, 1), "channels": 8},
    "uneven": {"x": (1, 3, 11, 10), "kernel": (4, 3), "strides": (2, 3), "pads": (0, 2, 3, 1), "channels": 6},
    "dilated": {"x": (1, 4, 9, 11), "kernel": (2, 3), "dilations": (3, 2), "pads": (3, 2, 0, 4), "channels": 5},
    "beyond": {"x": (1, 2, 3, 2), "kernel": (5, 5), "pads": (4, 4, 4, 4), "channels": 4},
    "few channels": {"x": (1, 7, 6, 6), "kernel": (3, 3), "channels": 3},
    "line": {"x": (1, 8, 30), "kernel": (5,), "strides": (2,), "pads": (4, 0), "channels": 12},
    "dense": {"x": (1, 65, 1, 1), "kernel": (1, 1), "channels": 10},
    "grouped": {"x": (1, 6, 5, 5), "kernel": (3, 3), "group": 3, "channels": 6},
}
DEPTHWISE: dict[str, dict[str, Any]] = {
    "padded": {"x": (2, 10, 9, 7), "kernel": (3, 3), "pads": (1, 1, 1, 1)},
    "uneven": {"x": (1, 5, 11, 10), "kernel": (4, 3), "strides": (2, 3), "pads": (0, 2, 3, 1)},
    "dilated": {"x": (1, 4, 9, 11), "kernel": (2, 3), "dilations": (3, 2), "pads": (3, 2, 0, 4)},
    "beyond": {"x": (1, 6, 3, 2), "kernel": (5, 5), "pads": (4, 4, 4, 4)},
    "line": {"x": (1, 9, 30), "kernel": (5,), "strides": (2,), "pads": (4, 0)},
}
TRANSPOSED: dict[str, dict[str, Any]] = {
    "doubled": {"x": (1, 5, 4, 3), "kernel": (2, 2), "strides": (2, 2), "channels": 7},
    "overlapping": {"x": (2, 3, 4, 4), "kernel": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1), "channels": 4},
    "side by side": {"x": (1, 4, 6, 7), "kernel": (3, 4), "pads": (1, 2, 1, 2), "channels": 5},
    "line": {"x": (1, 4, 9), "kernel": (4,), "strides": (2,), "pads": (1, 1), "channels": 6},
}
STEPS = ({}, {"oc": 3, "group": 3, "oh": 2}, {"oh": 1, "ow": 3})
RULES = ("high", "twice", "real")


def rule_of(rule: str, channels: int) -> tuple[Epilogue, str]:
    """A rule of each kind with random multipliers, and the type of the elements that it makes."""
    rng = np.random.default_rng(channels)
    if rule == "real":
        return Rescale(tuple(rng.uniform(1e-4, 1e-2, channels).tolist())), "float32"
    if rule == "twice":
        multipliers = tuple(int(value) for value in rng.integers(1 << 30, 1 << 31, channels))
        return RequantizeTwice(multipliers, tuple(-6 - i % 3 for i in range(channels)), 0, -32768, 32767), "int16"
    multipliers = tuple(int(value) for value in rng.integers(1 << 14, 1 << 15, channels))
    return RequantizeShift(multipliers, (0,) * channels, 22, -32768, 20000), "int16"


def convolution(geometry: dict[str, Any], rule: str, *, last: bool = True) -> tuple[Graph, dict[str, Array]]:
    """A Conv of int16; weights are small enough for sums of 32 bits."""
    given = dict(geometry)
    rng = np.random.default_rng(3)
    x = integers(rng, "int16", given.pop("x"))
    rank, group, channels = x.ndim - 2, given.setdefault("group", 1), given.pop("channels")
    given = {"strides": (1,) * rank, "dilations": (1,) * rank, "pads": (0,) * 2 * rank, **given}
    w = integers(rng, "int8", (channels, x.shape[1] // group, *given["kernel"]), -127, 127)
    bias = rng.integers(-100000, 100000, channels).astype(np.int64)
    spatial = [
        (
            x.shape[2 + a]
            + given["pads"][a]
            + given["pads"][rank + a]
            - (given["kernel"][a] - 1) * given["dilations"][a]
            - 1
        )
        // given["strides"][a]
        + 1
        for a in range(rank)
    ]
    epilogue, dtype = rule_of(rule, channels)
    return node_graph("Conv", [x, w, bias], (1, 2), (x.shape[0], channels, *spatial), dtype, given, epilogue, last)


def transposed(geometry: dict[str, Any], rule: str) -> tuple[Graph, dict[str, Array]]:
    given = dict(geometry)
    rng = np.random.default_rng(4)
    x = integers(rng, "int16", given.pop("x"))
    rank, channels = x.ndim - 2, given.pop("channels")
    given = {"group": 1, "strides": (1,) * rank, "dilations": (1,) * rank, "pads": (0,) * 2 * rank, **given}
    w = integers(rng, "int8", (x.shape[1], channels, *given["kernel"]), -127, 127)
    bias = rng.integers(-100000, 100000, channels).astype(np.int64)
    spatial = [
        (x.shape[2 + a] - 1) * given["strides"][a] + given["kernel"][a] - given["pads"][a] - given["pads"][rank + a]
        for a in range(rank)
    ]
    epilogue, dtype = rule_of(rule, channels)
    shape = (x.shape[0], channels, *spatial)
    return node_graph("ConvTransposeInteger", [x, w, bias], (1, 2), shape, dtype, given, epilogue, True)


TOLERANCES = {"real": 2.0**-22}
"""By rule, if not 0. C rounds a sum to float32 and its product, the reference the product alone."""


def names_of(graph: Graph) -> set[str]:
    return {choice.name.removeprefix("tilewright_") for choice in choices_of(graph)}


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("rule", RULES)
def test_convolution(geometry: str, rule: str) -> None:
    graph, feeds = convolution(GEOMETRIES[geometry], rule)
    blocks = {"conv_halves_block"} if geometry != "grouped" else set()
    assert names_of(graph) == {"conv_halves"} | blocks
    for steps in STEPS:
        check(graph, feeds, steps, tolerance=TOLERANCES.get(rule, 0.0))
    if len(GEOMETRIES[geometry]["kernel"]) == 2:
        check(graph, feeds, {"oh": 1}, rings=(Ring(0, 2, 9),), tolerance=TOLERANCES.get(rule, 0.0))


@pytest.mark.parametrize("geometry", DEPTHWISE)
@pytest.mark.parametrize("rule", RULES)
def test_depthwise_convolution(geometry: str, rule: str) -> None:
    given = DEPTHWISE[geometry]
    channels = given["x"][1]
    graph, feeds = convolution({**given, "group": channels, "channels": channels}, rule)
    assert names_of(graph) == {"conv_halves", "depthwise_halves"}
    for steps in STEPS:
        check(graph, feeds, steps, tolerance=TOLERANCES.get(rule, 0.0))
    if len(given["kernel"]) == 2:
        check(graph, feeds, {"oh": 1}, rings=(Ring(0, 2, 9),), tolerance=TOLERANCES.get(rule, 0.0))


@pytest.mark.parametrize("geometry", TRANSPOSED)
@pytest.mark.parametrize("rule", RULES)
def test_transposed_convolution(geometry: str, rule: str) -> None:
    graph, feeds = transposed(TRANSPOSED[geometry], rule)
    assert names_of(graph) == {"conv_halves", "conv_halves_block"}
    for steps in STEPS:
        check(graph, feeds, steps, tolerance=TOLERANCES.get(rule, 0.0))


def test_channels_that_lie_apart_take_the_wide_kernel() -> None:
    graph, feeds = convolution(GEOMETRIES["padded"], "high", last=False)
    assert names_of(graph) == {"conv_halves"}
    check(graph, feeds)


def test_sums_of_more_than_32_bits_take_the_wide_kernel() -> None:
    graph, feeds = convolution({"x": (1, 1200, 1, 1), "kernel": (1, 1), "channels": 4}, "high")
    assert names_of(graph) == {"conv_halves"}
    check(graph, feeds)


def test_a_wrong_weight_is_noticed() -> None:
    graph, feeds = convolution(GEOMETRIES["padded"], "high")
    node = graph.nodes[0]
    other, _ = convolution({**GEOMETRIES["padded"]}, "high")
    tensor = other.tensor(node.inputs[1])
    assert tensor.data is not None
    spoilt = tensor.data.copy()
    spoilt[7, 4, 2, 2] ^= 64
    object.__setattr__(tensor, "data", spoilt)
    with pytest.raises(AssertionError, match="differ"):
        compare(graph, other, feeds)


def compare(graph: Graph, other: Graph, feeds: dict[str, Array]) -> None:
    """``check``, with the kernels of another graph of the same shapes."""
    wanted = evaluate(graph, feeds)["out"]
    for choice in choices_of(other):
        (got,) = run_kernel(choice, other, feeds, {})
        assert (got == wanted).all(), f"{choice.name}: {int((got != wanted).sum())} differ"
