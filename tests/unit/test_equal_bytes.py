"""Constants of several types whose bytes are equal, and so their hash: each keeps the values of its own type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.firmware import needs_host_compiler
from support.host_runs import generated, host_outputs

BITS = np.array([[0x3F800000, 0x40490FDB, 0x00000000, 0x3EAAAAAB]], dtype=np.int32)
X = np.array([[1.0, -2.0, 3.0, 0.5]], dtype=np.float32)
N = np.array([[5, -6, 7, 8]], dtype=np.int32)


def two_types(first: str) -> onnx.ModelProto:
    """x * floats and n + integers, where floats and integers have the same bits; ``first`` is computed first."""
    constants = [numpy_helper.from_array(BITS.view(np.float32), "floats"), numpy_helper.from_array(BITS, "integers")]
    nodes = [helper.make_node("Mul", ["x", "floats"], ["y"]), helper.make_node("Add", ["n", "integers"], ["m"])]
    info, shape = helper.make_tensor_value_info, list(BITS.shape)
    inputs = [info("x", TensorProto.FLOAT, shape), info("n", TensorProto.INT32, shape)]
    outputs = [info("y", TensorProto.FLOAT, shape), info("m", TensorProto.INT32, shape)]
    graph = helper.make_graph(nodes if first == "floats" else nodes[::-1], "net", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@needs_host_compiler
@pytest.mark.parametrize("first", ["floats", "integers"])
def test_each_constant_keeps_the_values_of_its_type(first: str, tmp_path: Path) -> None:
    built = generated(two_types(first), tmp_path)
    hashes = [buffer.sha256 for buffer in built.plan.buffers if buffer.sha256 is not None]
    assert len(hashes) == 2
    assert len(set(hashes)) == 1
    outputs = host_outputs(built, {"x": X, "n": N}, tmp_path)
    np.testing.assert_array_equal(outputs["y"], X * BITS.view(np.float32))
    np.testing.assert_array_equal(outputs["m"], N + BITS)


def zeros_of_two_types() -> onnx.ModelProto:
    """x + zeros of float32, and bytes that select rows of zeros of int8: as many bytes, four times the elements."""
    constants = [
        numpy_helper.from_array(np.zeros((1, 4), np.float32), "floats"),
        numpy_helper.from_array(np.zeros((1, 16), np.int8), "bytes"),
    ]
    nodes = [helper.make_node("Max", ["x", "floats"], ["y"]), helper.make_node("Max", ["b", "bytes"], ["c"])]
    info = helper.make_tensor_value_info
    inputs = [info("x", TensorProto.FLOAT, [1, 4]), info("b", TensorProto.INT8, [1, 16])]
    outputs = [info("y", TensorProto.FLOAT, [1, 4]), info("c", TensorProto.INT8, [1, 16])]
    graph = helper.make_graph(nodes, "net", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@needs_host_compiler
def test_zeros_of_two_sizes_of_elements_compile(tmp_path: Path) -> None:
    built = generated(zeros_of_two_types(), tmp_path)
    given = np.arange(-8, 8, dtype=np.int8).reshape(1, 16)
    outputs = host_outputs(built, {"x": X, "b": given}, tmp_path)
    np.testing.assert_array_equal(outputs["y"], np.maximum(X, 0))
    np.testing.assert_array_equal(outputs["c"], np.maximum(given, 0))
