"""Random models of three to eight operators in random tiles, under sanitizers, against ONNX's reference evaluator."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from conformance.build import runtime_library
from support.firmware import needs_host_compiler
from support.random_float import random_float
from support.random_int8 import random_int8
from support.random_runs import close, differences, random_case, wrong_ones

OBJECTS = Path(__file__).parents[2] / "build" / "sanitized"
KINDS = {"float": random_float, "int8": random_int8}
SAMPLE, THOUSANDS = 30, 2000


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
