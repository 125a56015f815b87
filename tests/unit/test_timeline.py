"""The predicted timeline: steps in their order, cycles worked out by hand, and the layers' predicted cycles kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import pytest
from support.edits import with_links
from support.sound import BASE, ring
from tilewright.check.expand import Digits, Expansion, not_kept_bounds, rectangle_of, sites
from tilewright.cli import main
from tilewright.options import build_options
from tilewright.pipeline import plan_model
from tilewright.plan import CopyStart, Kernel, Layer, Plan, Wait
from tilewright.plan.json import dumps
from tilewright.plan.stages import plain_steps
from tilewright.report import timeline as timeline_module
from tilewright.report.compared import compared
from tilewright.report.step_runs import Awaited, Event, Started, run_count, step_runs
from tilewright.report.timeline import timeline

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"


def tiled(platform: str, *pools: str) -> Plan:
    return plan_model(build_options(("test", {"model": DIGITS, "platform": platform, "pools": pools})))


def expanded(plan: Plan, layer: Layer) -> Iterator[tuple[object, ...]]:
    """What the checker's own expansion makes of a layer: copies with their elements, waits, calls with points."""
    buffers = {buffer.name: buffer for buffer in plan.buffers}
    for event in Expansion(sites((layer,))).events():
        step = event.site.step
        if isinstance(step, Wait):
            yield "wait", step.token, step.number + event.block
        elif isinstance(step, Kernel):
            yield "call", step.name, _points(step, event.digits)
        elif isinstance(step, CopyStart):
            rectangle = list(rectangle_of(step.destination.rectangle, event.digits))
            axis = buffers[step.destination.buffer].ring_axis
            if step.kept and axis is not None:
                rectangle[axis] = not_kept_bounds(step.destination.rectangle[axis], step.kept, event.digits)
            yield "copy", step.token, event.block, prod(end - begin for begin, end in rectangle)


def _points(step: Kernel, digits: Digits) -> int:
    bounds = [digits[item.name].bounds if item.name in digits else (0, item.extent) for item in step.dimensions]
    return prod(end - begin for begin, end in bounds)


def told(plan: Plan, event: Event) -> tuple[object, ...]:
    if isinstance(event, Awaited):
        return "wait", *event.copy
    if isinstance(event, Started):
        step = next(item for item in copies(plan) if item.token == event.copy[0])
        name = next(buffer for buffer in plan.buffers if buffer.name == step.source.buffer)
        return "copy", *event.copy, event.size_bytes // {"int8": 1, "uint8": 1}.get(name.dtype, 4)
    return "call", event.kernel, event.points


def copies(plan: Plan) -> list[CopyStart]:
    return [step for step in plain_steps(plan.program) if isinstance(step, CopyStart)]


PLANS: dict[str, Callable[[], Plan]] = {
    "two layers": lambda: BASE,
    "ring": ring,
    "digits": lambda: tiled("qemu-virt-rv32", "l1=3072", "sram=16384"),
    "digits in three levels": lambda: tiled("qemu-virt-rv32-l3", "l1=2000", "l2=6000"),
}


@pytest.mark.parametrize("name", PLANS)
def test_steps_run_in_the_order_of_the_checkers_own_expansion(name: str) -> None:
    plan = PLANS[name]()
    layers = [step for step in plan.program if isinstance(step, Layer)]
    assert layers
    for layer in layers:
        found = list(step_runs(plan, layer.body))
        assert [told(plan, event) for event in found] == list(expanded(plan, layer))
        assert len(found) == run_count(layer.body)


