"""Convolutions whose only window is the whole image, as products of vectors with a matrix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.small_nodes import conv
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import DType, Graph
from tilewright.graph.edit import GraphEditor, make_node
from tilewright.rewrites.whole_windows import multiply_whole_windows

CASES = {
    "column": ((1, 6, 5, 1), (7, 6, 5, 1)),
    "image": ((2, 3, 4, 5), (9, 3, 4, 5)),
    "line": ((1, 4, 11), (3, 4, 11)),
    "pixel": ((1, 6, 1, 1), (8, 6, 1, 1)),
}


def behind_a_copy(graph: Graph) -> Graph:
    """The graph whose convolution reads a tensor that is no input of the network."""
    editor = GraphEditor(graph)
    read = editor.variable(editor.tensors["x"], "a")
    editor.redirect("x", read.name)
    editor.add(make_node("Copy", ["x"], [read.name]))
    return editor.graph()


@pytest.mark.parametrize("quantized", [True, False], ids=["int8", "float32"])
@pytest.mark.parametrize("is_input", [True, False], ids=["input", "intermediate"])
@pytest.mark.parametrize("case", CASES)
def test_the_product_has_the_same_elements(case: str, is_input: bool, quantized: bool) -> None:
    shape, weights = CASES[case]
    ones = (1,) * (len(shape) - 2)
    changed = {"x_zero_point": 5} if quantized else {}
    before = conv(shape, weights, ones, quantized=quantized, **changed)
    before = before if is_input else behind_a_copy(before)
    after = multiply_whole_windows(before)
    operators = [node.operator for node in after.nodes]
    assert "Conv" not in operators
    assert "MatMul" in operators
    # An input of the network keeps the order of its axes, and a pixel has one order.
    assert ("Transpose" in operators) == (not is_input and case != "pixel")
    x = np.random.default_rng(1).integers(-100, 100, shape).astype(before.tensor("x").dtype.numpy)
    found, wanted = (evaluate(graph, {"x": x})["y"] for graph in (after, before))
    np.testing.assert_allclose(found, wanted, rtol=0.0 if quantized else 1e-6)


@pytest.mark.parametrize(
    ("shape", "weights", "outputs", "geometry"),
    [
        ((1, 6, 4, 4), (8, 6, 3, 4), (2, 1), {}),
        ((1, 6, 4, 4), (8, 6, 4, 4), (3, 1), {"pads": (1, 0, 1, 0)}),
        ((1, 6, 4, 4), (6, 1, 4, 4), (1, 1), {"group": 6}),
        ((3, 6, 4, 4), (8, 6, 4, 4), (1, 1), {}),
    ],
    ids=["two windows", "padding", "depthwise", "three images"],
)
def test_other_convolutions_stay(
    shape: tuple[int, ...], weights: tuple[int, ...], outputs: tuple[int, ...], geometry: dict[str, object]
) -> None:
    graph = multiply_whole_windows(conv(shape, weights, outputs, quantized=True, **geometry))
    assert [node.operator for node in graph.nodes] == ["Conv"]


def test_elements_without_products_of_matrices_stay() -> None:
    """Convolutions of int16 have kernels: those of 16x8 .tflite files, and of lines that are quantised as they run."""
    before = conv((1, 6, 5, 1), (7, 6, 5, 1), (1, 1), quantized=True)
    editor = GraphEditor(before)
    editor.tensors["x"] = replace(editor.tensors["x"], dtype=DType.INT16)
    assert [node.operator for node in multiply_whole_windows(editor.graph()).nodes] == ["Conv"]
    assert "MatMul" in [node.operator for node in multiply_whole_windows(before).nodes]
