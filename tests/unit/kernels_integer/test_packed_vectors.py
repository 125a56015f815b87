"""Packed products of vectors at the bound of their lanes: every rule, extreme inputs, strides and tiles."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import run_kernel
from support.integer_nodes import SOURCES, check, choices_of, node_graph, requantize, shifted
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import Array, Epilogue, Graph
from tilewright.kernels.scalar import fully_connected_packed
from tilewright.kernels.scalar.packed import lengths_of_runs, vector_run_cycles

PREFIX = "fully_connected_packed"
RANGES = {"int8": (-128, 127), "uint8": (0, 255)}


def matrix(taps: int, channels: int) -> Array:
    """int64[channels, taps]: some all negative, some all positive, some mixed, of magnitudes from 127 down to 1."""
    rng = np.random.default_rng(taps)
    sizes = np.maximum(127 >> np.minimum(np.arange(taps) // 5, 7), 1)
    signs = np.array([np.ones(taps), -np.ones(taps), rng.choice((-1, 1), taps)])
    return (sizes * signs[np.arange(channels) % 3]).astype(np.int64)


def vectors(taps: int, dtype: str) -> Array:
    low, high = RANGES[dtype]
    rng = np.random.default_rng(taps)
    return np.array([np.full(taps, low), rng.choice((low, high), taps)], dtype)


def graph_of(weights: Array, x: Array, epilogue: Epilogue | None, out: str, *, transpose_a: bool = False) -> tuple:
    attributes = {"transpose_a": transpose_a, "transpose_b": True, "a_zero_point": 5, "b_zero_point": (0,)}
    bias = np.arange(len(weights), dtype=np.int32) * 1001 - 7000
    inputs = [x.T.copy() if transpose_a else x, weights.astype(np.int8), bias]
    return node_graph("MatMul", inputs, (1, 2), (len(x), len(weights)), out, attributes, epilogue)


@pytest.mark.parametrize("dtype", RANGES)
@pytest.mark.parametrize("rule", ["layer", "high", "folded", "even", "none"])
def test_extremes(rule: str, dtype: str) -> None:
    channels = 23
    weights = matrix(61, channels)
    scale = 1.0 / (128.0 * np.abs(weights).sum(axis=1).max() / 100.0)
    epilogue = {
        "layer": requantize([scale] * channels),
        "high": requantize(scale * 2.0 ** (-np.arange(channels) * 0.4)),
        "folded": shifted(np.random.default_rng(1), channels, 14, 3),
        "even": requantize([2.0 ** np.floor(np.log2(scale))]),
        "none": None,
    }[rule]
    out = "int32" if rule == "none" else "int8"
    for is_transposed in (False, True):
        graph, feeds = graph_of(weights, vectors(61, dtype), epilogue, out, transpose_a=is_transposed)
        assert len(check(graph, feeds, {"n": 8, "m": 1}, prefix=PREFIX)) == 1


def test_blocks_that_need_more_weights_are_refused() -> None:
    for channels, offered in ((4, False), (5, True), (8, True), (12, False), (16, True)):
        graph, _ = graph_of(matrix(9, channels), vectors(9, "int8"), None, "int32")
        assert offered is any(PREFIX in choice.name for choice in choices_of(graph))


@pytest.mark.parametrize("dtype", RANGES)
def test_runs_fit_and_are_the_cheapest(dtype: str) -> None:
    weights = matrix(37, 8)
    low, high = RANGES[dtype]

    def fits(part: Array) -> bool:
        products = np.stack([part * low, part * high])
        return bool(products.min(0).sum(1).min() >= -(1 << 15) and products.max(0).sum(1).max() < 1 << 15)

    (runs,) = lengths_of_runs(weights[None], RANGES[dtype])
    ends = np.cumsum(runs)
    assert ends[-1] == 37
    assert all(fits(weights[:, end - length : end]) for end, length in zip(ends, runs, strict=True))
    cheapest = [0.0]
    for end in range(1, 38):
        starts = (start for start in range(end) if fits(weights[:, start:end]))
        cheapest.append(min(cheapest[start] + vector_run_cycles(end - start) for start in starts))
    assert sum(map(vector_run_cycles, runs)) == cheapest[-1]


def test_one_beyond_the_bound_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.array([[127, 127, 3, 0]] * 8, np.int64)
    graph, feeds = graph_of(weights, np.full((1, 4), -128, np.int8), None, "int32")
    for runs in ((4,), *lengths_of_runs(weights[None], RANGES["int8"])):
        assert is_right(graph, feeds, runs, monkeypatch) is (runs != (4,))


def is_right(graph: Graph, feeds: dict, runs: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(fully_connected_packed, "lengths_of_runs", lambda *_: [runs])
    choice = next(choice for choice in choices_of(graph) if PREFIX in choice.name)
    (got,) = run_kernel(choice, graph, feeds, {}, sources=SOURCES)
    return bool((got == evaluate(graph, feeds)["out"]).all())
