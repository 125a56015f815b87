"""States: several runs in order give what onnxruntime gives that is fed with the states of the run before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from conformance.build import Generated
from support.firmware import needs_host_compiler
from support.host_runs import TILED
from support.onnx_models import ModelBuilder
from support.stateful import (
    CASES,
    Stateful,
    accumulator,
    built,
    computed,
    difference,
    drawn,
    expected,
    run_program,
    window,
)
from tilewright.base.errors import TilewrightError
from tilewright.options import build_options
from tilewright.pipeline import compile_model
from tilewright.tools.workspace import Sharing, workspace_files

PLATFORMS = {"near": "host", "tiled": TILED}
SEEDS = range(12)
RUNS = 5


def _cases() -> dict[str, Stateful]:
    return {**{name: make() for name, make in CASES.items()}, **{f"drawn{seed}": drawn(seed) for seed in SEEDS}}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Generated]]:
    folder = tmp_path_factory.mktemp("states")
    models = {}
    for name, case in _cases().items():
        for kind, platform in PLATFORMS.items():
            if name in CASES or (kind == "tiled") == (int(name.removeprefix("drawn")) % 2 == 1):
                models[f"{name}_{kind}"] = built(case, folder, f"{name}_{kind}", platform)
    return run_program(folder, list(models.values())), models


def _feeds(case: Stateful, model: Generated) -> list[dict[str, np.ndarray]]:
    chance = np.random.default_rng(5)
    return [
        {
            item.name: (chance.normal(size=item.shape) * (30 if item.dtype == "int8" else 1)).astype(item.dtype)
            for item in model.plan.inputs
        }
        for _ in range(RUNS)
    ]


@needs_host_compiler
@pytest.mark.parametrize("kind", PLATFORMS)
def test_runs_in_order(program: tuple[Path, dict[str, Generated]], kind: str) -> None:
    executable, models = program
    for name, case in _cases().items():
        model = models.get(f"{name}_{kind}")
        if model is None:
            continue
        feeds = _feeds(case, model)
        got = computed(executable, model.prefix, model.plan, feeds)
        for run, (one, other) in enumerate(zip(got, expected(case, feeds), strict=True)):
            for output, wanted in other.items():
                np.testing.assert_allclose(one[output], wanted, rtol=1e-5, atol=1e-5, err_msg=f"{name}, run {run}")


@needs_host_compiler
def test_a_state_that_is_lost_between_runs_is_noticed(program: tuple[Path, dict[str, Generated]]) -> None:
    executable, models = program
    case, model = accumulator(), models["accumulator_near"]
    feeds = _feeds(case, model)
    wanted = expected(case, feeds)
    got = computed(executable, model.prefix, model.plan, feeds, again=True)
    assert np.array_equal(got[0]["y"], wanted[0]["y"])
    assert not np.allclose(got[1]["y"], wanted[1]["y"])


@pytest.mark.parametrize(("make", "layers"), [(accumulator, 2), (difference, 3), (window, 3)])
def test_in_place_where_operators_allow_it(make: Callable[[], Stateful], layers: int, tmp_path: Path) -> None:
    plan = built(make(), tmp_path, "net").plan
    assert len(plan.layers) == layers
    places = {item.buffer: (item.pool, item.offset_bytes) for item in plan.placements}
    (state,) = plan.states
    assert places[state.found] == places[state.left]
    assert (state.input, state.output) == ("s", "n")


def test_the_interface_leaves_states_out(tmp_path: Path) -> None:
    made = built(accumulator(), tmp_path, "net")
    assert [item.name for item in (*made.plan.inputs, *made.plan.outputs)] == ["x", "y"]
    header = made.files["net.h"].decode()
    assert "void net_reset(void);" in header
    assert "State 's' is what the run before left in 'n'" in header
    assert "scratch between calls" not in header


def _refused(model: onnx.ModelProto, states: list[str], folder: Path, **options: object) -> TilewrightError:
    path = folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    values = {"model": path, "platform": "host", "name": "net", "state": states, **options}
    with pytest.raises(TilewrightError) as caught:
        compile_model(build_options(("test", values)))
    return caught.value


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (["t=n"], "STATE names 't', which is no input of the model"),
        (["s=m"], "STATE names 'm', which is no output of the model"),
        (["s=n", "x=n"], "'n' is in two states"),
        (["s=y"], "input 's' and output 'y' have not the same shape: [4, 8] and [32]"),
        (["s"], "'s' is not <name>=<value>"),
    ],
)
def test_misuse_is_told(states: list[str], message: str, tmp_path: Path) -> None:
    build = ModelBuilder()
    s, x = build.input("s", [4, 8]), build.input("x", [4, 8])
    n = build.node("Add", s, x, output="n")
    build.node("Reshape", n, build.constant(np.int64([32])), output="y")
    assert message in str(_refused(build.model("n", "y"), states, tmp_path))


def test_another_scale_is_told(tmp_path: Path) -> None:
    build = ModelBuilder()
    s = build.dequantize(build.input("s", [4], np.int8), 0.1)
    build.quantize(build.node("Relu", s), 0.2, output="n")
    error = _refused(build.model("n", dtypes={"n": np.int8}), ["s=n"], tmp_path)
    assert "have not the same scale and zero point" in str(error)


def test_exclusive_models_keep_no_state(tmp_path: Path) -> None:
    plans = [
        built(make(), tmp_path, name, static_pools=False).plan for name, make in (("a", window), ("b", difference))
    ]
    workspace_files("ws", plans, Sharing.CONCURRENT)
    with pytest.raises(TilewrightError, match="keeps state 's' between runs, and EXCLUSIVE models have the same bytes"):
        workspace_files("ws", plans, Sharing.EXCLUSIVE)
