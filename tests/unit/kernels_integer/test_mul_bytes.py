"""Products of two 8-bit tensors whose rule is part of the loop, for all pairs of elements."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from kernel_harness import run_kernel
from support.integer_nodes import SOURCES, check, choices_of, limits_of, node_graph
from tilewright.graph import Epilogue, Graph, Requantize, RequantizeShift, RequantizeTwice
from tilewright.kernels.scalar.mul_bytes import MulBytes
from tilewright.operators.fixed_point import quantized_multiplier

TYPES = list(product(("int8", "uint8"), repeat=3))
SHAPES = {
    "equal": ((2, 3, 5), (2, 3, 5)),
    "one factor for each channel": ((4, 3, 5), (4, 1, 1)),
    "the first operand for each channel": ((4, 1, 1), (4, 3, 5)),
    "one factor for each column": ((7, 5), (5,)),
    "six axes": ((2, 1, 2, 3, 1, 4), (2, 2, 1, 3, 2, 4)),
}


def epilogue_of(rule: str, dtype: str) -> Epilogue:
    limits = limits_of(dtype)
    if rule == "shift":
        return RequantizeShift((37,), (-777,), 12, *limits)
    if rule == "high":
        return Requantize((0.0131719,), 5, *limits)
    multiplier, shift = quantized_multiplier(0.0131719)
    return RequantizeTwice((multiplier,), (shift,), 5, *limits)


def graph_of(a: np.ndarray, b: np.ndarray, dtype: str, epilogue: Epilogue) -> tuple[Graph, dict]:
    attributes = {"a_zero_point": -17, "b_zero_point": 4}
    return node_graph("Mul", [a, b], (), np.broadcast_shapes(a.shape, b.shape), dtype, attributes, epilogue)


def all_pairs(rule: str, dtypes: tuple[str, str, str]) -> tuple[Graph, dict]:
    a, b = np.meshgrid(*(np.arange(*np.add(limits_of(dtype), (0, 1))) for dtype in dtypes[:2]))
    return graph_of(a.astype(dtypes[0]), b.astype(dtypes[1]), dtypes[2], epilogue_of(rule, dtypes[2]))


@pytest.mark.parametrize("rule", ["high", "shift", "twice"])
@pytest.mark.parametrize("dtypes", TYPES, ids=str)
def test_every_pair_of_bytes(rule: str, dtypes: tuple[str, str, str]) -> None:
    found = check(*all_pairs(rule, dtypes))
    assert {choice.name for choice in found} == {f"tilewright_mul_bytes_{rule}"}


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("steps", [{}, {"d0": 1, "d1": 2, "d2": 2}], ids=str)
def test_rows_of_all_kinds(shapes: str, steps: dict) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-128, 128, shape).astype(np.int8) for shape in SHAPES[shapes])
    graph, feeds = graph_of(a, b, "int8", epilogue_of("twice", "int8"))
    check(graph, feeds, steps)
    check(graph, feeds, steps, in_place=True)


def test_longer_rules_take_the_kernel_that_has_them() -> None:
    a, b = np.meshgrid(np.arange(-128, 128, dtype=np.int8), np.arange(-128, 128, dtype=np.int8))
    found = check(*graph_of(a, b, "int8", Requantize((0.25,), 3, -128, 127)))
    assert {choice.symbol for choice in found} == {"tilewright_binary_integer"}


@pytest.mark.parametrize("changed", ["a_offset", "b_offset", "addend", "shift"])
def test_a_wrong_constant_is_noticed(changed: str) -> None:
    graph, feeds = all_pairs("high", ("int8",) * 3)
    (choice,) = choices_of(graph)
    (wanted,) = run_kernel(choice, graph, feeds, sources=SOURCES)
    given = choice.given(MulBytes)
    wrong = replace(choice, attributes=replace(given, **{changed: getattr(given, changed) + (1 << 5)}))
    if changed == "shift":
        wrong = replace(choice, attributes=replace(given, shift=given.shift + 1))
    (got,) = run_kernel(wrong, graph, feeds, sources=SOURCES)
    assert (got != wanted).any()
