"""Plans with one number changed: refused by the checker, or harmless when run. Counts are printed; holes are none."""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections.abc import Callable
from dataclasses import is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import get_type_hints

import pytest
from support import mutants
from support.firmware import needs_host_compiler
from support.forced import late_tiles
from support.mutants import Subject, Verdicts, judge, subject
from support.mutations import LEFT_OUT, NUMBERS, Mutation, mutations
from support.random_float import random_float
from support.random_int8 import random_int8
from tilewright import plan as plan_module
from tilewright.check import Rule, check
from tilewright.check.rules import Violation
from tilewright.plan import Begin, Core, End, Link, Plan, Pool, Quantization

FIRMWARE = Path(__file__).parents[1] / "firmware" / "models"
CHAIN = Path(__file__).parents[2] / "platforms" / "l3-chain.toml"
CORPUS = os.environ.get("TILEWRIGHT_CORPUS", "")
SAMPLE = {
    "qdq_residual": ("l1=3072", 1),
    "deeploy_residual": ("l1=3072", 1),
    "float_mixture": ("l1=12288", 1),
    "qdq_residual by three": ("l1=6144", 3),
    "deeploy_residual in a chain": ("l2=3000", 1),
    "qdq_residual near": ("l1=6144", 1),
    "deeploy_residual near": ("l1=9000", 3),
}
"""Networks of this folder, with a pool and the number of cores that share calls; ``near`` where tensors may stay."""

SAMPLE_MUTATIONS, ALL_MUTATIONS = 25, 10_000
TILED = {
    "onnx/tflm_hello_world_int8": 512,
    "onnx/kws_int8": 16000,
    "onnx/ic_int8": 16000,
    "onnx/ad_int8": 8000,
    "onnx/kws_qop_pc": 9000,
    "onnx/onnx2c_mnist": 4000,
    "onnx/tcn_har_fold": 8000,
    "onnx/tcn_causal_128_int8": 16000,
    "onnx/squeeze_incep_56_int8": 16000,
    "onnx/espdl_streaming_tcn": 8000,
    "onnx/micro_kws_m_qdq": 8000,
    "onnx/micro_kws_m_static_qdq": 16000,
    "deeploy/Models/miniMobileNet": 16000,
    "deeploy/Models/EEGFormer": 16000,
    "deeploy/Models/MLPerf/KeywordSpotting": 16000,
}
"""Networks of the corpus with bytes of l1; whatever does not fit travels in tiles, over links that take their time."""

SHARED = {
    "onnx/kws_int8": 16000,
    "onnx/ic_int8": 16000,
    "deeploy/Models/MLPerf/KeywordSpotting": 16000,
}
"""Networks of the corpus with bytes of l1, planned for eight cores too."""

UNTILED = (
    "onnx/squeeze_incep_56_int8",
    "onnx/kws_f32",
    "onnx/kws_qdq_pc",
    "onnx/tinyvit28_fold",
    "onnx/lstm_har_fold",
    "deeploy/Models/CNN_Linear1",
)
REPORTS = ("tilewright.plan.facts",)
PLATFORM = (Pool, Link, Core, Quantization)
"""What plans say of reports, of the platform and of the model's numbers is not mutated."""

Planner = Callable[[str], Subject]

RANDOM_MODELS = 17
"""Networks of the scripts here, where no corpus is; three more are those of the sample."""


def chained_tiles(folder: Path) -> Path:
    """A platform file: this machine with three small levels one behind the other, and late links."""
    text = CHAIN.read_text(encoding="utf-8").partition("[simulator]")[0]
    for old, new in (("= false", "= true"), ('"qemu_virt"', '"host"'), ("compile_options", "# "), ("128000", "3072")):
        assert old in text
        text = text.replace(old, new)
    target = folder / "chain.toml"
    target.write_text(text, encoding="utf-8")
    return target


def planned(model: Path, platform: Path | str, folder: Path, *pools: str) -> Subject:
    """A stored network, with the types that stand beside it."""
    file = model.parent / "types.json"
    types = tuple((json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}).items())
    return subject(model, platform, folder, pools, types=types)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Planner:
    """Plans a network of the sample, once."""
    folder = tmp_path_factory.mktemp("sample")
    return cache(lambda name: sampled(name, folder))


def sampled(name: str, folder: Path) -> Subject:
    pool, cores = SAMPLE[name]
    late = late_tiles(folder, cores, near=name.endswith("near"))
    platform = chained_tiles(folder) if name.endswith("chain") else late
    return planned(FIRMWARE / name.split()[0] / "network.onnx", platform, folder / name, pool)


def corpus(folder: Path) -> list[Subject]:
    late, root = late_tiles(folder), Path(CORPUS)
    tiled = [
        planned(root / name / "network.onnx", late, folder / f"{number}", f"l1={size}")
        for number, (name, size) in enumerate(TILED.items())
    ]
    shared = [
        planned(root / name / "network.onnx", late_tiles(folder, 8), folder / f"shared{number}", f"l1={size}")
        for number, (name, size) in enumerate(SHARED.items())
    ]
    return (
        tiled
        + shared
        + [
            planned(root / name / "network.onnx", "host", folder / f"host{number}")
            for number, name in enumerate(UNTILED)
        ]
    )


