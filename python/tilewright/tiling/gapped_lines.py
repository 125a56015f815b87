"""Lines with gaps in both pools: those of a tile at an edge, which is narrower than its slot.

Example: an array of 56 x 56 pixels of 144 channels is cut into tiles of 8 rows and 32 channels. The last tile along
the channels has 16 of them: its 448 lines lie 144 bytes apart in the home and 32 bytes apart in the slot.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from tilewright.operators.nest import AxisMap, axis_range, tile_extent
from tilewright.plan import AxisRange
from tilewright.tiling.cost import Cycles, axes_of_lines, gaps_at_home
from tilewright.tiling.footprint import Counts, Steps, tile_shape
from tilewright.tiling.kept import touched_intervals
from tilewright.tiling.operand import TileOperand


def gapped_line_cycles(operand: TileOperand, steps: Steps, extents: Mapping[str, int]) -> Cycles:
    """Cycles that the core spends on lines with gaps in both pools, in the mean copy of a tile, for each candidate."""
    assert operand.link is not None
    if not operand.link.gapped_line_cycles:
        return np.asarray(0.0)
    shape = tile_shape(operand, steps)
    lines: Counts = np.asarray(1, dtype=np.int64)
    share: Cycles = np.asarray(0.0)
    for axis, _, in_line in axes_of_lines(gaps_at_home(operand), operand.extents, shape):
        narrower = _narrower_share(operand.axes[axis], operand.extents[axis], steps, extents)
        share = np.where(in_line & (shape[axis] > 1), narrower, share)
        lines = lines * np.where(in_line, 1, shape[axis])
    return np.where(lines > 1, share * lines, 0.0) * operand.link.gapped_line_cycles


def _narrower_share(axis: AxisMap, length: int, steps: Steps, extents: Mapping[str, int]) -> Cycles:
    """The share of tiles with fewer elements of an axis than the slot; 0 for an axis of several cut dimensions."""
    cut = [name for name, _ in axis.terms if np.any(steps[name] < extents[name])]
    if len(cut) != 1:
        return np.asarray(0.0)
    ranged = axis_range(axis, length, {name: extents[name] for name, _ in axis.terms if name not in cut})
    distinct, inverse = np.unique(steps[cut[0]], return_inverse=True)
    shares = [_narrower(ranged, cut[0], extents[cut[0]], step) for step in distinct.tolist()]
    return np.asarray(shares, dtype=np.float64)[inverse]


@lru_cache(maxsize=4096)
def _narrower(axis: AxisRange, dimension: str, extent: int, step: int) -> float:
    begin, end = touched_intervals(axis, extent, step)
    return float(np.mean(end - begin < tile_extent(axis, {dimension: step})))
