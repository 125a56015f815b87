"""Integer matrix products against the reference."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from kernel_harness import Ring
from support.integer_nodes import check, choices_of, integers, node_graph, requantize, shifted
from tilewright.graph import Graph


def matmul(
    seed: int,
    a_shape,
    b_shape,
    *,
    transpose_a=False,
    transpose_b=False,
    constant_b=True,
    a_dtype="int8",
    b_dtype="int8",
    a_zero_point=0,
    b_zero_point=(0,),
    epilogue="high",
    bias=True,
) -> tuple[Graph, dict]:
    rng = np.random.default_rng(seed)
    a, b = integers(rng, a_dtype, a_shape), integers(rng, b_dtype, b_shape)
    left = a.swapaxes(-1, -2) if transpose_a else a
    right = b.swapaxes(-1, -2) if transpose_b else b
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    shape = (*batch, left.shape[-2], right.shape[-1])
    biases = integers(rng, "int32", (shape[-1],), -3000, 3000) if bias else None
    attributes = {
        "transpose_a": transpose_a,
        "transpose_b": transpose_b,
        "a_zero_point": a_zero_point,
        "b_zero_point": tuple(b_zero_point),
    }
    scale = 1.0 / (60.0 * np.sqrt(left.shape[-1]))
    chosen = {
        "none": None,
        "high": requantize(rng.uniform(0.5, 1.5, shape[-1]) * scale, -4),
        "even": requantize([2.0 ** np.floor(np.log2(scale))], 7),
        "shift": shifted(rng, shape[-1], 14, max(2, int(scale * (1 << 14)))),
    }[epilogue]
    inputs = [a, b, biases] if bias else [a, b]
    constants = (1, 2) if constant_b else (2,)
    return node_graph("MatMul", inputs, constants, shape, "int32" if epilogue == "none" else "int8", attributes, chosen)


SHAPES = {
    "vector": ((1, 33), (33, 10)),
    "two vectors": ((2, 32), (32, 7)),
    "matrix": ((5, 19), (19, 6)),
    "one column": ((6, 5), (5, 1)),
    "batch": ((3, 5, 8), (8, 9)),
    "batches": ((2, 3, 4, 8), (8, 5)),
}
VARIABLE = {
    "matrix": ((5, 19), (19, 6)),
    "vector": ((1, 8), (8, 3)),
    "batches": ((2, 3, 5, 8), (2, 3, 8, 9)),
    "broadcast a": ((1, 3, 5, 8), (2, 1, 8, 5)),
    "lower rank b": ((3, 5, 8), (8, 5)),
    "lower rank a": ((5, 8), (3, 8, 5)),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("transposed", list(product((False, True), repeat=2)), ids=str)
@pytest.mark.parametrize("a_dtype", ["int8", "uint8"])
def test_constant_matrix(name: str, transposed: tuple[bool, bool], a_dtype: str) -> None:
    a, b = (_swapped(shape, swap) for shape, swap in zip(SHAPES[name], transposed, strict=True))
    graph, feeds = matmul(
        1, a, b, transpose_a=transposed[0], transpose_b=transposed[1], a_dtype=a_dtype, a_zero_point=9
    )
    check(graph, feeds)
    check(graph, feeds, {"n": 4, "m": 2, "b0": 1}, in_place=True)
    check(graph, feeds, {"n": 4, "m": 3, "k": 12})


@pytest.mark.parametrize("name", VARIABLE)
@pytest.mark.parametrize("transposed", list(product((False, True), repeat=2)), ids=str)
@pytest.mark.parametrize("dtypes", list(product(("int8", "uint8"), repeat=2)), ids=str)
def test_two_variables(name: str, transposed: tuple[bool, bool], dtypes: tuple[str, str]) -> None:
    a, b = (_swapped(shape, swap) for shape, swap in zip(VARIABLE[name], transposed, strict=True))
    graph, feeds = matmul(
        2,
        a,
        b,
        transpose_a=transposed[0],
        transpose_b=transposed[1],
        constant_b=False,
        a_dtype=dtypes[0],
        b_dtype=dtypes[1],
        a_zero_point=100,
        b_zero_point=(7,),
    )
    check(graph, feeds)
    check(graph, feeds, {"n": 4, "m": 2, "b0": 1, "b1": 2}, in_place=True)
    check(graph, feeds, {"n": 4, "m": 3, "b1": 1, "k": 4})
    check(graph, feeds, {"k": 8}, in_place=True)


@pytest.mark.parametrize(
    ("dtype", "zero_point", "is_taken"),
    [("int8", 0, True), ("uint8", 128, True), ("uint8", 255, True), ("uint8", 0, False)],
)
def test_two_variables_four_products_at_a_time(dtype: str, zero_point: int, is_taken: bool) -> None:
    """The weight that subtracts a zero point fits int8, except of uint8 with zero point 0."""
    graph, feeds = matmul(8, (9, 8), (8, 6), constant_b=False, b_dtype=dtype, b_zero_point=(zero_point,))
    names = [choice.name for choice in check(graph, feeds)]
    assert any("matmul_xpulpv2" in name for name in names) is is_taken


RULES = {"none": ("none",), "high": ("high", "layer"), "even": ("even", "layer_even"), "shift": ("folded",)}


@pytest.mark.parametrize("epilogue", ["none", "high", "even", "shift"])
@pytest.mark.parametrize("constant_b", [False, True])
def test_finishes(epilogue: str, constant_b: bool) -> None:
    for shapes in ("vector", "matrix"):
        graph, feeds = matmul(3, *SHAPES[shapes], constant_b=constant_b, epilogue=epilogue, bias=constant_b)
        rules = RULES[epilogue] if constant_b else (epilogue,)
        assert check(graph, feeds, {"m": 3, "k": 8})[0].name.endswith(rules)


@pytest.mark.parametrize("zero_points", [(200,), (3, 100, 255, 0, 9, 70)])
def test_weights_that_need_nine_bits(zero_points: tuple[int, ...]) -> None:
    graph, feeds = matmul(4, (5, 19), (19, 6), b_dtype="uint8", b_zero_point=zero_points)
    first, *_, last = check(graph, feeds)
    assert "conv_packed_4_wide" in first.name
    assert "conv_wide" in last.name
    for dtype in ("int8", "uint8"):
        graph, feeds = matmul(4, (1, 19), (19, 6), a_dtype=dtype, b_dtype="uint8", b_zero_point=zero_points)
        assert "fully_connected_wide" in check(graph, feeds)[0].name
        check(graph, feeds, {"n": 4, "k": 12})


def test_rows_in_a_ring() -> None:
    graph, feeds = matmul(5, (9, 8), (8, 5), constant_b=False)
    check(graph, feeds, {"m": 2}, rings=(Ring(3, 2, 3), Ring(0, 2, 4)))


@pytest.mark.parametrize("value", [-128, 127])
@pytest.mark.parametrize("constant_b", [False, True])
def test_corner_values(value: int, constant_b: bool) -> None:
    for shapes in ("vector", "matrix"):
        graph, feeds = matmul(6, *SHAPES[shapes], constant_b=constant_b, a_zero_point=127, epilogue="none")
        feeds["i0"][...] = value
        check(graph, feeds)


def test_vectors_do_not_take_the_matrix_kernel() -> None:
    graph, _ = matmul(7, *SHAPES["vector"])
    assert choices_of(graph)[0].name.startswith("tilewright_fully_connected")


def _swapped(shape: tuple[int, ...], swap: bool) -> tuple[int, ...]:
    return (*shape[:-2], shape[-1], shape[-2]) if swap else shape
