"""Parts of a kernel's predicted cycles that platforms weigh by themselves, and what rings of rows cost kernels."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import pytest
from support.nodes import node_of
from support.planned import far_platform, planned
from support.small_nodes import conv, graph_of, kernel_of, problem_of
from tilewright.graph import DType, Graph, channels_last_order, constant, variable
from tilewright.kernels.kernel import HEIGHT, WIDTH
from tilewright.options import Objective
from tilewright.platform.costs import Costs, KernelCost
from tilewright.schedule.building import Schedule

CONVOLUTIONS = {
    "conv_f32": conv((1, 8, 9, 7), (12, 8, 1, 1), (9, 7)),
    "conv_rows_f32": conv((1, 8, 9, 7), (12, 8, 3, 3), (9, 7), pads=(1, 1, 1, 1)),
}


def depthwise() -> Graph:
    return conv((1, 4, 120, 5), (4, 1, 3, 3), (120, 5), group=4, pads=(1, 1, 1, 1))


def transposed() -> Graph:
    """2x2 windows at stride 2: 16 columns of 4 channels from 8 columns."""
    order, weights = channels_last_order(4), np.ones((4, 4, 2, 2), np.float32)
    windows = {"strides": (2, 2), "dilations": (1, 1), "pads": (0, 0, 0, 0), "group": 1}
    node = node_of("up", "ConvTranspose", ("x", "w", "b"), ("y",), windows, weights=weights)
    tensors = [
        replace(variable("x", DType.FLOAT32, (1, 4, 3, 8)), order=order),
        constant("w", weights),
        constant("b", np.zeros(4, np.float32)),
        replace(variable("y", DType.FLOAT32, (1, 4, 6, 16)), order=order),
    ]
    return graph_of(node, tensors)


def has_ring(schedule: Schedule) -> bool:
    return any(buffer.ring_axis is not None for buffer in schedule.buffers)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_parts_are_less_than_the_whole(name: str) -> None:
    kernel = kernel_of(CONVOLUTIONS[name])
    assert kernel.symbol == f"tilewright_{name}"
    steps = {dimension.name: dimension.extent for dimension in kernel.nest.dimensions}
    parts = kernel.parts(steps, None)
    assert parts.lone > 0.0
    assert parts.loops > 0.0
    assert parts.ring == 0.0
    assert parts.lone + parts.loops < kernel.cycles(steps)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_weights_multiply_parts_alone(name: str) -> None:
    problem = problem_of(CONVOLUTIONS[name], far_platform(1 << 20))
    plain, parts = problem.work(problem.extents, None), problem.kernel.parts(problem.extents, None)
    assert plain == problem.kernel.cycles(problem.extents)
    costs = Costs(kernels=((name, KernelCost(lone_weight=0.5, loops_weight=3.0)),))
    weighed = replace(problem, costs=costs).work(problem.extents, None)
    assert weighed == pytest.approx(plain - 0.5 * parts.lone + 2.0 * parts.loops)


def test_each_element_of_a_result_costs_besides() -> None:
    name = "conv_rows_f32"
    problem = problem_of(CONVOLUTIONS[name], far_platform(1 << 20))
    (result,) = (operand for operand in problem.operands if operand.write)
    costs = Costs(kernels=((name, KernelCost(element_cycles=2.5)),))
    weighed = replace(problem, costs=costs)
    plain = problem.kernel_cycles(problem.extents, None)
    assert weighed.kernel_cycles(problem.extents, None) == plain + 2.5 * prod(result.extents)
    row = {**problem.extents, "oh": 1}
    besides = weighed.kernel_cycles(row, None) - problem.kernel_cycles(row, None)
    assert besides == pytest.approx(2.5 * prod(result.extents) / problem.extents["oh"])


def test_each_point_of_a_nest_costs_besides() -> None:
    """As each product does that a library function computes."""
    name = "conv_rows_f32"
    problem = problem_of(CONVOLUTIONS[name], far_platform(1 << 20))
    costs = Costs(kernels=((name, KernelCost(point_cycles=60.0)),))
    soft = replace(problem, costs=costs)
    plain = problem.kernel_cycles(problem.extents, None)
    assert soft.kernel_cycles(problem.extents, None) == plain + 60.0 * problem.kernel.nest.macs
    row = {**problem.extents, "oh": 1}
    besides = soft.kernel_cycles(row, None) - problem.kernel_cycles(row, None)
    assert besides == pytest.approx(60.0 * problem.kernel.nest.macs / problem.extents["oh"])


@pytest.mark.parametrize(("columns", "alone"), [(16, 0), (12, 4), (8, 0), (6, 6), (4, 4)])
def test_transposed_columns_are_computed_together_a_stride_apart(columns: int, alone: int) -> None:
    """Of 12 columns at stride 2, four of the even and four of the odd ones are computed together, two of each alone."""
    kernel = kernel_of(transposed())
    assert kernel.symbol == "tilewright_conv_transpose_rows_f32"
    steps = {dimension.name: dimension.extent for dimension in kernel.nest.dimensions} | {"oh": 1, "ow": columns}
    one = kernel.parts({**steps, "ow": 1}, None).lone
    assert one > 0.0
    assert kernel.parts(steps, None).lone == pytest.approx(alone * one)


def test_a_ring_of_columns_costs_a_convolution_and_one_of_rows_does_not() -> None:
    kernel = kernel_of(CONVOLUTIONS["conv_rows_f32"])
    steps = {dimension.name: dimension.extent for dimension in kernel.nest.dimensions}
    assert kernel.parts(steps, HEIGHT).ring == 0.0
    assert kernel.parts(steps, WIDTH).ring > 0.0
    # Each tap is a run of its own there, so loops take more as well.
    assert kernel.parts(steps, WIDTH).loops > kernel.parts(steps, None).loops


def test_rows_are_copied_again_where_a_ring_costs_the_kernel_more() -> None:
    platform = far_platform(2600)
    assert has_ring(planned(depthwise(), platform, objective=Objective.BYTES_MOVED).schedule)
    found = planned(depthwise(), platform).schedule
    assert found.layers[0].tiles > 1
    assert not has_ring(found)


def test_rows_are_kept_where_copies_cost_more_than_the_ring() -> None:
    slow = far_platform(2600)
    links = tuple(replace(link, bytes_per_cycle=0.05) for link in slow.links)
    found = planned(depthwise(), replace(slow, links=links)).schedule
    assert has_ring(found)
    (facts,) = found.layers
    assert facts.work is not None
    copied = planned(depthwise(), slow).schedule.layers[0]
    assert copied.work is not None
    assert facts.work.kernel_work > copied.work.kernel_work
