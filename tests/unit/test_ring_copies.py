"""Copies into rings: every tile's rows, worked out by brute force, are what the expressions say."""

from __future__ import annotations

from math import prod

import pytest
from support.c_expressions import declared, evaluated
from tilewright.codegen.ring_copies import RingAxis, RingText, ring_text
from tilewright.plan import AxisRange, Index, Loop, Runs

ROWS, COLUMNS, CHANNELS = 25, 5, 8


def text_of(
    step: int, channels: int, *, tile_strides: tuple[int, ...], home_strides: tuple[int, ...]
) -> RingText | None:
    """The copy of rows [step t - 1, step t + step + 1) and of ``channels`` channels, into a ring of step + 2 rows."""
    oh, group = Index("oh", ROWS, step), Index("group", CHANNELS, channels)
    is_cut = group.count > 1
    rows = AxisRange((("oh", 1),), -1, 1, 1, ROWS)
    cut = AxisRange((("group", 1),), 0, 0, 1, CHANNELS)
    indices = (group, oh) if is_cut else (oh,)
    runs = Runs(0, 1, prod(index.count for index in indices), tuple(index.name for index in indices))
    all_channels, columns = (AxisRange((), 0, extent - 1, 1, extent) for extent in (CHANNELS, COLUMNS))
    rectangle = (cut if is_cut else all_channels, rows, columns)
    ring = RingAxis(1, step + 2, "oh")
    return ring_text(rectangle, tile_strides, home_strides, 1, ring, Loop(indices, ()), runs)


def values(text: RingText, tile: int) -> dict[str, int]:
    """The values of the copy's expressions in a tile."""
    names = declared(text.block.lines, tile)
    names["first"] = evaluated(text.first, names)
    return {
        "first": names["first"],
        "rows": evaluated(text.count, names),
        "offset": evaluated(text.block.home_offset, names),
        "lines": evaluated(text.block.line_count, names),
        "line_bytes": evaluated(text.block.line_bytes, names),
    }


@pytest.mark.parametrize("step", [1, 3, 4, 7, 24])
@pytest.mark.parametrize("channels", [4, 8])
def test_rows_land_where_kernels_look_for_them(step: int, channels: int) -> None:
    home_strides = (1, COLUMNS * CHANNELS, CHANNELS)
    text = text_of(step, channels, tile_strides=(1, COLUMNS * channels, channels), home_strides=home_strides)
    assert text is not None
    tiles = -(-ROWS // step)
    for tile in range(tiles * (CHANNELS // channels)):
        found, first_channel = values(text, tile), tile // tiles * channels
        lower = tile % tiles * step
        first = 0 if lower == 0 else lower + 1
        assert found["first"] == first, f"tile {tile}"
        assert first + found["rows"] == min(lower + step + 1, ROWS), f"tile {tile}"
        assert found["offset"] == first * home_strides[1] + first_channel
    assert (text.elements, text.is_columns) == (step + 2, False)
    assert found["line_bytes"] * found["lines"] == COLUMNS * channels
    assert (text.block.tile_stride, text.block.home_stride) == (
        (channels, CHANNELS) if channels < CHANNELS else (40, 40)
    )


def test_rows_with_gaps_between_them_are_left_to_the_runtime() -> None:
    wide = (1, COLUMNS * CHANNELS + 8, CHANNELS)
    assert text_of(3, 4, tile_strides=(1, COLUMNS * 4, 4), home_strides=wide) is None


@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_columns_land_where_kernels_look_for_them(step: int) -> None:
    ow = Index("ow", COLUMNS, step)
    columns = AxisRange((("ow", 1),), -1, 1, 1, COLUMNS)
    rows, channels = (AxisRange((), 0, extent - 1, 1, extent) for extent in (ROWS, CHANNELS))
    strides = ((step + 2) * CHANNELS, CHANNELS, 1), (COLUMNS * CHANNELS, CHANNELS, 1)
    runs = Runs(0, 1, ow.count, ("ow",))
    text = ring_text((rows, columns, channels), *strides, 1, RingAxis(1, step + 2, "ow"), Loop((ow,), ()), runs)
    assert text is not None
    assert (text.elements, text.is_columns) == (step + 2, True)
    assert (text.block.tile_stride, text.block.home_stride) == (strides[0][0], strides[1][0])
    for tile in range(ow.count):
        found, first = values(text, tile), 0 if tile == 0 else tile * step + 1
        assert (found["first"], found["offset"]) == (first, first * CHANNELS)
        assert first + found["rows"] == min(tile * step + step + 1, COLUMNS), f"tile {tile}"
        assert (found["lines"], found["line_bytes"]) == (ROWS, CHANNELS)


def test_rows_of_planes_are_parts_of_lines() -> None:
    home, tile = (ROWS * COLUMNS, COLUMNS, 1), (5 * COLUMNS, COLUMNS, 1)
    text = text_of(3, 4, tile_strides=tile, home_strides=home)
    assert text is not None
    assert text.is_columns
    assert (text.block.line_count, text.block.line_bytes) == ("4", str(COLUMNS))
    assert (text.block.tile_stride, text.block.home_stride) == (tile[0], home[0])
