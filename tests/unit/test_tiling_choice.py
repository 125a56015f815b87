"""The choice of tiles: cheapest by brute force, objectives, strategies, buffering, bounds on work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import permutations, product
from math import ceil, prod

import numpy as np
import pytest
from support.counted_costs import cost, link_cost, shape_of
from support.nodes import node_of
from support.planned import far_platform
from support.small_nodes import conv, graph_of
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.graph import DType, Graph, packed_strides_bytes, variable
from tilewright.kernels.kernel import KernelChoice
from tilewright.kernels.registry import choices
from tilewright.operators.nest import AxisMap, axis_range, is_exact, tile_extent
from tilewright.options import Buffering, Objective, Strategy
from tilewright.plan import BufferKind
from tilewright.plan.copies import copy_commands
from tilewright.platform.types import Platform
from tilewright.tiling.candidates import MAXIMUM_CANDIDATES, candidate_steps, even_steps
from tilewright.tiling.choice import SHORTLIST, TilingOptions, choose_tiles
from tilewright.tiling.cost import load_cycles, start_and_line_cycles
from tilewright.tiling.footprint import moved_elements, needed_elements
from tilewright.tiling.kernel_choice import cheapest_kernel
from tilewright.tiling.layer_facts import layer_facts
from tilewright.tiling.orders import cheapest_orders
from tilewright.tiling.preference import NEARLY_AS_FAST
from tilewright.tiling.problem import TilingProblem, tiling_problem

CAPACITY = 4000


def problem_of(graph: Graph, platform: Platform | None = None) -> TilingProblem:
    """The problem of the first kernel that allows channels to be cut."""
    homes = {name: "flash" if tensor.is_constant else "sram" for name, tensor in graph.tensors.items()}
    kernel = next(choice for choice in choices(graph.nodes[0], graph) if "oc" not in choice.uncut)
    return tiling_problem(graph, graph.nodes[0], kernel, platform or far_platform(CAPACITY), homes)


def small_conv() -> Graph:
    return conv((1, 6, 8, 8), (12, 6, 3, 3), (8, 8), pads=(1, 1, 1, 1))


def grouped_conv() -> Graph:
    return conv((2, 4, 5, 5), (8, 2, 3, 3), (3, 3), group=2)


def quantized_conv() -> Graph:
    return conv((1, 16, 9, 9), (40, 16, 3, 3), (4, 4), quantized=True, strides=(2, 2))


def skipping_conv() -> Graph:
    return conv((1, 4, 16, 16), (8, 4, 1, 1), (8, 8), strides=(2, 2))


def reduced(problem: TilingProblem) -> TilingProblem:
    """As if the kernel could be called part by part of its input channels."""
    extents = problem.extents
    (written,) = problem.kernel.writes

    def partial_bytes(steps: Mapping[str, int]) -> int:
        return 4 * prod(tile_extent(axis_range(axis, 1 << 20, {}), steps) for axis in written.axes)

    kernel = replace(problem.kernel, uncut=problem.kernel.uncut - {"ic"}, partial_bytes=partial_bytes)
    assert extents["ic"] > 1
    return replace(problem, kernel=kernel)


def added() -> Graph:
    tensors = [variable("x", DType.FLOAT32, (4, 12, 20)), variable("z", DType.FLOAT32, (4, 1, 20))]
    tensors.append(variable("y", DType.FLOAT32, (4, 12, 20)))
    return graph_of(node_of("add", "Add", ("x", "z"), ("y",), {}), tensors)


def steps_of(extent: int, multiple: int) -> list[int]:
    """Evenly filled tiles, however many."""
    even = [ceil(extent / tiles) for tiles in range(1, extent + 1)]
    return sorted({min(ceil(step / multiple) * multiple, extent) for step in even})


def ways(problem: TilingProblem) -> Iterator[tuple[dict[str, int], tuple[str, ...]]]:
    """Every combination of steps whose writes are exact, with every order of the cut dimensions."""
    choices = [steps_of(problem.extents[name], problem.kernel.multiples.get(name, 1)) for name in problem.cuttable]
    for combination in product(*choices):
        steps = {**problem.extents, **dict(zip(problem.cuttable, combination, strict=True))}
        if all(is_exact(axis_range(axis, extent, {}), steps) for axis, extent in written_axes(problem)):
            yield from ((steps, order) for order in permutations(cut(problem, steps)) if is_legal(problem, order))


def is_legal(problem: TilingProblem, order: tuple[str, ...]) -> bool:
    """Partial results are those of one output tile: reductions stand innermost."""
    flags = [name in problem.reductions for name in order]
    return flags == sorted(flags)


def written_axes(problem: TilingProblem) -> Iterator[tuple[AxisMap, int]]:
    for operand in problem.operands:
        if operand.write:
            yield from zip(operand.axes, operand.extents, strict=True)


def cut(problem: TilingProblem, steps: Mapping[str, int]) -> list[str]:
    return [name for name in problem.cuttable if steps[name] < problem.extents[name]]


NODES = pytest.mark.parametrize("make", [small_conv, grouped_conv, quantized_conv, added])


@NODES
@pytest.mark.parametrize("limits", [(2, 0), (1, 50)])
def test_the_choice_is_the_cheapest_of_all(make: Callable[[], Graph], limits: tuple[int, int]) -> None:
    problem = limited(problem_of(make()), *limits)
    costs = [found for steps, order in ways(problem) if (found := cost(problem, steps, order))[2] <= CAPACITY]
    for number, objective in enumerate(Objective):
        choice = choose_tiles(problem, {"l1": CAPACITY}, TilingOptions(objective=objective))
        own = cost(problem, choice.steps, choice.order)
        assert own[2] == choice.near_bytes["l1"] <= CAPACITY, objective
        assert round(own[0]) == choice.predicted_cycles, objective
        if objective is Objective.CYCLES:
            fastest = min(costs)
            assert own[0] <= fastest[0] * NEARLY_AS_FAST
            assert own[1] <= fastest[1]
        else:
            assert own[number] == pytest.approx(min(found[number] for found in costs), rel=1e-9), objective
        assert max(found[number] for found in costs) > own[number], objective
        assert dict_total(layer_facts(problem, choice).link_bytes) == own[1], objective


def test_the_kernel_that_moves_the_fewest_bytes_is_taken_where_these_are_minimised() -> None:
    frugal = problem_of(small_conv())
    declared = replace(frugal.kernel.kernel, symbol="greedy", scratch=lambda choice, steps: {"scratch": CAPACITY // 2})
    greedy = replace(frugal, kernel=replace(frugal.kernel, kernel=declared))
    options = TilingOptions(objective=Objective.BYTES_MOVED)
    moved = [choose_tiles(problem, {"l1": CAPACITY}, options).cost for problem in (greedy, frugal)]
    assert moved[1] < moved[0]
    for ways in ([greedy, frugal], [frugal, greedy]):
        assert cheapest_kernel(ways, {"l1": CAPACITY}, options).problem is frugal
        # Where both move as few, the first of them stands.
        assert cheapest_kernel(ways, {"l1": 1 << 16}, options).problem is ways[0]


def test_reductions_are_cut_where_that_is_cheapest() -> None:
    problem = reduced(problem_of(conv((1, 24, 6, 6), (8, 24, 1, 1), (6, 6))))
    options = TilingOptions(objective=Objective.BYTES_USED)
    choice = choose_tiles(problem, {"l1": CAPACITY}, options)
    costs = [cost(problem, steps, order) for steps, order in ways(problem)]
    assert choice.order[-1] == "ic"
    assert cost(problem, choice.steps, choice.order)[2] == min(found[2] for found in costs)
    whole = replace(problem, kernel=replace(problem.kernel, partial_bytes=None))
    assert choose_tiles(whole, {"l1": CAPACITY}, options).near_bytes["l1"] > choice.near_bytes["l1"]
    cheapest = choose_tiles(problem, {"l1": choice.near_bytes["l1"] + 40}, TilingOptions())
    fitting = [found[0] for found in costs if found[2] <= choice.near_bytes["l1"] + 40]
    assert cheapest.predicted_cycles == round(min(fitting))


def dict_total(pairs: tuple[tuple[str, int], ...]) -> int:
    return sum(value for _, value in pairs)


def test_tiles_of_one_row_skip_the_rows_that_a_stride_skips() -> None:
    problem = problem_of(skipping_conv())
    choice = choose_tiles(problem, {"l1": 2000}, TilingOptions(objective=Objective.BYTES_MOVED))
    assert choice.steps["oh"] == 1
    x, row = problem.operands[0], 4 * 16 * 4
    assert needed_elements(x, problem.cuttable, problem.extents) * x.element_bytes == x.size_bytes // 4
    assert moved_elements(x, choice.steps, problem.extents) * x.element_bytes <= 8 * row


def test_a_worse_order_costs_more() -> None:
    problem = problem_of(small_conv())
    choice = choose_tiles(problem, {"l1": 2500}, TilingOptions())
    assert set(choice.order) > {"oc"}
    assert cost(problem, choice.steps, choice.order[::-1])[0] > choice.predicted_cycles


@pytest.mark.parametrize("extent", [1, 2, 7, 12, 97, 360])
@pytest.mark.parametrize("multiple", [1, 4])
def test_steps_fill_tiles_evenly(extent: int, multiple: int) -> None:
    assert sorted(even_steps(extent, multiple)) == steps_of(extent, multiple)


def limited(problem: TilingProblem, dimensions: int, max_bytes: int) -> TilingProblem:
    """The problem with links of other limits."""
    operands = tuple(
        replace(operand, link=replace(operand.link, dimensions=dimensions, max_bytes=max_bytes))
        for operand in problem.operands
        if operand.link is not None
    )
    return replace(problem, operands=operands)


@NODES
@pytest.mark.parametrize(("dimensions", "max_bytes"), [(2, 0), (1, 0), (2, 40), (1, 12), (3, 100)])
def test_lines_and_commands_are_those_of_the_copies(make: Callable[[], Graph], dimensions: int, max_bytes: int) -> None:
    problem = limited(problem_of(make()), dimensions, max_bytes)
    steps = candidate_steps(problem)
    for operand in problem.operands:
        cycles = np.broadcast_to(load_cycles(operand, steps), steps["n" if "n" in steps else "d0"].shape)
        for number in range(len(cycles)):
            shape = shape_of(operand, {name: int(array[number]) for name, array in steps.items()})
            home = packed_strides_bytes(operand.extents, operand.order, operand.element_bytes)
            tile = packed_strides_bytes(shape, operand.order, operand.element_bytes)
            copied = copy_commands(shape, home, tile, operand.element_bytes)
            assert cycles[number] == link_cost(operand, *copied), (operand.name, shape)


def test_a_link_that_takes_a_line_at_a_time_gets_longer_lines() -> None:
    problem = problem_of(added())
    columns = choose_tiles(problem, {"l1": 3000}, TilingOptions())
    planes = choose_tiles(limited(problem, 1, 0), {"l1": 3000}, TilingOptions())
    assert (columns.order, planes.order) == (("d1",), ("d0",))
    assert layer_facts(problem, columns).link_bytes == layer_facts(problem, planes).link_bytes


def test_buffering() -> None:
    problem, waiting = problem_of(added()), problem_of(added(), far_platform(CAPACITY, asynchronous=True))
    single = choose_tiles(problem, {"l1": CAPACITY}, TilingOptions(Buffering.SINGLE))
    double = choose_tiles(problem, {"l1": CAPACITY}, TilingOptions(Buffering.DOUBLE))
    assert set(single.copies) == {1}
    assert 2 in double.copies
    for operand, copies in zip(problem.operands, double.copies, strict=True):
        changes = operand.dimensions & set(double.order)
        assert copies == (2 if changes else 1)
    assert choose_tiles(problem, {"l1": CAPACITY}, TilingOptions()) == single
    overlapped = choose_tiles(waiting, {"l1": CAPACITY}, TilingOptions())
    assert overlapped.predicted_cycles < single.predicted_cycles
    assert 2 in overlapped.copies
    used = choose_tiles(waiting, {"l1": CAPACITY}, TilingOptions(objective=Objective.BYTES_USED))
    assert set(used.copies) == {1}


def test_a_store_and_the_next_load_take_place_at_once() -> None:
    """Loads but the first run beside stores but the last; with a second slot on one side alone, none does."""
    shape = (8, 40)
    tensors = [variable("x", DType.FLOAT32, shape), variable("y", DType.FLOAT32, shape)]
    graph = graph_of(node_of("clip", "Clip", ("x",), ("y",), {"minimum": 0.0, "maximum": 6.0}), tensors)
    steps = {"d0": np.array([2]), "d1": np.array([40])}
    counts = {"d0": np.array([4]), "d1": np.array([1])}

    def cycles(*doubled: int, asynchronous: bool = True) -> float:
        problem = problem_of(graph, far_platform(CAPACITY, asynchronous=asynchronous))
        return float(cheapest_orders(problem, steps, counts, doubled=frozenset(doubled)).cycles[0])

    problem = problem_of(graph)
    copied = sum(4 * start_and_line_cycles(item, steps)[1] + 8 * 40 for item in problem.operands) / 2
    assert cycles(asynchronous=False) - cycles() == pytest.approx(float(copied[0]) * 3 / 4)
    assert cycles(0) == cycles(1) == cycles(0, 1) == cycles(asynchronous=False)


def test_strategies() -> None:
    problem = problem_of(small_conv())
    least = choose_tiles(problem, {"l1": CAPACITY}, TilingOptions(strategy=Strategy.MIN))
    assert all(least.steps[name] == problem.kernel.multiples.get(name, 1) for name in problem.cuttable)
    most = choose_tiles(problem, {"l1": CAPACITY}, TilingOptions(strategy=Strategy.MAX))
    fitting = [steps for steps, order in ways(problem) if cost(problem, steps, order)[2] <= CAPACITY]
    assert most.steps == max(fitting, key=lambda steps: [steps[name] for name in problem.cuttable])
    anything = TilingOptions(strategy=Strategy.RANDOM_MAX)
    random = choose_tiles(problem, {"l1": CAPACITY}, anything)
    assert random == choose_tiles(problem, {"l1": CAPACITY}, anything)
    assert random.near_bytes["l1"] <= CAPACITY
    cheapest = choose_tiles(problem, {"l1": CAPACITY}, TilingOptions())
    assert cheapest.predicted_cycles <= min(found.predicted_cycles for found in (least, most, random))


def split_platform(l1: int, l0: int) -> Platform:
    """Scratch has a pool of its own."""
    platform = far_platform(l1, reach=("l1", "l0"))
    near = replace(platform.pools[0], holds=(BufferKind.TILE,))
    scratch = replace(near, name="l0", size_bytes=l0, holds=(BufferKind.SCRATCH,))
    return replace(platform, pools=(near, scratch, *platform.pools[1:]))


def test_overflow_names_the_pool_that_is_too_small() -> None:
    problem = problem_of(small_conv(), split_platform(CAPACITY, 4))
    with pytest.raises(TilewrightError) as caught:
        choose_tiles(problem, {"l1": CAPACITY, "l0": 4}, TilingOptions())
    error = caught.value
    assert (error.code, error.status) == ("tile-overflow", ExitStatus.DOES_NOT_FIT)
    needed = problem.scratch_bytes({**problem.extents, **dict.fromkeys(problem.cuttable, 1)})
    assert f"pool 'l0' needs {needed:,} bytes for the smallest tiles, have 4" in error.what
    assert error.help == (f"POOLS l0={needed} is the smallest that works for this operator",)
    assert choose_tiles(problem, {"l1": CAPACITY, "l0": needed}, TilingOptions()).near_bytes["l0"] == needed
    with pytest.raises(TilewrightError, match="other pools are too small as well"):
        choose_tiles(problem, {"l1": 4, "l0": 4}, TilingOptions())


def test_strided_reads_are_compulsory_only_where_they_are_needed() -> None:
    tensors = [variable("x", DType.FLOAT32, (1, 1, 9)), variable("y", DType.FLOAT32, (1, 1, 3))]
    attributes = {"kernel": (1,), "strides": (4,), "dilations": (1,), "pads": (0, 0)}
    problem = problem_of(graph_of(node_of("pool", "MaxPool", ("x",), ("y",), attributes), tensors))
    facts = layer_facts(problem, choose_tiles(problem, {"l1": None}, TilingOptions()))
    assert dict(facts.compulsory_link_bytes) == {"sram->l1": 12, "l1->sram": 12}
    assert dict(facts.link_bytes)["sram->l1"] == 36


@pytest.mark.parametrize(
    "graph",
    [
        conv((1, 64, 32, 32), (64, 64, 3, 3), (32, 32), pads=(1, 1, 1, 1)),
        conv((1, 64, 56, 56), (256, 64, 1, 1), (56, 56), quantized=True),
    ],
    ids=["float", "int8"],
)
def test_work_is_bounded(graph: Graph) -> None:
    """Counted in calls of the kernel's cost, since a clock depends on the machine."""
    problem = problem_of(graph, far_platform(65536, asynchronous=True))
    calls = 0

    def cycles(choice: KernelChoice, steps: Mapping[str, int]) -> float:
        nonlocal calls
        calls += 1
        return float(steps["oh"])

    declared = replace(problem.kernel.kernel, cycles=cycles)
    counted = replace(problem, kernel=replace(problem.kernel, kernel=declared))
    choose_tiles(counted, {"l1": 65536}, TilingOptions())
    # Three cut dimensions have at most eight shapes of tiles.
    assert 0 < calls <= 2 * SHORTLIST * 8


def test_candidates_are_thinned_but_keep_the_smallest_and_largest() -> None:
    shape = (30, 40, 50, 60)
    tensors = [variable("x", DType.FLOAT32, shape), variable("y", DType.FLOAT32, shape)]
    problem = problem_of(graph_of(node_of("clip", "Clip", ("x",), ("y",), {"minimum": 0.0, "maximum": 6.0}), tensors))
    steps = candidate_steps(problem)
    assert len(steps["d0"]) <= MAXIMUM_CANDIDATES < prod(len(even_steps(extent, 1)) for extent in shape)
    for axis, extent in enumerate(shape):
        assert (int(steps[f"d{axis}"].min()), int(steps[f"d{axis}"].max())) == (1, extent)