def made_here(folder: Path) -> list[Subject]:
    found = [sampled(name, folder) for name in SAMPLE]
    for seed in range(RANDOM_MODELS):
        model = folder / f"random{seed}" / "network.onnx"
        model.parent.mkdir()
        made = (random_int8 if seed % 2 else random_float)(seed)
        model.write_bytes(made.proto().SerializeToString())
        found.append(planned(model, "host", folder / f"host{seed}"))
    return found


def told(verdicts: Verdicts, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\n{verdicts}\n")


@pytest.mark.parametrize("name", SAMPLE)
@needs_host_compiler
def test_a_sample_of_mutations_has_no_holes(name: str, sample: Planner, capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = Verdicts()
    judge(sample(name), random.Random(name), SAMPLE_MUTATIONS, verdicts)
    told(verdicts, capsys)
    assert verdicts.holes == []
    assert verdicts.total == SAMPLE_MUTATIONS
    assert len(verdicts.refused) >= 5


@pytest.mark.long
@needs_host_compiler
def test_ten_thousand_mutations_have_no_holes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    networks = corpus(tmp_path) if CORPUS else made_here(tmp_path)
    assert len(networks) >= 20
    most, verdicts = -(-ALL_MUTATIONS // len(networks)), Verdicts()
    for number, network in enumerate(networks):
        # Where a plan is small, its numbers are changed in more than one way.
        while verdicts.total < most * (number + 1):
            left = most * (number + 1) - verdicts.total
            judge(network, random.Random(verdicts.total), left, verdicts)
    told(verdicts, capsys)
    assert verdicts.holes == []
    assert verdicts.total >= ALL_MUTATIONS


@needs_host_compiler
def test_mutations_of_splits_have_no_holes(sample: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    network, verdicts = sample("qdq_residual by three"), Verdicts()
    found = [item for seed in (1, 2) for item in mutations(network.plan, random.Random(seed)) if "split" in item.path]
    monkeypatch.setattr(mutants, "mutations", lambda *_: found)
    judge(network, random.Random(1), SAMPLE_MUTATIONS, verdicts)
    assert verdicts.holes == []
    assert verdicts.refused["split"]


def first_of(plan: Plan, *words: str) -> Mutation:
    """The first mutation whose path has all the words."""
    return next(item for item in mutations(plan, random.Random(1)) if all(word in item.path for word in words))


@needs_host_compiler
def test_a_blind_checker_has_holes(sample: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    network = sample("deeploy_residual")
    spoilt = [first_of(network.plan, *words) for words in (("step",), ("rectangle", "first_offset"))]

    def blind(plan: Plan) -> list[Violation]:
        return []

    monkeypatch.setattr(mutants, "check", blind)
    monkeypatch.setattr(mutants, "mutations", lambda *_: spoilt)
    verdicts = Verdicts()
    judge(network, random.Random(1), len(spoilt), verdicts)
    assert verdicts.holes


def test_a_whole_that_begins_behind_the_end_of_its_part_is_refused(tmp_path: Path) -> None:
    """At that moment the bytes of the part belong to no buffer, though another part of the whole is alive."""
    model = tmp_path / "random" / "network.onnx"
    model.parent.mkdir()
    model.write_bytes(random_int8(13).proto().SerializeToString())
    plan = planned(model, "host", tmp_path).plan
    late, part = Begin("t6/stored"), End("t3")
    program = [step for step in plan.program if step != late]
    program.insert(program.index(part) + 1, late)
    assert End("t6/stored/part1") in program[program.index(late) :]
    assert Rule.UNWRITTEN_READ in {violation.rule for violation in check(replace(plan, program=tuple(program)))}


@needs_host_compiler
def test_a_part_that_no_core_computes_is_seen(sample: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    network, verdicts = sample("qdq_residual by three"), Verdicts()
    spoilt = replace(first_of(network.plan, "split", "chunk"), new=1)
    monkeypatch.setattr(mutants, "check", lambda plan: [])
    monkeypatch.setattr(mutants, "mutations", lambda *_: [spoilt])
    judge(network, random.Random(1), 1, verdicts)
    assert [hole for hole in verdicts.holes if "other outputs" in hole]


def test_every_kind_of_number_is_changed(sample: Planner) -> None:
    plan = sample("qdq_residual").plan
    found = {
        next(word for word in reversed(item.path) if isinstance(word, str))
        for item in mutations(plan, random.Random(1))
    }
    assert found >= {
        *("offset_bytes", "size_bytes", "slot_bytes", "copies", "period", "strides_bytes", "shape"),
        *("first", "every", "count", "number", "token", "extent", "step", "terms", "first_offset", "last_offset"),
        *("divisor", "multiple", "axes", "scratch_bytes", "body", "program"),
    }


def test_no_number_of_the_plan_is_forgotten() -> None:
    missed = [
        f"{kind.__name__}.{name}"
        for kind in vars(plan_module).values()
        if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ not in REPORTS and kind not in PLATFORM
        for name, hint in get_type_hints(kind).items()
        if "int" in re.findall(r"\w+", str(hint).replace("class", ""))
        and name not in (*NUMBERS.get(kind, ()), *LEFT_OUT.get(kind, ()))
    ]
    assert missed == []


def test_a_mutation_changes_one_thing(sample: Planner) -> None:
    plan = sample("qdq_residual").plan
    drawn = mutations(plan, random.Random(2))
    assert all(item.applied(plan) != plan for item in drawn[:100])
    assert [str(item) for item in drawn] == [str(item) for item in mutations(plan, random.Random(2))]
