"""``tilewright check plan.json``: plans from disk pass, and corrupted ones are refused by the rule that they break."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.sound import BASE
from support.spoilt_flow import FLOW
from support.spoilt_memory import MEMORY
from tilewright import cli
from tilewright.plan.json import dumps

SPOILT = {**MEMORY, **FLOW}
Tree = dict[str, Any]


def entry(tree: Tree, table: str, name: str) -> Tree:
    """An entry of a table by its name (or by its buffer)."""
    return next(item for item in tree[table] if name in (item.get("name"), item.get("buffer"), item.get("pool")))


def layer(tree: Tree, name: str) -> list[Tree]:
    """The steps of a layer, those of its loop if it has one."""
    (found,) = (step for step in tree["program"] if step["step"] == "layer" and step["name"] == name)
    body = found["body"]
    return body[0]["body"] if body[0]["step"] == "loop" else body


def remove(steps: list[Tree], **wanted: object) -> None:
    """Take the step with these values out."""
    (found,) = (step for step in steps if wanted.items() <= step.items())
    steps.remove(found)


def misalign(tree: Tree) -> None:
    entry(tree, "placements", "conv.y")["offset_bytes"] = 49


def overlap(tree: Tree) -> None:
    entry(tree, "placements", "conv.y")["offset_bytes"] = 40


def shrink_pool(tree: Tree) -> None:
    entry(tree, "pools", "l1")["size_bytes"] = 255


def understate(tree: Tree) -> None:
    entry(tree, "pool_use", "l1").update(used_bytes=252, lower_bound_bytes=252)


def lose_placement(tree: Tree) -> None:
    tree["placements"].remove(entry(tree, "placements", "conv.scratch"))


def wrong_pool(tree: Tree) -> None:
    entry(tree, "placements", "conv.scratch")["pool"] = "sram"


def never_end(tree: Tree) -> None:
    remove(tree["program"], step="end", buffer="relu.x")


def lose_wait(tree: Tree) -> None:
    remove(layer(tree, "relu"), step="wait", token="relu.x")


def lose_last_wait(tree: Tree) -> None:
    remove(layer(tree, "relu"), step="wait", token="relu.y")


def lose_copy(tree: Tree) -> None:
    steps = layer(tree, "relu")
    remove(steps, step="copy_start", token="relu.y")
    remove(steps, step="wait", token="relu.y")


def unreachable_core(tree: Tree) -> None:
    tree["core"]["access_cycles"] = []


def wrong_link(tree: Tree) -> None:
    steps = layer(tree, "conv")
    next(step for step in steps if step.get("token") == "conv.w" and step["step"] == "copy_start")["link"] = "in"


def beside_its_place(tree: Tree) -> None:
    entry(tree, "placements", "v")["offset_bytes"] = 4


CORRUPTED: dict[str, Callable[[Tree], None]] = {
    "alignment": misalign,
    "overlap": overlap,
    "capacity": shrink_pool,
    "pool-use": understate,
    "unplaced": lose_placement,
    "pool-candidate": wrong_pool,
    "never-ended": never_end,
    "read-before-wait": lose_wait,
    "end-before-wait": lose_last_wait,
    "output-incomplete": lose_copy,
    "core-reach": unreachable_core,
    "link-reach": wrong_link,
    "at-offset": beside_its_place,
}


def check_file(path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit status, and what was written to standard output or error."""
    path.write_text(text, encoding="utf-8")
    status = cli.main(["check", str(path)])
    captured = capsys.readouterr()
    assert not (captured.out and captured.err)
    return status, captured.out or captured.err


def test_a_sound_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_file(tmp_path / "plan.json", dumps(BASE), capsys) == (0, "net: sound\n")


@pytest.mark.parametrize("rule", CORRUPTED)
def test_a_corrupted_file(rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = json.loads(dumps(BASE))
    CORRUPTED[rule](tree)
    status, text = check_file(tmp_path / "plan.json", json.dumps(tree), capsys)
    assert status == 2
    assert text.startswith(f"error[plan-{rule}]: ")
    assert "\n  at: " in text
    assert text.endswith("help: generate the plan again\n")


def test_there_are_ten_rule_names() -> None:
    assert len(CORRUPTED) >= 10


@pytest.mark.parametrize("name", SPOILT)
def test_every_rule_through_a_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule, make = SPOILT[name]
    status, text = check_file(tmp_path / "plan.json", dumps(make()), capsys)
    assert status == 2
    assert text.startswith(f"error[plan-{rule.value}]: ")
