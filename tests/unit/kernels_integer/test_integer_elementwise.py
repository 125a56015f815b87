"""Integer Add, Sub, Mul, Lookup, Requantize and Softmax against the reference."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from kernel_harness import Ring
from support.integer_nodes import check, choices_of, integers, limits_of, node_graph, requantize, shifted
from tilewright.graph import Graph, Requantize, RequantizeShift, RequantizeTwice, Rescale
from tilewright.operators.fixed_point import quantized_multiplier

BROADCASTS = {
    "same": ((2, 3, 4, 5), (2, 3, 4, 5)),
    "channel": ((2, 3, 4, 5), (1, 3, 1, 1)),
    "scalar": ((3, 7), ()),
    "last axis": ((4, 6), (6,)),
    "both": ((4, 1, 3), (1, 5, 3)),
    "six axes": ((2, 1, 2, 3, 1, 4), (2, 2, 1, 3, 2, 4)),
    "long": ((3, 50), (3, 50)),
}
DTYPES = list(product(("int8", "uint8"), repeat=3))
STEPS = ({}, {"d0": 1, "d1": 2, "d2": 2})


def binary(
    operator: str, shapes, dtypes=("int8", "int8", "int8"), epilogue=None, zero_points=(0, 0), **extra
) -> tuple[Graph, dict]:
    rng = np.random.default_rng(len(operator))
    limit = 20000 if "int32" in dtypes[:2] else None
    low = None if limit is None else -limit
    a, b = (
        integers(rng, dtype, shape, *((low, limit) if dtype == "int32" else (None, None)))
        for dtype, shape in zip(dtypes[:2], shapes, strict=True)
    )
    attributes = {"a_zero_point": zero_points[0], "b_zero_point": zero_points[1], **extra}
    return node_graph(operator, [a, b], (), np.broadcast_shapes(*shapes), dtypes[2], attributes, epilogue)


@pytest.mark.parametrize("operator", ["Add", "Sub"])
@pytest.mark.parametrize("shapes", BROADCASTS)
@pytest.mark.parametrize("dtypes", DTYPES, ids=str)
def test_sums_of_rescaled_operands(operator: str, shapes: str, dtypes: tuple[str, str, str]) -> None:
    epilogue = Requantize((1.0,), 5, *limits_of(dtypes[2]))
    for multipliers in (
        (0.7313719, 0.4191937),
        (1.0, 1.0),
        (0.5, 0.25),
        (0.0031719, 1.9021137),
        (3.7019337, 0.0001237),
        (2.0**-9, 2.0**-10),
    ):
        extra = {"a_multiplier": multipliers[0], "b_multiplier": multipliers[1]}
        graph, feeds = binary(operator, BROADCASTS[shapes], dtypes, epilogue, (3, 120), **extra)
        check(graph, feeds)
    check(graph, feeds, STEPS[1], in_place=True)


def test_every_pair_of_bytes_and_all_ties() -> None:
    a, b = (x.astype(np.int8) for x in np.meshgrid(np.arange(-128, 128), np.arange(-128, 128)))
    epilogue = requantize([1.0], -1)
    for multipliers in ((0.5, 0.5), (0.5, 1.5), (0.25, 0.125), (0.1, 0.7)):
        attributes = {
            "a_multiplier": multipliers[0],
            "b_multiplier": multipliers[1],
            "a_zero_point": 1,
            "b_zero_point": 0,
        }
        graph, feeds = node_graph("Add", [a, b], (), a.shape, "int8", attributes, epilogue)
        found = evaluate_near_ties(graph, feeds, multipliers)
        assert found == 0


def evaluate_near_ties(graph: Graph, feeds: dict, multipliers: tuple[float, float]) -> int:
    """Differences that are not next to a tie; decimal multipliers meet ties only by rounding of float64."""
    from kernel_harness import run_kernel
    from support.integer_nodes import SOURCES
    from tilewright.catalogue.evaluate import evaluate

    (got,) = run_kernel(choices_of(graph)[0], graph, feeds, sources=SOURCES)
    wanted = evaluate(graph, feeds)["out"]
    real = (feeds["i0"].astype(np.float64) - 1) * multipliers[0] + feeds["i1"] * multipliers[1]
    near = np.abs(np.abs(real - np.floor(real)) - 0.5) < 2.0**-20
    exact = all(float(m * 64).is_integer() for m in multipliers)
    return int(((got != wanted) & (~near | exact)).sum())


def scaled_sum(scales: tuple[float, float, float], dtypes: tuple[str, str, str], sign: int) -> tuple[Graph, dict]:
    """Every pair of bytes in the arithmetic of LiteRT's ADD and SUB."""
    a, b = np.meshgrid(
        *(np.arange(low, high + 1).astype(dtype) for dtype in dtypes[:2] for low, high in [limits_of(dtype)])
    )
    widest = 2.0 * max(scales[:2])
    factors = [quantized_multiplier(scale / widest) for scale in scales[:2]]
    attributes = {"a_zero_point": 3, "b_zero_point": 17, "left": 20, "sign": sign}
    for name, (multiplier, shift) in zip("ab", factors, strict=True):
        attributes |= {f"{name}_multiplier": multiplier, f"{name}_shift": shift}
    multiplier, shift = quantized_multiplier(widest / ((1 << 20) * scales[2]))
    epilogue = RequantizeTwice((multiplier,), (shift,), 5, *limits_of(dtypes[2]))
    return node_graph("ScaledSum", [a, b], (), a.shape, dtypes[2], attributes, epilogue)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtypes", [("int8", "int8", "int8"), ("uint8", "int8", "uint8")], ids=str)
