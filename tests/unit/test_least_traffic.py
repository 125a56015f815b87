"""The bound of benchmarks/levels.py, held against every tile shape and loop order tried one by one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import permutations, product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from support.forced import levels_platform
from support.single_node import single_node
from support.small_nodes import conv, kernel_of
from tilewright.graph import Graph
from tilewright.importers.onnx.recurrent import attributes_of_one_direction
from tilewright.tiling.footprint import moved_elements, plain_shape
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem, tiling_problem

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from least_of_both import Rooms, least_beside
from least_traffic import least_bytes

GRAPHS = {
    "padded": lambda: conv((1, 3, 7, 5), (4, 3, 3, 3), (7, 5), pads=(1, 1, 1, 1)),
    "strided": lambda: conv((1, 4, 7, 7), (3, 4, 1, 1), (4, 4), strides=(2, 2)),
}
ROOMS = (220, 400, 700, 1500, 5000)


def problem_of(graph: Graph) -> TilingProblem:
    platform = levels_platform(asynchronous=False, homes="l3")
    homes = dict.fromkeys(graph.tensors, platform.io_pool)
    return tiling_problem(graph, graph.nodes[0], kernel_of(graph), platform, homes)


def moved(problem: TilingProblem, steps: dict[str, int], order: tuple[str, ...], operands: list[TileOperand]) -> int:
    """Bytes of all loads and stores, counted while walking the tiles one by one."""
    counts = {name: -(-problem.extents[name] // steps[name]) for name in order}
    total = 0
    for operand in operands:
        inside = [name for name in order if name in operand.dimensions]
        tiles, loads, before = 1, 0, None
        for name in inside:
            tiles *= counts[name]
        for at in product(*(range(counts[name]) for name in order)):
            own = tuple(place for name, place in zip(order, at, strict=True) if name in operand.dimensions)
            loads += own != before
            before = own
        total += moved_elements(operand, steps, problem.extents) * operand.element_bytes * loads // tiles
    return total


def every_way(problem: TilingProblem) -> Iterator[tuple[dict[str, int], tuple[str, ...]]]:
    names = problem.cuttable
    for chosen in product(*(range(1, problem.extents[name] + 1) for name in names)):
        steps = {**problem.extents, **dict(zip(names, chosen, strict=True))}
        for order in permutations(name for name in names if name not in problem.reductions):
            yield steps, (*order, *(name for name in names if name in problem.reductions))


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_no_shape_and_no_order_moves_less(name: str) -> None:
    problem = problem_of(GRAPHS[name]())
    least: dict[tuple[int, int], int] = {}
    for steps, order in every_way(problem):
        for number in (0, 1):
            travels = [item for item in problem.operands if len(item.far_links) >= number]
            used = sum(size_of(item, steps) for item in travels) + (0 if number else problem.scratch_bytes(steps))
            bytes_moved = None
            for room in ROOMS:
                if used <= room:
                    bytes_moved = moved(problem, steps, order, travels) if bytes_moved is None else bytes_moved
                    least[number, room] = min(least.get((number, room), bytes_moved), bytes_moved)
    assert least
    reached = 0
    for number, room in product((0, 1), ROOMS):
        bound = least_bytes([problem], number, room)
        if (number, room) not in least:
            continue
        assert bound is not None
        assert bound <= least[number, room], (number, room)
        reached += bound == least[number, room]
    assert reached >= len(least) // 2, "a bound that is never reached would say little"


def size_of(operand: TileOperand, steps: dict[str, int]) -> int:
    elements = operand.element_bytes
    for extent in plain_shape(operand, steps):
        elements *= extent
    return elements


def test_points_of_a_sequence_come_in_order() -> None:
    """Where the matrices of a GRU of 6 steps do not fit, they travel for each step."""
    operands = [np.zeros(shape, np.float32) for shape in ((6, 1, 5), (1, 12, 5), (1, 12, 4), (1, 24))]
    attributes = attributes_of_one_direction(("Sigmoid", "Tanh", "Tanh"), backward=False, linear_before_reset=False)
    problem = problem_of(single_node("GRU", operands, attributes, (6, 1, 1, 4)))
    ample, scant = (least_bytes([problem], 0, room) for room in (1000, 300))
    assert ample is not None
    assert scant == ample + 5 * sum(array.nbytes for array in operands[1:])


PAIRS = 1000
DEEP = conv((1, 8, 4, 4), (8, 8, 1, 1), (4, 4))
FAR_ROOM, NEAR_ROOM = 700, 300


def test_no_pair_of_tiles_moves_less_beside_a_limit() -> None:
    """Pairs of a larger tile and tiles within it, drawn at random and walked tile by tile."""
    problem = problem_of(DEEP)
    random = Random(1)
    rooms = Rooms(FAR_ROOM, NEAR_ROOM)
    seen: list[tuple[int, int]] = []
    for _ in range(PAIRS):
        larger, smaller = drawn_steps(problem, random)
        if not fits(problem, larger, FAR_ROOM, 0) or not fits(problem, smaller, NEAR_ROOM, 1):
            continue
        outer, inner = (order_of(problem, random) for _ in range(2))
        seen.append((moved(problem, larger, outer, problem.operands), walked(problem, larger, smaller, outer, inner)))
    assert len(seen) >= 50
    limits = sorted({far for far, _ in seen})
    bounds = [least_beside([problem], rooms, limit) for limit in limits]
    for limit, bound in zip(limits, bounds, strict=True):
        assert bound is not None
        assert bound <= min(near for far, near in seen if far <= limit), limit
    assert bounds == sorted(bounds, key=lambda bound: -(bound or 0))
    assert bounds[-1] < bounds[0], "a limit that costs nothing would say little"
    assert least_beside([problem], rooms, limits[0] // 4) is None


def test_a_larger_tile_of_the_whole_leaves_the_least_of_the_near_link() -> None:
    problem = problem_of(DEEP)
    assert least_beside([problem], Rooms(100_000, NEAR_ROOM), 100_000) == least_bytes([problem], 0, NEAR_ROOM)


def drawn_steps(problem: TilingProblem, random: Random) -> tuple[dict[str, int], dict[str, int]]:
    """Steps of larger tiles, which are equal and cut no reduction, and steps within them that divide their own."""
    larger, smaller = dict(problem.extents), dict(problem.extents)
    for name in problem.cuttable:
        multiple = problem.kernel.multiples.get(name, 1)
        if name not in problem.reductions:
            larger[name] = random.choice(divisors(problem.extents[name], multiple))
        smaller[name] = random.choice(divisors(larger[name], multiple))
    return larger, smaller


def divisors(extent: int, multiple: int) -> list[int]:
    return [step for step in range(multiple, extent + 1, multiple) if extent % step == 0]


def fits(problem: TilingProblem, steps: dict[str, int], room: int, scratch: int) -> bool:
    return sum(size_of(item, steps) for item in problem.operands) + scratch * problem.scratch_bytes(steps) <= room


def order_of(problem: TilingProblem, random: Random) -> tuple[str, ...]:
    others = [name for name in problem.cuttable if name not in problem.reductions]
    return (*random.sample(others, len(others)), *(name for name in problem.cuttable if name in problem.reductions))


def walked(
    problem: TilingProblem,
    larger: dict[str, int],
    smaller: dict[str, int],
    outer: tuple[str, ...],
    inner: tuple[str, ...],
) -> int:
    """Bytes over the core's link: all smaller tiles of a larger one, then those of the next."""
    places = {name: range(0, problem.extents[name], smaller[name]) for name in problem.cuttable}
    points = [dict(zip(places, point, strict=True)) for point in product(*places.values())]
    points.sort(key=lambda at: (*(at[name] // larger[name] for name in outer), *(at[name] for name in inner)))
    total = 0
    for operand in problem.operands:
        seen = [tuple(at[name] for name in places if name in operand.dimensions) for at in points]
        loads = sum(now != before for now, before in zip(seen, [None, *seen], strict=False))
        total += moved_elements(operand, smaller, problem.extents) * operand.element_bytes * loads // len(set(seen))
    return total
