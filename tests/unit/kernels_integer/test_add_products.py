"""Sums of two 8-bit tensors by one multiplication for each of them, proved for all pairs of elements."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from support.integer_nodes import check, choices_of, limits_of, node_graph
from tilewright.graph import Graph, Requantize
from tilewright.kernels.add_split import sum_of
from tilewright.kernels.scalar.add_products import AddProducts, exact_products

FACTORS = ((0.7732451, 2.0452317), (0.0131719, 0.0021137), (3.7019337, 0.0001237))
TYPES = list(product(("int8", "uint8"), repeat=3))


def pairs(operator: str, types: tuple[str, str, str], factors: tuple[float, float], zero_point: int) -> tuple:
    """The graph of an Add or Sub of all pairs of bytes, and its inputs."""
    a, b = np.meshgrid(*(np.arange(*np.add(limits_of(dtype), (0, 1))) for dtype in types[:2]))
    attributes = {"a_multiplier": factors[0], "b_multiplier": factors[1], "a_zero_point": -17, "b_zero_point": 4}
    epilogue = Requantize((1.0,), zero_point, *limits_of(types[2]))
    inputs = [a.astype(types[0]), b.astype(types[1])]
    return node_graph(operator, inputs, (), a.shape, types[2], attributes, epilogue)


def attributes_of(graph: Graph) -> AddProducts | None:
    node = graph.nodes[0]
    wanted = sum_of(node.attributes, node.epilogue, 1 if node.operator == "Add" else -1)
    return exact_products(wanted, tuple(graph.tensor(name).dtype for name in node.inputs))


@pytest.mark.parametrize("operator", ["Add", "Sub"])
@pytest.mark.parametrize("types", TYPES, ids=str)
def test_every_pair_of_bytes(operator: str, types: tuple[str, str, str]) -> None:
    number = TYPES.index(types)
    graph, feeds = pairs(operator, types, FACTORS[number % len(FACTORS)], limits_of(types[2])[0])
    tried = check(graph, feeds)
    assert "tilewright_add_products" in {choice.name for choice in tried}
    assert "tilewright_add_rescaled" not in {choice.name for choice in tried}
    if number == 0:
        check(graph, feeds, {"d0": 3}, in_place=True)


@pytest.mark.parametrize("factors", [(0.5, 0.5), (0.5, 1.5), (0.25, 0.125)], ids=str)
def test_ties_to_even_take_the_kernel_that_knows_them(factors: tuple[float, float]) -> None:
    """A shift rounds all halves to one side, so no addend gives what rounding half to even gives."""
    graph, feeds = pairs("Add", ("int8",) * 3, factors, 3)
    assert attributes_of(graph) is None
    assert "tilewright_add_rescaled" in {choice.name for choice in check(graph, feeds)}


def test_factors_that_32_bits_do_not_hold() -> None:
    for factors in ((1e9, 1.0), (1e-12, 0.0)):
        graph, _ = pairs("Add", ("int8",) * 3, factors, 0)
        found = attributes_of(graph)
        assert (found is None) == (factors[0] > 1.0)


def test_an_addend_beyond_its_bounds_is_caught() -> None:
    graph, feeds = pairs("Add", ("int8",) * 3, (0.7732451, 2.0452317), -128)
    (choice,) = (choice for choice in choices_of(graph) if choice.name == "tilewright_add_products")
    given = choice.given(AddProducts)
    x, y = ((feeds[name].astype(np.int64) + 128) for name in ("i0", "i1"))

    def elements(attributes: AddProducts) -> np.ndarray:
        sums = x * attributes.a_multiplier + y * attributes.b_multiplier + attributes.addend
        return np.clip(sums >> attributes.shift, attributes.minimum, attributes.maximum)

    for distance in (-1000, 1000):
        assert (elements(replace(given, addend=given.addend + distance)) != elements(given)).any()
