"""Interpolation along an axis against the reference, whole, in tiles and with rows in rings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.float_kernels import Kernels, Ring
from support.float_nodes import Case, assert_tiling_changes_nothing, same_bits
from support.single_node import random_array
from tilewright.kernels.scalar.windows import interpolate
from tilewright.operators.windows import InterpolateAttributes, interpolate_nest

SHAPE, OUTPUTS = (2, 3, 5, 4), 10


def case(axis: int, taps: int, *, channels_last: bool = False) -> Case:
    """Outputs half an element apart, means of so many neighbours; one has a single tap, one has none."""
    at = np.arange(OUTPUTS) * (SHAPE[axis] - 1) // (OUTPUTS - 1)
    indices = np.clip(at[:, None] + np.arange(taps) - (taps - 1) // 2, 0, SHAPE[axis] - 1)
    weights = np.random.default_rng(taps).uniform(0.1, 1.0, indices.shape).astype(np.float32)
    weights[3, 1:] = 0.0
    weights[4, :1] = 0.0
    indices[7], weights[7] = -1, 0.0
    weights[8] = 0.0
    attributes = {
        "axis": axis,
        "indices": tuple(indices.reshape(-1).tolist()),
        "weights": tuple(weights.reshape(-1).tolist()),
        "outside": 2.5,
    }
    out = tuple(OUTPUTS if place == axis else extent for place, extent in enumerate(SHAPE))
    return Case("Interpolate", (random_array(1, SHAPE),), attributes, out, channels_last=channels_last)


@pytest.mark.parametrize("axis", [1, 2, 3])
@pytest.mark.parametrize("taps", [1, 2, 3, 4])
@pytest.mark.parametrize("channels_last", [False, True])
def test_tiles(kernels: Kernels, axis: int, taps: int, channels_last: bool) -> None:
    found = case(axis, taps, channels_last=channels_last)
    graph = found.graph()
    (choice,) = interpolate(graph.nodes[0], graph)
    untiled = assert_tiling_changes_nothing(kernels, found, choice)
    np.testing.assert_allclose(untiled, found.expected(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("axis", [2, 3])
def test_rows_in_rings(kernels: Kernels, axis: int) -> None:
    found = case(axis, 2)
    graph = found.graph()
    (choice,) = interpolate(graph.nodes[0], graph)
    rings = (Ring(0, 2, 4), Ring(3, 2, 3))
    assert same_bits(found.result(kernels, choice, {"d2": 2}, rings=rings), found.result(kernels, choice))


def test_infinity_by_a_single_tap_stays(kernels: Kernels) -> None:
    found = replace(case(2, 2), arrays=(np.full(SHAPE, np.inf, np.float32),))
    graph = found.graph()
    (choice,) = interpolate(graph.nodes[0], graph)
    assert (found.result(kernels, choice)[:, :, [3, 4]] == np.inf).all()


def test_a_tile_reads_what_has_a_weight() -> None:
    """Twice as many rows, linear, half_pixel: output o reads rows around (o - 0.5) / 2."""
    at = (np.arange(10) - 0.5) / 2
    indices = np.clip(np.stack([np.floor(at), np.floor(at) + 1], axis=1), 0, 4).astype(np.int64)
    weights = np.stack([1 - at % 1, at % 1], axis=1)
    graph = Case(
        "Interpolate",
        (random_array(1, (1, 2, 5, 4)),),
        {
            "axis": 2,
            "indices": tuple(indices.reshape(-1).tolist()),
            "weights": tuple(weights.reshape(-1).tolist()),
            "outside": 0.0,
        },
        (1, 2, 10, 4),
    ).graph()
    assert isinstance(graph.nodes[0].attributes, InterpolateAttributes)
    rows = interpolate_nest(graph.nodes[0], graph).reads[0][2]
    assert rows.terms == (("d2", 1),)
    assert (rows.first_offset, rows.last_offset, rows.divisor) == (-1, 1, 2)
