"""Means of float32 images as the last layer of a group: in fewer bytes, and the same bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from property.test_groups import artifacts, flash_bytes, forgetful, groups, outputs_of, used
from support.firmware import needs_host_compiler
from tilewright.check import Rule, check
from tilewright.plan import kernel_steps


def float_mean(rows: int, columns: int) -> bytes:
    """x -> conv 3x3 -> conv 3x3 of strides 2, 5 channels -> the mean of each channel, float32."""
    chance = np.random.default_rng(rows)
    weights = [chance.standard_normal(shape).astype(np.float32) for shape in ((6, 3, 3, 3), (5, 6, 3, 3))]
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], "conv0", pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["a", "w1"], ["b"], "conv1", pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["b"], ["y"], "mean"),
    ]
    shapes = ("x", [1, 3, rows, columns]), ("y", [1, 5, 1, 1])
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)] for name, shape in shapes]
    constants = [numpy_helper.from_array(array, f"w{number}") for number, array in enumerate(weights)]
    graph = helper.make_graph(nodes, "net", *ends, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


@needs_host_compiler
@pytest.mark.parametrize(("rows", "columns"), [(16, 9), (23, 14)])
def test_a_mean_of_floats_adds_in_the_same_order(rows: int, columns: int, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(float_mean(rows, columns))
    apart = artifacts(path, "apart", groups="off")
    least = artifacts(path, "least", objective="bytes_used")
    (layer,) = groups(least.plan)
    assert [stage.operator for stage in layer.stages][-1] == "AveragePool"
    assert kernel_steps(layer.body)[-1].symbol == "tilewright_average_rows_f32"
    assert kernel_steps(apart.plan.program)[-1].symbol == "tilewright_average_pool_f32"
    whole, some = (used(item.plan) - flash_bytes(item.plan) for item in (apart, least))
    assert some < whole / 2
    (seen,) = (violation.rule for violation in check(forgetful(least.plan, layer))[:1])
    assert seen is Rule.SCRATCH
    feeds = {"x": np.random.default_rng(3).standard_normal((1, 3, rows, columns)).astype(np.float32)}
    wanted, got = (outputs_of(item, feeds, tmp_path / item.plan.name) for item in (apart, least))
    assert np.array_equal(wanted["y"], got["y"])
