"""Nests against brute force: what interval arithmetic says a box touches, and what its points touch."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.single_node import run, single_node
from support.touches import CASES, Case
from tilewright.catalogue.operators import operator_of
from tilewright.graph import Array
from tilewright.operators.nest import (
    AxisMap,
    Interval,
    Iteration,
    Nest,
    along,
    axis_range,
    clipped,
    is_exact,
    tile_extent,
    unclipped,
)
from tilewright.tiling.footprint import plain_shape, tile_shape
from tilewright.tiling.operand import TileOperand

Box = dict[str, Interval]
ENDLESS = 1 << 20
"""The extent of an axis of which no tile reaches the end."""

EFFORT = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


def nest_of(case: Case) -> Nest:
    node = case.graph.nodes[0]
    return operator_of(node).nest(node, case.graph)


def points(box: Box):
    for values in product(*(range(*interval) for interval in box.values())):
        yield dict(zip(box, values, strict=True))


def full(nest: Nest) -> Box:
    return {dimension.name: (0, dimension.extent) for dimension in nest.dimensions}


def lengths(box: Box) -> dict[str, int]:
    return {name: upper - lower for name, (lower, upper) in box.items()}


def intervals(maps: tuple[AxisMap, ...], shape: tuple[int, ...], box: Box, padding: bool = False) -> list[Interval]:
    assert len(maps) == len(shape)
    bounds = unclipped if padding else clipped
    return [bounds(axis_range(axis, extent, {}), box) for axis, extent in zip(maps, shape, strict=True)]


def inside(position: tuple[int, ...], bounds: list[Interval]) -> bool:
    return all(low <= index < high for index, (low, high) in zip(position, bounds, strict=True))


def check_reads(case: Case, nest: Nest, box: Box) -> None:
    """Read boxes contain what the points touch, and where the case says so nothing beyond."""
    node = case.graph.nodes[0]
    assert len(nest.reads) == len(node.inputs)
    touched: dict[int, set[tuple[int, ...]]] = {index: set() for index in range(len(node.inputs))}
    for point in points(box):
        for index, position in case.touches(point)[0]:
            touched[index].add(position)
    for index, positions in touched.items():
        shape = case.graph.tensor(node.inputs[index]).shape
        with_padding = intervals(nest.reads[index], shape, box, padding=True)
        in_tensor = intervals(nest.reads[index], shape, box)
        steps = lengths(box)
        for axis, extent, (low, high) in zip(nest.reads[index], shape, in_tensor, strict=True):
            assert high - low <= tile_extent(axis_range(axis, extent, {}), steps)
        for position in positions:
            assert inside(position, with_padding), (index, position, with_padding)
            if all(0 <= i < extent for i, extent in zip(position, shape, strict=True)):
                assert inside(position, in_tensor), (index, position, in_tensor)
        if case.tight and positions:
            hull = [(min(axis), max(axis) + 1) for axis in zip(*positions, strict=True)]
            assert hull == with_padding, index


def check_writes(case: Case, nest: Nest, box: Box) -> None:
    """The write box contains what the points write; it is just that where every axis is exact."""
    shape = case.graph.tensor("out").shape
    bounds = intervals(nest.writes[0], shape, box)
    written = {case.touches(point)[1] for point in points(box)}
    exact = all(
        is_exact(axis_range(axis, extent, {}), lengths(box)) for axis, extent in zip(nest.writes[0], shape, strict=True)
    )
    assert all(inside(position, bounds) for position in written)
    if exact:
        assert len(written) == np.prod([high - low for low, high in bounds])


def check_grid(case: Case, nest: Nest, steps: dict[str, int]) -> bool:
    """If every axis is exact for these steps, the tiles' write boxes are a partition of the output; else False."""
    shape = case.graph.tensor("out").shape
    ranges = [axis_range(axis, extent, {}) for axis, extent in zip(nest.writes[0], shape, strict=True)]
    if not all(is_exact(axis, steps) for axis in ranges):
        return False
    count = np.zeros(shape, np.int64)
    parallel = [d for d in nest.dimensions if d.iteration is not Iteration.REDUCTION]
    for corner in product(*(range(0, d.extent, steps[d.name]) for d in parallel)):
        box = full(nest)
        box.update({d.name: (low, min(low + steps[d.name], d.extent)) for d, low in zip(parallel, corner, strict=True)})
        count[tuple(slice(*clipped(axis, box)) for axis in ranges)] += 1
    assert (count == 1).all()
    return True


