"""Kernels with smaller constants: which layers take them where the pool of constants is short."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from support.firmware import needs_host_compiler
from support.host_runs import generated, host_outputs
from support.integer_nodes import integers
from support.onnx_models import ModelBuilder
from tilewright.base.errors import TilewrightError
from tilewright.options import build_options
from tilewright.pipeline import compile_model, imported_graph, sized_platform
from tilewright.plan import Plan
from tilewright.planning.allowed_kernels import kernel_key, layer_key, with_allowed
from tilewright.planning.lean_constants import Option, cheapest
from tilewright.planning.prepare import prepare


def convolutions() -> onnx.ModelProto:
    """Two quantised convolutions, the first of four times as many pixels."""
    build, rng = ModelBuilder(13), np.random.default_rng(4)
    x = build.input("x", [1, 8, 12, 12], np.int8)
    for name, inputs, stride in (("large", 8, 1), ("small", 16, 2)):
        weights = build.constant(integers(rng, "int8", (16, inputs, 3, 3)))
        real = build.dequantize(x, 0.02, 4, np.int8)
        x = build.node(
            "Conv", real, build.dequantize(weights, 0.004, 0, np.int8), strides=[stride, stride], pads=[1, 1, 1, 1]
        )
        x = build.quantize(x, 0.02, 4, np.int8, output=name)
    return build.model(x, dtypes={x: np.int8})


def flash(plan: Plan) -> int:
    return next(use.used_bytes for use in plan.pool_use if use.pool == "flash")


def kernels(plan: Plan) -> list[str]:
    return [layer.kernel for layer in plan.layers]


@pytest.mark.parametrize("groups", ["auto", "off"])
def test_as_few_layers_as_needed_change_and_the_refusal_names_the_least(tmp_path: Path, groups: str) -> None:
    def plan(**options: Any) -> Plan:
        return generated(convolutions(), tmp_path, groups=groups, **options).plan

    usual = plan()
    full = flash(usual)
    assert kernels(plan(pools=[f"flash={full}"])) == kernels(usual)
    fewer = plan(pools=[f"flash={full - 1}"])
    assert kernels(fewer)[0] == kernels(usual)[0]
    assert kernels(fewer)[1] != kernels(usual)[1]
    assert flash(fewer) < full
    with pytest.raises(TilewrightError) as caught:
        plan(pools=["flash=1"])
    least = int(caught.value.help[0].split("flash=")[1].split()[0])
    assert least < flash(fewer)
    assert flash(plan(pools=[f"flash={least + 1}"])) == least
    assert flash(plan(pools=[f"flash={least}"])) == least
    with pytest.raises(TilewrightError, match=f"pool 'flash' needs at least {least:,} bytes") as caught:
        plan(pools=[f"flash={least - 1}"])
    assert f"flash={least} " in caught.value.help[0]


def test_a_lock_repeats_the_kernels(tmp_path: Path) -> None:
    def compiled(**options: object) -> Any:
        return compile_model(build_options(("test", {**values, **options})))

    file, lock = tmp_path / "net.onnx", tmp_path / "net.lock.json"
    file.write_bytes(convolutions().SerializeToString())
    values = {"model": file, "platform": "host", "name": "net", "groups": "off", "pools": ["flash=3712"]}
    searched = compiled()
    lock.write_text(searched.lock, encoding="utf-8")
    repeated = compiled(plan_lock=lock)
    assert repeated.plan == searched.plan
    assert repeated.lock == searched.lock


@needs_host_compiler
def test_a_kernel_with_smaller_constants_gives_the_same_bits(tmp_path: Path) -> None:
    feeds = {"x": integers(np.random.default_rng(6), "int8", (1, 8, 12, 12))}
    folders = tmp_path / "usual", tmp_path / "least"
    usual, least = (
        generated(convolutions(), folder, groups="off", **options)
        for folder, options in zip(folders, ({}, {"pools": ["flash=3712"]}), strict=True)
    )
    assert kernels(usual.plan) != kernels(least.plan)
    outputs = [host_outputs(item, feeds, folder) for item, folder in zip((usual, least), folders, strict=True)]
    for name in outputs[0]:
        np.testing.assert_array_equal(outputs[0][name], outputs[1][name])


def test_layers_that_lose_the_fewest_cycles_for_a_byte_change_and_none_in_vain() -> None:
    options = [Option(0, 60, 40, 400), Option(1, 90, 10, 50), Option(2, 10, 90, 990), Option(2, 50, 50, 700)]
    assert cheapest(options, 10) == {1: 90}
    assert cheapest(options, 45) == {1: 90, 0: 60}
    # Layer 1 loses the least for a byte; its bytes are not needed beside those of layers 0 and 2.
    assert cheapest(options, 130) == {0: 60, 2: 10}
    assert cheapest(options, 1000) == {0: 60, 1: 90, 2: 10}
    assert cheapest([], 10) == {}


def test_a_kernel_is_not_taken_from_a_layer_that_could_not_run_without_it(tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    file.write_bytes(convolutions().SerializeToString())
    options = build_options(("test", {"model": file, "platform": "host", "name": "net"}))
    platform = sized_platform(options)
    prepared = prepare(imported_graph(options, platform), platform, options)
    problems = prepared.problems[0]
    key, last = layer_key(problems[0].node), kernel_key(problems[-1])
    assert with_allowed(prepared, {}) is prepared
    assert with_allowed(prepared, {key: frozenset([last])}).problems == (problems[-1:], *prepared.problems[1:])
    assert with_allowed(prepared, {key: frozenset()}).problems == prepared.problems
