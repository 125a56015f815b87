"""What candidates cost at least, before kernel calls are priced: never more than they cost, and worth asking."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.nodes import node_of
from support.planned import far_platform
from support.small_nodes import conv, graph_of
from tilewright.graph import DType, Graph, variable
from tilewright.kernels.registry import choices
from tilewright.options import Buffering, Objective
from tilewright.platform import load_platform
from tilewright.tiling import choice as tile_choice
from tilewright.tiling.choice import TilingOptions, choose_tiles
from tilewright.tiling.field import candidate_fields, tile_counts
from tilewright.tiling.least_costs import calls_cycles, least_costs
from tilewright.tiling.orders import cheapest_orders
from tilewright.tiling.problem import TilingProblem, tiling_problem


def on_cluster(graph: Graph) -> TilingProblem:
    """The problem of the first kernel on eight cores."""
    platform = load_platform("pulp-open")
    kernel = choices(graph.nodes[0], graph, platform.target.kernels)[0]
    homes = dict.fromkeys(graph.tensors, "l2")
    return tiling_problem(graph, graph.nodes[0], kernel, platform, homes)


def on_one_core(graph: Graph) -> TilingProblem:
    homes = {name: "flash" if tensor.is_constant else "sram" for name, tensor in graph.tensors.items()}
    return tiling_problem(graph, graph.nodes[0], choices(graph.nodes[0], graph)[0], far_platform(20_000), homes)


def behind_two_links(graph: Graph) -> TilingProblem:
    """The problem of constants at home in l3, which reach l1 through l2, and tensors at home in l2."""
    homes = {name: "l3" if tensor.is_constant else "l2" for name, tensor in graph.tensors.items()}
    kernel = choices(graph.nodes[0], graph)[0]
    return tiling_problem(graph, graph.nodes[0], kernel, load_platform("qemu-virt-rv32-l3"), homes)


def quantized_conv() -> Graph:
    return conv((1, 16, 9, 9), (40, 16, 3, 3), (9, 9), quantized=True, pads=(1, 1, 1, 1))


def depthwise() -> Graph:
    return conv((1, 24, 12, 12), (24, 1, 3, 3), (10, 10), quantized=True, group=24)


def added() -> Graph:
    tensors = [variable(name, DType.FLOAT32, (4, 12, 20)) for name in ("x", "z", "y")]
    return graph_of(node_of("add", "Add", ("x", "z"), ("y",), {}), tensors)


GRAPHS = pytest.mark.parametrize("make", [quantized_conv, depthwise, added])
MACHINES = pytest.mark.parametrize("problem_of", [on_cluster, on_one_core])


@GRAPHS
@MACHINES
def test_no_candidate_costs_less(make: Callable[[], Graph], problem_of: Callable[[Graph], TilingProblem]) -> None:
    problem = problem_of(make())
    (field,) = candidate_fields(problem, [frozenset()])
    orders = cheapest_orders(problem, field.steps, field.counts)
    (least,) = least_costs(problem, field, [orders], Objective.CYCLES)
    assert field.size == len(least) > 20
    kernels = [
        tile_choice.cycles_of_calls(problem, steps, problem.core_split(steps)) for steps in candidates(field.steps)
    ]
    assert min(kernels) >= calls_cycles(problem) * 0.999
    copied = orders.cycles + tile_counts(field) * problem.costs.tile_cycles
    assert (least >= calls_cycles(problem) + copied - orders.cycles).all()
    assert (least <= np.asarray(kernels) + copied + problem.costs.layer_cycles).all()


def candidates(steps: dict[str, np.ndarray]) -> list[dict[str, int]]:
    return [dict(zip(steps, row, strict=True)) for row in np.stack(list(steps.values()), axis=1).tolist()]


@GRAPHS
@pytest.mark.parametrize("problem_of", [on_cluster, on_one_core, behind_two_links])
@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("room", [9_000, 60_000])
def test_the_same_tiles_as_from_all_candidates(
    make: Callable[[], Graph],
    problem_of: Callable[[Graph], TilingProblem],
    objective: Objective,
    room: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = TilingOptions(Buffering.AUTO, objective)
    some, all_of_them = problem_of(make()), problem_of(make())
    capacities = {"l1": room}
    found = choose_tiles(some, capacities, options)
    for shortcut in ("is_beaten", "is_outdone"):
        monkeypatch.setattr(tile_choice._Search, shortcut, lambda *_: False)
    assert choose_tiles(all_of_them, capacities, options) == found
    if objective is Objective.CYCLES and problem_of is on_cluster:
        assert len(some.known_cycles) < len(all_of_them.known_cycles)


@GRAPHS
def test_little_is_priced_where_all_fits_and_nothing_travels(make: Callable[[], Graph]) -> None:
    """All tiles move the same bytes there, so that none is better than the whole tensors."""
    graph = make()
    homes = {name: "flash" if tensor.is_constant else "l1" for name, tensor in graph.tensors.items()}
    kernel = choices(graph.nodes[0], graph)[0]
    problem = tiling_problem(graph, graph.nodes[0], kernel, far_platform(60_000), homes)
    assert choose_tiles(problem, {"l1": 60_000}, TilingOptions()).steps == problem.extents
    assert len(problem.known_cycles) <= 2
