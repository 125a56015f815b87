"""Rows of elementwise kernels: where tensors lie apart, and what each of them costs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tilewright.graph import Node
from tilewright.kernels.kernel import Kernel, KernelChoice, TensorOperand, elementwise_over
from tilewright.operators.nest import AxisMap, Dimension, Nest, along, whole
from tilewright.plan import Link
from tilewright.platform.costs import Costs
from tilewright.tiling.core_split import CoreSplit
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem
from tilewright.tiling.row_starts import further_rows

H, W, C = 16, 8, 32
EXTENTS = {"h": H, "w": W, "c": C}
AXES = tuple(along(name) for name in EXTENTS)
LINK = Link("l2->l1", "l2", "l1", 8.0, 0, 0, 2, 131068, 4, 1, 1, True, "core")


def operand(name: str, *, near: bool, axes: tuple[AxisMap, ...] = AXES, write: bool = False) -> TileOperand:
    """A tensor of int8 that lies whole in l1 (``near``), or travels there in tiles."""
    extents = tuple(EXTENTS[axis.terms[0][0]] if axis.terms else 1 for axis in axes)
    home, link = ("l1", None) if near else ("l2", LINK)
    return TileOperand(
        name, write, axes, extents, (0, 1, 2), (0, 1, 2), 1, 4, home, link, "l1", (), "int8", tensor=name
    )


def kernel(*, is_elementwise: bool = True) -> KernelChoice:
    nest = Nest(tuple(Dimension(name, extent) for name, extent in EXTENTS.items()), (AXES,), (AXES,))
    declared = Kernel("f", None, lambda choice, steps: 1000.0)
    declared = replace(declared, stores=elementwise_over(0)) if is_elementwise else declared
    x, y = (TensorOperand(name, AXES, (0, 1, 2)) for name in "xy")
    return KernelChoice(declared, (), nest, (x,), (y,), ())


@pytest.mark.parametrize(
    ("near", "tile", "part", "rows"),
    [
        (False, {"h": 16, "w": 8, "c": 11}, {"h": 2, "w": 8, "c": 11}, 1),  # tiles are packed
        (True, {"h": 16, "w": 8, "c": 11}, {"h": 2, "w": 8, "c": 11}, 16),  # 11 of 32 elements of each pixel
        (True, {"h": 8, "w": 8, "c": 32}, {"h": 1, "w": 8, "c": 32}, 1),
        (True, {"h": 16, "w": 2, "c": 32}, {"h": 2, "w": 2, "c": 32}, 2),
        (False, {"h": 16, "w": 8, "c": 32}, {"h": 16, "w": 8, "c": 4}, 128),  # cores share pixels
        (True, {"h": 1, "w": 1, "c": 1}, {"h": 1, "w": 1, "c": 1}, 1),
    ],
)
def test_rows_end_where_an_operand_has_a_gap(near: bool, tile: dict[str, int], part: dict[str, int], rows: int) -> None:
    operands = (operand("x", near=near), operand("y", near=False, write=True))
    assert further_rows(kernel(), operands, part, tile) == rows - 1


def test_rows_end_where_an_operand_is_repeated() -> None:
    y = operand("y", near=False, write=True)
    for axes, rows in (((*AXES[:2], whole(1)), H * W), ((whole(1), *AXES[1:]), H)):
        assert further_rows(kernel(), (operand("x", near=False, axes=axes), y), EXTENTS, EXTENTS) == rows - 1


def test_a_part_of_another_tensor_has_gaps_of_its_own() -> None:
    y = operand("y", near=False, write=True)
    part = replace(operand("x", near=True), home_strides=(W * 40, 40, 1))
    assert further_rows(kernel(), (part, y), EXTENTS, EXTENTS) == H * W - 1


def test_only_elementwise_kernels_walk_rows() -> None:
    operands = (operand("x", near=True), operand("y", near=False, write=True))
    steps = {"h": 16, "w": 8, "c": 11}
    assert further_rows(kernel(is_elementwise=False), operands, steps, steps) == 0


def test_what_rows_cost_is_not_known_of_other_homes() -> None:
    near, far, y = operand("x", near=True), operand("x", near=False), operand("y", near=False, write=True)
    steps, split = {"h": 16, "w": 8, "c": 11}, CoreSplit("h", 2, 8)
    for row_cycles in (0.0, 290.0):
        costs = Costs(row_cycles=row_cycles)
        travels = TilingProblem(Node("node", "F", ("x",), ("y",)), kernel(), (far, y), "l1", cores=8, costs=costs)
        travels.known_cycles[tuple(steps.values())] = (1000.0, 0.0)
        stays = travels.with_operands((near, y))
        assert bool(stays.known_cycles) == (row_cycles == 0.0)
        assert stays.kernel_cycles(steps, split) - travels.kernel_cycles(steps, split) == 15 * row_cycles
