"""Single operators of .tflite files against what TensorFlow Lite Micro computed, or LiteRT where it computes nothing.

References, and C under sanitizers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conformance.build import Generated, build, runtime_library
from support.firmware import needs_host_compiler
from support.host_runs import OBJECTS, TILED, run_outputs
from support.lite_breadth import BREADTH
from support.lite_cases import CASES, RUNS, lite_case
from support.lite_loops import LOOPS
from support.lite_models import Step, Value, lite_model
from support.lite_rare import RARE
from support.lite_ties import TIES
from support.lite_types import TYPES
from support.stateful import computed, run_program
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import Array
from tilewright.importers.load import import_model
from tilewright.options import build_options
from tilewright.pipeline import compile_model
from tilewright.plan import Plan
from tilewright.plan.required_values import given_copies, given_link
from tilewright.planning.plan_states import initial_content
from tilewright.report.data import report_data
from tilewright.rewrites.passes import optimise

TIGHT = ("l1=1200",)
ROOM_FOR_TABLES = ("l1=3000",)
ROOM_FOR_LINES = {"dense_hybrid_long": ("l1=10900",)}
"""Cases with a line, which is in one tile, longer than others' whole tensors."""
_ROOMY = {**TYPES, **RARE, **TIES, **LOOPS}
_WIDE = {**BREADTH, **_ROOMY}
_FRESH = [name for name in CASES if not lite_case(name).stateful]
BUILDS = {
    "untiled": ("host", _FRESH),
    "in tiles": (TILED, [name for name in _FRESH if name not in _WIDE]),
    "breadth in tiles": (TILED, [name for name in _FRESH if name in _WIDE]),
}
"""Platform, and cases that begin anew in each run, which one executable holds together."""
VECTORS = Path(__file__).parent / "lite_vectors.npz"


def stored(name: str) -> list[Array]:
    """The outputs of a case, each with the runs on its first axis."""
    count = lite_case(name).outputs
    with np.load(VECTORS) as archive:
        return [archive[name if number == 0 else f"{name}.{number}"] for number in range(count)]


def assert_as_stored(got: Array, want: Array) -> None:
    """Integers are equal, float32 within 1e-6 + 1e-5 of the wanted one."""
    if want.dtype.kind == "f":
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
        return
    np.testing.assert_array_equal(got, want)


def written(name: str, folder: Path) -> Path:
    path = folder / "net.tflite"
    path.write_bytes(lite_case(name).content)
    return path


@pytest.mark.parametrize("name", CASES)
def test_references(name: str, tmp_path: Path) -> None:
    graph, want, case = import_model(written(name, tmp_path)), stored(name), lite_case(name)
    old, new = {state.input for state in graph.states}, {state.output for state in graph.states}
    for candidate in (graph, optimise(graph)):
        held = {state.input: initial_content(graph, state) for state in graph.states}
        inputs = [tensor for tensor in graph.inputs if tensor not in old]
        outputs = [tensor for tensor in candidate.outputs if tensor not in new]
        for run in range(RUNS):
            feeds = {tensor: array[run] for tensor, array in zip(inputs, case.inputs, strict=True)}
            values = evaluate(candidate, feeds | held)
            held = {state.input: values[state.output] for state in candidate.states}
            for output, arrays in zip(outputs, want, strict=True):
                assert_as_stored(values[output], arrays[run])


Firmware = tuple[Path, dict[str, Plan]]


@pytest.fixture(scope="module")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Firmware]:
    """One executable with the models of a build, and their plans, compiled for the first test that asks for it.

    The build is an argument, not a parameter of the fixture: pytest sets a parametrised fixture up anew for each case
    of a test that has other parameters too.
    """

    @cache
    def built(kind: str) -> Firmware:
        folder, models = tmp_path_factory.mktemp("firmware"), []
        platform, names = BUILDS[kind]
        for name in names:
            values = {"model": written(name, folder), "platform": platform, "name": name, "static_pools": True}
            tiled = ROOM_FOR_LINES.get(name, ROOM_FOR_TABLES if name in _ROOMY else TIGHT)
            values["pools"] = () if platform == "host" else tiled
            artifacts = compile_model(build_options(("test", values)))
            models.append(Generated(name, artifacts.plan, dict(artifacts.files)))
        return build(folder, models, runtime_library(OBJECTS)), {model.prefix: model.plan for model in models}

    return built


def test_filters_shift_whole_rows_of_features(tmp_path: Path) -> None:
    values = {"model": written("svdf", tmp_path), "platform": "host", "name": "net"}
    plan = compile_model(build_options(("test", values))).plan
    copies = [layer.label.split(" ", 1)[1] for layer in plan.layers if " copy " in layer.label]
    assert copies == ["copy 2x4x6", "copy 2x5x6"]


