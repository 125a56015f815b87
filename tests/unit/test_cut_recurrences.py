"""RNN, GRU and LSTM in tiles of steps and of rows of their gates, with one state carried from tile to tile."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from support.firmware import needs_host_compiler
from support.forced import Forced, differences, forced
from support.host_runs import TILED, host_outputs
from support.host_runs import generated as generated_for
from support.onnx_models import ModelBuilder, imported, random_feeds, runtime_outputs
from support.planned import far_platform, planned
from tilewright.base.errors import TilewrightError
from tilewright.graph import Array, Graph
from tilewright.rewrites.passes import optimise

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STEPS, ENTRIES, INPUTS, UNITS = 6, 2, 5, 4

CASES: dict[str, tuple[str, dict[str, object]]] = {
    "rnn": ("RNN", {}),
    "rnn backward": ("RNN", {"direction": "reverse", "lengths": True}),
    "gru": ("GRU", {"initial": True}),
    "gru that resets late": ("GRU", {"linear_before_reset": 1, "lengths": True}),
    "lstm": ("LSTM", {"initial": True, "lengths": True}),
    "lstm that peeps, backward": ("LSTM", {"direction": "reverse", "holes": True}),
    "lstm without bias": ("LSTM", {"bias": False}),
    "lstm both ways": ("LSTM", {"direction": "bidirectional"}),
}


def numbers(seed: int, *shape: int) -> Array:
    return (np.random.default_rng(seed).normal(size=shape) * 0.5).astype(np.float32)


def recurrence(
    operator: str,
    *,
    steps: int = STEPS,
    units: int = UNITS,
    bias: bool = True,
    lengths: bool = False,
    initial: bool = False,
    holes: bool = False,
    **attributes: object,
) -> onnx.ModelProto:
    """A layer whose outputs are all read."""
    build, gates = ModelBuilder(20), GATES[operator]
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    state = (directions, ENTRIES, units)
    operands = [
        build.input("x", [steps, ENTRIES, INPUTS]),
        build.constant(numbers(1, directions, gates * units, INPUTS)),
        build.constant(numbers(2, directions, gates * units, units)),
        build.constant(numbers(3, directions, 2 * gates * units)) if bias else "",
        build.constant(np.array([steps - 2, steps], np.int32)) if lengths else "",
        build.constant(numbers(4, *state)) if initial else "",
    ]
    if operator == "LSTM":
        operands.append(build.constant(numbers(5, *state)) if initial else "")
        operands.append(build.constant(numbers(6, directions, 3 * units)) if holes else "")
    while not operands[-1]:
        operands.pop()
    outputs = 3 if operator == "LSTM" else 2
    return build.model(*build.node(operator, *operands, outputs=outputs, hidden_size=units, **attributes))


def graph_of(folder: Path, case: str) -> Graph:
    operator, given = CASES[case]
    folder.mkdir(parents=True, exist_ok=True)
    return optimise(imported(folder, recurrence(operator, **given)))  # type: ignore[arg-type]


@needs_host_compiler
def test_tiles_of_any_shape_give_the_bits_of_the_whole(tmp_path: Path) -> None:
    cases: list[Forced] = []
    for case in CASES:
        graph = graph_of(tmp_path, case)
        found = [forced(graph, len(cases) + number, number) for number in range(4)]
        assert all(item.exact for item in found)
        assert case == "lstm both ways" or {"s", "h"} & {name for item in found for name, _ in item.tiles}
        cases += found
    assert differences(cases, tmp_path / "runs", tmp_path / "objects", 0) == []


@needs_host_compiler
@pytest.mark.parametrize("case", CASES)
def test_the_least_memory_gives_what_onnx_runtime_gives(case: str, tmp_path: Path) -> None:
    operator, given = CASES[case]
    model = recurrence(operator, **given)  # type: ignore[arg-type]
    with pytest.raises(TilewrightError) as caught:
        generated_for(model, tmp_path, TILED, pools=("l1=16",))
    least = next(text for text in caught.value.help if "POOLS l1=" in text).split("POOLS ")[1].split()[0]
    built = generated_for(model, tmp_path, TILED, pools=(least,))
    (layer,) = (item for item in built.plan.layers if item.operator == operator)
    assert layer.tiles >= (2 if case == "lstm both ways" else STEPS * GATES[operator] * UNITS)
    feeds = random_feeds(model)
    want, got = runtime_outputs(model, feeds), host_outputs(built, feeds, tmp_path / "run")
    for name, array in want.items():
        np.testing.assert_allclose(got[name], array, rtol=1e-5, atol=1e-6)


def test_the_tiles_of_a_step_take_its_rows_in_order(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, "gru")
    (name,) = (node.name for node in graph.nodes)
    found = planned(graph, far_platform(100_000), tiles=((name, (("s", 1), ("h", 5))),))
    assert found.layers[0].choice.order[-2:] == ("s", "h")
    with pytest.raises(TilewrightError) as caught:
        planned(graph, far_platform(100_000), tiles=((name, (("s", 2), ("h", 5))),))
    assert caught.value.code == "tile-override"


def test_a_step_needs_a_row_of_each_matrix(tmp_path: Path) -> None:
    """One step of 64 units over 5 inputs for two entries: W and R are 52,992 bytes."""
    model = recurrence("GRU", steps=1, units=64)
    with pytest.raises(TilewrightError) as caught:
        generated_for(model, tmp_path, TILED, pools=("l1=16",))
    (least,) = (int(text.split("l1=")[1].split()[0]) for text in caught.value.help if "POOLS l1=" in text)
    x_and_rows, states, gates = 4 * (5 + 5 + 64 + 2), 4 * (64 + 64), 4 * (3 * 64 + 64)
    assert least == x_and_rows + states + gates
