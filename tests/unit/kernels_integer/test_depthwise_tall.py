"""Depthwise kernels of five and of seven rows: strides, planes below and above those whose sums C keeps, rings."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import Ring
from support.integer_nodes import check, choices_of, integers, node_graph, requantize
from tilewright.graph import Array, Graph

CHANNELS = 3
PLANES = {"one": (1, 1), "fewer than a turn": (3, 4), "small": (8, 7), "larger than its sums": (14, 13)}


def convolution(
    kernel: tuple[int, int],
    strides: tuple[int, int],
    plane: tuple[int, int],
    dilations: tuple[int, int] = (1, 1),
    dtype: str = "int8",
) -> tuple[Graph, dict[str, Array]]:
    """A depthwise convolution with so many rows and columns of results."""
    rng = np.random.default_rng([*kernel, *strides, *plane])
    pads = tuple(size // 2 * dilation for size, dilation in zip(kernel, dilations, strict=True))
    extents = [
        (count - 1) * stride + (size - 1) * dilation + 1 - 2 * pad
        for count, stride, size, dilation, pad in zip(plane, strides, kernel, dilations, pads, strict=True)
    ]
    attributes = {
        "kernel": kernel,
        "strides": strides,
        "dilations": dilations,
        "pads": (*pads, *pads),
        "group": CHANNELS,
        "x_zero_point": 5,
    }
    inputs = [
        integers(rng, dtype, (2, CHANNELS, *(max(extent, 1) for extent in extents))),
        integers(rng, "int8", (CHANNELS, 1, *kernel)),
        integers(rng, "int32", (CHANNELS,), -3000, 3000),
    ]
    epilogue = requantize(rng.uniform(0.5e-3, 1.5e-3, CHANNELS))
    out = (2, CHANNELS, *plane)
    return node_graph("Conv", inputs, (1, 2), out, "int8", attributes, epilogue, channels_last=True)


@pytest.mark.parametrize("plane", PLANES)
@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (1, 3), (3, 1)])
@pytest.mark.parametrize(("kernel", "name"), [((5, 5), "five"), ((7, 7), "seven"), ((5, 1), "five"), ((7, 3), "seven")])
def test_columns_of_weights_are_added_one_by_one(
    kernel: tuple[int, int], name: str, strides: tuple[int, int], plane: str
) -> None:
    graph, feeds = convolution(kernel, strides, PLANES[plane])
    assert check(graph, feeds, prefix=f"depthwise_{name}")
    check(graph, feeds, {"oh": 2, "ow": 2, "group": 2}, prefix=f"depthwise_{name}")


@pytest.mark.parametrize("kernel", [(5, 3), (7, 3)])
def test_columns_may_be_dilated_and_rows_may_not(kernel: tuple[int, int]) -> None:
    graph, feeds = convolution(kernel, (1, 1), (4, 5), (1, 2), "uint8")
    assert check(graph, feeds, prefix="depthwise_five" if kernel[0] == 5 else "depthwise_seven")
    graph, feeds = convolution(kernel, (1, 1), (4, 5), (2, 1))
    assert check(graph, feeds, prefix="depthwise_any")
    assert not any("five" in choice.called or "seven" in choice.called for choice in choices_of(graph))


@pytest.mark.parametrize("rows", [5, 8])
def test_rows_of_rings_of_tall_kernels(rows: int) -> None:
    graph, feeds = convolution((5, 5), (1, 1), (rows, 6))
    check(graph, feeds, {"oh": 2}, prefix="depthwise_five", rings=(Ring(0, 2, rows + 1),))
