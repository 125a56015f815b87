"""Plans of whole networks: spoilt in one place each, the checker names the rule; too little memory is told."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.check import check
from tilewright.cli import main
from tilewright.options import Buffering, CompileOptions
from tilewright.pipeline import compile_model
from tilewright.plan import Plan
from tilewright.plan.json import dumps, loads

MODELS = Path(__file__).parent / "models"
NETWORKS = {"qdq_residual": 3072, "float_mixture": 12288, "deeploy_residual": 2560}
Json = dict[str, Any]


def options(name: str, l1: int, buffering: Buffering = Buffering.AUTO) -> CompileOptions:
    types_file = MODELS / name / "types.json"
    types = json.loads(types_file.read_text(encoding="utf-8")) if types_file.exists() else {}
    return CompileOptions(
        MODELS / name / "network.onnx",
        "qemu-virt-rv32",
        "net",
        pools=(f"l1={l1}",),
        types=tuple(types.items()),
        buffering=buffering,
    )


@cache
def plan_of(name: str, buffering: Buffering) -> Plan:
    return compile_model(options(name, NETWORKS[name], buffering)).plan


def spoilt(plan: Plan) -> Json:
    """A copy of the plan as JSON, to be edited."""
    tree: Json = json.loads(dumps(plan))
    return tree


def bodies(steps: list[Json]) -> Iterator[list[Json]]:
    """Every list of steps in a program."""
    yield steps
    for step in steps:
        if "body" in step:
            yield from bodies(step["body"])


def rules(tree: Json) -> list[str]:
    return [violation.rule.value for violation in check(loads(json.dumps(tree)))]


@pytest.mark.parametrize("buffering", [Buffering.SINGLE, Buffering.DOUBLE])
@pytest.mark.parametrize("name", NETWORKS)
def test_every_wait_is_needed(name: str, buffering: Buffering) -> None:
    tree = spoilt(plan_of(name, buffering))
    assert rules(tree) == []
    removed = 0
    for body in list(bodies(tree["program"])):
        for position, step in enumerate(list(body)):
            if step["step"] != "wait":
                continue
            del body[position]
            assert rules(tree), f"nothing was noticed without {step}"
            body.insert(position, step)
            removed += 1
    assert removed > 15


@pytest.mark.parametrize("name", NETWORKS)
def test_every_copy_is_needed(name: str) -> None:
    tree = spoilt(plan_of(name, Buffering.SINGLE))
    for body in list(bodies(tree["program"])):
        for position, step in enumerate(list(body)):
            if step["step"] != "copy_start":
                continue
            del body[position]
            assert rules(tree), f"nothing was noticed without {step}"
            body.insert(position, step)


@pytest.mark.parametrize("name", NETWORKS)
def test_an_offset_moved_by_one_byte(name: str) -> None:
    tree = spoilt(plan_of(name, Buffering.SINGLE))
    aligned = {buffer["name"] for buffer in tree["buffers"] if buffer["align_bytes"] > 1}
    placements = [placement for placement in tree["placements"] if placement["buffer"] in aligned]
    for placement in placements:
        placement["offset_bytes"] += 1
        assert rules(tree)[0] == "alignment", placement
        placement["offset_bytes"] -= 1


def test_a_buffer_moved_onto_a_live_neighbour() -> None:
    """Two tiles of one layer."""
    tree = spoilt(plan_of("qdq_residual", Buffering.SINGLE))
    tiles = [entry for entry in tree["placements"] if entry["buffer"].startswith("conv_0.") and entry["pool"] == "l1"]
    tiles[1]["offset_bytes"] = tiles[0]["offset_bytes"]
    assert rules(tree)[0] == "overlap"


@pytest.mark.parametrize(
    ("edit", "rule"),
    [
        (
            lambda tree: tree["placements"][0].update(offset_bytes=tree["placements"][0]["offset_bytes"] + 1),
            "alignment",
        ),
        (lambda tree: tree["placements"][0].update(offset_bytes=1 << 22), "capacity"),
    ],
)
def test_the_command_refuses_a_spoilt_plan(
    edit: Any, rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = spoilt(plan_of("qdq_residual", Buffering.SINGLE))
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(tree), encoding="utf-8")
    assert main(["check", str(file)]) == 0
    edit(tree)
    file.write_text(json.dumps(tree), encoding="utf-8")
    assert main(["check", str(file)]) == ExitStatus.BAD_INPUT
    assert f"error[plan-{rule}]" in capsys.readouterr().err


def overflow_at(name: str, l1: int) -> str | None:
    """The text of the error with l1 of this size in bytes, or None if the size works."""
    try:
        compile_model(options(name, l1))
    except TilewrightError as error:
        return str(error) if error.status is ExitStatus.DOES_NOT_FIT else None
    return None


@pytest.mark.parametrize("name", NETWORKS)
def test_a_pool_one_byte_too_small(name: str) -> None:
    """Each error's number works for its operator; one byte less than the last does not and says so in full."""
    size = 16
    while (text := overflow_at(name, size)) is not None:
        found = re.search(r"POOLS l1=(\d+) is the smallest that works", text)
        assert found, text
        size = int(found[1])
    missing_one = overflow_at(name, size - 1)
    assert missing_one is not None, f"{size - 1:,} bytes work as well"
    assert f"pool 'l1' needs {size:,} bytes" in missing_one
    assert f"{size - 1:,}" in missing_one
    assert re.search(r"\(1 (missing|too many)\)", missing_one)
    assert re.search(r"at: \d+ [^()]+ \(\S+\)", missing_one)


def test_a_home_pool_that_is_too_small() -> None:
    """Nothing can be cut there, so the size is what placement needs: a residual and the output of the layer beside it.

    That output takes the place of its own input, which adds no bytes; the peak is where two tensors lie apart. In a
    small l1 neither can stay near the core.
    """
    model, pools = MODELS / "qdq_residual/network.onnx", ("l1=2048", "sram=8191")
    with pytest.raises(TilewrightError) as caught:
        compile_model(CompileOptions(model, "qemu-virt-rv32", "net", pools))
    text = str(caught.value)
    assert "pool 'sram' needs 8,192 bytes, platform 'qemu-virt-rv32' gives 8,191 (1 too many)" in text
    assert re.search(r"at: \d+ [^()]+ \(\S+\), step \d+; alive: \S+ 4,096, \S+ 4,096$", text, re.MULTILINE)
    assert "POOLS sram=8192" in text
