"""Elementwise float kernels, softmax and pooling in C against the reference, whole and in tiles."""

from __future__ import annotations

import numpy as np
import pytest
from support.float_kernels import Kernels, Ring
from support.float_nodes import Case, assert_tiling_changes_nothing, same_bits
from support.single_node import random_array
from tilewright.graph import Array, Clamp, Requantize
from tilewright.kernels.kernel import KernelChoice
from tilewright.kernels.scalar import binary_float, norm_float, pool_float, softmax_float, unary_float

CHOICES = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), binary_float.choices),
    **dict.fromkeys(("Clip", "LeakyRelu", "HardSigmoid", "HardSwish", "Sigmoid", "Tanh"), unary_float.choices),
    **dict.fromkeys(("MaxPool", "AveragePool"), pool_float.choices),
    "Softmax": softmax_float.choices,
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), norm_float.choices),
}


def first(case: Case) -> KernelChoice:
    """The preferred kernel; normalisations have a second one, for parts of lines (test_cut_rows.py)."""
    graph = case.graph()
    return CHOICES[case.operator](graph.nodes[0], graph)[0]


def check(kernels: Kernels, case: Case) -> Array:
    untiled = assert_tiling_changes_nothing(kernels, case, first(case))
    np.testing.assert_allclose(untiled, case.expected(), rtol=2e-6, atol=1e-6)
    return untiled


