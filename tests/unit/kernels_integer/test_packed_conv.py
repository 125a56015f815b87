"""Packed convolutions at the bound of their lanes: runs of weights that reach it, and inputs that are all extreme."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from kernel_harness import run_kernel
from support.integer_nodes import SOURCES, check, choices_of, integers, node_graph, requantize, shifted
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import Array, Epilogue, Graph, RequantizeTwice
from tilewright.kernels.scalar import conv_packed, rounds
from tilewright.kernels.scalar.rounds import Blocks, Core, blocks_in_order, sorted_blocks
from tilewright.operators.fixed_point import quantized_multiplier

RNG = np.random.default_rng(1)
TALL_OR_WIDE = ((1, 1), (3, 1), (1, 3))
"""Heights and widths of kernels."""

BOUND = 256
"""What the magnitudes of a run may add up to, unless all weights are negative: then it is one less."""


def saturated(core: Core, channels: int) -> Array:
    """Weights int64[1, channels, taps]: two rounds of each loop and three taps; runs reach the bound or int8's end."""
    rng = np.random.default_rng(len(core.value))
    rows = []
    for channel in range(channels):
        taps: list[int] = []
        for run in (*(run for runs in core.rounds for run in runs * 2), 1, 1, 1):
            limit = min(BOUND - (channel % 3 != 0), 127 * run)
            sizes = np.full(run, limit // run)
            sizes[0] += limit - sizes.sum()
            signs = (np.ones(run), -np.ones(run), rng.choice((-1, 1), run))[channel % 3]
            taps += (sizes * signs).astype(int).tolist()
        rows.append(taps)
    return np.array([rows], np.int64)


def runs_of(blocks: Blocks, weights: Array) -> Iterator[Array]:
    """The weights of every run, as C walks over them."""
    for block, (pair, turns) in enumerate(zip(blocks.order[0], blocks.rounds[0], strict=True)):
        taps = weights[0, pair]
        lengths = [
            run
            for runs, count in zip(blocks.core.rounds, turns, strict=True)
            for run in runs * int(count) * blocks.unit
        ]
        assert sum(lengths) <= taps.shape[1], block
        ends = np.cumsum([*lengths, *[1] * (taps.shape[1] - sum(lengths))])
        yield from np.split(taps, ends[:-1], axis=1)


def graph_of(weights: Array, x: Array, epilogue: Epilogue | None, dtype: str = "int8") -> tuple[Graph, dict]:
    channels = len(weights)
    bias = np.arange(channels, dtype=np.int32) * 1001 - 7000
    attributes = {"strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0), "group": 1}
    inputs = [x, weights.astype(np.int8).reshape(channels, -1, 1, 1), bias]
    out = (x.shape[0], channels, *x.shape[2:])
    return node_graph("Conv", inputs, (1, 2), out, dtype, attributes, epilogue, channels_last=True)


def extremes(taps: int) -> Array:
    """Pixels int8[1, taps, 4, 4], of one extreme or of both mixed, so that each lane meets every kind of neighbour."""
    rng = np.random.default_rng(taps)
    kinds = [np.full(taps, -128), np.full(taps, 127), np.resize([-128, 127], taps), rng.choice((-128, 127), taps)]
    pixels = [kinds[first] if second else kinds[3] for first, second in product(range(4), range(4))]
    return np.array(pixels).T.reshape(1, taps, 4, 4).astype(np.int8)


@pytest.mark.parametrize("core", Core)
@pytest.mark.parametrize("rule", ["layer", "high", "folded", "away", "twice", "layer_even", "none"])
def test_runs_at_the_bound(core: Core, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    channels = 7
    weights = saturated(core, channels)
    monkeypatch.setattr(conv_packed, "core_of_network", lambda _: core)
    scale = 1.0 / (128.0 * np.abs(weights).sum(axis=2).max() / 100.0)
    pairs = [quantized_multiplier(scale * 2.0 ** (-channel * 0.7)) for channel in range(channels)]
    factors, shifts = zip(*pairs, strict=True)
    epilogue = {
        "layer": requantize([scale] * channels),
        "high": RequantizeTwice(factors, shifts, -128, -128, 127),
        "folded": shifted(np.random.default_rng(1), channels, 14, 3),
        "away": RequantizeTwice(factors, shifts, 5, -128, 127),
        # One rounding takes the place of two from a shift of 2 on.
        "twice": RequantizeTwice((1 << 30,), (-1,), 5, -128, 127),
        "layer_even": requantize([2.0 ** np.floor(np.log2(scale))]),
        "none": None,
    }[rule]
    graph, feeds = graph_of(weights[0], extremes(weights.shape[2]), epilogue, "int32" if rule == "none" else "int8")
    found = check(graph, feeds, prefix="conv_packed")
    names = [choice.name.removeprefix("tilewright_conv_packed_") for choice in found]
    has_all = core is not Core.WIDE and rule not in ("layer_even", "none")
    pixels = ("6", "4", "6_4") if has_all else ("4",)
    wanted = [*(f"{count}_{core.value}_sorted" for count in pixels), f"4_{core.value}"]
    wanted += [f"2_{core.value}_sorted"] if has_all else []
    assert [name.removesuffix(f"_{rule}") for name in names] == wanted
    assert (blocks_in_order(weights, core).rounds == 2).all()


@pytest.mark.parametrize("rule", ["layer", "layer_even"])
@pytest.mark.parametrize("zero_point", [0, 255, 97])
def test_weights_of_nine_bits_at_the_bound(rule: str, zero_point: int) -> None:
    """Stored weights 0 and 255, so weights up to 255 or -255: one product of these fits a run alone."""
    channels, taps = 7, 18
    weights = np.random.default_rng(zero_point).choice((0, 255), (channels, taps, 1, 1)).astype(np.uint8)
    weights[0] = 255
    weights[1] = 0
    scale = 1.0 / (128.0 * 255.0 * taps / 100.0)
    epilogue = requantize([scale] * channels if rule == "layer" else [2.0 ** np.floor(np.log2(scale))])
    attributes = {
        "strides": (1, 1),
        "dilations": (1, 1),
        "pads": (0, 0, 0, 0),
        "group": 1,
        "w_zero_point": (zero_point,),
    }
    x = extremes(taps)
    out = (1, channels, *x.shape[2:])
    graph, feeds = node_graph("Conv", [x, weights], (1,), out, "int8", attributes, epilogue, channels_last=True)
    for steps in ({}, {"oh": 2, "ow": 3, "oc": 4}):
        names = {choice.name for choice in check(graph, feeds, steps, prefix="conv_packed")}
        assert f"tilewright_conv_packed_4_wide_{rule}" in names


@pytest.mark.parametrize("core", Core)
@pytest.mark.parametrize("largest", [127, 85, 40, 12])
def test_no_run_can_overflow(core: Core, largest: int) -> None:
    rng = np.random.default_rng(largest)
    weights = rng.integers(-largest, largest + 1, (1, 21, 75)) // rng.integers(1, 5, (1, 21, 1))
    for blocks in (sorted_blocks(weights, core), blocks_in_order(weights, core)):
        taken = 0
        for run in runs_of(blocks, weights):
            positive, negative = np.maximum(run, 0).sum(axis=1), np.minimum(run, 0).sum(axis=1)
            assert (127 * positive - 128 * negative < 1 << 15).all()
            assert (128 * positive - 127 * negative <= 1 << 15).all()
            taken += 1
        assert blocks.runs == taken / blocks.order.shape[1]
        assert set(blocks.order.ravel()) == set(range(21))


@pytest.mark.parametrize("core", Core)
def test_no_other_rounds_take_fewer_instructions(core: Core) -> None:
    weights = np.random.default_rng(3).integers(-90, 91, (1, 2, 23)) // 2
    blocks = blocks_in_order(weights, core)
    lengths, counts = (np.array([how(runs) for runs in core.rounds]) for how in (sum, len))

    def cycles(turns: Array) -> float:
        rest = weights.shape[2] - (turns * lengths).sum()
        return float(18 * ((turns * counts).sum() + rest) + 3 * (turns.sum() + rest))

    least = cycles(blocks.rounds[0, 0])
    tried = 0
    for turns in product(*(range(weights.shape[2] // length + 1) for length in lengths)):
        if (np.array(turns) * lengths).sum() <= weights.shape[2]:
            other = replace(blocks, rounds=np.array([[turns]]))
            bounds = [np.abs(run).sum(axis=1).max() for run in runs_of(other, weights)]
            tried += 1
            assert max(bounds) > BOUND - 1 or cycles(np.array(turns)) >= least
    assert tried > 10


def test_one_beyond_the_bound_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.array([[-127, -127, -2, 0], [127, 127, 3, 0]] * 2, np.int64).repeat(2, axis=1)
    x = np.concatenate([extremes(8), np.full((1, 8, 4, 4), -128, np.int8)], axis=2)
    graph, feeds = graph_of(weights, x, None, "int32")
    wanted = evaluate(graph, feeds)["out"]
    proved = rounds._fitting
    for fits, right in ((proved, True), (lambda w, length: proved(w // 2, length), False)):
        monkeypatch.setattr(rounds, "_fitting", fits)
        monkeypatch.setattr(rounds, "_known", {})
        choice = next(choice for choice in choices_of(graph) if choice.name.startswith("tilewright_conv_packed"))
        (got,) = run_kernel(choice, graph, feeds, {}, sources=SOURCES)
        assert bool((got == wanted).all()) is right


@pytest.mark.parametrize("channels", [2, 3, 4, 13])
@pytest.mark.parametrize("largest", [127, 63, 20])
def test_channels_in_the_order_of_their_runs(channels: int, largest: int) -> None:
    rng = np.random.default_rng(channels)
    weights = rng.integers(-largest, largest + 1, (channels, 27)) // rng.integers(1, 6, (channels, 1))
    for rule, epilogue in (("layer", requantize([1e-4] * channels)), ("folded", shifted(RNG, channels, 14, 3))):
        graph, feeds = graph_of(weights, extremes(27), epilogue)
        first, *_ = check(graph, feeds, {"oh": 3, "oc": 4}, prefix="conv_packed")
        assert first.name.endswith(f"_sorted_{rule}")
        assert first.attributes.pixels == 6


def test_more_channels_than_their_positions_bytes_hold() -> None:
    rng = np.random.default_rng(7)
    weights = rng.integers(-127, 128, (1, 261, 9)) // rng.integers(1, 9, (1, 261, 1))
    blocks = sorted_blocks(weights, Core.TO4)
    moved = blocks.order - np.arange(262).reshape(1, -1, 2)
    assert -128 <= moved.min() < -64
    assert moved.max() <= 127
    graph, feeds = graph_of(weights[0], extremes(9), requantize([1e-3] * 261))
    assert all(choice.name.endswith("_layer") for choice in check(graph, feeds, prefix="conv_packed"))


def test_more_rounds_than_a_byte_counts() -> None:
    taps = 1283
    weights = np.tile(np.array([127, -127]), (1, 3, taps // 2 + 1))[:, :, :taps]
    blocks = blocks_in_order(weights, Core.TO4)
    assert blocks.unit == 4
    graph, feeds = graph_of(weights[0], extremes(taps), requantize([1e-5] * 3))
    names = [choice.name for choice in check(graph, feeds, prefix="conv_packed")]
    assert names == [f"tilewright_conv_packed_{pixels}_to4_sorted_layer" for pixels in (4, 2)]


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
