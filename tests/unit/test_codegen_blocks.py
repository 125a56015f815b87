"""Copies as lines: every tile's rectangle, worked out by brute force, is what the expressions say."""

from __future__ import annotations

import itertools
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.c_expressions import declared, evaluated
from tilewright.codegen.blocks import BlockText, block_text
from tilewright.plan import AxisRange, CoarseIndex, Index, Loop, Runs


def touched(text: BlockText, tile: int) -> list[int]:
    """Bytes of the home that a tile's copy touches, in the order of the tile's bytes."""
    names = declared(text.lines, tile)
    first = evaluated(text.home_offset, names) if text.home_offset else 0
    lines, size = evaluated(text.line_count, names), evaluated(text.line_bytes, names)
    return [first + line * text.home_stride + byte for line in range(lines) for byte in range(size)]


def wanted(axes: tuple[AxisRange, ...], strides: tuple[int, ...], element: int, loop: Loop, tile: int) -> list[int]:
    """The same bytes as those of ``touched``, from the meaning of the plan."""
    bounds: dict[str, tuple[int, int]] = {}
    for index in reversed(loop.indices):
        tile, number = divmod(tile, index.count)
        bounds[index.name] = (number * index.step, min((number + 1) * index.step, index.extent))
    spans = []
    for axis in axes:
        first = sum(stride * bounds[name][0] for name, stride in axis.terms) + axis.first_offset
        last = sum(stride * (bounds[name][1] - 1) for name, stride in axis.terms) + axis.last_offset
        spans.append(range(max(first // axis.divisor, 0), min(last // axis.divisor + 1, axis.extent)))
    return [
        sum(at * stride for at, stride in zip(point, strides, strict=True)) + byte
        for point in itertools.product(*spans)
        for byte in range(element)
    ]


def packed(shape: tuple[int, ...], element: int) -> tuple[int, ...]:
    strides, size = [], element
    for extent in reversed(shape):
        strides.insert(0, size)
        size *= extent
    return tuple(strides)


def test_blocks_touch_what_the_plan_says() -> None:
    compared = 0

    @settings(max_examples=200, deadline=None, derandomize=True)
    @given(
        st.tuples(*[st.integers(1, 6)] * 3),
        st.tuples(*[st.integers(1, 6)] * 3),
        st.lists(st.sampled_from([0, 1, 2]), unique=True, max_size=2),
        st.integers(0, 1),
        st.sampled_from([1, 4]),
    )
    def draw(shape: tuple[int, ...], steps: tuple[int, ...], cut: list[int], halo: int, element: int) -> None:
        nonlocal compared
        compared += tiles_compared(shape, steps, cut, halo, element)

    draw()
    assert compared > 100, f"only {compared} tiles were copied as blocks"


def tiles_compared(shape: tuple[int, ...], steps: tuple[int, ...], cut: list[int], halo: int, element: int) -> int:
    """Compare the block of every tile with the plan's rectangle; 0 for copies that are no block."""
    cut = [axis for axis in cut if steps[axis] < shape[axis]]
    indices = tuple(Index(f"i{axis}", shape[axis], steps[axis]) for axis in sorted(cut))
    loop = Loop(indices, ())
    by_axis = dict(zip(sorted(cut), indices, strict=True))
    axes = tuple(
        AxisRange(((by_axis[axis].name, 1),), -halo, halo, 1, extent)
        if axis in by_axis
        else AxisRange((), 0, extent - 1, 1, extent)
        for axis, extent in enumerate(shape)
    )
    tile_shape = tuple(
        min(by_axis[axis].step + 2 * halo, extent) if axis in by_axis else extent for axis, extent in enumerate(shape)
    )
    home = packed(shape, element)
    tiles = prod(index.count for index in indices)
    runs = Runs(0, 1, tiles, tuple(index.name for index in indices))
    text = block_text(axes, packed(tile_shape, element), home, element, loop, runs)
    if text is None:
        return 0
    for tile in range(tiles):
        assert touched(text, tile) == wanted(axes, home, element, loop, tile)
    return tiles


def test_blocks_lie_within_larger_tiles() -> None:
    compared = 0

    @settings(max_examples=200, deadline=None, derandomize=True)
    @given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(0, 1), st.integers(0, 1))
    def draw(step: int, tiles: int, groups: int, halo: int, cut: int) -> None:
        nonlocal compared
        compared += parts_compared(step, tiles, groups, halo, cut)

    draw()
    assert compared > 100, f"only {compared} tiles were copied as blocks"


def parts_compared(step: int, tiles: int, groups: int, halo: int, cut: int) -> int:
    """Compare each tile's block in a larger tile with the same bytes of the tensor; 0 for copies that are no block."""
    if tiles * groups == 1:
        return 0
    rows = step * tiles * groups
    shape, indices = (rows, 6), (Index("oh", rows, step), Index("ow", 6, 3)) if cut else (Index("oh", rows, step),)
    loop = Loop(indices, (), (CoarseIndex("oh_0", "oh", tiles),))
    across = AxisRange((("ow", 1),), 0, 0, 1, 6) if cut else AxisRange((), 0, 5, 1, 6)
    axes = (AxisRange((("oh", 1),), -halo, halo, 1, rows), across)
    within = (AxisRange((("oh_0", 1),), -halo, halo, 1, rows), AxisRange((), 0, 5, 1, 6))
    count = prod(index.count for index in indices)
    runs = Runs(0, 1, count, tuple(index.name for index in indices))
    tile_strides = packed((step + 2 * halo, 3 if cut else 6), 1)
    text = block_text(axes, tile_strides, (6, 1), 1, loop, runs, within)
    if text is None:
        return 0
    for tile in range(count):
        large = tile * len(range(0, rows, step)) // count // tiles
        begin = max(large * step * tiles - halo, 0) * shape[1]
        assert [byte + begin for byte in touched(text, tile)] == wanted(axes, (6, 1), 1, loop, tile)
    return count


def test_rows_of_packed_arrays_are_one_line() -> None:
    axes = (AxisRange((("oh", 1),), 0, 0, 1, 25), AxisRange((), 0, 4, 1, 5), AxisRange((), 0, 63, 1, 64))
    text = block_text(axes, (320, 64, 1), (320, 64, 1), 1, Loop((Index("oh", 25, 5),), ()), Runs(0, 1, 5, ("oh",)))
    assert text is not None
    assert (text.line_count, text.line_bytes, text.home_offset) == ("1", "1600", "oh_lower * 320")
    assert [line.split(" = ")[0] for line in text.lines] == ["const int32_t oh_lower"]


@pytest.mark.parametrize("strides", [((32, 8, 1), (100, 16, 2)), ((32, 8, 1), (200, 30, 1))])
def test_what_needs_several_commands_is_left_to_the_runtime(strides: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    axes = tuple(AxisRange((), 0, extent - 1, 1, extent) for extent in (3, 4, 8))
    assert block_text(axes, *strides, 1, None, Runs()) is None
