"""benchmarks/packed_runs.py: runs as C walks over them, and a bound that runs of equal weights reach."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from support.integer_nodes import choices_of, node_graph, requantize
from tilewright.graph import Array

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

# The module below is found by the path above, so its import cannot stand before that line.
from packed_runs import Products, products_of  # noqa: E402


def products(weights: Array) -> Products:
    """Those of a 1x1 convolution of 4x4 pixels by weights int8[channels, taps]."""
    channels, taps = weights.shape
    inputs = [np.zeros((1, taps, 4, 4), np.int8), weights.astype(np.int8).reshape(channels, taps, 1, 1)]
    attributes = {"strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0), "group": 1}
    graph, _ = node_graph(
        "Conv", inputs, (1,), (1, channels, 4, 4), "int8", attributes, requantize([0.001]), channels_last=True
    )
    choice = next(choice for choice in choices_of(graph) if "conv_packed" in choice.name)
    return products_of("layer", choice)


@pytest.mark.parametrize(("weight", "length"), [(16, 16), (32, 8), (64, 4)])
def test_equal_weights_reach_the_bound(weight: int, length: int) -> None:
    """Runs of such weights with both signs add up to 256, the most there is."""
    weights = np.tile([weight, -weight], (8, 32))
    found = products(weights)
    assert found.runs == found.fewest_runs == 64 / length
    assert found.macs == 8 * 64 * 16


def test_other_weights_do_not() -> None:
    weights = np.random.default_rng(1).integers(-127, 128, (8, 61))
    found = products(weights)
    assert 61 * 64 / 256 < found.fewest_runs < found.runs <= 61
    assert found.per_mac(found.fewest_runs) < found.per_mac(found.runs)


def test_instructions_of_a_core_of_six_pixels() -> None:
    found = Products("layer", 1, 10, 6, 5.0, 4.0)
    assert found.per_mac(5.0) == pytest.approx((17 * 10 + 18 * 5) / (12 * 10))
