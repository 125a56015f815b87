"""Copies of later tiles that are started while cores work: never earlier than the plan, never waited for later."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.firmware import needs_host_compiler
from support.many_cores import build_golden, checksums, every_order, generate, result
from tilewright.check import check
from tilewright.codegen.blocks import BlockText
from tilewright.codegen.forks import copies_meanwhile, joined
from tilewright.codegen.kernel_calls import AttributesText, JoinText, KernelText, SplitText
from tilewright.codegen.steps import BlockCopyText, WaitText
from tilewright.plan import CopyStart, Kernel, Layer, Loop, Operand, Plan, Runs, Split, Step, Wait

NOW, AHEAD = Runs(0, 1, 8), Runs(-1, 1, 8)
SPLIT = Split("n", 8, 4, 2, (), (), "views", 96)
KERNEL = Kernel("k", "symbol", (), (), (), (), (), runs=NOW, split=SPLIT)


def start(token: str, runs: Runs = NOW) -> CopyStart:
    return CopyStart("l2->l1", token, Operand(token, ()), Operand(f"{token}.tile", ()), runs)


X, Y, Y_LEFT = start("x", AHEAD), start("y"), Wait("y", Runs(2, 1, 8))
X_READY = Wait("x", NOW)


def test_the_next_copies_are_started_behind_the_call() -> None:
    w = start("w", Runs(-1, 4, 2))
    body = (X, w, X_READY, Y_LEFT, Wait("w", Runs(0, 4, 2)), KERNEL, Y)
    assert copies_meanwhile(body) == (X_READY, Y_LEFT, Wait("w", Runs(0, 4, 2)), KERNEL, X, w, Y)


def test_a_call_that_nobody_shares_stays_where_it_is() -> None:
    body = (X, X_READY, Y_LEFT, replace(KERNEL, split=None), Y)
    assert copies_meanwhile(body) == body


def test_copies_of_the_same_tile_stay_before_the_call() -> None:
    body = (start("x"), X_READY, Y_LEFT, KERNEL, Y)
    assert copies_meanwhile(body) == body


def test_a_second_slot_between_is_filled_meanwhile() -> None:
    far, arrived = start("far", Runs(-5, 4, 2)), Wait("far", Runs(-1, 4, 2))
    body = (X_READY, far, arrived, X, Y_LEFT, KERNEL, Y)
    assert copies_meanwhile(body) == (X_READY, arrived, Y_LEFT, KERNEL, far, X, Y)


def test_the_only_slot_between_is_filled_before() -> None:
    far, arrived = start("far", Runs(-1, 4, 2)), Wait("far", Runs(-1, 4, 2))
    body = (X_READY, far, arrived, X, Y_LEFT, KERNEL, Y)
    assert copies_meanwhile(body) == (X_READY, far, arrived, Y_LEFT, KERNEL, X, Y)


def test_the_join_stands_behind_copies_inward_and_before_those_outward() -> None:
    split = SplitText("part", (), (), (), (), 0, 1, 8, "views", 16, (), "0", "8")
    wait, kernel = (
        WaitText("", 0, "token[0]", "FAULT"),
        KernelText("t >= 0", "add", "add_attributes", "attributes", (), split=split),
    )
    lines = BlockText((), "", "1", "4", 0, 0)
    inward, outward = (BlockCopyText("", way, 0, "", "t", "near", "home", lines) for way in (True, False))
    text = joined((wait, kernel, inward, inward, outward, wait), looped=True)
    kinds = [AttributesText, WaitText, KernelText, BlockCopyText, BlockCopyText, JoinText, BlockCopyText, WaitText]
    assert [type(step) for step in text] == kinds
    assert text[6] is outward
    assert (text[0].guard, text[5].guard) == ("t == 0", "t >= 0")


NEAR = "weights = 'double', requantization = 'double'"
THREE_LEVELS = {
    "two slots between": ("deeploy_residual", 2560, ""),
    "one slot between": (
        "deeploy_residual",
        2560,
        f"{{conv_2 = {{{NEAR}, l2 = {{weights = 'single', requantization = 'single'}}}}}}",
    ),
    "both": ("deeploy_residual", 2560, f"{{conv_2 = {{{NEAR}, l2 = {{weights = 'single'}}}}}}"),
}


def staged(case: str, folder: Path) -> Plan:
    """A network of eight cores whose constants travel through larger tiles in l2."""
    model, l1, buffers = THREE_LEVELS[case]
    return generate(model, 8, l1, folder, base="qemu-virt-rv32-l3", buffers=buffers)


def reordered(plan: Plan, order: Callable[[tuple[Step, ...]], tuple[Step, ...]]) -> Plan:
    """The plan with the steps of its loops in another order."""

    def changed(step: Step) -> Step:
        if isinstance(step, Layer):
            return replace(step, body=tuple(map(changed, step.body)))
        return replace(step, body=order(step.body)) if isinstance(step, Loop) else step

    return replace(plan, program=tuple(map(changed, plan.program)))


def work_at_join(body: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps in the order of the C; a kernel stands where its work is joined, behind copies started meanwhile."""
    steps = list(copies_meanwhile(body))
    (kernel,) = (step for step in steps if isinstance(step, Kernel))
    inward = [step for step in steps[steps.index(kernel) :] if isinstance(step, CopyStart) and step.runs.first < 0]
    steps.remove(kernel)
    steps.insert(steps.index(inward[-1]) + 1 if inward else copies_meanwhile(body).index(kernel), kernel)
    return tuple(steps)


