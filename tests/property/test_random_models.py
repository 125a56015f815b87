"""Random models of three to eight operators at three sizes of l1, under sanitizers, against three judges.

ONNX's reference evaluator says what a model computes, ONNX's shape inference and ONNX Runtime have to agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import onnx
import pytest
from conformance.build import runtime_library
from support.firmware import needs_host_compiler
from support.onnx_models import runtime_outputs
from support.random_float import random_float
from support.random_int8 import random_int8
from support.random_runs import close, differences, random_case, random_cases, wrong_ones
from tilewright.graph import Array

OBJECTS = Path(__file__).parents[2] / "build" / "sanitized"
KINDS = {"float": random_float, "int8": random_int8}
SAMPLE, THOUSANDS = 6, 1000


@pytest.mark.parametrize("kind", KINDS)
@needs_host_compiler
def test_a_sample_gives_what_the_reference_gives(tmp_path: Path, kind: str) -> None:
    assert wrong_ones(KINDS[kind], range(SAMPLE), close, tmp_path, OBJECTS) == []


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@needs_host_compiler
def test_thousands_give_what_the_reference_gives(tmp_path: Path, kind: str) -> None:
    assert wrong_ones(KINDS[kind], range(SAMPLE, SAMPLE + THOUSANDS), close, tmp_path, OBJECTS) == []


@pytest.mark.parametrize("kind", KINDS)
def test_models_are_varied_and_always_the_same(kind: str) -> None:
    make = KINDS[kind]
    models = [make(seed) for seed in range(150)]
    assert make(3).proto() == models[3].proto()
    operators = Counter(node.op_type for model in models for node in model.nodes)
    assert len(operators) >= 30
    assert all(len(model.nodes) >= 3 for model in models)


@pytest.mark.parametrize("kind", KINDS)
def test_tiles_are_really_drawn(tmp_path: Path, kind: str) -> None:
    make = KINDS[kind]
    cases = [random_case(seed, make(seed), f"m{seed}", tmp_path) for seed in range(12)]
    assert sum(bool(case.tiles) for case in cases) >= 4
    assert sum(case.tile_count > len(case.generated.plan.layers) for case in cases) >= 6


@pytest.mark.parametrize("kind", KINDS)
@needs_host_compiler
def test_one_wrong_element_is_found(tmp_path: Path, kind: str) -> None:
    make = KINDS[kind]
    case = random_case(5, make(5), "m5", tmp_path)
    library = runtime_library(OBJECTS)
    assert differences([case], tmp_path, library, close) == []
    (name, *_) = case.model.outputs
    output = next(item.identifier for item in case.generated.plan.outputs if item.name == name)
    source = case.generated.files["m5.c"].decode()
    end = source.rindex("return M5_OK;")
    spoilt = f"{source[:end]}((uint8_t *)outputs->{output})[2] ^= 64u;\n    {source[end:]}"
    case.generated.files["m5.c"] = spoilt.encode()
    (found,) = differences([case], tmp_path, library, close)
    assert "1 of" in found
    assert "differ, first at [0" in found


@pytest.mark.parametrize("kind", KINDS)
@needs_host_compiler
def test_a_judge_that_differs_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    def others(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> dict[str, Array]:
        return {name: array + array.dtype.type(1) for name, array in runtime_outputs(model, feeds).items()}

    monkeypatch.setattr("support.random_runs.runtime_outputs", others)
    case = random_case(5, KINDS[kind](5), "m5", tmp_path)
    (found,) = differences([case], tmp_path, runtime_library(OBJECTS), close)
    assert "like ONNX's reference, but ONNX Runtime" in found


@pytest.mark.parametrize("kind", KINDS)
def test_three_sizes_are_three_plans(tmp_path: Path, kind: str) -> None:
    model = KINDS[kind](3)
    drawn, small, large = random_cases(3, model, "m3", tmp_path)
    assert small.l1_bytes < large.l1_bytes
    assert small.tile_count >= large.tile_count
    assert {case.generated.prefix for case in (drawn, small, large)} == {"m3_0", "m3_1", "m3_2"}
