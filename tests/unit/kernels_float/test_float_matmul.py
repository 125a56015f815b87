"""Float matrix products in C against the reference, whole and in tiles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.float_kernels import Kernels, Ring, run_choice
from support.float_nodes import Case, assert_tiling_changes_nothing, same_bits, terms
from support.single_node import random_array
from support.tolerance import assert_sums_close
from tilewright.graph import Clamp
from tilewright.kernels.kernel import KernelChoice
from tilewright.kernels.scalar import matmul_float


def matmul(
    a: tuple[int, ...],
    b: tuple[int, ...],
    shape: tuple[int, ...],
    transposed: str = "",
    bias: bool = True,
    constants: tuple[int, ...] = (1, 2),
    clamp: Clamp | None = None,
) -> Case:
    return Case(
        "MatMul",
        (random_array(1, a), random_array(2, b), random_array(3, shape[-1:]) if bias else None),
        {"transpose_a": "a" in transposed, "transpose_b": "b" in transposed},
        shape,
        epilogue=clamp,
        constants=constants,
    )


def only(case: Case) -> KernelChoice:
    graph = case.graph()
    (choice,) = matmul_float.choices(graph.nodes[0], graph)
    return choice


CASES = {
    "one row": matmul((1, 17), (17, 10), (1, 10)),
    "rows": matmul((11, 9), (9, 6), (11, 6), clamp=Clamp(0.0, np.inf)),
    "one column": matmul((5, 9), (9, 1), (5, 1), bias=False),
    "transposed factors": matmul((9, 6), (5, 9), (6, 5), "ab"),
    "batched, one constant matrix": matmul((2, 3, 4, 9), (9, 6), (2, 3, 4, 6), bias=False),
    "constant batches": matmul((3, 4, 9), (3, 9, 6), (3, 4, 6), bias=False),
    "variable": matmul((9, 8), (8, 7), (9, 7), constants=()),
    "variable, transposed": matmul((3, 8, 9), (3, 7, 8), (3, 9, 7), "ab", bias=False, constants=()),
    "variable bias": matmul((6, 8), (8, 7), (6, 7), constants=(1,)),
    "constant first factor": matmul((6, 8), (8, 5), (6, 5), constants=(0,), bias=False),
    "batches broadcast": matmul((2, 1, 5, 4), (3, 4, 6), (2, 3, 5, 6), bias=False, constants=()),
    "variable, one row of each matrix": matmul((6, 1, 8), (8, 7), (6, 1, 7), bias=False, constants=()),
    "variable, taps side by side": matmul((2, 6, 11), (2, 7, 11), (2, 6, 7), "b", bias=False, constants=()),
    "variable, columns side by side": matmul((2, 6, 11), (2, 11, 7), (2, 6, 7), bias=False, constants=()),
    "six axes": matmul((2, 1, 2, 1, 3, 4), (1, 2, 1, 2, 4, 5), (2, 2, 2, 2, 3, 5), bias=False, constants=()),
}


@pytest.mark.parametrize("name", CASES)
def test_equals_the_reference_however_it_is_cut(kernels: Kernels, name: str) -> None:
    case = CASES[name]
    untiled = assert_tiling_changes_nothing(kernels, case, only(case))
    assert_sums_close(untiled, case.expected(), terms(only(case)))


@pytest.mark.parametrize("name", ["one row", "rows", "transposed factors", "batched, one constant matrix"])
def test_parts_of_a_sum_add_in_the_same_order(kernels: Kernels, name: str) -> None:
    case = CASES[name]
    choice = only(case)
    for in_place in (False, True):
        assert same_bits(
            case.result(kernels, choice, {"k": 4, "n": 4, "m": 3}, in_place=in_place), case.result(kernels, choice)
        )


@pytest.mark.parametrize("name", ["rows", "variable"])
def test_rows_may_live_in_rings(kernels: Kernels, name: str) -> None:
    case = CASES[name]
    choice = only(case)
    rings = (Ring(0, 4, 5), Ring(len(choice.reads), 4, 6))
    assert same_bits(case.result(kernels, choice, {"m": 5}, rings=rings), case.result(kernels, choice))


@pytest.mark.parametrize("name", ["variable, taps side by side", "variable, columns side by side"])
def test_matrices_may_lie_between_rows(kernels: Kernels, name: str) -> None:
    """As heads do whose results are joined: rows of one matrix are not neighbours in memory."""
    case = CASES[name]
    graph, choice = case.graph(), only(case)
    graph.tensors["out"] = replace(graph.tensors["out"], order=(1, 0, 2))
    outputs = run_choice(kernels, choice, graph, case.feeds())
    assert same_bits(outputs["out"], case.result(kernels, choice))


def test_packs_constant_matrices_only() -> None:
    assert only(CASES["rows"]).symbol == "tilewright_matmul_f32"
    for name in ("variable", "constant batches", "variable bias", "constant first factor"):
        assert only(CASES[name]).symbol == "tilewright_matmul_variable_f32", name


def test_a_wrong_expectation_is_noticed(kernels: Kernels) -> None:
    case = CASES["rows"]
    expected = case.expected().copy()
    expected[np.unravel_index(np.argmax(expected), expected.shape)] *= 1.001
    with pytest.raises(AssertionError):
        assert_sums_close(case.result(kernels, only(case)), expected, terms(only(case)))
