"""A layer of two stages, made by hand: through JSON, checker, code generation, reports, and on this machine."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from conformance.build import Generated, build
from support import plans
from support.firmware import needs_host_compiler
from support.forced import generated, late_library, run_each, wait_count, without_wait
from support.groups import run_together, through_copies, two_stages
from support.host_runs import host_outputs
from support.mutations import mutations
from support.planned import near_platform, planned
from support.small_nodes import conv
from tilewright.check import Rule, check
from tilewright.codegen.files import generate_files
from tilewright.graph import Array, Graph
from tilewright.plan import BufferKind, Index, Layer, Loop, Plan, Runs
from tilewright.plan.json import dumps, loads
from tilewright.plan.lifetimes import lifetimes
from tilewright.plan.stages import numbered_layers, stage_spans, stages_of, steps_by_stage
from tilewright.report.data import report_data
from tilewright.report.tile_boxes import layer_geometry
from tilewright.report.tiles import layer_tiles
from tilewright.report.touches import touched_buffers

ROWS, HALF = 12, 6
MUTATIONS = 90


def two_convs(*, quantized: bool) -> Graph:
    """a = Conv 3x3 of x, y = Conv 3x3 of a with stride 2."""
    pads = {"pads": (1, 1, 1, 1), "quantized": quantized}
    first = conv((1, 4, ROWS, ROWS), (4, 4, 3, 3), (ROWS, ROWS), **pads)
    second = conv((1, 4, ROWS, ROWS), (6, 4, 3, 3), (HALF, HALF), strides=(2, 2), **pads)
    names = {name: f"two.{name}" for name in second.tensors if name not in ("x", "y")} | {"x": "a"}
    one = replace(first.nodes[0], name="one", outputs=("a",))
    two = replace(second.nodes[0], name="two", inputs=tuple(names.get(name, name) for name in second.nodes[0].inputs))
    tensors = {name: tensor for name, tensor in first.tensors.items() if name != "y"}
    tensors["a"] = replace(first.tensors["y"], name="a")
    tensors |= {names.get(name, name): replace(t, name=names.get(name, name)) for name, t in second.tensors.items()}
    return Graph("graph", (one, two), tensors, ("x",), ("y",))


@dataclass(frozen=True)
class Case:
    """How the rows of the two stages are cut, when the second works, and how many rows the ring has."""

    first: int
    second: int
    late: int
    every: int
    ring: int


CASES = {
    "row by row": Case(first=1, second=1, late=1, every=2, ring=3),
    "one row more, one iteration later": Case(first=1, second=1, late=2, every=2, ring=4),
    "blocks that wrap": Case(first=5, second=2, late=0, every=1, ring=7),
}


def together(plan: Plan, case: Case) -> Plan:
    cuts = (Index("oh", ROWS, case.first), Index("oh_two", HALF, case.second))
    first = Runs(0, 1, cuts[0].count, ("oh",))
    second = Runs(case.late, case.every, cuts[1].count, ("oh_two",))
    return run_together(plan, cuts, (first, second), "a", case.ring)


def written(plan: Plan, name: str, constants: Mapping[str, Array]) -> Generated:
    plan = replace(plan, name=name)
    return Generated(name, plan, dict(generate_files(plan, constants, lifetimes(plan.program))))


def apart_and_together(case: Case, *, quantized: bool, profile: bool = False) -> tuple[Generated, Generated]:
    graph, platform = two_convs(quantized=quantized), near_platform()
    found = planned(graph, platform, profile=profile)
    apart = generated(graph, platform, found, "apart")
    plan = together(apart.plan, case)
    return apart, written(plan, "together", found.schedule.constants)


@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_two_stages_are_sound_and_survive_json(case: str, *, quantized: bool) -> None:
    _, both = apart_and_together(CASES[case], quantized=quantized)
    assert check(both.plan) == []
    assert loads(dumps(both.plan)) == both.plan
    small = replace(CASES[case], ring=CASES[case].ring - 1)
    _, refused = apart_and_together(small, quantized=quantized)
    assert check(refused.plan)[0].rule in (Rule.SLOT_CONTENT, Rule.RECTANGLE)


@needs_host_compiler
@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_two_stages_compute_what_two_layers_do(case: str, tmp_path: Path, *, quantized: bool) -> None:
    apart, both = apart_and_together(CASES[case], quantized=quantized)
    x = np.random.default_rng(1).integers(-100, 100, (1, 4, ROWS, ROWS)).astype(both.plan.inputs[0].dtype)
    expected = host_outputs(apart, {"x": x}, tmp_path / "apart")["y"]
    assert np.unique(expected).size > 20
    assert np.array_equal(host_outputs(both, {"x": x}, tmp_path / "together")["y"], expected)


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where compiled kernels are kept between the tests of this file."""
    return tmp_path_factory.mktemp("objects")