SHAPES = [
    ((2, 3, 4, 5), (2, 3, 4, 5)),
    ((2, 3, 4, 5), ()),
    ((1,), (3, 4)),
    ((4, 1, 5), (3, 1)),
    ((1, 3, 1, 1), (2, 3, 4, 4)),
    ((2, 1, 2, 1, 2, 3), (2, 2, 1, 3, 1, 3)),
]


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize("shapes", SHAPES)
def test_binary_broadcasts(kernels: Kernels, operator: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = random_array(1, shapes[0]), random_array(2, shapes[1])
    shape = np.broadcast_shapes(*shapes)
    check(kernels, Case(operator, (a, b), {}, shape))
    check(kernels, Case(operator, (a, b), {}, shape, epilogue=Clamp(-0.25, 0.5), channels_last=len(shape) > 2))


def test_division_by_zero_gives_what_ieee_says(kernels: Kernels) -> None:
    a, b = np.array([1, -1, 0, 1], np.float32), np.array([0, 0, 0, 2], np.float32)
    np.testing.assert_array_equal(check(kernels, Case("Div", (a, b), {}, (4,))), [np.inf, -np.inf, np.nan, 0.5])


@pytest.mark.parametrize(
    ("operator", "attributes"),
    [
        ("Clip", {"minimum": 0.0, "maximum": np.inf}),
        ("Clip", {"minimum": -0.5, "maximum": 0.25}),
        ("LeakyRelu", {"alpha": 0.1}),
        ("HardSigmoid", {"alpha": 0.2, "beta": 0.5}),
        ("HardSwish", {}),
        ("Sigmoid", {}),
        ("Tanh", {}),
    ],
)
@pytest.mark.parametrize("epilogue", [None, Clamp(0.0, 0.75)])
def test_unary(kernels: Kernels, operator: str, attributes: dict[str, float], epilogue: Clamp | None) -> None:
    x = random_array(1, (2, 3, 5)) * np.float32(4)
    x[0, 0] = [0.0, -0.0, 120.0, -120.0, 1e-30]
    check(kernels, Case(operator, (x,), attributes, x.shape, epilogue=epilogue))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax(kernels: Kernels, axis: int) -> None:
    x = random_array(1, (3, 4, 5)) * np.float32(10)
    x[0, 0, 0] = 1000.0
    check(kernels, Case("Softmax", (x,), {"axis": axis}, x.shape))
    check(kernels, Case("Softmax", (x,), {"axis": axis}, x.shape, channels_last=True))


@pytest.mark.parametrize("operator", ["LayerNormalization", "RMSNormalization"])
@pytest.mark.parametrize("biased", [True, False])
def test_normalisation(kernels: Kernels, operator: str, biased: bool) -> None:
    x = random_array(1, (3, 4, 7)) + np.float32(100 if operator == "LayerNormalization" else 0)
    parameters = (random_array(2, (7,)), random_array(3, (7,)))
    arrays = (x, *parameters) if biased and operator == "LayerNormalization" else (x, parameters[0])
    for channels_last in (False, True):
        case = Case(operator, arrays, {"epsilon": 1e-5}, x.shape, channels_last=channels_last)
        untiled = assert_tiling_changes_nothing(kernels, case, first(case))
        np.testing.assert_allclose(untiled, case.expected(), rtol=2e-4, atol=2e-5)


def pool(
    operator: str,
    x: Array,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    shape: tuple[int, ...],
    dilations: tuple[int, ...] = (1, 1),
    include: bool = False,
    channels_last: bool = True,
    epilogue: Clamp | None = None,
) -> Case:
    attributes = {"kernel": kernel, "strides": strides, "dilations": dilations[: len(kernel)], "pads": pads}
    if operator == "AveragePool":
        attributes["count_include_pad"] = include  # type: ignore[assignment]
    return Case(operator, (x,), attributes, shape, epilogue=epilogue, channels_last=channels_last)


X = random_array(1, (2, 6, 7, 9))
POOLS = {
    "max": pool("MaxPool", X, (2, 2), (2, 2), (0, 0, 0, 0), (2, 6, 3, 4)),
    "max of negatives": pool("MaxPool", -abs(X) - 1, (3, 3), (2, 2), (1, 1, 1, 1), (2, 6, 4, 5)),
    "max dilated": pool("MaxPool", X, (2, 3), (1, 2), (0, 1, 1, 1), (2, 6, 6, 4), (2, 2), channels_last=False),
    "max clamped": pool("MaxPool", X, (2, 2), (1, 1), (0, 0, 0, 0), (2, 6, 6, 8), epilogue=Clamp(0.0, 1.0)),
    "max 1-D": pool("MaxPool", X[:, :, 0], (3,), (2,), (1, 0), (2, 6, 4)),
    "average": pool("AveragePool", X, (3, 3), (1, 2), (1, 1, 1, 1), (2, 6, 7, 5)),
    "average with pads": pool("AveragePool", X, (3, 3), (1, 2), (1, 1, 1, 1), (2, 6, 7, 5), include=True),
    "average, last window overhangs": pool("AveragePool", X, (2, 4), (3, 4), (0, 0, 0, 0), (2, 6, 3, 3), include=True),
    "average dilated": pool("AveragePool", X, (2, 2), (1, 1), (0, 1, 0, 1), (2, 6, 4, 9), (3, 2), channels_last=False),
    "global average": pool("AveragePool", X, (7, 9), (1, 1), (0, 0, 0, 0), (2, 6, 1, 1)),
}


@pytest.mark.parametrize("name", POOLS)
def test_pooling(kernels: Kernels, name: str) -> None:
    check(kernels, POOLS[name])


@pytest.mark.parametrize("name", ["max", "average", "max dilated"])
@pytest.mark.parametrize("axis", [2, 3])
def test_pooled_rows_may_live_in_rings(kernels: Kernels, name: str, axis: int) -> None:
    case = POOLS[name]
    choice = first(case)
    rings = (Ring(0, axis, X.shape[axis] - 1), Ring(1, axis, min(3, case.shape[axis])))
    tiled = case.result(kernels, choice, {"oh" if axis == 2 else "ow": 2}, rings=rings)
    assert same_bits(tiled, case.result(kernels, choice))


def test_padding_never_wins_and_nan_always_does(kernels: Kernels) -> None:
    x = np.full((1, 1, 2, 2), -np.inf, np.float32)
    case = pool("MaxPool", x, (2, 2), (1, 1), (1, 1, 1, 1), (1, 1, 3, 3))
    assert (check(kernels, case) == -np.inf).all()
    x = np.array([[[[1.0, np.nan, -3.0, 5.0]]]], np.float32)
    case = pool("MaxPool", x, (1, 3), (1, 1), (0, 0, 0, 0), (1, 1, 1, 2))
    assert np.isnan(case.result(kernels, first(case))).all()


@pytest.mark.parametrize("axis", [2, 3, 4])
def test_elementwise_rows_may_live_in_rings(kernels: Kernels, axis: int) -> None:
    case = Case("Add", (random_array(1, (2, 5, 4, 6)), random_array(2, (5, 1, 6))), {}, (2, 5, 4, 6))
    choice = first(case)
    steps = {f"d{axis - 2}": 2}
    rings = (Ring(0, axis, 3), Ring(2, axis, 3))
    assert same_bits(case.result(kernels, choice, steps, rings=rings), case.result(kernels, choice))


def test_declines_other_types_epilogues_and_ranks() -> None:
    x = random_array(1, (2, 3))
    wide = random_array(1, (1,) * 7)
    for case in (
        Case("Add", (x, x), {}, x.shape, epilogue=Requantize((1.0,), 0, -128, 127)),
        Case("Clip", (x.astype(np.int8),), {"minimum": 0, "maximum": 3}, x.shape, "int8"),
        Case("Tanh", (wide,), {}, wide.shape),
    ):
        graph = case.graph()
        assert CHOICES[case.operator](graph.nodes[0], graph) == ()


def test_a_wrong_expectation_is_noticed(kernels: Kernels) -> None:
    case = POOLS["average"]
    expected = case.expected()
    expected[0, 0, 0, 0] += 1e-3
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(case.result(kernels, first(case)), expected, rtol=2e-6, atol=1e-6)