def test_magnitudes_of_int16_may_have_a_finer_scale(tmp_path: Path) -> None:
    values = [Value((4,), "int16", (unit,), (0,)) for unit in (0.02, 0.005)]
    path = tmp_path / "net.tflite"
    path.write_bytes(lite_model(values, [Step("ABS", (0,), (1,))], (0,), (1,)))
    plan = compile_model(build_options(("test", {"model": path, "platform": "host", "name": "net"}))).plan
    assert [layer.label.split(" ", 1)[1] for layer in plan.layers][-1] == "requantize 4"


@needs_host_compiler
@pytest.mark.parametrize("platform", ["host", TILED], ids=["untiled", "tiled"])
def test_c_that_remembers(platform: str, tmp_path: Path) -> None:
    names = [name for name in CASES if lite_case(name).stateful]
    models = []
    for name in names:
        values = {"model": written(name, tmp_path), "platform": platform, "name": name, "static_pools": True}
        artifacts = compile_model(build_options(("test", values | ({} if platform == "host" else {"pools": TIGHT}))))
        models.append(Generated(name, artifacts.plan, dict(artifacts.files)))
    program = run_program(tmp_path, models)
    for model in models:
        arrays = lite_case(model.prefix).inputs
        feeds = [
            {item.name: array[run] for item, array in zip(model.plan.inputs, arrays, strict=True)}
            for run in range(RUNS)
        ]
        for run, outputs in enumerate(computed(program, model.prefix, model.plan, feeds)):
            for item, want in zip(model.plan.outputs, stored(model.prefix), strict=True):
                assert_as_stored(outputs[item.name], want[run])


@needs_host_compiler
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(kind, name, marks=pytest.mark.long if kind == "breadth in tiles" else ())
        for kind, (_, names) in BUILDS.items()
        for name in names
    ],
)
def test_c(kind: str, name: str, firmware: Callable[[str], Firmware], tmp_path: Path) -> None:
    executable, plans = firmware(kind)
    want, inputs = stored(name), lite_case(name).inputs
    for run in range(RUNS):
        feeds = {item.name: array[run] for item, array in zip(plans[name].inputs, inputs, strict=True)}
        outputs = run_outputs(executable, name, plans[name], feeds, tmp_path)
        for item, arrays in zip(plans[name].outputs, want, strict=True):
            assert_as_stored(outputs[item.name], arrays[run])


def test_vectors_that_are_off_by_one_are_noticed(tmp_path: Path) -> None:
    graph = import_model(written("mean", tmp_path))
    feeds = {graph.inputs[0]: lite_case("mean").inputs[0][0]}
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(evaluate(graph, feeds)[graph.outputs[0]], stored("mean")[0][0] + 1)


def test_vectors_are_what_the_interpreter_computes() -> None:
    pytest.importorskip("tflite_micro", reason="the interpreter has development versions only; vectors are stored")
    from scripts.lite_vectors import outputs

    for name in CASES:
        if lite_case(name).judge == "tflm":
            for got, want in zip(outputs(name).values(), stored(name), strict=True):
                np.testing.assert_array_equal(got, want, name)


def test_another_value_of_an_input_that_decides_shapes_is_refused(tmp_path: Path) -> None:
    values = {"model": written("transposed", tmp_path), "platform": "host", "name": "net", "static_pools": True}
    artifacts = compile_model(build_options(("test", values)))
    assert artifacts.plan.inputs[0].required == (2, 6, 10, 3)
    source = dict(artifacts.files)["net.c"]
    assert ", int32, always {2, 6, 10, 3} */" in str(dict(artifacts.files)["net.h"])
    assert "[1] != 6) {\n        return NET_BAD_ARGUMENT;" in (source if isinstance(source, str) else source.decode())


def test_an_input_beyond_two_links_is_not_compared(tmp_path: Path) -> None:
    """The core of l3-chain reads l1 only, and inputs come from l3 by way of l2."""
    values = {"model": written("transposed", tmp_path), "platform": "l3-chain", "name": "net", "static_pools": True}
    files = dict(compile_model(build_options(("test", values))).files)
    source, header = (str(files[name]) for name in ("net.c", "net.h"))
    assert "[1] != 6" not in source
    assert "always {2, 6, 10, 3} (not compared: more than one link from the core)" in header


def test_links_count_the_copies_of_inputs_that_decide_shapes(tmp_path: Path) -> None:
    values = {"model": written("transposed", tmp_path), "platform": TILED, "name": "net", "static_pools": True}
    plan = compile_model(build_options(("test", values | {"pools": ROOM_FOR_TABLES}))).plan
    link = plan.links[given_link(plan) or 0].name
    (found,) = (item for item in report_data(plan)["links"] if item["name"] == link)
    of_layers = sum(dict(layer.link_bytes).get(link, 0) for layer in plan.layers)
    assert given_copies(plan, link) == (16, 1)
    assert found["bytes"] - of_layers == 16
