"""C of random .tflite models of one operator against the references, under sanitizers, untiled and in tiles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conformance.build import Generated, build, runtime_library
from support.firmware import needs_host_compiler
from support.host_runs import OBJECTS, TILED, run_outputs
from support.lite_random import random_case, random_name
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import Array, Graph, RequantizeTwice
from tilewright.importers.load import import_model
from tilewright.options import build_options
from tilewright.pipeline import compile_model

COUNT = 28
TIGHT = ("l1=2500",)


def written(number: int, folder: Path) -> Path:
    path = folder / f"{random_name(number)}.tflite"
    path.write_bytes(random_case(number).content)
    return path


def wanted(graph: Graph, number: int) -> list[Array]:
    """The output of each run by the references."""
    runs = zip(*random_case(number).inputs, strict=True)
    return [evaluate(graph, dict(zip(graph.inputs, run, strict=True)))[graph.outputs[0]] for run in runs]


def generated(number: int, folder: Path, platform: str) -> Generated:
    values = {"model": written(number, folder), "platform": platform, "name": random_name(number)}
    pools = () if platform == "host" else TIGHT
    artifacts = compile_model(build_options(("test", {**values, "static_pools": True, "pools": pools})))
    return Generated(random_name(number), artifacts.plan, dict(artifacts.files))


def computed(executable: Path, model: Generated, number: int, folder: Path) -> list[Array]:
    """The output of each run by the C."""
    names = [item.name for item in model.plan.inputs]
    feeds = [dict(zip(names, run, strict=True)) for run in zip(*random_case(number).inputs, strict=True)]
    [output] = model.plan.outputs
    return [run_outputs(executable, model.prefix, model.plan, feed, folder)[output.name] for feed in feeds]


@needs_host_compiler
@pytest.mark.parametrize("platform", ["host", TILED], ids=["untiled", "tiled"])
def test_c_of_random_models(platform: str, tmp_path: Path) -> None:
    models = {number: generated(number, tmp_path, platform) for number in range(COUNT)}
    executable = build(tmp_path, list(models.values()), runtime_library(OBJECTS))
    for number, model in models.items():
        want = wanted(import_model(written(number, tmp_path)), number)
        for got, expected in zip(computed(executable, model, number, tmp_path), want, strict=True):
            np.testing.assert_array_equal(got, expected, model.prefix)


@needs_host_compiler
def test_a_reference_with_another_factor_is_noticed(tmp_path: Path) -> None:
    number = next(n for n in range(COUNT) if "dense" in random_name(n))
    graph, model = import_model(written(number, tmp_path)), generated(number, tmp_path, "host")
    nodes = []
    for node in graph.nodes:
        rule = node.epilogue
        if isinstance(rule, RequantizeTwice):
            node = replace(node, epilogue=replace(rule, shift=tuple(shift - 1 for shift in rule.shift)))
        nodes.append(node)
    spoilt = wanted(replace(graph, nodes=tuple(nodes)), number)
    executable = build(tmp_path, [model], runtime_library(OBJECTS))
    got = computed(executable, model, number, tmp_path)
    assert any((a != b).any() for a, b in zip(got, spoilt, strict=True))


def test_numbers_give_different_outputs_in_each_run(tmp_path: Path) -> None:
    constant = 0
    for number in range(COUNT):
        outputs = wanted(import_model(written(number, tmp_path)), number)
        constant += all(np.array_equal(outputs[0], other) for other in outputs[1:])
    assert constant <= COUNT // 10
