"""Transposed convolution of 8-bit tensors: against onnxruntime, and the kernel against the reference, in tiles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kernel_harness import run_kernel
from support.firmware import needs_host_compiler
from support.forced import differences, forced
from support.integer_nodes import check, choices_of, integers, node_graph, requantize, shifted
from support.onnx_models import ModelBuilder, assert_equal_to_runtime, operators
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import Array, Epilogue, Graph, Rescale

GEOMETRIES = {
    "doubled": {"x": (1, 5, 4, 3), "kernel": (2, 2), "strides": (2, 2)},
    "overlapping": {"x": (2, 3, 4, 4), "kernel": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)},
    "uneven": {"x": (1, 4, 3, 5), "kernel": (4, 3), "strides": (3, 1), "pads": (0, 2, 1, 0)},
    "dilated": {"x": (1, 3, 4, 4), "kernel": (2, 3), "strides": (1, 2), "dilations": (3, 2)},
    "sparse": {"x": (1, 2, 3, 3), "kernel": (1, 1), "strides": (3, 2)},
    "grouped": {"x": (1, 6, 3, 3), "kernel": (3, 3), "strides": (2, 2), "group": 3},
    "line": {"x": (1, 4, 9), "kernel": (4,), "strides": (2,), "pads": (1, 1)},
    "volume": {"x": (1, 3, 2, 3, 2), "kernel": (2, 3, 2), "strides": (2, 1, 2), "pads": (0, 1, 0, 0, 1, 0)},
}
STEPS = ({}, {"group": 1, "oc": 2}, {"oh": 2, "ow": 3, "od": 1}, {"group": 1, "oh": 1})


def transposed(
    geometry: str, dtype: str = "int8", *, epilogue: Epilogue | None = None, out: str = "int32", widest: int = 127
) -> tuple[Graph, dict[str, Array]]:
    """A node with three output channels in each group; zero points of w that make it ``widest`` at most."""
    given = dict(GEOMETRIES[geometry])
    rng = np.random.default_rng(len(geometry))
    x = integers(rng, dtype, given.pop("x"))
    rank, group = x.ndim - 2, given.setdefault("group", 1)
    given = {"strides": (1,) * rank, "dilations": (1,) * rank, "pads": (0,) * 2 * rank, **given}
    w = integers(rng, "int8", (x.shape[1], 3, *given["kernel"]), -127, 127)
    bias = rng.integers(-500, 500, 3 * group).astype(np.int32)
    reach = [(given["kernel"][a] - 1) * given["dilations"][a] + 1 for a in range(rank)]
    spatial = [
        (x.shape[2 + a] - 1) * given["strides"][a] + reach[a] - given["pads"][a] - given["pads"][rank + a]
        for a in range(rank)
    ]
    given |= {"x_zero_point": 130 if dtype == "uint8" else -3, "w_zero_point": (127 - widest,)}
    shape = (x.shape[0], 3 * group, *spatial)
    return node_graph("ConvTransposeInteger", [x, w, bias], (1, 2), shape, out, given, epilogue, True)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_the_kernel(geometry: str, dtype: str) -> None:
    group = GEOMETRIES[geometry].get("group", 1)
    rng = np.random.default_rng(7)
    ways: list[tuple[Epilogue | None, str]] = [
        (None, "int32"),
        (requantize([0.0031731] * 3 * group), "int8"),
        (requantize(rng.uniform(0.001, 0.02, 3 * group), 128, "uint8"), "uint8"),
        (shifted(rng, 3 * group, 20, 4000), "int8"),
        (Rescale((0.01,) * 3 * group), "float32"),
    ]
    for epilogue, out in ways:
        graph, feeds = transposed(geometry, dtype, epilogue=epilogue, out=out)
        tolerance = 2e-7 if out == "float32" else 0.0
        for steps in STEPS:
            check(graph, feeds, steps, tolerance=tolerance)
        check(graph, feeds, STEPS[1], in_place=True, tolerance=tolerance)


def test_weights_of_nine_bits() -> None:
    graph, feeds = transposed("overlapping", epilogue=requantize([0.002] * 3), out="int8", widest=250)
    (choice,) = check(graph, feeds, {"oc": 2, "oh": 3})
    assert dict(choice.fields)["wide"] == 1


def test_another_element_is_noticed() -> None:
    graph, feeds = transposed("overlapping")
    (got,) = run_kernel(choices_of(graph)[0], graph, feeds)
    np.testing.assert_array_equal(got, evaluate(graph, feeds)["out"])
    feeds["i0"][1, 2, 3, 0] ^= 1
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(got, evaluate(graph, feeds)["out"])


def test_sums_beyond_32_bits_have_no_kernel() -> None:
    x, w = np.zeros((1, 70000, 1, 1), np.int8), np.full((70000, 1, 1, 1), 127, np.int8)
    given = {"strides": (1, 1), "dilations": (1, 1), "pads": (0,) * 4, "x_zero_point": -128}
    epilogue = requantize([1e-6])
    assert not choices_of(node_graph("ConvTransposeInteger", [x, w], (1,), (1, 1, 1, 1), "int8", given, epilogue)[0])


@needs_host_compiler
def test_tiles_of_the_generated_code(tmp_path: Path) -> None:
    graph, _ = transposed("overlapping", epilogue=requantize([0.0031731] * 3), out="int8")
    cases = [forced(graph, number, number) for number in range(6)]
    assert any(case.tile_count > 1 for case in cases)
    assert differences(cases, tmp_path / "models", tmp_path / "objects", 0) == []


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("group", [1, 2])
def test_quantised_models(tmp_path: Path, dtype: type, per_channel: bool, group: int) -> None:
    build, rng = ModelBuilder(13), np.random.default_rng(3)
    x = build.dequantize(build.input("x", [1, 4, 5, 6], dtype), 0.02, 4, dtype)
    weights = build.constant(rng.integers(-127, 128, (4, 6 // group, 3, 3)).astype(np.int8))
    scale = np.linspace(0.01, 0.03, 6 // group) if per_channel else 0.02
    w = build.dequantize(weights, scale, np.zeros(np.shape(scale), np.int8), **({"axis": 1} if per_channel else {}))
    bias = build.constant(rng.normal(size=6).astype(np.float32))
    y = build.node("ConvTranspose", x, w, bias, strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1], group=group)
    model = build.model(build.quantize(build.node("Relu", y), 0.05, 3, dtype, output="y"), dtypes={"y": dtype})
    found = operators(assert_equal_to_runtime(tmp_path, model, steps=1))
    assert "ConvTransposeInteger" in found