@needs_host_compiler
@pytest.mark.parametrize("ahead", [0, 1, 2])
@pytest.mark.parametrize("case", ["row by row", "blocks that wrap"])
def test_copies_of_two_stages_arrive_in_time(case: str, ahead: int, tmp_path: Path, objects: Path) -> None:
    graph, platform = two_convs(quantized=True), near_platform()
    found = planned(graph, platform)
    apart = generated(graph, platform, found, "apart")
    plan = through_copies(together(apart.plan, CASES[case]), ahead)
    assert check(plan) == []
    both = written(plan, "together", found.schedule.constants)
    x = np.random.default_rng(1).integers(-100, 100, (1, 4, ROWS, ROWS)).astype(np.int8)
    library = late_library(objects, [apart, both])
    first, second = run_each(build(tmp_path, [apart, both], library), [(apart, [x]), (both, [x])], tmp_path)
    assert first == second
    spoilt = [without_wait(both, number) for number in range(wait_count(both))]
    assert len(spoilt) == 4
    outputs = [
        run_each(build(tmp_path / str(number), [item], library), [(item, [x])], tmp_path)
        for number, item in enumerate(spoilt)
    ]
    assert all(output != [first] for output in outputs)


@needs_host_compiler
def test_a_ring_that_is_too_small_shows(tmp_path: Path) -> None:
    small = replace(CASES["blocks that wrap"], ring=6)
    apart, both = apart_and_together(small, quantized=False)
    x = np.random.default_rng(1).integers(-100, 100, (1, 4, ROWS, ROWS)).astype(np.float32)
    outputs = [host_outputs(item, {"x": x}, tmp_path / item.prefix)["y"] for item in (apart, both)]
    assert not np.array_equal(*outputs)


@needs_host_compiler
def test_each_stage_has_its_record_and_its_hook(tmp_path: Path) -> None:
    apart, both = apart_and_together(CASES["row by row"], quantized=True, profile=True)
    assert check(both.plan) == []
    x = np.random.default_rng(1).integers(-100, 100, (1, 4, ROWS, ROWS)).astype(np.int8)
    outputs = [host_outputs(item, {"x": x}, tmp_path / item.prefix)["y"] for item in (apart, both)]
    assert np.array_equal(*outputs)
    source, header = (both.files[f"together.{end}"].decode() for end in "ch")
    assert "#define TOGETHER_PROFILE_LAYERS 2u" in header
    assert re.findall(r"\[(\d)\] = stages\[(\d)\];", source) == [("0", "0"), ("1", "1")]
    kernels = re.findall(r"tilewright_conv\w*\(&|tilewright_profile_add\(&stages\[\d\]", source)
    assert [text[-2] if "stages" in text else "call" for text in kernels] == ["call", "0", "call", "1", "1"]
    assert "static const uint32_t stage_ends[] = {2u};" in source
    assert "TILEWRIGHT_LAYER_DONE(stage);" in source
    assert "stage_ends" not in apart.files["apart.c"].decode()


