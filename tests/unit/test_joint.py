"""Tiles chosen together with the homes in their pools."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from support.nodes import node_of
from support.planned import NEAR_KINDS, far_platform, plan_of, planned
from support.small_nodes import conv
from tilewright.base.errors import TilewrightError
from tilewright.check import check
from tilewright.graph import DType, Graph, constant, variable
from tilewright.plan import Access, BufferKind, Pool
from tilewright.platform.types import Platform
from tilewright.report.text import report_text
from tilewright.tiling.joint import Candidate, Resident, choose_jointly


def brute_force(
    operators: list[list[Candidate]], residents: list[Resident], capacities: dict[str, int | None]
) -> int | None:
    """The least cost of all combinations that fit."""
    best = None
    for ways in product(*operators):
        for homes in product(*(resident.pools for resident in residents)):
            fits = all(
                capacity is None
                or way.near_bytes.get(pool, 0)
                + sum(
                    resident.size_bytes
                    for resident, (home, _) in zip(residents, homes, strict=True)
                    if home == pool and resident.first <= step <= resident.last
                )
                <= capacity
                for step, way in enumerate(ways)
                for pool, capacity in capacities.items()
            )
            cost = sum(way.cost for way in ways) + sum(cost for _, cost in homes)
            if fits and (best is None or cost < best):
                best = cost
    return best


@pytest.mark.parametrize("seed", range(12))
def test_choices_are_the_cheapest(seed: int) -> None:
    generator = np.random.default_rng(seed)
    operators = [
        [Candidate({"l1": int(size)}, int(100 + 400 / size)) for size in generator.integers(1, 12, 3)] for _ in range(4)
    ]
    residents = []
    for _ in range(4):
        first = int(generator.integers(0, 4))
        pools = (("l1", 0), ("l2", int(generator.integers(1, 60))))
        residents.append(Resident(int(generator.integers(1, 8)), pools, first, min(3, first + 1)))
    capacities = {"l1": int(generator.integers(4, 16)), "l2": 20, "l3": None}
    found = choose_jointly(operators, residents, capacities)
    wanted = brute_force(operators, residents, capacities)
    assert (found.cost if found is not None else None) == wanted
    if found is not None:
        assert found.bound == found.cost
        assert found == choose_jointly(operators, residents, capacities)


def chain(channels: int = 8, size: int = 12, layers: int = 3) -> Graph:
    """Pointwise convolutions of one map."""
    tensors = {"x": variable("x", DType.FLOAT32, (1, channels, size, size))}
    nodes = []
    attributes = {"strides": (1, 1), "dilations": (1, 1), "pads": (0,) * 4, "group": 1}
    for number in range(layers):
        weights = np.full((channels, channels, 1, 1), number, np.float32)
        tensors[f"w{number}"] = constant(f"w{number}", weights)
        target = f"t{number}"
        tensors[target] = variable(target, DType.FLOAT32, (1, channels, size, size))
        source = f"t{number - 1}" if number else "x"
        values = {**attributes, "x_zero_point": 0, "w_zero_point": (0,)}
        nodes.append(node_of(f"conv{number}", "Conv", (source, f"w{number}"), (target,), values, weights=weights))
    return Graph("chain", tuple(nodes), tensors, ("x",), (f"t{layers - 1}",))


def shared_platform(l1_bytes: int, l2_bytes: int) -> Platform:
    """The core addresses l1 and l2; intermediates live in either, tiles of constants in l1."""
    platform = far_platform(l1_bytes, reach=("l1", "l2", "sram"))
    l1, sram, flash = platform.pools
    l1 = replace(l1, holds=(*l1.holds, BufferKind.INTERMEDIATE))
    l2 = Pool("l2", l2_bytes, 16, 1, 0, Access.READ_WRITE, (BufferKind.INTERMEDIATE,))
    sram = replace(sram, holds=(BufferKind.INPUT, BufferKind.OUTPUT))
    core = replace(platform.core, access_cycles=(("l1", 1), ("l2", 5), ("sram", 5)))
    return replace(platform, pools=(l1, l2, sram, flash), core=core)


def test_homes_with_one_pool_leave_tiles_the_rest() -> None:
    """Tiles and homes share one pool, which cannot hold the best tiles beside the homes."""
    near = Pool("l1", None, 16, 1, 0, Access.READ_WRITE, (*NEAR_KINDS, BufferKind.INTERMEDIATE))
    platform, graph = far_platform(None), chain(layers=2)
    free = planned(graph, replace(platform, pools=(near, *platform.pools[1:])))
    assert free.tiling is not None
    assert free.tiling.cost == free.tiling.bound
    for less in (200, 1000, 3000):
        near = replace(near, size_bytes=free.pool_use[0].used_bytes - less)
        small = replace(platform, pools=(near, *platform.pools[1:]))
        found = planned(graph, small)
        assert check(plan_of(graph, small, found)) == []
        assert found.tiling is not None
        assert found.tiling.cost >= found.tiling.bound > free.tiling.cost


def test_homes_with_a_choice_are_decided_with_the_tiles() -> None:
    graph = chain(channels=24, size=8)
    sizes = [use.used_bytes for use in planned(graph, shared_platform(1 << 20, 1 << 20)).pool_use]
    for l1 in (sizes[0] - 256, sizes[0] // 2, sizes[0] // 3):
        platform = shared_platform(l1, 1 << 14)
        found = planned(graph, platform)
        assert check(plan_of(graph, platform, found)) == []
        assert found.tiling is not None
        assert found.tiling.cost >= found.tiling.bound > 0


def test_what_cannot_work_is_still_refused() -> None:
    with pytest.raises(TilewrightError, match="needs"):
        planned(chain(), shared_platform(64, 128))


def test_the_solver_is_left_alone_where_nothing_is_shared() -> None:
    script = (
        "import sys\n"
        "sys.path[:0] = sys.argv[1:]\n"
        "from support.planned import NEAR_KINDS, far_platform, planned\n"
        "from support.small_nodes import conv\n"
        "found = planned(conv((1, 4, 9, 9), (8, 4, 3, 3), (7, 7)), far_platform(2500))\n"
        "assert found.tiling.cost == found.tiling.bound\n"
        "assert not any(name.split('.')[0] == 'ortools' for name in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, *sys.path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_reports_say_how_good_tiles_are() -> None:
    graph, platform = conv((1, 4, 9, 9), (8, 4, 3, 3), (7, 7)), far_platform(2500)
    found = planned(graph, platform)
    plan = replace(plan_of(graph, platform, found), tiling=found.tiling)
    assert "cycles, the least of all tiles tried" in report_text(plan)
    assert found.tiling is not None
    worse = replace(plan, tiling=replace(found.tiling, bound=found.tiling.cost - 1))
    assert "above the bound" in report_text(worse)
    assert "Layers\n" in report_text(replace(plan, tiling=None))
