"""Linear interpolation of 8-bit tensors along two axes, in integers.

Before:  two rows and two columns of x, 1/4 and 3/4 between them
After:   sum of four elements times 1 * 1, 3 * 1, 1 * 3 and 3 * 3, in units of 1/16
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd, prod

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators.elementwise import dimensions_of, identity_maps
from tilewright.operators.epilogue import finish
from tilewright.operators.exact import offset_removed, truncated_quotient
from tilewright.operators.nest import AxisMap, Nest, whole
from tilewright.operators.operator import Arrays, Operator, operand

MOST_UNITS = 1 << 11
"""The largest unit: the product of two shares and an element of 8 bits then fits 31 bits."""

_MOST_AXES = 4
_CLOSE = 1e-5
"""The largest distance of a share from a multiple of the unit: 0.003 steps of an 8-bit element."""

Table = tuple[Array, Array]
"""Positions on the input's axis and their weights, [output, tap] each."""


@dataclass(frozen=True, slots=True)
class InterpolateIntegerAttributes(Attributes):
    """Each output stands between two neighbours along each of two axes.

    Attributes:
        axes: the two axes, in ascending order.
        units: along each of them, the number that stands for a share of 1; at most ``MOST_UNITS``.
        first: for each output along the one axis, then along the other, the position of the first neighbour.
        share: the share of the second neighbour, which is the next position; the first has the rest of the unit.
        x_zero_point: the stored integer of x that stands for 0.
    """

    axes: tuple[int, int]
    units: tuple[int, int]
    first: tuple[int, ...]
    share: tuple[int, ...]
    x_zero_point: int = 0

    def along(self, which: int, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """First neighbours and shares of the outputs along ``axes[which]`` of an output of ``shape``, int64."""
        begin, count = which * shape[self.axes[0]], shape[self.axes[which]]
        first, share = (np.asarray(values[begin : begin + count], np.int64) for values in (self.first, self.share))
        return first, share


def integer_tables(shape: tuple[int, ...], tables: Mapping[int, Table]) -> dict[str, tuple[int, ...]] | None:
    """The attributes of InterpolateInteger but the zero point, from tables of weights by axis.

    Args:
        shape: of the input.

    Returns:
        None for other than one or two axes of a tensor of two to four, and where an output is no mean of two
        neighbours.
    """
    rank = len(shape)
    if not 2 <= rank <= _MOST_AXES or not 1 <= len(tables) <= 2:
        return None
    axes = sorted(tables)
    if len(axes) == 1:
        axes = sorted({axes[0], axes[0] - 1 if axes[0] == rank - 1 else axes[0] + 1})
    found = [_neighbours(*tables[axis]) if axis in tables else _same(shape[axis]) for axis in axes]
    given = [entry for entry in found if entry is not None]
    if len(given) < len(found):
        return None
    return {
        "axes": tuple(axes),
        "units": tuple(unit for unit, _, _ in given),
        "first": tuple(int(value) for _, first, _ in given for value in first),
        "share": tuple(int(value) for _, _, share in given for value in share),
    }


def _same(extent: int) -> tuple[int, Array, Array]:
    """The unit, neighbours and shares of an axis that stays as it is."""
    return 1, np.arange(extent), np.zeros(extent, np.int64)


def _neighbours(indices: Array, weights: Array) -> tuple[int, Array, Array] | None:
    """The unit, first neighbours and shares of the second ones: exact where a unit below the largest allows it."""
    if indices.ndim != 2 or indices.shape[1] != 2 or bool((indices < 0).any()):
        return None
    step = indices[:, 1] - indices[:, 0]
    if bool(((step < 0) | (step > 1)).any()) or bool((np.abs(weights.sum(axis=1) - 1) > _CLOSE).any()):
        return None
    share = np.where(step == 1, weights[:, 1], 0.0)
    if bool(((share < -_CLOSE) | (share > 1 + _CLOSE)).any()):
        return None
    units = (unit for unit in range(1, MOST_UNITS) if np.abs(share - np.rint(share * unit) / unit).max() < _CLOSE)
    unit = next(units, MOST_UNITS)
    return unit, indices[:, 0], np.rint(share * unit).astype(np.int64)


def nest(node: Node, graph: Graph) -> Nest:
    """Dimensions d0, d1, ... over the output's axes; a tile reads the rows and columns around its elements."""
    given = node.given(InterpolateIntegerAttributes)
    x, shape = graph.tensor(node.inputs[0]).shape, graph.tensor(node.outputs[0]).shape
    reads = list(identity_maps(shape))
    for which, axis in enumerate(given.axes):
        first, share = given.along(which, shape)
        reads[axis] = narrowest_map(f"d{axis}", x[axis], first, first + (share > 0))
    return Nest(dimensions_of(shape), (tuple(reads),), (identity_maps(shape),), macs_per_point=4)


def narrowest_map(dimension: str, extent: int, lowest: Array, highest: Array) -> AxisMap:
    """The narrowest map with the slope extent / outputs that holds [lowest, highest] of every output.

    Outputs whose lowest position is above the highest one read nothing.
    """
    common = gcd(extent, len(lowest))
    stride, divisor = extent // common, len(lowest) // common
    at = np.arange(len(lowest), dtype=np.int64) * stride
    reads = lowest <= highest
    if not reads.any():
        return whole(extent)
    first = int((lowest * divisor + divisor - 1 - at)[reads].min())
    last = int((highest * divisor - at)[reads].max())
    return AxisMap(((dimension, stride),), first, last, divisor)


def reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """acc = sum of shares * (x - x_zero_point); without an epilogue acc / (units[0] * units[1]), rounded towards 0."""
    given = node.given(InterpolateIntegerAttributes)
    shape = graph.tensor(node.outputs[0]).shape
    total = offset_removed(operand(arrays, 0), given.x_zero_point)
    for which, axis in enumerate(given.axes):
        first, share = given.along(which, shape)
        along = [1] * total.ndim
        along[axis] = -1
        below, above = (np.take(total, at, axis) for at in (first, first + (share > 0)))
        total = below * (given.units[which] - share).reshape(along) + above * share.reshape(along)
    if node.epilogue is None:
        total = truncated_quotient(total, np.int64(prod(given.units)))
    return finish(node, graph, total)


OPERATORS = (Operator("InterpolateInteger", nest, reference, InterpolateIntegerAttributes),)
