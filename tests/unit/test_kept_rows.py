"""Kernels that keep rows of their input from block to block of a group: the same bits in fewer bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.firmware import needs_host_compiler
from support.host_runs import generated, host_outputs
from support.integer_nodes import integers
from support.onnx_models import ModelBuilder
from support.planned import groups
from support.sampled import sampled
from tilewright.check import Rule, check
from tilewright.options import build_options
from tilewright.pipeline import compile_model
from tilewright.plan import Begin, End, Kernel, Layer, Loop, Plan, Step

CHANNELS, ROWS, COLUMNS = 8, 13, 5
KEEPING = "tilewright_depthwise_keeping"


def separable(layers: int = 2, pads: tuple[int, ...] = (1, 1, 1, 1)) -> onnx.ModelProto:
    """Convolutions of 3x3 in each channel, each between convolutions of 1x1 over all channels, quantised."""
    build, rng = ModelBuilder(13), np.random.default_rng(3)
    x = build.dequantize(build.input("x", [1, 3, ROWS, COLUMNS], np.int8), 0.02, 4, np.int8)

    def conv(x: str, given: int, channels: int, group: int, side: int) -> str:
        weights = build.constant(integers(rng, "int8", (channels, given // group, side, side)))
        scaled = build.dequantize(weights, 0.01, 0, np.int8)
        x = build.node("Conv", x, scaled, group=group, pads=pads if side > 1 else (0, 0, 0, 0))
        return build.quantize(build.node("Relu", x), 0.03, -128, np.int8)

    x = conv(x, 3, CHANNELS, 1, 1)
    for _ in range(layers):
        x = conv(build.dequantize(x, 0.03, -128, np.int8), CHANNELS, CHANNELS, CHANNELS, 3)
        x = conv(build.dequantize(x, 0.03, -128, np.int8), CHANNELS, CHANNELS, 1, 1)
    mean = build.node("GlobalAveragePool", build.dequantize(x, 0.03, -128, np.int8))
    return build.model(build.quantize(mean, 0.02, 3, np.int8, output="y"), dtypes={"y": np.int8})


def kernels(plan: Plan) -> list[str]:
    return [layer.kernel for layer in plan.layers]


def sram(plan: Plan) -> int:
    return next(use.used_bytes for use in plan.pool_use if use.pool == "sram")


@needs_host_compiler
@pytest.mark.parametrize(
    "pads", sampled([((1, 1, 1, 1),), ((0, 1, 0, 1),), ((0, 1, 1, 1),), ((1, 0, 0, 1),)], 2), ids=str
)
def test_the_same_bits_in_pools_of_all_sizes(tmp_path: Path, pads: tuple[int, ...]) -> None:
    model = separable(2, pads)
    feeds = {"x": integers(np.random.default_rng(6), "int8", (1, 3, ROWS, COLUMNS))}
    apart = generated(model, tmp_path / "apart", groups="off")
    wanted = host_outputs(apart, feeds, tmp_path / "apart")["y"]
    least = generated(model, tmp_path / "least", objective="bytes_used")
    sizes = sorted({item.bytes for item in least.plan.front})
    keeping = 0
    for size in (*sizes, sizes[0] - 100):
        options = {"pools": [f"sram={size + 64}"]} if size >= sizes[0] else {"objective": "bytes_used"}
        found = generated(model, tmp_path / str(size), **options)
        keeping += any(name.startswith(KEEPING) for name in kernels(found.plan))
        np.testing.assert_array_equal(host_outputs(found, feeds, tmp_path / str(size))["y"], wanted)
    assert keeping


def test_kept_rows_take_fewer_bytes_than_rings(tmp_path: Path) -> None:
    plan = generated(separable(), tmp_path, objective="bytes_used").plan
    (group,) = groups(plan)
    kept = [name for kernel in kernel_calls(group) for name in kernel.scratch if KEEPING in name_of(plan, kernel)]
    sizes = {buffer.name: buffer.size_bytes for buffer in plan.buffers}
    assert [sizes[name] for name in kept] == [2 * CHANNELS * COLUMNS] * 2
    # No ring of rows stays from block to block: each is begun and ended in the loop.
    around = {step.buffer for step in plan.program if isinstance(step, Begin)}
    assert not around & {buffer.name for buffer in plan.buffers if buffer.ring_axis is not None}
    macs = {layer.name: layer.macs for layer in plan.layers}
    assert set(macs.values()) >= {9 * CHANNELS * ROWS * COLUMNS, CHANNELS * CHANNELS * ROWS * COLUMNS}


def test_scratch_with_rows_that_ends_with_each_block_is_refused(tmp_path: Path) -> None:
    plan = generated(separable(), tmp_path, objective="bytes_used").plan
    (group,) = groups(plan)
    kernel = next(kernel for kernel in kernel_calls(group) if KEEPING in name_of(plan, kernel))
    (scratch,) = kernel.scratch
    (loop,) = (step for step in group.body if isinstance(step, Loop))
    body: list[Step] = []
    for step in loop.body:
        body += [Begin(scratch), step, End(scratch)] if step is kernel else [step]
    spoilt = replace(group, body=(replace(loop, body=tuple(body)),))
    around = (Begin(scratch), End(scratch))
    program = tuple(spoilt if step is group else step for step in plan.program if step not in around)
    found = {violation.rule for violation in check(replace(plan, program=program))}
    assert Rule.SCRATCH in found
    assert not check(plan)


def test_a_lock_repeats_the_plan(tmp_path: Path) -> None:
    path, lock = tmp_path / "net.onnx", tmp_path / "net.lock.json"
    path.write_bytes(separable().SerializeToString())
    values = {"model": path, "platform": "host", "name": "net", "objective": "bytes_used"}
    found = compile_model(build_options(("test", values)))
    assert any(name.startswith(KEEPING) for name in kernels(found.plan))
    lock.write_text(found.lock, encoding="utf-8")
    again = compile_model(build_options(("test", {**values, "plan_lock": lock})))
    assert again.files == found.files


def kernel_calls(group: Layer) -> list[Kernel]:
    (loop,) = (step for step in group.body if isinstance(step, Loop))
    return [step for step in loop.body if isinstance(step, Kernel)]


def name_of(plan: Plan, kernel: Kernel) -> str:
    """The name of a call's kernel, as reports have it."""
    return next(layer.kernel for layer in plan.layers if layer.name == kernel.name)
