"""From a log to the profile as JSON, and the profile's place in plan and C."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from support.firmware import build_host, needs_host_compiler
from support.planned import far_platform, plan_of, planned
from support.small_nodes import conv
from support.spoilt_profile import profiled
from tilewright.base.errors import TilewrightError
from tilewright.check import check
from tilewright.plan import BufferKind, Placement, PoolUse
from tilewright.platform import load_platform
from tilewright.schedule.profile_buffer import guard_record, profile_buffer
from tilewright.tools.golden import _ranges
from tilewright.tools.measurements import profile_json

PLAN = profiled()
QEMU = load_platform("qemu-virt-rv32")
HEAD = f"profile {PLAN.name} instructions   in kernels      waiting bytes copied         MACs  layer"


def row(cycles: int, macs: int, name: str) -> str:
    return f"profile {PLAN.name} {cycles:>12} {cycles - 20:>12} {7:>12} {64:>12} {macs:>12}  {name}"


def table(*cycles: int) -> list[str]:
    rows = [row(number, layer.macs, layer.name) for number, layer in zip(cycles, PLAN.layers, strict=True)]
    return [HEAD, *rows, row(sum(cycles), 0, "(all layers)")]


def test_measured_stands_beside_predicted() -> None:
    model = json.loads(profile_json(PLAN, QEMU, ["pool l1: 3", *table(100, 200), "golden: pass"]))
    assert [layer["cycles"] for layer in model["layers"]] == [100, 200]
    assert model["cycles"] == 300
    assert [layer["predicted_cycles"] for layer in model["layers"]] == [item.predicted_cycles for item in PLAN.layers]
    first = model["layers"][0]
    assert (first["kernel_cycles"], first["wait_cycles"], first["copied_bytes"]) == (80, 7, 64)


def test_unit_and_platform_are_told_and_the_last_table_counts() -> None:
    content = json.loads(profile_json(PLAN, QEMU, [*table(100, 200), *table(90, 180)]))
    assert (content["platform"], content["counter"]) == ("qemu-virt-rv32", "instructions")
    assert content["cycles"] == 270


@pytest.mark.parametrize(
    "lines",
    [
        [],
        table(100, 200)[:-1],
        table(100, 200)[:2] + table(100, 200)[3:],
        [line.replace(" 64 ", " 6x ") for line in table(1, 2)],
    ],
)
def test_a_table_that_is_missing_or_of_other_layers_is_refused(lines: list[str]) -> None:
    with pytest.raises(TilewrightError) as error:
        profile_json(PLAN, QEMU, lines)
    assert error.value.code == "profile-lines"


def test_the_buffer_is_where_the_caller_can_read() -> None:
    buffer = profile_buffer("profile", 3, QEMU)
    assert (buffer.pools, buffer.size_bytes) == ((QEMU.io_pool,), 48)
    without = replace(
        QEMU,
        pools=tuple(replace(p, holds=tuple(k for k in p.holds if k is not BufferKind.STATE)) for p in QEMU.pools),
    )
    with pytest.raises(TilewrightError) as error:
        profile_buffer("profile", 3, without)
    assert error.value.code == "no-profile-pool"
    with pytest.raises(TilewrightError) as error:
        guard_record("guard_record", without)
    assert error.value.code == "no-guards-pool"


@pytest.mark.parametrize(
    ("offset", "used", "expected"),
    [
        (192, 224, [("start", "192u")]),
        (0, 224, [("start + 32u", "192u")]),
        (64, 224, [("start", "64u"), ("start + 96u", "128u")]),
    ],
)
def test_watched_memory_leaves_the_profile_out(offset: int, used: int, expected: list[tuple[str, str]]) -> None:
    placements = tuple(
        Placement(item.buffer, item.pool, offset) if item.buffer == "profile" else item for item in PLAN.placements
    )
    plan = replace(PLAN, placements=placements, pool_use=(PoolUse("sram", used, used, True),))
    assert _ranges(plan, next(pool for pool in plan.pools if pool.name == "sram"), "start") == expected


MAIN = r"""
#include <stdio.h>
#include <tilewright/profile.h>

static void put(const char *text, void *argument)
{
    fputs(text, (FILE *)argument);
}

int main(void)
{
    const struct tilewright_profile_layer layers[] = {{"conv one", 4000000000u}, {"relu", UINT64_MAX}};
    const struct tilewright_profile measured[] = {{4294967295u, 1u, 0u, 12u}, {1u, 0u, 0u, 0u}};
    tilewright_profile_print("net", "cycles", layers, measured, 2u, put, stdout);
    return 0;
}
"""


@needs_host_compiler
def test_c_prints_numbers_of_any_size(tmp_path: Path) -> None:
    from tilewright.base.resources import runtime_dir

    source = tmp_path / "main.c"
    source.write_text(MAIN, encoding="utf-8")
    program = build_host([source, runtime_dir() / "profile.c"], tmp_path / "main")
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["profile", "net", "4294967295", "1", "0", "12", "4000000000", "conv", "one"],
        ["profile", "net", "1", "0", "0", "0", "18446744073709551615", "relu"],
        ["profile", "net", "4294967296", "1", "0", "12", "3999999999", "(all", "layers)"],
    ]
    assert lines[0].split()[:3] == ["profile", "net", "cycles"]


def test_a_profiled_plan_has_a_record_for_each_layer() -> None:
    graph = conv((1, 3, 8, 8), (4, 3, 3, 3), (6, 6))
    platform = far_platform(None)
    plan = plan_of(graph, platform, planned(graph, platform, profile=True))
    plain = plan_of(graph, platform, planned(graph, platform))
    assert check(plan) == []
    assert plan.profile is not None
    (records,) = (buffer for buffer in plan.buffers if buffer.name == plan.profile)
    assert records.size_bytes == 16 * len(plan.layers)
    assert [layer.tile for layer in plan.layers] == [layer.tile for layer in plain.layers]
    assert plain.profile is None
