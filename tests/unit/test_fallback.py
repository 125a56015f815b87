"""Pools in order of preference: the busiest buffers get the fast one, the rest falls back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tilewright.base.errors import TilewrightError
from tilewright.options import CompileOptions, Groups
from tilewright.pipeline import compile_model
from tilewright.plan import BufferKind, Plan

FIRMWARE = Path(__file__).parents[1] / "firmware"
NETWORKS = ("qdq_residual", "deeploy_residual")
GREEDY = ("greedy_by_size", "greedy_by_conflicts", "hill_climb")


def compiled(name: str, algorithm: str, *pools: str, platform: str = "fallback.toml") -> Plan:
    folder = FIRMWARE / "models" / name
    types = json.loads((folder / "types.json").read_text()) if (folder / "types.json").exists() else {}
    path = str(FIRMWARE / platform) if platform == "fallback.toml" else platform
    options = CompileOptions(folder / "network.onnx", path, "net", pools=pools, algorithm=algorithm)
    # In groups the networks would need so little that the fast memory held everything.
    return compile_model(replace(options, groups=Groups.OFF, types=tuple(types.items()))).plan


def access_cost(plan: Plan) -> int:
    """Bytes that kernels touch, weighed with the cycles of the pool where they lie."""
    cycles = dict(plan.core.access_cycles)
    pools = {item.buffer: item.pool for item in plan.placements}
    return sum(item.accessed_bytes * cycles[pools[item.name]] for item in plan.buffers if item.name in pools)


def used(plan: Plan) -> dict[str, int]:
    return {use.pool: use.used_bytes for use in plan.pool_use}


@pytest.mark.parametrize("name", NETWORKS)
def test_activations_in_a_tcm_of_60_percent_of_the_bound(name: str) -> None:
    """The size that tests/firmware/fallback.cmake gives to the firmware that runs in QEMU."""
    single = compiled(name, "exact", platform="qemu-virt-rv32-single")
    bound = next(use.lower_bound_bytes for use in single.pool_use if use.pool == "sram")
    size = bound * 60 // 100
    assert f"set(tcm_bytes {size})" in (FIRMWARE / "fallback.cmake").read_text()
    best = compiled(name, "exact", f"tcm={size}")
    assert 0 < used(best)["tcm"] <= size
    assert used(best)["sram"] > 0
    for algorithm in GREEDY:
        assert access_cost(best) <= access_cost(compiled(name, algorithm, f"tcm={size}")), algorithm


def test_a_large_enough_tcm_takes_everything() -> None:
    plan = compiled("qdq_residual", "exact")
    assert used(plan)["sram"] == 0


def test_everything_counts_in_the_cost() -> None:
    """Every buffer but inputs has accesses, and the cost is higher when buffers of tcm are moved to sram."""
    plan = compiled("qdq_residual", "exact", "tcm=7420")
    assert all(buffer.accessed_bytes > 0 for buffer in plan.buffers if buffer.kind is not BufferKind.INPUT)
    elsewhere = tuple(replace(item, pool="sram") if item.pool == "tcm" else item for item in plan.placements)
    assert access_cost(replace(plan, placements=elsewhere)) > access_cost(plan)


CYCLES = {"tcm": 1, "sram": 5, "rom": 1, "flash": 9}
HOLDS = {"tcm": ["intermediate", "scratch"], "sram": ["intermediate", "scratch", "input", "output"]}


def made(folder: Path, sizes: Mapping[str, int], cycles: Mapping[str, int] = CYCLES, algorithm: str = "exact") -> Plan:
    """The core addresses all four pools; tcm comes before sram, rom before flash."""
    access = ", ".join(f"{name} = {count}" for name, count in cycles.items())
    lines = ['name = "several"', "[target]", 'kernels = ["scalar"]', "[core]", f"access_cycles = {{ {access} }}"]
    lines += ["[io]", 'pool = "sram"']
    for name in CYCLES:
        holds = HOLDS.get(name, ["constant"])
        lines += ["[[pool]]", f'name = "{name}"', f"size_bytes = {sizes.get(name, 1 << 20)}"]
        lines += [f'access = "{"rw" if name in HOLDS else "ro"}"', f"holds = {json.dumps(holds)}"]
    platform = folder / "several.toml"
    platform.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return compiled("qdq_residual", algorithm, platform=str(platform))


def homes(plan: Plan, kind: BufferKind) -> dict[str, str]:
    kinds = {buffer.name: buffer.kind for buffer in plan.buffers}
    return {item.buffer: item.pool for item in plan.placements if kinds[item.buffer] is kind}


def test_constants_fall_back_over_read_only_pools(tmp_path: Path) -> None:
    everything = made(tmp_path, {})
    assert set(homes(everything, BufferKind.CONSTANT).values()) == {"rom"}
    sizes = {buffer.name: buffer.size_bytes for buffer in everything.buffers}
    largest = max(homes(everything, BufferKind.CONSTANT), key=lambda name: sizes[name])
    tight = made(tmp_path, {"rom": sizes[largest] - 1})
    where = homes(tight, BufferKind.CONSTANT)
    assert where[largest] == "flash"
    assert "rom" in where.values()


def test_the_cheaper_pool_wins_over_the_order(tmp_path: Path) -> None:
    plan = made(tmp_path, {}, {"tcm": 7, "sram": 5, "rom": 9, "flash": 1})
    assert set(homes(plan, BufferKind.INTERMEDIATE).values()) == {"sram"}
    assert set(homes(plan, BufferKind.CONSTANT).values()) == {"flash"}


def test_algorithms_of_tvm_go_by_the_order(tmp_path: Path) -> None:
    plan = made(tmp_path, {}, {"tcm": 7, "sram": 5, "rom": 9, "flash": 1}, algorithm="greedy_by_size")
    assert set(homes(plan, BufferKind.INTERMEDIATE).values()) == {"tcm"}


def test_the_smallest_pool_that_works_is_named_beside_a_full_one(tmp_path: Path) -> None:
    """Both pools are too small; the error names one, and the size that works with the other as it is."""
    both = made(tmp_path, {})
    need = sum(used(both)[pool] for pool in ("tcm", "sram"))
    with pytest.raises(TilewrightError) as caught:
        made(tmp_path, {"tcm": need // 4, "sram": need // 4})
    error = caught.value
    pool, _, size = error.help[0].split("POOLS ")[1].split()[0].partition("=")
    assert pool in ("tcm", "sram")
    assert f"pool '{pool}' needs {int(size):,} bytes" in error.what
    fixed = {"tcm": need // 4, "sram": need // 4}
    made(tmp_path, {**fixed, pool: int(size)})
    with pytest.raises(TilewrightError):
        made(tmp_path, {**fixed, pool: int(size) - 1})
