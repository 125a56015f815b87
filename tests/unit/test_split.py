"""Kernel calls shared by cores: every part computes its own, whatever the order, in memory of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.firmware import needs_host_compiler
from support.many_cores import every_order, generate
from tilewright.kernels.kernel import Kernel, KernelChoice
from tilewright.operators.nest import Dimension, Nest, along, whole
from tilewright.plan import kernel_steps
from tilewright.platform.costs import Costs
from tilewright.tiling.core_split import FORK_CYCLES, CoreSplit, best_core_split
from tilewright.tiling.cost import Spent, layer_cycles
from tilewright.tiling.footprint import dense_tiles
from tilewright.tiling.operand import TileOperand


@needs_host_compiler
@pytest.mark.parametrize(("model", "tolerance"), [("deeploy_residual", "0:0"), ("qdq_residual", "0.00392157:0")])
@pytest.mark.parametrize(("cores", "l1"), [(3, 6144), (8, 8192)])
def test_cores_share_a_network(model: str, tolerance: str, cores: int, l1: int, tmp_path: Path) -> None:
    plan = generate(model, cores, l1, tmp_path)
    splits = [step.split for step in kernel_steps(plan.program) if step.split is not None]
    assert all(2 <= split.cores <= cores for split in splits)
    assert splits
    assert len(set(every_order(model, plan, tolerance, tmp_path))) == 1


@needs_host_compiler
def test_cores_share_rows_of_rings(tmp_path: Path) -> None:
    tiles = "{conv_0 = {oh = 5}, conv_2 = {oh = 3}, conv_4 = {oh = 2, oc = 4}}"
    plan = generate("deeploy_residual", 3, 32768, tmp_path, scalar=True, buffering="single", tiles=tiles)
    rings = {buffer.name for buffer in plan.buffers if buffer.ring_axis is not None}
    shared = [step for step in kernel_steps(plan.program) if step.split is not None]
    assert any(step.reads[0].buffer in rings and 0 in {axis.operand for axis in step.split.axes} for step in shared)
    assert len(set(every_order("deeploy_residual", plan, "0:0", tmp_path))) == 1


def test_one_core_shares_nothing(tmp_path: Path) -> None:
    plan = generate("deeploy_residual", 1, 4096, tmp_path)
    assert all(step.split is None for step in kernel_steps(plan.program))
    assert "tilewright_split" not in (tmp_path / "net.c").read_text(encoding="utf-8")


def problem(cycles_of: str) -> tuple[KernelChoice, tuple[TileOperand, ...]]:
    """y[o, r] from x[r], 10 x 6 points; one dimension costs cycles."""
    nest = Nest(
        (Dimension("o", 10), Dimension("r", 6)), ((along("r"),),), ((along("o"), along("r")),), macs_per_point=1
    )
    declared = Kernel("f", None, lambda choice, steps: 1000.0 * steps[cycles_of])
    kernel = KernelChoice(declared, (), nest, (), (), (), multiples={"o": 4})
    x = TileOperand("x", False, (along("r"),), (6,), (0,), (0,), 1, 4, "l2", None, "l1", (), "int8", "x")
    y = TileOperand(
        "y", True, (along("o"), along("r")), (10, 6), (0, 1), (0, 1), 1, 4, "l2", None, "l1", (), "int8", "y"
    )
    return kernel, (x, y)


def test_the_dimension_that_ends_first_is_shared() -> None:
    steps = {"o": 10, "r": 6}
    kernel, operands = problem("r")
    assert best_core_split(kernel, operands, steps, 4) == CoreSplit("r", 2, 3)
    assert best_core_split(kernel, operands, steps, 8) == CoreSplit("r", 1, 6)
    kernel, operands = problem("o")
    assert best_core_split(kernel, operands, steps, 8) == CoreSplit("o", 4, 3)
    assert best_core_split(kernel, operands, {"o": 4, "r": 6}, 8) is None
    assert best_core_split(kernel, operands, steps, 1) is None
    assert best_core_split(kernel, operands[:1], {"o": 10, "r": 1}, 8) == CoreSplit("o", 4, 3)


def test_no_sharing_where_it_does_not_pay() -> None:
    kernel, operands = problem("r")
    declared = Kernel("f", None, lambda choice, steps: float(min(steps.values()) * FORK_CYCLES / 6))
    cheap = KernelChoice(declared, (), kernel.nest, (), (), ())
    assert best_core_split(cheap, operands, {"o": 10, "r": 6}, 8) is None


def test_packed_constants_are_not_cut_unevenly_inside() -> None:
    """C walks a tile of a packed constant without strides."""
    axes = (along("o"), whole(3), along("r"))
    data = np.zeros((10, 3, 6), np.int8)
    packed = TileOperand(
        "w", False, axes, (10, 3, 6), (0, 1, 2), (0, 1, 2), 1, 4, "l2", None, "l1", (), "int8", data=data
    )
    steps = {"o": np.asarray([10, 4, 4, 10]), "r": np.asarray([6, 6, 4, 3])}
    assert dense_tiles(packed, steps, {"o": 10, "r": 6}).tolist() == [True, True, False, True]


def test_copies_of_the_first_tile_run_while_the_layer_begins() -> None:
    costs = Costs(layer_cycles=400.0)
    spent = Spent(kernel=1000.0, starts=100.0, plain=600.0, hidden=0.0, runs_beside=True)
    assert layer_cycles(costs, spent, 1) == 1700.0
    assert layer_cycles(costs, spent, 2) == 1800.0
    assert layer_cycles(costs, replace(spent, runs_beside=False), 2) == 2100.0
    # Nothing runs beside the first larger tile in and the last one out, however long kernels take.
    far = replace(spent, far_hidden=900.0, far_ends=300.0)
    assert layer_cycles(costs, far, 1) == 2000.0
    assert layer_cycles(costs, replace(far, far_hidden=1600.0), 1) == 2200.0