def check_values(case: Case) -> None:
    """The accesses of the case, combined point by point, give the output of the reference."""
    assert case.value is not None
    collected: dict[tuple[int, ...], list[float]] = {}
    for point in points(full(nest_of(case))):
        reads, position = case.touches(point)
        values = []
        for index, where in reads:
            array = case.arrays[index]
            in_tensor = inside(where, [(0, extent) for extent in array.shape])
            values.append(float(array[where]) if in_tensor else case.fill)
        collected.setdefault(position, []).append(case.value(values))
    wanted = run(case.graph, case.arrays)
    got = np.array([case.combine(collected[i]) for i in np.ndindex(wanted.shape)], np.float64)
    np.testing.assert_allclose(got.reshape(wanted.shape), wanted, rtol=1e-5, atol=1e-5)


def check_poison(case: Case, nest: Nest, box: Box) -> bool:
    """What lies outside the read boxes has no influence on what the box writes; False where writes are not exact."""
    box = {**box, **{d.name: (0, d.extent) for d in nest.dimensions if d.iteration is Iteration.REDUCTION}}
    poisoned: list[Array] = []
    for index, array in enumerate(case.arrays):
        other = np.full_like(array, 77)
        region = tuple(slice(*interval) for interval in intervals(nest.reads[index], array.shape, box))
        other[region] = array[region]
        poisoned.append(other)
    region = tuple(slice(*interval) for interval in intervals(nest.writes[0], case.graph.tensor("out").shape, box))
    steps = lengths(box)
    shape = case.graph.tensor("out").shape
    if not all(is_exact(axis_range(a, e, {}), steps) for a, e in zip(nest.writes[0], shape, strict=True)):
        return False
    np.testing.assert_array_equal(run(case.graph, poisoned)[region], run(case.graph, case.arrays)[region])
    return True


def draw_box(data: st.DataObject, nest: Nest) -> Box:
    box = {}
    for dimension in nest.dimensions:
        lower, upper = 0, dimension.extent
        if dimension.iteration is not Iteration.WHOLE:
            lower = data.draw(st.integers(0, dimension.extent - 1))
            upper = data.draw(st.integers(lower + 1, dimension.extent))
        box[dimension.name] = (lower, upper)
    return box


def draw_steps(data: st.DataObject, nest: Nest) -> dict[str, int]:
    return {
        d.name: d.extent if d.iteration is Iteration.WHOLE else data.draw(st.integers(1, d.extent))
        for d in nest.dimensions
    }


@pytest.mark.parametrize("family", CASES)
def test_boxes_hold_what_their_points_touch(family):
    grids = poisoned = 0

    @EFFORT
    @given(CASES[family], st.data())
    def check(case, data):
        nonlocal grids, poisoned
        nest = nest_of(case)
        box = draw_box(data, nest)
        check_reads(case, nest, box)
        check_writes(case, nest, box)
        grids += check_grid(case, nest, draw_steps(data, nest))
        grids += check_grid(case, nest, {d.name: d.extent for d in nest.dimensions})
        poisoned += check_poison(case, nest, box)

    check()
    assert grids > 0, "no grid of tiles was exact"
    assert poisoned > 0, "no box was exact"


@pytest.mark.parametrize("family", [name for name in CASES if name not in ("Softmax", "iLayerNorm")])
def test_points_give_what_the_reference_gives(family):
    @EFFORT
    @given(CASES[family])
    def check(case):
        check_values(case)

    check()


def convolution() -> tuple[Case, Nest]:
    x, w = np.ones((1, 2, 8, 8), np.float32), np.ones((4, 1, 3, 3), np.float32)
    attributes = {"strides": (2, 2), "dilations": (1, 1), "pads": (1, 1, 1, 1), "group": 2}
    graph = single_node("Conv", [x, w], attributes, (1, 4, 4, 4))

    def touches(p):
        row, column = 2 * p["oh"] + p["kh"] - 1, 2 * p["ow"] + p["kw"] - 1
        channel = 2 * p["group"] + p["oc"]
        reads = [(0, (p["n"], p["group"], row, column)), (1, (channel, p["ic"], p["kh"], p["kw"]))]
        return reads, (p["n"], channel, p["oh"], p["ow"])

    case = Case(graph, (x, w), touches)
    return case, nest_of(case)


def some_box(nest: Nest) -> Box:
    return {**full(nest), "oh": (1, 3), "ow": (0, 2), "group": (1, 2), "oc": (0, 1)}


def test_the_declared_convolution_passes():
    case, nest = convolution()
    for check in (check_reads, check_writes, check_poison):
        check(case, nest, some_box(nest))