def test_cycles_worked_out_by_hand() -> None:
    """relu: two copies of 128 bytes (20 to start, 4 for the line, 32 for the bytes) around 888 cycles of its call."""
    _, relu = timeline(BASE)["layers"]
    assert (relu["begin"], relu["end"]) == (1000, 2000)
    at = {name: number for number, name in enumerate(timeline(BASE)["rows"])}
    assert sorted(relu["bars"], key=lambda bar: (bar[2], bar[0])) == [
        [at["core"], "starts", 1000, 1020, 1.0],
        [at["core"], "waits", 1020, 1056, 1.0],
        [at["in"], "copies", 1020, 1056, 1.0],
        [at["core"], "compute", 1056, 1944, 1.0],
        [at["core"], "starts", 1944, 1964, 1.0],
        [at["core"], "waits", 1964, 2000, 1.0],
        [at["out"], "copies", 1964, 2000, 1.0],
    ]
    assert (relu["compute"], relu["waits"], relu["copies"], relu["hidden"]) == (888, 72, 72, 0)


def layers_of(plan: Plan) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = timeline(plan)["layers"]
    return found


def test_copies_that_need_not_be_awaited_at_once_run_beside_computing() -> None:
    late = layers_of(BASE)[0]
    early = layers_of(with_links(BASE, asynchronous=False))[0]
    assert late["hidden"] > 0
    assert early["hidden"] == 0
    assert early["waits"] == early["copies"] == late["copies"]
    assert late["compute"] > early["compute"]
    for layer in (late, early):
        assert layer["compute"] + layer["starts"] + layer["waits"] == pytest.approx(1000, abs=2)


def test_bars_of_a_row_follow_each_other() -> None:
    plan = tiled("pulp-open", "l1=6000")
    line = timeline(plan)
    assert line["cycles"] == sum(layer.predicted_cycles for layer in plan.layers)
    assert "8 cores" not in line["rows"]
    assert line["rows"][:2] == ["core", "cores"]
    for row in range(len(line["rows"])):
        bars = sorted(bar for layer in line["layers"] for bar in layer["bars"] if bar[0] == row)
        bars.sort(key=lambda bar: bar[2:4])
        assert all(first[3] <= second[2] + 1 for first, second in pairwise(bars))


def test_many_bars_become_few_and_too_many_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_module, "MOST_BARS", 3)
    merged = layers_of(BASE)[0]
    assert max(sum(bar[:2] == other[:2] for other in merged["bars"]) for bar in merged["bars"]) == 3
    assert any(bar[4] < 1 for bar in merged["bars"])
    whole = sum((bar[3] - bar[2]) * bar[4] for bar in merged["bars"] if bar[1] == "copies")
    assert whole == pytest.approx(merged["copies"], rel=0.1)
    monkeypatch.setattr(timeline_module, "MOST_RUNS", 10)
    first, second = layers_of(BASE)
    assert (first["bars"], first["end"]) == (None, 1000)
    assert second["bars"]


def test_copies_that_take_longer_than_was_predicted_keep_the_layers_time() -> None:
    plan = replace(BASE, layers=tuple(replace(layer, predicted_cycles=40) for layer in BASE.layers))
    for layer in layers_of(plan):
        assert layer["end"] - layer["begin"] == 40
        assert layer["compute"] == 0


def test_what_two_plans_differ_in() -> None:
    slower = replace(BASE, layers=(replace(BASE.layers[0], predicted_cycles=1500), BASE.layers[1]))
    found = compared(BASE, slower)
    assert found["rows"][0] == {
        "what": "predicted cycles", "old": "2,000", "new": "2,500", "change": "+500 (+25.0 %)", "sign": "more",
    }  # fmt: skip
    assert found["layers"] == [{"name": "conv", "label": "conv", "change": "changed", "shown": "1,000 -> 1,500 cycles"}]
    assert compared(BASE, BASE)["same_program"]


def test_the_command_compares_in_the_page_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "net_plan.json"
    plan.write_text(dumps(BASE), encoding="utf-8")
    page = tmp_path / "page.html"
    words = ["report", str(plan), "--compare", str(plan)]
    assert main([*words, "--format", "html", "--output", str(page)]) == 0
    assert "Compared with net" in page.read_text(encoding="utf-8")
    assert main(words) == 2
    told = capsys.readouterr().err
    assert "--compare is for the page, but --format is text" in told
    assert "tilewright diff" in told
