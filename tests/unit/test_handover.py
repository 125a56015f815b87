"""The last store of a layer is awaited by the next one, beside the first loads of its constants."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.edits import copy, map_steps, on_step, runs, wait, without
from support.firmware import needs_host_compiler
from support.many_cores import build_golden, checksums, generate, result
from support.planned import far_platform, plan_of, planned
from support.small_nodes import conv
from tilewright.check import check
from tilewright.check.rules import Rule
from tilewright.graph import Graph
from tilewright.options import Buffering
from tilewright.placement.items import DoesNotFit
from tilewright.plan import Begin, CopyStart, End, Kernel, Layer, Loop, Plan, Step, Wait
from tilewright.plan.json import dumps, loads
from tilewright.plan.lifetimes import lifetimes
from tilewright.planning import retries
from tilewright.planning.realise import Planned
from tilewright.schedule import building
from tilewright.schedule.building import Schedule
from tilewright.schedule.handover import hand_over

L1_BYTES = 2200


def two_convs(size: int, source: str) -> Graph:
    """a = Conv(x), y = Conv(``source``), of equal shapes."""
    single = conv((1, 8, size, size), (8, 8, 1, 1), (size, size))
    (node,) = single.nodes
    (bias, weights) = sorted(name for name in node.inputs if name != "x")
    tensors = dict(single.tensors)
    tensors["a"] = replace(tensors["y"], name="a")
    for name in (bias, weights):
        tensors[f"{name}_2"] = replace(tensors[name], name=f"{name}_2", data=tensors[name].data + 1)
    second = tuple(source if name == "x" else f"{name}_2" for name in node.inputs)
    nodes = (replace(node, name="one", outputs=("a",)), replace(node, name="two", inputs=second))
    return Graph("graph", nodes, tensors, ("x",), ("y",))


def found(
    *, size: int = 10, source: str = "a", asynchronous: bool = True, buffering: Buffering = Buffering.AUTO
) -> Plan:
    graph, platform = two_convs(size, source), far_platform(L1_BYTES, asynchronous=asynchronous)
    return plan_of(graph, platform, planned(graph, platform, buffering=buffering))


def body(plan: Plan, name: str) -> tuple[Step, ...]:
    return next(step.body for step in plan.program if isinstance(step, Layer) and step.name == name)


def tokens(body: tuple[Step, ...], kind: type) -> list[str]:
    return [step.token for step in body if isinstance(step, kind) and isinstance(step, (CopyStart, Wait))]


def loop_of(plan: Plan, name: str) -> Loop:
    return next(step for step in body(plan, name) if isinstance(step, Loop))


def store_of(plan: Plan) -> CopyStart:
    return next(step for step in loop_of(plan, "one").body if isinstance(step, CopyStart) and step.token == "one.a")


def waits_of(loop: Loop) -> list[Wait]:
    return [step for step in loop.body if isinstance(step, Wait) and step.token == "one.a"]


def test_the_next_layer_waits_behind_its_first_loads() -> None:
    plan = found()
    assert not check(plan)
    one, two = loop_of(plan, "one"), body(plan, "two")
    number = store_of(plan).runs.count - 1
    assert number == waits_of(one)[0].runs.count > 0
    starts = [step.destination.buffer for step in two if isinstance(step, CopyStart)]
    assert starts == ["two.weights.tile", "two.bias.tile"]
    (late,) = (step for step in two if isinstance(step, Wait))
    assert late == Wait("one.a", number=number)
    place = two.index(late)
    assert all(isinstance(step, CopyStart) for step in two[:place])
    assert two[place + 1] == End("one.a.tile")
    assert {step.buffer for step in two[place + 2 :] if isinstance(step, Begin)} >= {"two.a.tile", "two.y.tile"}
    assert isinstance(two[-1], Loop)
    assert not {step.token for step in two[-1].body if isinstance(step, CopyStart)} & set(
        tokens(two[:place], CopyStart)
    )


@pytest.mark.parametrize("buffering", [Buffering.AUTO, Buffering.DOUBLE])
def test_the_loop_has_no_round_for_the_wait_alone(buffering: Buffering) -> None:
    handed, alone = (loop_of(found(buffering=buffering, source=source), "one") for source in ("a", "x"))
    store = store_of(found(buffering=buffering))
    assert handed.iterations.stop == alone.iterations.stop - store.runs.every


def test_a_straight_line_hands_over_too() -> None:
    plan = found(size=2)
    assert not check(plan)
    one, two = body(plan, "one"), body(plan, "two")
    assert "one.a" in tokens(one, CopyStart)
    assert "one.a" not in tokens(one, Wait)
    assert Wait("one.a") in two
    assert two.index(Wait("one.a")) < next(n for n, step in enumerate(two) if isinstance(step, Kernel))
    load = next(n for n, step in enumerate(two) if isinstance(step, CopyStart) and step.source.buffer == "a")
    assert two.index(Wait("one.a")) < load


def test_what_lives_near_the_core_is_there_for_no_longer_than_needed() -> None:
    plan = found()
    alive, buffers = lifetimes(plan.program), {buffer.name: buffer for buffer in plan.buffers}
    left = alive["one.a.tile"][1]
    now = [name for name, (begin, end) in alive.items() if begin < left <= end and buffers[name].pools == ("l1",)]
    assert {name.split(".")[1] for name in now} <= {"a", "weights", "bias"}
    assert sum(buffers[name].size_bytes for name in now) <= L1_BYTES


@pytest.mark.parametrize(
    "changes",
    [{"buffering": Buffering.SINGLE}, {"asynchronous": False}, {"source": "x"}],
    ids=["single", "the core copies", "nobody reads it"],
)
def test_others_wait_for_their_own(changes: dict[str, Any]) -> None:
    plan = found(**changes)
    assert not check(plan)
    assert not any(isinstance(step, Wait) for step in body(plan, "two"))
    assert "one.a" in tokens(loop_of(plan, "one").body, Wait)


def test_layers_of_a_group_await_their_own_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def noted(*given: Any) -> Any:
        calls.append(given)
        return hand_over(*given)

    monkeypatch.setattr(building, "hand_over", noted)
    found()
    *given, in_groups = calls[-1]
    alone = list(given[1])
    assert in_groups == set()
    assert hand_over(*given) != alone
    for number in (0, 1):
        assert hand_over(*given, {number}) == alone


def test_where_gaps_leave_no_place_nothing_is_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    realise = retries.realise
    refused: list[bool] = []

    def without_room(schedule: Schedule, *others: Any) -> Planned:
        refused.append(schedule.handed_over)
        if schedule.handed_over:
            raise DoesNotFit("pool-overflow", "no place between gaps")
        return realise(schedule, *others)

    monkeypatch.setattr(retries, "realise", without_room)
    plan = found()
    assert refused == [True, False]
    assert not check(plan)
    assert not any(isinstance(step, Wait) for step in body(plan, "two"))


def test_plans_survive_json() -> None:
    plan = found()
    assert loads(dumps(plan)) == plan


def moved_behind_the_loop(plan: Plan) -> Plan:
    (late,) = (step for step in body(plan, "two") if isinstance(step, Wait))

    def change(step: Step) -> tuple[Step, ...]:
        if step == late:
            return ()
        return (step, late) if step == loop_of(plan, "two") else (step,)

    return replace(plan, program=map_steps(plan.program, change))


SPOILT = {
    "nobody waits": (Rule.END_BEFORE_WAIT, lambda plan: on_step(plan, late, without)),
    "the wrong tile": (
        Rule.TOKEN_NOT_STARTED,
        lambda plan: on_step(plan, late, lambda step: replace(step, number=99)),
    ),
    "twice": (Rule.TOKEN_NOT_STARTED, lambda plan: on_step(plan, late, lambda step: (step, step))),
    "behind the loop": (Rule.END_BEFORE_WAIT, moved_behind_the_loop),
    "the loop waits too": (
        Rule.TOKEN_NOT_STARTED,
        lambda plan: on_step(plan, in_loop, runs(count=store_of(plan).runs.count)),
    ),
    "awaited in another loop": (
        Rule.TOKEN_SCOPE,
        lambda plan: on_step(plan, wait("two.a"), lambda step: (step, replace(step, token="one.x"))),
    ),
    "a constant not loaded": (Rule.TOKEN_NOT_STARTED, lambda plan: on_step(plan, copy("two.weights"), without)),
    "a constant not awaited": (Rule.READ_BEFORE_WAIT, lambda plan: on_step(plan, wait("two.weights"), without)),
}


def late(step: Step) -> bool:
    return isinstance(step, Wait) and step.token == "one.a" and step.number > 0


def in_loop(step: Step) -> bool:
    return isinstance(step, Wait) and step.token == "one.a" and not step.number


@pytest.mark.parametrize("case", SPOILT)
def test_the_checker_sees_it(case: str) -> None:
    rule, spoil = SPOILT[case]
    violations = check(spoil(found()))
    assert rule in {violation.rule for violation in violations}


@needs_host_compiler
def test_a_wait_that_is_left_out_shows(tmp_path: Path) -> None:
    plan = generate("deeploy_residual", 8, 8192, tmp_path)
    assert checksums(build_golden("deeploy_residual", plan, "0:0", tmp_path, late=True))
    source = tmp_path / "net.c"
    text = source.read_text(encoding="utf-8")
    assert "tilewright_copy_wait(1u, handover->token)" in text
    source.write_text(
        text.replace("tilewright_copy_wait(1u, handover->token)", "tilewright_copy_wait(1u, 0u * handover->token)")
    )
    assert result(build_golden("deeploy_residual", plan, "0:0", tmp_path, late=True))[0] != 0


@needs_host_compiler
def test_behind_a_layer_with_a_hook_nothing_is_under_way(tmp_path: Path) -> None:
    plan = generate("deeploy_residual", 8, 8192, tmp_path)
    assert checksums(build_golden("deeploy_residual", plan, "0:0", tmp_path, late=True, hooked=True))
    source = tmp_path / "net.c"
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("TILEWRIGHT_LAYER_IS_WATCHED &&", "0 &&"), encoding="utf-8")
    assert result(build_golden("deeploy_residual", plan, "0:0", tmp_path, late=True, hooked=True))[0] != 0


def test_a_layer_whose_reduction_is_cut_leaves_its_last_store() -> None:
    graph, platform = two_convs(10, "a"), far_platform(L1_BYTES, asynchronous=True)
    plan = plan_of(graph, platform, planned(graph, platform, tiles=(("one", (("ic", 4),)),)))
    assert [step.reduction for step in loop_of(plan, "one").body if isinstance(step, Kernel)] == [("ic",)]
    assert not check(plan)
    assert "one.a" in tokens(body(plan, "two"), Wait)