def test_stages_are_counted_through_the_program() -> None:
    plan = two_stages()
    assert [stage.name for stage in stages_of(plan.program)] == ["a", "b"]
    assert stage_spans(plan.program) == ((1, 5), (1, 5))
    (item,) = numbered_layers((*plan.program, *plan.program))[1:]
    assert item.first == 2
    assert [stage for stage, _ in steps_by_stage(item.layer)] == [0, 1]


def in_unequal_blocks(plan: Plan) -> Plan:
    """The plan of ``two_stages`` with blocks of three and of two rows, of which the first has one row less."""
    begin, layer, end = plan.program
    assert isinstance(layer, Layer)
    (loop,) = layer.body
    assert isinstance(loop, Loop)
    loop = replace(loop, indices=(Index("r", 8, 3, 1), Index("s", 4, 2, 1)))
    return replace(plan, program=(begin, replace(layer, body=(loop,)), end))


def test_reports_speak_of_stages() -> None:
    plan = two_stages()
    touched = touched_buffers(plan)
    assert (touched["m"].written, touched["m"].read) == ((0,), (1,))
    assert (touched["x"].read, touched["y"].written) == ((0,), (1,))
    assert [[kernel["name"] for kernel in kernels] for kernels in layer_geometry(plan)] == [["a"], ["b"]]
    indices = [index for kernels in layer_geometry(plan) for index in kernels[0]["indices"]]
    assert indices == [["r", 8, 1, 0], ["s", 4, 1, 0]]
    assert [kernels[0]["indices"] for kernels in layer_geometry(in_unequal_blocks(plan))] == [
        [["r", 8, 3, 1]],
        [["s", 4, 2, 1]],
    ]
    tiles = layer_tiles(two_stages(3, BufferKind.TILE))
    assert [[entry["buffer"] for entry in tiles[name]] for name in "ab"] == [["m"], []]
    assert [layer["name"] for layer in report_data(plan)["layers"]] == ["a", "b"]


def test_copies_belong_to_the_stage_that_uses_them() -> None:
    layers = [item.layer for item in numbered_layers(plans.two_layers().program)]
    both = Layer("both", tuple(stage for layer in layers for stage in layer.stages), sum((i.body for i in layers), ()))
    owners = [(type(step).__name__, stage) for stage, step in steps_by_stage(both)]
    assert owners == [(type(step).__name__, 0) for _, step in steps_by_stage(layers[0])] + [
        (type(step).__name__, 1) for _, step in steps_by_stage(layers[1])
    ]


@needs_host_compiler
def test_changed_numbers_are_refused_or_harmless(
    tmp_path: Path, objects: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, platform = two_convs(quantized=True), near_platform()
    found = planned(graph, platform)
    plan = through_copies(together(generated(graph, platform, found, "apart").plan, CASES["blocks that wrap"]), 1)
    both = written(plan, "together", found.schedule.constants)
    x = np.random.default_rng(1).integers(-100, 100, (1, 4, ROWS, ROWS)).astype(np.int8)
    library = late_library(objects, [both])
    expected = run_each(build(tmp_path / "sound", [both], library), [(both, [x])], tmp_path)
    refused, harmless, run = 0, 0, 0
    for number, mutation in enumerate(mutations(plan, Random(7))[:MUTATIONS]):
        changed = mutation.applied(plan)
        if check(changed):
            refused += 1
            continue
        harmless += 1
        other = written(changed, "together", found.schedule.constants)
        if c_text(other) != c_text(both):
            run += 1
            executable = build(tmp_path / str(number), [other], library)
            assert run_each(executable, [(other, [x])], tmp_path) == expected, mutation
    with capsys.disabled():
        sys.stdout.write(f"\n{refused} refused, {harmless} harmless, of which {run} changed the C and were run\n")
    assert refused + harmless == MUTATIONS
    assert min(refused, run) >= 3


def c_text(built: Generated) -> dict[str, bytes]:
    return {name: content for name, content in built.files.items() if name.endswith((".c", ".h"))}
