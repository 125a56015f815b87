"""Quantised tables of one tensor, and operators that move elements, as exporters write them."""

from __future__ import annotations

import numpy as np
import pytest
from support.onnx_models import assert_equal_to_runtime, imported, operators
from tilewright.graph import DType
from unit.importers.test_qdq import BOTH, Pattern


def mirrored(build, x):
    return build.node("Pad", x, build.constant(np.array([0, 0, 1, 2, 0, 0, 1, 0])), mode="reflect")


def enlarged(build, x):
    scales = build.constant(np.array([1, 1, 2, 2], np.float32))
    return build.node("Resize", x, "", scales, mode="nearest", coordinate_transformation_mode="asymmetric")


def repeated(build, x):
    return build.node("Tile", x, build.constant(np.array([1, 2, 1, 2])))


def expanded(build, x):
    return build.node("Expand", x, build.constant(np.array([3, 4, 5, 5])))


def selected(build, x):
    return build.node("Gather", x, build.constant(np.array([2, 0])), axis=1)


def channels_as_pixels(build, x):
    return build.node("DepthToSpace", x, blocksize=2)


@pytest.mark.parametrize("move", [mirrored, enlarged, repeated, expanded, selected, channels_as_pixels])
def test_what_moves_elements_moves_integers(tmp_path, move):
    pattern = Pattern([1, 4, 5, 5])
    graph = assert_equal_to_runtime(tmp_path, pattern.finish(move(pattern.build, pattern.x), pattern.scale))
    assert not {"Quantize", "Dequantize"} & set(operators(graph))
    assert all(graph.tensor(node.outputs[0]).dtype is DType.INT8 for node in graph.nodes)


@BOTH
@pytest.mark.parametrize("gate", ["Sigmoid", "HardSigmoid"])
def test_a_product_with_a_quantised_gate_is_one_table(tmp_path, dtype, zero_point, gate):
    pattern = Pattern([1, 4, 5, 5], dtype, zero_point)
    stored = pattern.build.quantize(pattern.build.node(gate, pattern.x), 1 / 255, zero_point - 3, dtype)
    opened = pattern.build.dequantize(stored, 1 / 255, zero_point - 3, dtype)
    graph = assert_equal_to_runtime(tmp_path, pattern.finish(pattern.build.node("Mul", pattern.x, opened), 0.05))
    assert operators(graph) == {"Lookup": 1}


def test_two_tables_in_a_row_are_one(tmp_path):
    pattern = Pattern([1, 4, 5, 5])
    stored = pattern.build.quantize(pattern.build.node("Relu", pattern.x), 0.025, -128)
    opened = pattern.build.dequantize(stored, 0.025, -128)
    graph = assert_equal_to_runtime(tmp_path, pattern.finish(pattern.build.node("Sqrt", opened), 0.02))
    assert operators(graph) == {"Lookup": 1}


def test_a_table_that_others_read_stays(tmp_path):
    pattern = Pattern([1, 4, 5, 5])
    stored = pattern.build.quantize(pattern.build.node("Sigmoid", pattern.x), 1 / 256, -128)
    opened = pattern.build.dequantize(stored, 1 / 256, -128)
    both = pattern.build.node("Concat", opened, pattern.build.node("Sqrt", opened), axis=1)
    assert operators(imported(tmp_path, pattern.finish(both, 1 / 256, -128)))["Lookup"] == 2


def test_gelu_by_erf_is_a_table(tmp_path):
    pattern = Pattern([1, 4, 5, 5])
    build, x = pattern.build, pattern.x
    one_more = build.node(
        "Add",
        build.node("Erf", build.node("Mul", x, build.constant(np.float32(0.70710678)))),
        build.constant(np.float32(1)),
    )
    product = build.node("Mul", build.node("Mul", x, one_more), build.constant(np.float32(0.5)))
    assert operators(assert_equal_to_runtime(tmp_path, pattern.finish(product, 0.05))) == {"Lookup": 1}
