"""Constants are packed when their kernel and its tiles were chosen: once, and for those alone."""

from __future__ import annotations

import numpy as np
import pytest
from support.integer_nodes import integers, node_graph, requantize
from support.planned import far_platform, planned
from tilewright.graph import Array, Graph
from tilewright.kernels.kernel import Packing, TileSteps, packed_array
from tilewright.kernels.registry import choices
from tilewright.operators.nest import along
from tilewright.tiling.hashed import HashedArrays
from tilewright.tiling.operand import TileOperand


def depthwise() -> Graph:
    """A node that two kernels can run, each with a packing of its own."""
    rng = np.random.default_rng(0)
    attributes = {"strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1), "group": 8, "x_zero_point": 0}
    inputs = [integers(rng, "int8", (1, 8, 12, 12)), integers(rng, "int8", (8, 1, 3, 3))]
    return node_graph("Conv", inputs, (1,), (1, 8, 12, 12), "int8", attributes, requantize([0.0013]))[0]


def constant(data: Array | Packing) -> TileOperand:
    return TileOperand(
        "weights", False, (along("k"),), (4,), (0,), (0,), 1, 4, "flash", None, "l1", dtype="int8", data=data
    )


def test_only_the_kernel_that_is_taken_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Packing] = []

    def noted(data: Array | Packing, steps: TileSteps) -> Array:
        made.extend([data] if isinstance(data, Packing) else [])
        return packed_array(data, steps)

    monkeypatch.setattr("tilewright.tiling.hashed.packed_array", noted)
    graph = depthwise()
    offered = [item.data for kernel in choices(graph.nodes[0], graph) for item in kernel.reads[1:2]]
    assert len(offered) == 2
    assert all(isinstance(item, Packing) for item in offered)
    found = planned(graph, far_platform(1500))
    assert found.schedule.layers[0].tiles > 1
    assert len(made) == 1


@pytest.mark.parametrize(("by_tile", "made"), [(False, [4]), (True, [4, 2])])
def test_an_array_is_packed_again_only_for_other_tiles(by_tile: bool, made: list[int]) -> None:
    seen: list[int] = []

    def pack(steps: TileSteps) -> Array:
        seen.append(steps["k"])
        return np.full(4, steps["k"], np.int8)

    arrays, operand = HashedArrays(), constant(Packing((4,), np.dtype(np.int8), pack, by_tile))
    digests = {arrays.of(operand, {"k": step}).sha256 for step in (4, 4, 2)}
    assert seen == made
    assert len(digests) == len(made)


@pytest.mark.parametrize(("shape", "dtype"), [((5,), np.int8), ((4,), np.int16)])
def test_an_array_of_another_size_is_noticed(shape: tuple[int, ...], dtype: type) -> None:
    packing = Packing((4,), np.dtype(np.int8), lambda _: np.zeros(shape, dtype))
    with pytest.raises(AssertionError, match="declared"):
        packed_array(packing, {})
