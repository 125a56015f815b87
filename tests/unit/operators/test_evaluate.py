"""Whole graphs by their references, and the mistakes that evaluation names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.nodes import node_of
from support.single_node import run, single_node
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.catalogue.evaluate import evaluate
from tilewright.catalogue.operators import OPERATORS, operator_of
from tilewright.graph import DType, Graph, Node, constant, variable


def two_layers():
    tensors = {
        "x": variable("x", DType.FLOAT32, (2, 3)),
        "w": constant("w", np.float32([[1, 0], [0, 1], [1, 1]])),
        "h": variable("h", DType.FLOAT32, (2, 2)),
        "y": variable("y", DType.FLOAT32, (2, 2)),
    }
    nodes = (
        node_of("fc", "MatMul", ("x", "w"), ("h",), {"transpose_a": False, "transpose_b": False}),
        node_of("relu", "Clip", ("h",), ("y",), {"minimum": 0.0, "maximum": float("inf")}),
    )
    return Graph("two", nodes, tensors, ("x",), ("y",))


def test_every_tensor_is_returned():
    x = np.float32([[1, 2, 3], [-4, -5, -6]])
    values = evaluate(two_layers(), {"x": x})
    assert set(values) == {"x", "w", "h", "y"}
    np.testing.assert_array_equal(values["h"], [[4, 5], [-10, -11]])
    np.testing.assert_array_equal(values["y"], [[4, 5], [0, 0]])


@pytest.mark.parametrize(
    ("feeds", "code"),
    [
        ({}, "missing-input"),
        ({"x": np.zeros((2, 3), np.float64)}, "input-type"),
        ({"x": np.zeros((3, 2), np.float32)}, "input-type"),
        ({"x": np.zeros((2, 3), np.float32), "w": np.zeros(1)}, "unknown-input"),
    ],
)
def test_wrong_inputs_are_named(feeds, code):
    with pytest.raises(TilewrightError) as caught:
        evaluate(two_layers(), feeds)
    assert caught.value.code == code
    assert caught.value.status is ExitStatus.BAD_INPUT


def test_a_graph_with_a_wrong_shape_is_caught():
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(ValueError, match=r"node 'node' \(Transpose\)"):
        run(single_node("Transpose", [x], {"perm": (1, 0)}, (2, 3)), [x])


def test_unknown_operators_are_refused_by_name():
    with pytest.raises(TilewrightError, match="Median") as caught:
        operator_of(Node("block_3/gelu", "Median", ("x",), ("y",)))
    assert caught.value.status is ExitStatus.NOT_SUPPORTED
    assert "block_3/gelu" in caught.value.at[0]


def test_the_table_of_the_graph_page_is_complete():
    page = (Path(__file__).parents[3] / "docs/reference/graph.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| ")]
    named = {name.strip() for row in rows[1:] for name in row.split(",")}
    assert set(OPERATORS) <= named
    assert "Dequantize" in named - {"operator"}
