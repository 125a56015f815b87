"""The check of programs whose layers run on a cluster: what its cores call is held to the same rules."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from support.firmware import needs_riscv
from support.linked import MAIN, digits, link_model, link_toy, toy_plan
from tilewright.base.resources import runtime_dir
from tilewright.cli import main
from tilewright.firmware.check_image import Verdict, check_image
from tilewright.firmware.findings import Linked
from tilewright.firmware.image import read_image

KERNEL = "pool_integer.c"
"""A kernel of the example that all cores share."""
BEGIN = "tilewright_average_pool_integer("
SPOILT = {
    "malloc": (
        "#include <stdlib.h>\n__attribute__((noinline)) static void more(void) {{ *(volatile char *)malloc(4) = 1; }}",
        "more();",
        ("library", "malloc"),
    ),
    "static": ("static volatile int spoilt_calls;", "spoilt_calls++;", ("static", "spoilt_calls")),
    "recursion": (
        "static volatile int rest;\n__attribute__((noinline)) static int again(int n)"
        " {{ return n > rest ? again(n - 1) + again(n - 2) + n : n; }}",
        "rest = again(3);",
        ("recursion", "again"),
    ),
}
"""What stands before a kernel, what it begins with, and the rule and symbol that a check must name."""


@cache
def checked(program: Path, core_stack_bytes: int = 0) -> Verdict:
    linked = Linked(symbols=(("l1", "l1"), ("l2", "l2")), core_stack_bytes=core_stack_bytes)
    return check_image(read_image(program), [digits("pulp-open").plan], linked)


def link(folder: Path, kernel: Path | None = None) -> Path:
    """The example for pulp-open, with another file in the place of a kernel's."""
    artifacts = digits("pulp-open")
    text = MAIN.replace("sram", "l2").replace("SRAM", "L2").format(before="")
    sources = tuple(str(kernel) if kernel and name.endswith(KERNEL) else name for name in artifacts.plan.kernel_sources)
    assert kernel is None or str(kernel) in sources
    return link_model(folder, replace(artifacts, plan=replace(artifacts.plan, kernel_sources=sources)), text)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link(tmp_path_factory.mktemp("cluster"))


@needs_riscv
def test_cores_are_followed(program: Path) -> None:
    verdict = checked(program, 512)
    assert verdict.findings == ()
    walker, workers = verdict.models[0].cores
    assert (walker.who, workers.who) == ("walker", "workers")
    assert 400 < workers.stack_bytes <= 496 < walker.stack_bytes <= 512 + 768
    assert len(workers.below) == len(digits("pulp-open").plan.layers)
    for core in (walker, workers):
        reached = {edge.callee.name for calls in core.below for edge in calls.edges}
        assert {BEGIN.rstrip("("), "tilewright_conv_xpulpv2", "tilewright_xpulpv2_layer_signed"} <= reached


@needs_riscv
def test_a_core_takes_more_than_its_stack(program: Path) -> None:
    (finding,) = checked(program, 256).findings
    assert (finding.rule, finding.symbol) == ("stack", "workers")
    assert finding.expected == "at most 240 bytes of each core's stack"


@needs_riscv
@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_kernel(name: str, tmp_path: Path) -> None:
    before, first, expected = SPOILT[name]
    text = (runtime_dir() / "kernels" / KERNEL).read_text(encoding="utf-8")
    head, _, tail = text.partition(f"void {BEGIN}")
    arguments, _, body = tail.partition("{")
    kernel = tmp_path / KERNEL
    kernel.write_text(f"{head}{before.format()}\nvoid {BEGIN}{arguments}{{ {first}{body}", encoding="utf-8")
    assert expected in {(finding.rule, finding.symbol) for finding in checked(link(tmp_path, kernel)).findings}


@needs_riscv
def test_the_command(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["check-elf", str(program), "--plan", str(program.parent / "digits_plan.json"), "--platform", "pulp-open"]
    assert main([*words, "--pool-symbol", "l1=l1", "--pool-symbol", "l2=l2"]) == 0
    assert re.search(
        r"stack of workers: at most 4\d\d bytes, with digits_layer_\d+_conv_part_call", capsys.readouterr().out
    )


@needs_riscv
def test_an_address_that_falls_into_another_file(tmp_path: Path) -> None:
    code = (
        "static volatile int calls; __attribute__((noinline)) static int toy_count(int x) { return calls += x; }"
        "int toy_run(volatile int *x) { return toy_count(*x) + 1; }"
    )
    image = read_image(link_toy(tmp_path, code))
    elsewhere = tuple(replace(item, file="other.c") if item.name == "calls" else item for item in image.symbols)
    for program, rules in ((image, ["static"]), (replace(image, symbols=elsewhere), [])):
        assert [item.rule for item in check_image(program, [toy_plan()], Linked()).findings] == rules
