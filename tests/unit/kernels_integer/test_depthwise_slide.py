"""Depthwise kernels of 3x3 taps that finish in registers: every rule that they have, planes of any size, rings."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import Ring
from support.integer_nodes import check, integers, node_graph, requantize, shifted
from tilewright.graph import Epilogue

CHANNELS = 4


def epilogue_of(rule: str, rng: np.random.Generator) -> Epilogue:
    scales = rng.uniform(0.5e-3, 1.5e-3, CHANNELS)
    return {
        "layer": requantize(scales),
        "high": requantize(scales * 2.0 ** (-np.arange(CHANNELS) * 1.3)),
        "folded": shifted(rng, CHANNELS, 14, 3),
        "even": requantize(np.full(CHANNELS, 0.25)),
    }[rule]


@pytest.mark.parametrize("rule", ["layer", "high", "folded"])
@pytest.mark.parametrize(("dtype", "stride"), [("int8", 1), ("int8", 2), ("uint8", 1)])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 5), (6, 3)])
def test_sums_become_elements_at_once(rule: str, dtype: str, stride: int, rows: int, columns: int) -> None:
    rng = np.random.default_rng(rows)
    epilogue = epilogue_of(rule, rng)
    attributes = {"strides": (1, stride), "dilations": (1, 1), "pads": (1, 1, 1, 1), "group": CHANNELS}
    inputs = [
        integers(rng, dtype, (2, CHANNELS, rows, columns)),
        integers(rng, "int8", (CHANNELS, 1, 3, 3)),
        integers(rng, "int32", (CHANNELS,), -3000, 3000),
    ]
    out = (2, CHANNELS, rows, (columns - 1) // stride + 1)
    graph, feeds = node_graph("Conv", inputs, (1, 2), out, "int8", attributes, epilogue, channels_last=True)
    found = [
        *check(graph, feeds, {"oh": 2, "ow": 2}, prefix="depthwise_slide"),
        *check(graph, feeds, prefix="depthwise_slide"),
    ]
    assert all(choice.attributes.stores == 1 for choice in found), [choice.name for choice in found]


@pytest.mark.parametrize("rows", [3, 4, 7])
def test_rows_of_rings(rows: int) -> None:
    rng = np.random.default_rng(rows)
    attributes = {"strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1), "group": CHANNELS}
    inputs = [integers(rng, "int8", (1, CHANNELS, rows, 5)), integers(rng, "int8", (CHANNELS, 1, 3, 3))]
    shape = (1, CHANNELS, rows, 5)
    epilogue = requantize(rng.uniform(0.5e-3, 1.5e-3, CHANNELS))
    graph, feeds = node_graph("Conv", inputs, (1,), shape, "int8", attributes, epilogue, channels_last=True)
    check(graph, feeds, {"oh": 2}, prefix="depthwise_slide", rings=(Ring(0, 2, rows + 1),))


@pytest.mark.parametrize("rule", ["layer", "high", "folded", "even"])
@pytest.mark.parametrize(
    ("kernel", "strides", "name"),
    [((3, 3), (1, 1), "slide"), ((3, 3), (1, 2), "slide"), ((3, 3), (2, 2), "stride"), ((5, 2), (1, 1), "any")],
)
@pytest.mark.parametrize("columns", [6, 40])
def test_weights_of_more_than_8_bits(
    rule: str, kernel: tuple[int, int], strides: tuple[int, int], name: str, columns: int
) -> None:
    """Weights of uint8 less their zero point, as old .tflite files and ONNX Runtime's quantiser have them."""
    rng = np.random.default_rng(columns)
    epilogue = epilogue_of(rule, rng)
    pads = (kernel[0] // 2, kernel[1] // 2, kernel[0] // 2, kernel[1] // 2)
    attributes = {"strides": strides, "dilations": (1, 1), "pads": pads, "group": CHANNELS, "w_zero_point": (97,)}
    inputs = [integers(rng, "uint8", (2, CHANNELS, 5, columns)), integers(rng, "uint8", (CHANNELS, 1, *kernel))]
    extents = zip((5, columns), kernel, strides, strict=True)
    out = (2, CHANNELS, *((extent + 2 * (size // 2) - size) // stride + 1 for extent, size, stride in extents))
    graph, feeds = node_graph("Conv", inputs, (1,), out, "int8", attributes, epilogue, channels_last=True)
    wanted = "any" if name == "slide" and rule == "even" else name
    for steps in ({}, {"oh": 2, "ow": 3}):
        found = check(graph, feeds, steps, prefix="depthwise")
        assert all(choice.name.startswith(f"tilewright_depthwise_wide_{wanted}_") for choice in found)
