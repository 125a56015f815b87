"""Swish: the kernel against the reference, whole and in tiles, near 0 and far from it."""

from __future__ import annotations

import numpy as np
import pytest
from support.float_kernels import Kernels, build
from support.float_nodes import Case, assert_tiling_changes_nothing
from support.single_node import random_array
from tilewright.graph import Array, Clamp
from tilewright.kernels.scalar import unary_float

X = random_array(1, (3, 2, 6)) * np.float32(3)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    return build(tmp_path_factory.mktemp("swish"), ["swish_f32.c", "walk.c"])


def result(kernels: Kernels, case: Case) -> Array:
    graph = case.graph()
    (choice,) = unary_float.choices(graph.nodes[0], graph)
    return assert_tiling_changes_nothing(kernels, case, choice)


@pytest.mark.parametrize("alpha", [1.0, 1.702, -0.5])
@pytest.mark.parametrize("epilogue", [None, Clamp(-0.1, 0.75)])
def test_the_kernel(kernels: Kernels, alpha: float, epilogue: Clamp | None) -> None:
    case = Case("Swish", (X,), {"alpha": alpha}, X.shape, epilogue=epilogue, channels_last=True)
    np.testing.assert_allclose(result(kernels, case), case.expected(), rtol=2e-6, atol=1e-6)


def test_the_share_is_near_everywhere(kernels: Kernels) -> None:
    """Within 2.2e-7 of x, NaN stays NaN, and far below 0 nothing is left."""
    x = np.concatenate([np.linspace(-40.0, 40.0, 20_001), [np.nan, -1e30, 1e30]]).astype(np.float32)
    case = Case("Swish", (x,), {"alpha": 1.0}, x.shape)
    y, wanted = result(kernels, case), case.expected()
    error = np.abs(y.astype(np.float64) - wanted) / np.maximum(np.abs(x), 1e-3)
    assert np.nanmax(error) < 2.2e-7
    assert np.isnan(y[-3])
    assert (y[-2], y[-1]) == (0.0, np.float32(1e30))


def test_another_factor_is_noticed(kernels: Kernels) -> None:
    given, other = (Case("Swish", (X,), {"alpha": alpha}, X.shape) for alpha in (1.0, 1.01))
    with pytest.raises(AssertionError, match="Not equal"):
        np.testing.assert_allclose(result(kernels, given), other.expected(), rtol=2e-6, atol=1e-6)
