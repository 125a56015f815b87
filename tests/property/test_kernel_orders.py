"""Kernels take tensors in any memory order: those of random models, and 8-bit convolutions of every shape."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from support.integer_nodes import integers, node_graph, requantize
from support.kernel_orders import wrong_kernels
from support.random_float import random_float
from support.random_int8 import random_int8
from tilewright.graph import Array, Graph
from tilewright.importers.load import import_model
from tilewright.kernels import integer
from tilewright.kernels.xpulpv2 import conv
from tilewright.rewrites.passes import optimise

KINDS = {"float": random_float, "int8": random_int8}
SAMPLE, THOUSANDS = 12, 1000
CONVOLUTIONS = 60


def wrong_of_models(kind: str, seeds: range, folder: Path) -> tuple[int, list[str]]:
    """Run the kernels of all nodes of random models: how many ran, and in words which were wrong."""
    tried, wrong = 0, []
    for seed in seeds:
        model = KINDS[kind](seed)
        path = folder / "network.onnx"
        path.write_bytes(model.proto().SerializeToString())
        graph = optimise(import_model(path))
        feeds = {name: np.asarray(model.values[name]) for name in graph.inputs}
        count, found = wrong_kernels(graph, feeds, random.Random(seed))
        tried += count
        wrong += [f"seed {seed}: {text}" for text in found]
    return tried, wrong


def convolution(seed: int) -> tuple[Graph, dict[str, Array]]:
    """A convolution of 8-bit tensors: any of kernels, strides, dilations, pads and groups, depthwise or not."""
    chance, rng = random.Random(seed), np.random.default_rng(seed)
    group = chance.choice((1, 1, 2, chance.randint(2, 9)))
    inputs = group * (1 if group > 2 else chance.choice((1, 2, 4, 8, 9, 16)))
    outputs = group * (1 if group > 2 else chance.randint(1, 9))
    kernel, strides, dilations = (
        tuple(chance.choice(some) for _ in range(2)) for some in ((1, 1, 2, 3, 4), (1, 1, 2, 3), (1, 1, 2))
    )
    pads = tuple(chance.randint(0, reach - 1) for reach in kernel * 2)
    image = tuple((k - 1) * d + 1 + chance.randint(0, 6) for k, d in zip(kernel, dilations, strict=True))
    places = (
        (image[i] + pads[i] + pads[i + 2] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(2)
    )
    batch, dtype = chance.randint(1, 2), chance.choice(("int8", "uint8"))
    largest = chance.choice((3, 20, 127))
    x = integers(rng, dtype, (batch, inputs, *image))
    weights = integers(rng, "int8", (outputs, inputs // group, *kernel), -largest, largest)
    bias = integers(rng, "int32", (outputs,), -4000, 4000)
    given = {"strides": strides, "dilations": dilations, "pads": pads, "group": group}
    zero = chance.choice((0, 5)) if dtype == "int8" else 131
    factors = [2.0 ** -chance.randint(6, 11) for _ in range(outputs)]
    shape = (batch, outputs, *places)
    return node_graph(
        "Conv", [x, weights, bias], (1, 2), shape, dtype, {**given, "x_zero_point": zero}, requantize(factors, 3, dtype)
    )


def wrong_convolutions(seeds: range) -> tuple[int, list[str]]:
    tried, wrong = 0, []
    for seed in seeds:
        count, found = wrong_kernels(*convolution(seed), random.Random(seed))
        tried += count
        wrong += [f"seed {seed}: {text}" for text in found]
    return tried, wrong


@pytest.mark.parametrize("kind", KINDS)
def test_kernels_of_random_models_take_any_order(kind: str, tmp_path: Path) -> None:
    tried, wrong = wrong_of_models(kind, range(SAMPLE), tmp_path)
    assert wrong == []
    assert tried >= 4 * SAMPLE


def test_convolutions_take_any_order() -> None:
    tried, wrong = wrong_convolutions(range(CONVOLUTIONS))
    assert wrong == []
    assert tried >= 4 * CONVOLUTIONS


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_kernels_of_thousands_take_any_order(kind: str, tmp_path: Path) -> None:
    assert wrong_of_models(kind, range(SAMPLE, SAMPLE + THOUSANDS), tmp_path)[1] == []


@pytest.mark.long
def test_thousands_of_convolutions_take_any_order() -> None:
    assert wrong_convolutions(range(CONVOLUTIONS, CONVOLUTIONS + 4 * THOUSANDS))[1] == []


def test_columns_that_lie_apart_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that takes columns of one channel for neighbours, wherever they lie, gives wrong results."""
    monkeypatch.setattr(conv, "_is_planar", lambda taken, graph: graph.tensor(taken.node.inputs[0]).shape[1] == 1)
    assert any("conv_xpulpv2" in text for text in wrong_convolutions(range(CONVOLUTIONS))[1])


def test_weights_of_another_tap_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel whose weights are packed for other taps than it reads gives wrong results."""
    packed = integer.packed_weights
    monkeypatch.setattr(integer, "packed_weights", lambda weights: packed(weights[:, :, ::-1]))
    assert any("conv_integer" in text for text in wrong_convolutions(range(CONVOLUTIONS))[1])
