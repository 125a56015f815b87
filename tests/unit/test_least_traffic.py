"""The bound of benchmarks/levels.py, held against every tile shape and loop order tried one by one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import permutations, product
from pathlib import Path

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
