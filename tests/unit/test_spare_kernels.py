"""Kernels with less scratch: which of them groups and layers take where the fewest bytes are wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
from support.firmware import needs_host_compiler
from support.host_runs import generated, host_outputs
from support.integer_nodes import integers
from support.onnx_models import ModelBuilder
from tilewright.fusion.kernel_ways import KernelWay, leaner, with_less_scratch
from tilewright.plan import Plan
from tilewright.tiling.problem import TilingProblem


def way(cycles: float, scratch_bytes: int) -> KernelWay:
    return KernelWay(cycles, scratch_bytes, cast(TilingProblem, None))


def test_a_kernel_counts_that_is_faster_or_needs_less_scratch() -> None:
    found = leaner([way(30.0, 100), way(10.0, 700), way(20.0, 700), way(20.0, 400), way(40.0, 200)])
    assert found == (way(10.0, 700), way(20.0, 400), way(30.0, 100))


def test_kernels_change_where_the_most_bytes_are_alive() -> None:
    stages = [(way(10.0, 700), way(15.0, 300)), (way(10.0, 700), way(30.0, 500), way(60.0, 100))]
    found = list(with_less_scratch([100, 0], stages))
    assert [item.size_bytes for item in found] == [800, 700, 500, 400]
    assert [item.cycles for item in found] == [20.0, 25.0, 45.0, 75.0]
    assert found[1].scratch_bytes == (300, 700)
    # The first stage has no kernel with less.
    assert found[-1].scratch_bytes == (300, 100)


def convolution(channels: int) -> onnx.ModelProto:
    """A quantised convolution of few pixels, whose scratch is most of what it needs."""
    build, rng = ModelBuilder(13), np.random.default_rng(2)
    x = build.dequantize(build.input("x", [1, channels, 6, 6], np.int8), 0.02, 4, np.int8)
    x = build.quantize(build.node("Relu", x), 0.02, -9, np.int8)
    weights = build.constant(integers(rng, "int8", (16, channels, 3, 3)))
    x = build.node("Conv", build.dequantize(x, 0.02, -9, np.int8), build.dequantize(weights, 0.004, 0, np.int8))
    return build.model(build.quantize(x, 0.05, 3, np.int8, output="y"), dtypes={"y": np.int8})


def sram(plan: Plan) -> int:
    return next(use.used_bytes for use in plan.pool_use if use.pool == "sram")


def test_a_layer_alone_takes_less_scratch_for_the_fewest_bytes_and_for_a_small_pool(tmp_path: Path) -> None:
    def plan(**options: Any) -> Plan:
        return generated(convolution(8), tmp_path, **options).plan

    usual, least = plan(), plan(objective="bytes_used")
    assert sram(least) < sram(usual)
    assert least.front[-1].taken
    kernels = [[layer.kernel for layer in item.layers] for item in (usual, least)]
    assert kernels[0] != kernels[1]
    assert sram(plan(pools=[f"sram={sram(usual)}"])) == sram(usual)
    assert sram(plan(pools=[f"sram={sram(usual) - 1}"])) < sram(usual)


@needs_host_compiler
def test_a_kernel_with_less_scratch_gives_the_same_bits(tmp_path: Path) -> None:
    feeds = {"x": integers(np.random.default_rng(6), "int8", (1, 8, 6, 6))}
    folders = tmp_path / "usual", tmp_path / "least"
    usual, least = generated(convolution(8), folders[0]), generated(convolution(8), folders[1], objective="bytes_used")
    outputs = [host_outputs(item, feeds, folder)["y"] for item, folder in zip((usual, least), folders, strict=True)]
    np.testing.assert_array_equal(*outputs)