def all_later(body: tuple[Step, ...]) -> tuple[Step, ...]:
    """Wrong: even what the iteration waits for is started behind the kernel."""
    later = [step for step in body if isinstance(step, CopyStart) and step.runs.first < 0]
    steps = [step for step in body if step not in later]
    at = next(number for number, step in enumerate(steps) if isinstance(step, Kernel))
    return (*steps[: at + 1], *later, *steps[at + 1 :])


@pytest.mark.parametrize("case", THREE_LEVELS)
def test_the_checker_accepts_the_order_of_the_c(case: str, tmp_path: Path) -> None:
    plan = staged(case, tmp_path)
    for order in (copies_meanwhile, work_at_join):
        other = reordered(plan, order)
        assert other.program != plan.program
        assert not check(other)
    assert bool(check(reordered(plan, all_later))) == (case != "two slots between")


@needs_host_compiler
@pytest.mark.parametrize("case", THREE_LEVELS)
def test_larger_tiles_between_change_no_bit(case: str, tmp_path: Path) -> None:
    plan = staged(case, tmp_path)
    waits = {step.token: step.runs.first for step in loop_steps(plan) if isinstance(step, Wait)}
    single = {step.token for step in loop_steps(plan) if isinstance(step, CopyStart) and is_due(step, waits)}
    assert bool(single) == (case != "two slots between")
    assert len(set(every_order("deeploy_residual", plan, "0:0", tmp_path))) == 1


def is_due(step: CopyStart, waits: dict[str, int]) -> bool:
    return 0 > step.runs.first == waits[step.token]


def loop_steps(plan: Plan) -> list[Step]:
    layers = [step for step in plan.program if isinstance(step, Layer)]
    return [step for layer in layers for loop in layer.body if isinstance(loop, Loop) for step in loop.body]


LINE = r"            [^\n]*\n"
BLOCK = rf"\n        (?:if \([^\n]*\) )?{{\n(?:{LINE})*?[^\n]*%s[^\n]*\n(?:{LINE})*?        }}"


def swapped(text: str, first: str, second: str) -> str:
    """The C with each step ``first`` moved behind the step ``second``, wherever the second follows at once."""
    pair = f"({BLOCK % first})({BLOCK % second})"
    assert re.search(pair, text), (first, second)
    return re.sub(pair, r"\2\1", text)


@needs_host_compiler
@pytest.mark.parametrize(
    ("first", "second", "late", "at_once"),
    [
        ("tilewright_split_join", r"tilewright_copy_block\(1u", False, False),
        (r"tilewright_copy_wait\(\d+u, operand_\d_token", "tilewright_split_start", True, True),
    ],
    ids=["joined behind the store", "started before the wait"],
)
def test_another_order_shows(first: str, second: str, *, late: bool, at_once: bool, tmp_path: Path) -> None:
    plan = generate("deeploy_residual", 8, 8192, tmp_path)
    sound = build_golden("deeploy_residual", plan, "0:0", tmp_path, late=late, at_once=at_once)
    assert checksums(sound)
    source = tmp_path / "net.c"
    source.write_text(swapped(source.read_text(encoding="utf-8"), first, second), encoding="utf-8")
    spoilt = build_golden("deeploy_residual", plan, "0:0", tmp_path, late=late, at_once=at_once)
    status, _ = result(spoilt)
    assert status != 0


@needs_host_compiler
def test_a_tile_cut_from_one_that_has_not_arrived_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.codegen.layers.copies_meanwhile", all_later)
    plan = staged("one slot between", tmp_path)
    status, _ = result(build_golden("deeploy_residual", plan, "0:0", tmp_path, late=True))
    assert status != 0
