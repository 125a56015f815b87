"""Packed convolutions at the bound of their lanes: runs of weights that reach it, and inputs that are all extreme."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from kernel_harness import run_kernel
from support.integer_nodes import SOURCES, check, choices_of, integers, node_graph, requantize, shifted
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import Array, Epilogue, Graph
from tilewright.kernels.scalar import conv_packed
from tilewright.kernels.scalar.packed import LONGER, RUNS, Runs, best_runs, fits, name_of, runs_cycles, sorted_channels

RNG = np.random.default_rng(1)
TALL_OR_WIDE = ((1, 1), (3, 1), (1, 3))
"""Heights and widths of kernels."""

BOUND = 256
"""What the magnitudes of a run may add up to, unless all weights are negative: then it is one less."""


def saturated(runs: Runs, channels: int) -> Array:
    """int64[channels, three rounds and three taps]: runs at the bound, or at what int8 allows, in all signs."""
    rng = np.random.default_rng(len(runs))
    rows = []
    for channel in range(channels):
        taps: list[int] = []
        for run in (*runs * 3, 1, 1, 1):
            limit = min(BOUND - (channel % 3 != 0), 127 * run)
            sizes = np.full(run, limit // run)
            sizes[0] += limit - sizes.sum()
            signs = (np.ones(run), -np.ones(run), rng.choice((-1, 1), run))[channel % 3]
            taps += (sizes * signs).astype(int).tolist()
        rows.append(taps)
    return np.array(rows, np.int64)


def graph_of(weights: Array, x: Array, epilogue: Epilogue | None, dtype: str = "int8") -> tuple[Graph, dict]:
    channels = len(weights)
    bias = np.arange(channels, dtype=np.int32) * 1001 - 7000
    attributes = {"strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0), "group": 1}
    inputs = [x, weights.astype(np.int8).reshape(channels, -1, 1, 1), bias]
    out = (x.shape[0], channels, *x.shape[2:])
    return node_graph("Conv", inputs, (1, 2), out, dtype, attributes, epilogue, channels_last=True)


def extremes(taps: int) -> Array:
    """int8[1, taps, 4, 4]: pixels of one extreme and of mixtures, so that each lane meets every neighbour."""
    rng = np.random.default_rng(taps)
    kinds = [np.full(taps, -128), np.full(taps, 127), np.resize([-128, 127], taps), rng.choice((-128, 127), taps)]
    pixels = [kinds[first] if second else kinds[3] for first, second in product(range(4), range(4))]
    return np.array(pixels).T.reshape(1, taps, 4, 4).astype(np.int8)


@pytest.mark.parametrize("runs", RUNS, ids=name_of)
@pytest.mark.parametrize("rule", ["layer", "high", "folded", "even", "none"])
def test_runs_at_the_bound(runs: Runs, rule: str) -> None:
    channels = 7
    weights = saturated(runs, channels)
    scale = 1.0 / (128.0 * np.abs(weights).sum(axis=1).max() / 100.0)
    epilogue = {
        "layer": requantize([scale] * channels),
        "high": requantize(scale * 2.0 ** (-np.arange(channels) * 1.3)),
        "folded": shifted(np.random.default_rng(1), channels, 14, 3),
        "even": requantize([2.0 ** np.floor(np.log2(scale))]),
        "none": None,
    }[rule]
    graph, feeds = graph_of(weights, extremes(weights.shape[1]), epilogue, "int32" if rule == "none" else "int8")
    names = [choice.name for choice in check(graph, feeds, prefix="conv_packed")]
    has_two = runs == RUNS[0] and rule in ("layer", "high", "folded")
    assert len(names) == 1 + has_two
    assert names[-1].startswith(f"tilewright_conv_packed_{name_of(best_runs(weights) or ())}_")
    assert fits(weights, runs)


@pytest.mark.parametrize("runs", RUNS, ids=name_of)
def test_longer_runs_are_refused(runs: Runs) -> None:
    weights = saturated(runs, 6)
    taken = best_runs(weights)
    assert taken is not None
    taps = weights.shape[1]
    for other in (other for other in RUNS if taps >= sum(other)):
        assert not fits(weights, other) or runs_cycles(taps, taken) <= runs_cycles(taps, other)


def test_one_beyond_the_bound_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.array([[-127, -127, -2, 0], [127, 127, 3, 0]] * 2, np.int64).repeat(2, axis=1)
    x = np.concatenate([extremes(8), np.full((1, 8, 4, 4), -128, np.int8)], axis=2)
    graph, feeds = graph_of(weights, x, None, "int32")
    wanted = evaluate(graph, feeds)["out"]
    for runs, right in ((best_runs(weights), True), ((4, 4), False)):
        monkeypatch.setattr(conv_packed, "best_runs", lambda _, runs=runs: runs)
        choice = next(choice for choice in choices_of(graph) if choice.name.startswith("tilewright_conv_packed"))
        (got,) = run_kernel(choice, graph, feeds, {}, sources=SOURCES)
        assert bool((got == wanted).all()) is right


@pytest.mark.parametrize("longer", [0, 3, 4, 9, 13])
def test_runs_of_two_lengths(longer: int) -> None:
    channels, taps = 13, 27
    short = saturated(RUNS[0], channels - longer) if longer < channels else []
    long = [row[:taps] for row in saturated(LONGER, longer)] if longer else []
    weights = np.random.default_rng(longer).permutation(np.array([*short, *long]))
    found = sorted_channels(weights)
    assert found is not None
    assert found.longer == max(channels - -(-(channels - longer) // 4) * 4, 0)
    for rule, epilogue in (("layer", requantize([1e-4] * channels)), ("folded", shifted(RNG, channels, 14, 3))):
        graph, feeds = graph_of(weights, extremes(taps), epilogue)
        first, *_ = check(graph, feeds, {"oh": 3, "oc": 4}, prefix="conv_packed")
        assert first.name == f"tilewright_conv_packed_2222_333_{rule}"


def test_weights_of_which_two_do_not_fit() -> None:
    weights = np.full((4, 8), -128, np.int64)
    assert best_runs(weights) is None
    assert best_runs(weights + 1) is not None


@pytest.mark.parametrize("channels_last", [False, True], ids=["channels first", "channels last"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize(("inputs", "kernel"), [(1, (3, 3)), (3, (3, 1)), (3, (1, 3)), *product((8, 9), TALL_OR_WIDE)])
def test_taps_of_a_pixel_wherever_they_lie(
    inputs: int, kernel: tuple[int, int], dtype: str, channels_last: bool
) -> None:
    rng = np.random.default_rng(inputs)
    x = integers(rng, dtype, (2, inputs, 6, 5))
    weights = integers(rng, "int8", (5, inputs, *kernel), -9, 9)
    attributes = {"strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0), "group": 1}
    shape = (2, 5, 7 - kernel[0], 6 - kernel[1])
    graph, feeds = node_graph("Conv", [x, weights], (1,), shape, "int32", attributes, channels_last=channels_last)
    check(graph, feeds, prefix="conv")
    check(graph, feeds, {"oh": 2, "oc": 4}, prefix="conv", in_place=True)
