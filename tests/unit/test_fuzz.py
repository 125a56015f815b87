"""Spoilt models are answered with C that compiles or with a reason; and what must be noticed is noticed."""

from __future__ import annotations

import faulthandler
import os
import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from conformance.build import BuildError
from fuzz import platforms
from fuzz.bases import bases
from fuzz.campaign import campaign
from fuzz.cases import FuzzCase, fuzz_case
from fuzz.generate import generate, uncompilable
from fuzz.mutations import EDITS
from fuzz.platforms import platform_case
from fuzz.runs import ill_behaved
from fuzz.workers import run_all
from support.firmware import needs_host_compiler
from tilewright.base import resources

SAMPLE, THOUSANDS = 100, 10_000


@needs_host_compiler
def test_a_sample_is_answered(tmp_path: Path) -> None:
    summary = campaign(range(SAMPLE), tmp_path, 1)
    assert summary.failures == []
    assert summary.compiled >= SAMPLE // 10
    assert {"BAD_INPUT", "NOT_SUPPORTED", "DONE"} <= set(summary.statuses)


@pytest.mark.long
@needs_host_compiler
def test_ten_thousand_are_answered(tmp_path: Path) -> None:
    summary = campaign(range(THOUSANDS), tmp_path, 2)
    assert summary.failures == []
    assert {edit.__name__ for edit in EDITS} <= set(summary.kinds)
    assert summary.run >= summary.compiled // 100


@needs_host_compiler
def test_a_sample_of_platform_files_is_answered(tmp_path: Path) -> None:
    summary = campaign(range(SAMPLE), tmp_path, 1, platform_case)
    assert summary.failures == []
    assert summary.compiled >= SAMPLE // 20
    assert {"BAD_INPUT", "DOES_NOT_FIT", "DONE"} <= set(summary.statuses)


@pytest.mark.long
@needs_host_compiler
def test_ten_thousand_platform_files_are_answered(tmp_path: Path) -> None:
    summary = campaign(range(THOUSANDS), tmp_path, 2, platform_case)
    assert summary.failures == []
    assert {edit.__name__ for edit in platforms.EDITS} <= set(summary.kinds)


def test_cases_are_always_the_same() -> None:
    assert fuzz_case(7) == fuzz_case(7)
    assert len({fuzz_case(number).content for number in range(50)}) > 40
    assert platform_case(7) == platform_case(7)
    assert len({platform_case(number).platform for number in range(50)}) > 40


@needs_host_compiler
def test_sound_platform_files_are_compiled(tmp_path: Path) -> None:
    files = sorted(resources.platforms().glob("*.toml"))
    cases = [replace(platform_case(number), platform=path.read_bytes()) for number, path in enumerate(files)]
    answers = [generate(case, tmp_path / str(case.number)) for case in cases]
    assert {answer.problem for answer in answers} == {""}
    done = [answer.folder for answer in answers if answer.status == 0]
    assert len(done) >= len(files) // 2
    assert uncompilable(done) == {}


@needs_host_compiler
def test_a_model_whose_c_misbehaves_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = FuzzCase(0, "nothing", bases()[0], ("--platform", "host"))
    assert ill_behaved(case, tmp_path / "run") == ""

    def crash(*arguments: object) -> object:
        raise BuildError("ended by signal 11")

    monkeypatch.setattr("fuzz.runs.host_outputs", crash)
    assert ill_behaved(case, tmp_path / "run") == "ended by signal 11"


@needs_host_compiler
def test_the_sound_models_are_compiled_or_refused(tmp_path: Path) -> None:
    networks = sorted(set(bases()[:6]))
    answers = [
        generate(FuzzCase(number, "nothing", content, ("--platform", "host")), tmp_path / str(number))
        for number, content in enumerate(networks)
    ]
    assert [answer.problem for answer in answers] == [""] * len(networks)
    assert sum(answer.status == 0 for answer in answers) >= 4


def _misbehave(number: int) -> str:
    if number == 1:
        while True:
            pass
    if number == 2:
        np.ones(16 << 20)
    if number == 3:
        faulthandler.disable()  # the traceback of a death on purpose would only confuse
        os.abort()
    if number == 5:
        faulthandler.disable()
        time.sleep(60)
    if number > 5:
        time.sleep(0.5)
    return "done"


def test_what_hangs_grows_or_dies_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz.workers.MOST_SECONDS", 1)
    monkeypatch.setattr("fuzz.workers.MOST_BYTES", 64 << 20)
    began = time.monotonic()
    ended = {one.number: one for one in run_all(_misbehave, range(5), 2)}
    assert time.monotonic() - began < 30
    assert "still at work" in ended[1].problem
    assert "MiB" in ended[2].problem
    assert "signal 6" in ended[3].problem
    assert [ended[number].answer for number in (0, 4)] == ["done", "done"]
    assert ended[0].problem == ended[4].problem == ""


def test_what_waits_is_told_though_others_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz.workers.LONGEST_SECONDS", 1)
    monkeypatch.setattr("fuzz.workers._LOOK_SECONDS", 0.1)
    ended = list(run_all(_misbehave, range(5, 15), 2))
    problems = [one.problem for one in ended]
    (waited,) = (number for number, problem in enumerate(problems) if "waits: no end within 1 s" in problem)
    assert waited < len(ended) - 2
    assert sum(one.answer == "done" for one in ended) == len(ended) - 1


def test_a_defect_of_the_compiler_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a defect")

    monkeypatch.setattr("tilewright.pipeline.compile_model", broken)
    answer = generate(fuzz_case(0), tmp_path / "0")
    assert answer.problem == "exit status 70"
    assert "a defect" in answer.text


@needs_host_compiler
def test_c_that_does_not_compile_is_a_failure(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("good", "bad", "none")]
    for folder in folders:
        (folder / "c").mkdir(parents=True)
    (folders[0] / "c" / "net.c").write_text("int net(void);\nint net(void)\n{\n    return 0;\n}\n")
    (folders[1] / "c" / "net.c").write_text("int net(void)\n{\n    return 0;\n}\n")
    found = uncompilable(folders)
    assert set(found) == set(folders[1:])
    assert "missing-prototypes" in found[folders[1]]


@pytest.mark.parametrize("name", ["*/ int injected; /*", "???/\n", "\u202edlrow", "a\\\nb", "int", "quo\"te'", "🙂"])
@needs_host_compiler
def test_names_do_not_become_code(tmp_path: Path, name: str) -> None:
    nodes = [
        onnx.helper.make_node("Softmax", [name], ["inside" + name], name=name),
        onnx.helper.make_node("MaxPool", ["inside" + name], ["y"], name=name + "2", kernel_shape=[2, 2]),
    ]
    given = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 2, 9, 9])
    got = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = onnx.helper.make_graph(nodes, name, [given], [got])
    content = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)]).SerializeToString()
    case = FuzzCase(0, "named", content, ("--platform", "qemu-virt-rv32f", "--pool", "l1=400"))
    answer = generate(case, tmp_path / "named")
    assert (answer.status, answer.problem) == (0, "")
    assert uncompilable([answer.folder]) == {}
    for path in (answer.folder / "c").glob("*.[ch]"):
        code = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="ascii"), flags=re.DOTALL)
        assert "int injected" not in code
        assert "??" not in code
