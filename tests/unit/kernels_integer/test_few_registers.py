"""Code that kernels have for Arm, which has fewer registers, compiled for this machine and compared with references."""

from __future__ import annotations

from collections.abc import Iterator

import kernel_harness
import numpy as np
import pytest
from kernel_harness import Ring
from support import integer_nodes
from support.integer_nodes import check, integers, node_graph, requantize
from tilewright.graph import Graph


@pytest.fixture(scope="module", autouse=True)
def _for_arm() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_harness, "SANITIZED", (*kernel_harness.SANITIZED, "-D__arm__"))
        # Each kernel with its own files: all of the integer kernels would be compiled for a few of them.
        patch.setattr(integer_nodes, "SOURCES", ())
        kernel_harness.library.cache_clear()
        yield
    kernel_harness.library.cache_clear()


def convolution(x: tuple[int, ...], weights: np.ndarray, group: int, stride: int) -> tuple[Graph, dict]:
    rng = np.random.default_rng(x[2])
    attributes = {"strides": (1, stride), "dilations": (1, 1), "pads": (1, 1, 1, 1), "group": group}
    channels = len(weights)
    out = (x[0], channels, x[2], (x[3] - 1) // stride + 1)
    inputs = [integers(rng, "int8", x), weights, integers(rng, "int32", (channels,), -3000, 3000)]
    return node_graph(
        "Conv", inputs, (1, 2), out, "int8", attributes, requantize(rng.uniform(0.5e-3, 1.5e-3, channels)), True
    )


@pytest.mark.parametrize("rows", [2, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("stride", [1, 2])
def test_depthwise_columns(rows: int, stride: int) -> None:
    weights = integers(np.random.default_rng(rows), "int8", (5, 1, 3, 3))
    for columns in (3, 40):
        graph, feeds = convolution((2, 5, rows, columns), weights, 5, stride)
        check(graph, feeds, {"oh": 4, "ow": 2}, prefix="depthwise_slide")
        check(graph, feeds, prefix="depthwise_slide", rings=(Ring(0, 2, rows + 1),))


@pytest.mark.parametrize("largest", [127, 85, 63, 15])
@pytest.mark.parametrize("channels", [3, 6, 13])
def test_packed_runs(largest: int, channels: int) -> None:
    weights = integers(np.random.default_rng(largest), "int8", (channels, 4, 3, 3), -largest, largest)
    weights[: channels // 2] //= 2
    graph, feeds = convolution((1, 4, 5, 5), weights, 1, 1)
    check(graph, feeds, {"oh": 2, "oc": 4}, prefix="conv_packed")