def test_sums_of_products_that_are_rounded_twice(dtypes: tuple[str, str, str], sign: int) -> None:
    wanted = {
        (0.0371, 0.0583, 0.0911): "products",
        # Exact halves are rounded away from zero, as larger multipliers round them too.
        (0.05, 0.05, 0.1): "products",
        (0.0875, 0.0514, 0.0594): "scaled",
    }
    for scales, name in wanted.items():
        graph, feeds = scaled_sum(scales, dtypes, sign)
        found = check(graph, feeds)
        assert {choice.symbol for choice in found} == {f"tilewright_add_{name}"}


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul"])
@pytest.mark.parametrize("shapes", BROADCASTS)
@pytest.mark.parametrize("dtypes", [("int8", "uint8"), ("uint8", "int8"), ("int8", "int8"), ("int32", "int8")], ids=str)
@pytest.mark.parametrize("steps", STEPS, ids=str)
def test_exact_integers(operator: str, shapes: str, dtypes: tuple[str, str], steps: dict) -> None:
    graph, feeds = binary(operator, BROADCASTS[shapes], (*dtypes, "int32"), None, (-4, 9))
    check(graph, feeds, steps)
    epilogue = RequantizeShift((1234,), (-777,), 16, -128, 127)
    graph, feeds = binary(operator, BROADCASTS[shapes], (*dtypes, "int8"), epilogue, (-4, 9))
    check(graph, feeds, steps, in_place=True)


@pytest.mark.parametrize("multiplier", [0.0100317, 2.0**-6, 0.3001937, 1.0, 0.25])
@pytest.mark.parametrize("dtypes", DTYPES, ids=str)
def test_products(multiplier: float, dtypes: tuple[str, str, str]) -> None:
    epilogue = Requantize((multiplier,), 5, *limits_of(dtypes[2]))
    graph, feeds = binary("Mul", BROADCASTS["both"], dtypes, epilogue, (3, 120))
    check(graph, feeds)
    graph, feeds = binary("Mul", BROADCASTS["both"], (*dtypes[:2], "float32"), Rescale((multiplier,)), (3, 120))
    check(graph, feeds, tolerance=1e-6)


def test_rings() -> None:
    epilogue = requantize([1.0])
    graph, feeds = binary(
        "Add", ((1, 3, 8, 5), (1, 3, 1, 1)), ("int8",) * 3, epilogue, a_multiplier=0.6013, b_multiplier=0.7017
    )
    check(graph, feeds, {"d2": 2}, rings=(Ring(0, 4, 3), Ring(2, 4, 5)))


@pytest.mark.parametrize("x_dtype", ["int8", "uint8"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "float32"])
def test_lookup(x_dtype: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = integers(rng, x_dtype, (2, 5, 9))
    table = (rng.standard_normal(256) * 50).astype(dtype) if dtype == "float32" else integers(rng, dtype, (256,))
    graph, feeds = node_graph("Lookup", [x, table], (1,), x.shape, dtype, {})
    check(graph, feeds)
    check(graph, feeds, {"d1": 2, "d2": 3}, in_place=True)


@pytest.mark.parametrize("x_dtype", ["int8", "uint8", "int32"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("multiplier", [0.0123019, 0.5, 1.7019337, 2.0**-8])
def test_requantize(x_dtype: str, dtype: str, per_channel: bool, multiplier: float) -> None:
    rng = np.random.default_rng(1)
    x = integers(rng, x_dtype, (2, 5, 4, 3), *((-20000, 20000) if x_dtype == "int32" else (None, None)))
    multipliers = rng.uniform(0.5, 1.0, 5) * multiplier if per_channel else [multiplier]
    attributes = {"channel_axis": 1, "x_zero_point": 11}
    graph, feeds = node_graph(
        "Requantize", [x], (), x.shape, dtype, attributes, requantize(multipliers, 9, dtype), True
    )
    check(graph, feeds)
    check(graph, feeds, {"d1": 2, "d2": 3}, in_place=True)
    check(graph, feeds, {"d2": 2}, rings=(Ring(0, 4, 3),))


def test_requantize_by_shifts() -> None:
    rng = np.random.default_rng(2)
    x = integers(rng, "int32", (1, 6, 4), -20000, 20000)
    epilogue = shifted(rng, 6, 12, 100)
    graph, feeds = node_graph("Requantize", [x], (), x.shape, "int8", {"channel_axis": 1, "x_zero_point": 0}, epilogue)
    check(graph, feeds, {"d1": 4})


@pytest.mark.parametrize("x_dtype", ["int8", "uint8"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax(x_dtype: str, axis: int) -> None:
    rng = np.random.default_rng(3)
    for scale in (0.001, 0.05, 1.0):
        x = integers(rng, x_dtype, (3, 7, 5))
        attributes = {"axis": axis, "x_scale": scale}
        graph, feeds = node_graph("Softmax", [x], (), x.shape, "int8", attributes, requantize([256.0], -128))
        steps = {f"d{other}": 2 for other in range(3) if other != axis}
        check(graph, feeds)
        check(graph, feeds, steps, in_place=True)


def test_softmax_of_equal_elements_rounds_to_even() -> None:
    for count in (2, 8, 512, 1024):
        x = np.full((1, count), 17, np.int8)
        graph, feeds = node_graph(
            "Softmax", [x], (), x.shape, "uint8", {"axis": 1, "x_scale": 0.1}, requantize([256.0], 0, "uint8")
        )
        check(graph, feeds)


def test_rescaled_sums_beyond_the_fixed_point_have_no_kernel() -> None:
    epilogue = requantize([1.0])
    graph, _ = binary("Add", ((3,), (3,)), ("int8",) * 3, epilogue, a_multiplier=float("inf"), b_multiplier=1.0)
    assert choices_of(graph) == ()
