"""What the checker proves once for many iterations: the same verdicts as one by one, a fault seen in any iteration."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.loop_edits import edited
from support.mutations import mutations
from tilewright.check import Rule, check, execution, steady
from tilewright.check import turns as turns_module
from tilewright.check.calls import Counts
from tilewright.check.expand import Digit, Expansion, index_counts, sites
from tilewright.check.flow import Machine
from tilewright.check.turns import Turns, blocks_of
from tilewright.options import build_options
from tilewright.pipeline import plan_model
from tilewright.plan import CopyStart, Kernel, Layer, Loop, Plan, Runs, Step, Wait

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"
CASES = {
    "two levels": ("qemu-virt-rv32", ("l1=700",)),
    "three levels": ("qemu-virt-rv32-l3", ("l1=700", "l2=6000")),
    "cores": ("pulp-open", ("l1=1500",)),
}
MUTATIONS = 15
EDITED = 12


@pytest.fixture(scope="module", params=CASES)
def plan(request: pytest.FixtureRequest) -> Plan:
    return tiled(*CASES[request.param])


@pytest.fixture(scope="module")
def sample() -> Plan:
    return tiled(*CASES["two levels"])


def tiled(platform: str, pools: tuple[str, ...]) -> Plan:
    return plan_model(build_options(("test", {"model": DIGITS, "platform": platform, "pools": pools})))


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the checker prove loops of 12 iterations or more at once: the loops of these plans have at most 129."""
    monkeypatch.setattr(steady, "FEWEST", 12)


def one_by_one(plan: Plan) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "run_steady", lambda *given: False)
        return [str(violation) for violation in check(plan)]


def steps_run(plan: Plan) -> tuple[int, int]:
    """The number of steps that the checker ran one by one, and the number of all steps."""
    run = 0
    original: Callable[[Machine, Any], None] = Machine.step

    def counted(machine: Machine, event: Any) -> None:
        nonlocal run
        run += 1
        original(machine, event)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Machine, "step", counted)
        assert check(plan) == []
    return run, sum(1 for _ in Expansion(sites(plan.program)).events())


def test_long_loops_are_not_run_through(sample: Plan) -> None:
    run, every = steps_run(sample)
    assert run < every / 2


def test_mutations_have_the_verdicts_of_running_one_by_one(plan: Plan) -> None:
    assert check(plan) == []
    spoilt = mutations(plan, random.Random(3))[:MUTATIONS]
    refused = 0
    for mutation in spoilt:
        found = [str(violation) for violation in check(mutation.applied(plan))]
        assert found == one_by_one(mutation.applied(plan)), mutation
        refused += bool(found)
    assert refused >= 5


def test_edited_loops_have_the_verdicts_of_running_one_by_one(plan: Plan) -> None:
    drawn, refused = random.Random(8), 0
    for _ in range(EDITED):
        spoilt = plan
        for _ in range(drawn.choice([1, 1, 2])):
            spoilt = edited(spoilt, drawn)
        found = [str(violation) for violation in check(spoilt)]
        assert found == one_by_one(spoilt)
        refused += bool(found)
    assert refused >= 5


def longest(plan: Plan) -> Loop:
    return max((step for layer in layers(plan) for step in layer.body if isinstance(step, Loop)), key=turns_in)


def layers(plan: Plan) -> list[Layer]:
    return [step for step in plan.program if isinstance(step, Layer)]


def turns_in(loop: Loop) -> int:
    return len(loop.iterations)


def with_body(plan: Plan, loop: Loop, body: list[Step]) -> Plan:
    """The plan with other steps in one loop."""
    program = tuple(
        replace(step, body=tuple(replace(loop, body=tuple(body)) if inner is loop else inner for inner in step.body))
        if isinstance(step, Layer)
        else step
        for step in plan.program
    )
    return replace(plan, program=program)


def without_wait(plan: Plan, turn: int) -> Plan:
    """The first operand of the longest loop is not awaited in one iteration; its copies are awaited behind the loop."""
    loop = longest(plan)
    at = next(number for number, step in enumerate(loop.body) if isinstance(step, Wait))
    wait = loop.body[at]
    assert isinstance(wait, Wait)
    assert (wait.runs.first, wait.runs.every) == (0, 1)
    before = replace(wait, runs=replace(wait.runs, count=turn))
    late = Wait(wait.token, Runs(turn + 1, 1, 1), wait.number + turn)
    behind = replace(wait, runs=Runs(turn + 1, 1, wait.runs.count - turn - 1), number=wait.number + turn + 1)
    waits = [item for item in (before, behind) if item.runs.count]
    body = list(loop.body)
    kernel = next(number for number, step in enumerate(body) if isinstance(step, Kernel))
    body[kernel + 1 : kernel + 1] = [late]
    body[at : at + 1] = waits
    return with_body(plan, loop, body)


def with_copy(plan: Plan, turn: int) -> Plan:
    """In one iteration the first tile is copied again, over what the kernel is about to read."""
    loop = longest(plan)
    first = next(step for step in loop.body if isinstance(step, CopyStart))
    again = replace(first, token="again", runs=replace(first.runs, first=turn, every=turns_in(loop), count=1))
    at = next(number for number, step in enumerate(loop.body) if isinstance(step, Kernel))
    body = list(loop.body)
    body[at:at] = [again, Wait("again", replace(again.runs, over=()))]
    return with_body(plan, loop, body)


@pytest.mark.parametrize(("spoil", "rule"), [(without_wait, Rule.READ_BEFORE_WAIT), (with_copy, Rule.SLOT_CONTENT)])
def test_a_fault_in_any_iteration_is_seen(sample: Plan, spoil: Callable[[Plan, int], Plan], rule: Rule) -> None:
    """Every sixteenth iteration reads the first one's tile, so there a second copy of that tile is harmless."""
    count = next(step.runs.count for step in longest(sample).body if isinstance(step, Kernel))
    assert count >= 64
    for turn in (*range(12), *range(12, count - 4, 11), *range(count - 4, count)):
        spoilt = spoil(sample, turn)
        found = check(spoilt)
        assert [str(violation) for violation in found] == one_by_one(spoilt)
        is_harmless = spoil is with_copy and turn % 16 == 0
        assert (rule in {violation.rule for violation in found}) != is_harmless, turn


def test_a_checker_that_takes_all_iterations_for_alike_is_caught(sample: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    def alike(turns: Turns) -> Counts:
        return np.zeros(turns.count, np.int64)

    turn = turns_in(longest(sample)) // 2
    assert check(without_wait(sample, turn))
    monkeypatch.setattr(turns_module, "_kinds", alike)
    assert check(without_wait(sample, turn)) == []


def test_blocks_as_arrays_are_those_of_single_events(plan: Plan) -> None:
    compared = 0
    for site in every_loop(plan):
        assert isinstance(site.step, Loop)
        assert set(index_counts(site.step).values())
        found = {
            child.tick: blocks_of(child, child.step, site.step, {})
            for child in site.children
            if isinstance(child.step, (CopyStart, Wait, Kernel))
        }
        for event in Expansion(sites(plan.program)).events():
            blocks = found.get(event.site.tick)
            for name, digit in event.digits.items() if blocks is not None else ():
                assert blocks is not None
                (lower, upper), (place, count) = blocks.bounds[name], blocks.places[name]
                assert digit == Digit(lower[event.block], upper[event.block], place[event.block], count)
                compared += 1
    assert compared > 500


def every_loop(plan: Plan) -> Iterator[Any]:
    for root in sites(plan.program):
        yield from (child for child in root.children if isinstance(child.step, Loop))
