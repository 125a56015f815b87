"""What lines with gaps in both pools cost: those of tiles that are narrower than their slot."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from support.planned import link
from tilewright.operators.nest import AxisMap
from tilewright.tiling.gapped_lines import gapped_line_cycles
from tilewright.tiling.operand import TileOperand

ROWS, COLUMNS, CHANNELS = 6, 10, 9
EXTENTS = {"h": ROWS, "w": COLUMNS, "c": CHANNELS}
LINE_CYCLES = 23


def image(*, window: int = 1, price: int = LINE_CYCLES) -> TileOperand:
    """An array of rows, columns and channels; the map of columns has a window with padding on both sides."""
    axes = (
        AxisMap((("h", 1),), 0, 0),
        AxisMap((("w", 1),), -(window // 2), window // 2),
        AxisMap((("c", 1),), 0, 0),
    )
    near = replace(link("l2", "l1"), gapped_line_cycles=price)
    order = (0, 1, 2)
    return TileOperand("x", False, axes, (ROWS, COLUMNS, CHANNELS), order, order, 1, 4, "l2", near, "l1")


def gapped_lines(steps: dict[str, int], window: int) -> float:
    """Lines with gaps in both arrays, of the mean tile, tile by tile."""
    reach = window // 2
    slot = (steps["h"], min(steps["w"] + 2 * reach, COLUMNS), steps["c"])
    found = []
    for h, w, c in product(*(range(0, EXTENTS[name], steps[name]) for name in "hwc")):
        rows = min(h + steps["h"], ROWS) - h
        columns = min(w + steps["w"] + reach, COLUMNS) - max(w - reach, 0)
        channels = min(c + steps["c"], CHANNELS) - c
        if steps["c"] < CHANNELS:
            found.append(rows * columns if channels < slot[2] and slot[0] * slot[1] > 1 else 0)
        else:
            found.append(rows if columns < slot[1] < COLUMNS and slot[0] > 1 else 0)
    return float(np.mean(found))


@pytest.mark.parametrize(
    ("h", "w", "c"),
    [(6, 10, 9), (2, 10, 9), (6, 10, 3), (6, 10, 4), (6, 4, 9), (6, 5, 9), (1, 4, 9), (3, 5, 4), (3, 10, 2)],
)
@pytest.mark.parametrize("window", [1, 3])
def test_the_mean_tile_pays_for_its_gapped_lines(h: int, w: int, c: int, window: int) -> None:
    steps = {"h": h, "w": w, "c": c}
    arrays = {name: np.asarray([step], dtype=np.int64) for name, step in steps.items()}
    found = gapped_line_cycles(image(window=window), arrays, EXTENTS).item()
    expected = gapped_lines(steps, window) * LINE_CYCLES
    # The lines of each narrower tile are counted as those of the largest tile, which may have a column more.
    assert expected <= found <= expected * (1.0 if window == 1 else 1.25)


def test_a_link_without_the_price_pays_nothing() -> None:
    steps = {"h": np.asarray([6, 3]), "w": np.asarray([10, 4]), "c": np.asarray([4, 4])}
    assert not np.any(gapped_line_cycles(image(price=0), steps, EXTENTS))