def test_a_read_map_one_off_is_caught():
    case, nest = convolution()
    rows = replace(nest.reads[0][2], first_offset=0, last_offset=0)
    wrong = replace(nest, reads=((*nest.reads[0][:2], rows, nest.reads[0][3]), nest.reads[1]))
    with pytest.raises(AssertionError):
        check_reads(case, wrong, some_box(nest))
    with pytest.raises(AssertionError):
        check_poison(case, wrong, some_box(nest))


def test_a_read_map_that_is_too_wide_is_caught():
    case, nest = convolution()
    rows = replace(nest.reads[0][2], last_offset=0)
    wrong = replace(nest, reads=((*nest.reads[0][:2], rows, nest.reads[0][3]), nest.reads[1]))
    with pytest.raises(AssertionError):
        check_reads(case, wrong, some_box(nest))


def test_a_write_map_without_its_group_is_caught():
    case, nest = convolution()
    wrong = replace(nest, writes=((nest.writes[0][0], along("oc"), *nest.writes[0][2:]),))
    with pytest.raises(AssertionError):
        check_writes(case, wrong, some_box(nest))
    with pytest.raises(AssertionError):
        check_grid(case, wrong, {d.name: 1 if d.name == "group" else d.extent for d in nest.dimensions})


@st.composite
def mixed_radix(draw: st.DrawFn) -> tuple[AxisMap, list[int], list[int]]:
    """A map over digits of the given extents, with steps; strides may be negative."""
    digits = draw(st.lists(st.integers(1, 4), max_size=3))
    steps = [draw(st.integers(1, extent)) for extent in digits]
    window = draw(st.integers(1, 2))
    stride, terms, offset = window, [], 0
    for index, extent in enumerate(digits):
        sign = draw(st.sampled_from([1, -1]))
        terms.append((f"i{index}", sign * stride))
        offset += stride * (extent - 1) if sign < 0 else 0
        stride *= extent
    return AxisMap(tuple(draw(st.permutations(terms))), offset, offset + window - 1), digits, steps


@settings(max_examples=300, deadline=None, derandomize=True)
@given(mixed_radix())
def test_is_exact_is_true_just_when_the_tiles_are_a_partition(drawn):
    axis, digits, steps = drawn
    window = axis.last_offset - axis.first_offset + 1
    extent = window * int(np.prod(digits, dtype=int))
    ranged = axis_range(axis, extent, {})
    named = {f"i{index}": step for index, step in enumerate(steps)}
    count = np.zeros(extent, np.int64)
    for corner in product(*(range(0, d, s) for d, s in zip(digits, steps, strict=True))):
        box = {f"i{i}": (low, min(low + steps[i], digits[i])) for i, low in enumerate(corner)}
        low, high = clipped(ranged, box)
        count[low:high] += 1
    assert is_exact(ranged, named) == bool((count == 1).all())


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.integers(-4, 4).filter(bool), st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=2),
    st.integers(-6, 6),
    st.integers(-3, 6),
    st.integers(1, 5),
)
def test_tiles_hold_what_any_box_of_their_steps_touches(
    terms: list[tuple[int, int, int]], first: int, window: int, divisor: int
) -> None:
    """Strides of either sign, offsets that are no multiples of the divisor, and steps that do not fill the extent."""
    axis = AxisMap(tuple((f"d{at}", stride) for at, (stride, _, _) in enumerate(terms)), first, first + window, divisor)
    steps = {f"d{at}": min(step, extent) for at, (_, extent, step) in enumerate(terms)}
    extents = {f"d{at}": extent for at, (_, extent, _) in enumerate(terms)}
    lengths_touched = []
    for corner in product(*(range(0, extents[name], steps[name]) for name in extents)):
        box = {name: (low, min(low + steps[name], extents[name])) for name, low in zip(extents, corner, strict=True)}
        low, high = unclipped(axis_range(axis, ENDLESS, {}), box)
        lengths_touched.append(high - low)
    room = tile_extent(axis_range(axis, ENDLESS, {}), steps)
    assert max(lengths_touched) <= room <= max(max(lengths_touched), 0) + 2
    operand = TileOperand("x", False, (axis,), (ENDLESS,), (0,), (0,), 1, 1, "far", None, "near")
    arrays = {name: np.asarray([step]) for name, step in steps.items()}
    assert [int(extent[0]) for extent in tile_shape(operand, arrays)] == [room] == [*plain_shape(operand, steps)]
