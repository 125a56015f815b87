"""Gelu: the reference against ONNX's, the kernel against the reference, whole and in tiles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.reference
import pytest
from support.float_kernels import Kernels, build
from support.float_nodes import Case, assert_tiling_changes_nothing
from support.onnx_models import ModelBuilder, assert_equal_to_runtime, imported, operators, outputs_of
from support.single_node import random_array
from tilewright.graph import Array, Clamp
from tilewright.kernels.scalar import gelu

X = np.concatenate([random_array(1, (2, 3, 5)).ravel() * np.float32(3), [0.0, -0.0, 20.0, -20.0, 1e-30, -7.5]])
X = X.astype(np.float32).reshape(3, 2, 6)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    return build(tmp_path_factory.mktemp("gelu"), ["gelu_f32.c", "walk.c"])


def result(kernels: Kernels, case: Case) -> Array:
    graph = case.graph()
    (choice,) = gelu.choices(graph.nodes[0], graph)
    return assert_tiling_changes_nothing(kernels, case, choice)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_the_reference_is_that_of_onnx(tmp_path: Path, approximate: str) -> None:
    build = ModelBuilder(20)
    model = build.model(build.node("Gelu", build.input("x", X.shape), approximate=approximate))
    (wanted,) = onnx.reference.ReferenceEvaluator(model).run(None, {"x": X})
    graph = imported(tmp_path, model)
    assert operators(graph) == {"Gelu": 1}
    np.testing.assert_allclose(outputs_of(graph, {"x": X})[0], wanted, rtol=5e-6, atol=1e-6)


@pytest.mark.parametrize(("operator", "by_tanh"), [("Gelu", False), ("FastGelu", True)])
def test_operators_of_com_microsoft(tmp_path: Path, operator: str, by_tanh: bool) -> None:
    build = ModelBuilder(17)
    y = build.node(operator, build.input("x", X.shape), domain="com.microsoft")
    graph = assert_equal_to_runtime(tmp_path, build.model(y), feeds={"x": X}, absolute=2e-6)
    assert graph.nodes[0].attributes == gelu.GeluAttributes(by_tanh)


@pytest.mark.parametrize("by_tanh", [False, True])
@pytest.mark.parametrize("epilogue", [None, Clamp(-0.1, 0.75)])
def test_the_kernel(kernels: Kernels, by_tanh: bool, epilogue: Clamp | None) -> None:
    case = Case("Gelu", (X,), {"by_tanh": by_tanh}, X.shape, epilogue=epilogue, channels_last=True)
    np.testing.assert_allclose(result(kernels, case), case.expected(), rtol=2e-6, atol=3e-7)


def test_the_distribution_function_is_near_everywhere(kernels: Kernels) -> None:
    """Within 2.2e-7 of x, NaN stays NaN, and far below 0 nothing is left."""
    x = np.concatenate([np.linspace(-12.0, 12.0, 20_001), [np.nan, -1e30, 1e30]]).astype(np.float32)
    case = Case("Gelu", (x,), {"by_tanh": False}, x.shape)
    y, wanted = result(kernels, case), case.expected()
    error = np.abs(y.astype(np.float64) - wanted) / np.maximum(np.abs(x), 1e-3)
    assert np.nanmax(error) < 2.2e-7
    assert np.isnan(y[-3])
    assert (y[-2], y[-1]) == (0.0, np.float32(1e30))


def test_the_other_function_is_noticed(kernels: Kernels) -> None:
    exact, by_tanh = (Case("Gelu", (X,), {"by_tanh": way}, X.shape) for way in (False, True))
    with pytest.raises(AssertionError, match="Not equal"):
        np.testing.assert_allclose(result(kernels, exact), by_tanh.expected(), rtol=2e-6, atol=3e-7)


def test_gelu_of_a_quantised_tensor_is_a_table(tmp_path: Path) -> None:
    build = ModelBuilder(20)
    x = build.dequantize(build.input("x", (4, 64), np.int8), 0.05, 3)
    y = build.quantize(build.node("Gelu", x), 0.03, -100)
    model = build.model(y, dtypes={y: np.int8})
    feeds = {"x": np.arange(-128, 128).astype(np.int8).reshape(4, 64)}
    assert operators(assert_equal_to_runtime(tmp_path, model, feeds=feeds)) == {"Lookup": 1}
