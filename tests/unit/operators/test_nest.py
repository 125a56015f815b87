"""Nests of a few nodes, and exactness of writes, by example."""

from __future__ import annotations

import numpy as np
import pytest
from support.single_node import single_node
from tilewright.catalogue.operators import operator_of
from tilewright.graph import Graph
from tilewright.operators.nest import (
    AxisMap,
    Iteration,
    Nest,
    along,
    axis_range,
    blocks,
    clipped,
    is_exact,
    tile_extent,
    unclipped,
    whole,
)


def nest_of(graph: Graph) -> Nest:
    return operator_of(graph.nodes[0]).nest(graph.nodes[0], graph)


def conv(x, w, shape, group):
    attributes = {"strides": (2, 2), "dilations": (1, 1), "pads": (1, 1, 1, 1), "group": group}
    return single_node("Conv", [np.zeros(x, np.float32), np.zeros(w, np.float32)], attributes, shape)


def test_a_convolution_is_eight_loops():
    nest = nest_of(conv((1, 4, 8, 8), (6, 2, 3, 3), (1, 6, 4, 4), 2))
    assert [(d.name, d.extent) for d in nest.dimensions] == [
        ("n", 1), ("group", 2), ("oc", 3), ("oh", 4), ("ow", 4), ("ic", 2), ("kh", 3), ("kw", 3),
    ]  # fmt: skip
    assert nest.dimension("ic").iteration is Iteration.REDUCTION
    assert nest.macs == 6 * 2 * 9 * 16
    assert nest.operations == 2 * nest.macs


def test_a_tile_of_rows_reads_its_halo_and_padding_is_clipped():
    nest = nest_of(conv((1, 4, 8, 8), (6, 4, 3, 3), (1, 6, 4, 4), 1))
    rows = axis_range(nest.reads[0][2], 8, {"kh": 3})
    assert unclipped(rows, {"oh": (0, 2)}) == (-1, 4)
    assert clipped(rows, {"oh": (0, 2)}) == (0, 4)
    assert clipped(rows, {"oh": (2, 4)}) == (3, 8)
    assert tile_extent(rows, {"oh": 2}) == 5


def test_softmax_and_concat_keep_their_axis_whole():
    x = np.zeros((2, 3), np.float32)
    for graph in (single_node("Softmax", [x], {"axis": 1}, (2, 3)), single_node("Concat", [x, x], {"axis": 1}, (2, 6))):
        nest = nest_of(graph)
        assert [d.iteration for d in nest.dimensions] == [Iteration.PARALLEL, Iteration.WHOLE]


def test_reshape_of_unchanged_axes_is_exact():
    x = np.zeros((2, 3, 4, 5), np.float32)
    nest = nest_of(single_node("Reshape", [x], {}, (2, 12, 5)))
    rows, columns = (axis_range(axis, extent, {}) for axis, extent in zip(nest.reads[0][1:3], (3, 4), strict=True))
    box = {"d0": (1, 2), "d1": (4, 8), "d2": (0, 5)}
    assert clipped(axis_range(nest.reads[0][0], 2, {}), box) == (1, 2)
    assert (clipped(rows, box), clipped(columns, box)) == ((1, 2), (0, 4))


@pytest.mark.parametrize(
    ("axis", "extent", "steps", "exact"),
    [
        (along("d"), 10, {"d": 3}, True),
        (along("d", -1, 9), 10, {"d": 3}, True),
        (along("d", 2), 19, {"d": 3}, False),
        (along("d", 2), 19, {"d": 1}, True),
        (along("d", 2, window=2), 20, {"d": 3}, True),
        (along("d", window=2), 11, {"d": 3}, False),
        (AxisMap((("g", 4), ("c", 1))), 12, {"g": 1, "c": 3}, True),
        (AxisMap((("g", 4), ("c", 1))), 12, {"g": 2, "c": 4}, True),
        (AxisMap((("g", 4), ("c", 1))), 12, {"g": 2, "c": 3}, False),
        (AxisMap((("g", 1), ("c", 1))), 12, {"g": 5, "c": 1}, True),
        (whole(4), 4, {"d": 2}, True),
        (AxisMap(), 4, {"d": 2}, False),
        (blocks("d", 4), 3, {"d": 8}, True),
        (blocks("d", 4), 3, {"d": 6}, False),
        (AxisMap((("d", 1),), 1, 1, 4), 3, {"d": 8}, False),
    ],
)
def test_is_exact(axis, extent, steps, exact):
    assert is_exact(axis_range(axis, extent, {}), steps) is exact


def test_a_folded_group_over_a_cut_channel_is_not_exact():
    ranged = axis_range(AxisMap((("g", 4), ("c", 1))), 12, {"g": 3})
    assert not is_exact(ranged, {"c": 2})
    assert is_exact(axis_range(AxisMap((("g", 4), ("c", 1))), 12, {"c": 4}), {"g": 2})
