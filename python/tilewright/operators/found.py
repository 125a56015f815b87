"""Operators that find as many entries as their values say: NonZero, Unique, NonMaxSuppression.

The outputs hold a declared number of entries, the bound. Entries that are found beyond it are left out, entries that
are not found are filled: positions with -1, values with 0. The last output, int32[1], says how many there were.
"""

from __future__ import annotations

from functools import cmp_to_key

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators.nest import Dimension, Iteration, Nest, whole
from tilewright.operators.operator import Arrays, Operator, operand


@dataclass(frozen=True, slots=True)
class UniqueAttributes(Attributes):
    """Whether rows are given in ascending order, or in the order of their first occurrence."""

    is_sorted: bool


@dataclass(frozen=True, slots=True)
class SuppressionAttributes(Attributes):
    """The form of boxes, and which of them are candidates.

    Attributes:
        by_center: a box is (x of the centre, y, width, height); else it is two opposite corners (y, x, y, x).
        has_threshold: candidates are boxes with a score above the threshold; else all whose score is a number.
    """

    by_center: bool
    has_threshold: bool


def nest(node: Node, graph: Graph) -> Nest:
    """One dimension over the elements that are looked at; all tensors are whole."""
    searched = graph.tensor(node.inputs[1 if node.operator == "NonMaxSuppression" else 0]).elements
    reads, writes = (
        tuple(tuple(whole(extent) for extent in graph.tensor(name).shape) for name in names)
        for names in (node.inputs, node.outputs)
    )
    return Nest((Dimension("e", searched, Iteration.WHOLE),), reads, writes)


def non_zero(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """For x of bool[...]: the positions of true elements, one column for each, in row-major order."""
    found = np.argwhere(operand(arrays, 0)).T.astype(np.int64)
    bound = graph.tensor(node.outputs[0]).shape[1]
    return [_bounded(found, bound, -1, axis=1), _count(found.shape[1])]


def unique(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """ONNX Unique of the rows of x[rows, width]. NaN equals NaN, and is above all numbers.

    The outputs: the different rows; for each of them the position of its first occurrence in x; for each row of x the
    number of its different row; and how often each different row occurs.
    """
    x = operand(arrays, 0)
    bound = graph.tensor(node.outputs[0]).shape[0]

    def behind(i: int, j: int) -> int:
        return _order(x[i], x[j]) or i - j

    ranked = sorted(range(len(x)), key=cmp_to_key(behind))
    groups: list[list[int]] = []
    for row in ranked:
        if groups and _order(x[groups[-1][0]], x[row]) == 0:
            groups[-1].append(row)
        else:
            groups.append([row])
    if not node.given(UniqueAttributes).is_sorted:
        groups.sort(key=lambda group: group[0])
    inverse = np.empty(len(x), np.int64)
    for number, group in enumerate(groups):
        inverse[group] = number
    first = np.array([group[0] for group in groups], np.int64)
    counts = np.array([len(group) for group in groups], np.int64)
    return [
        _bounded(x[first], bound, 0),
        _bounded(first, bound, -1),
        inverse,
        _bounded(counts, bound, 0),
        _count(len(groups)),
    ]


def _order(a: Array, b: Array) -> int:
    """Below, equal to or above 0, as row a stands before, with or behind row b."""
    for one, other in zip(a, b, strict=True):
        if one == other or (one != one and other != other):
            continue
        return -1 if one < other or other != other else 1
    return 0


def non_max_suppression(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """ONNX NonMaxSuppression: (batch, class, box) of the boxes that are kept, best first.

    The inputs are boxes float32[b, n, 4], scores float32[b, c, n], ``most`` int64[1], ``overlap`` and ``threshold``
    float32[1]. At most ``most`` boxes of a class are kept. A box is left out if it shares more than ``overlap`` of the
    union of both with a better box, or if its score is NaN. Of equal scores the first is better.
    """
    boxes, scores, most, overlap, threshold = (operand(arrays, index) for index in range(5))
    given = node.given(SuppressionAttributes)
    found = []
    for batch, kind in np.ndindex(scores.shape[0], scores.shape[1]):
        low, high = _corners(boxes[batch], by_center=given.by_center)
        row = scores[batch, kind]
        open_boxes = row > threshold[0] if given.has_threshold else row == row
        for _ in range(min(max(int(most[0]), 0), len(row))):
            if not open_boxes.any():
                break
            best = int(np.argmax(np.where(open_boxes, row, -np.inf))) if (row[open_boxes] > -np.inf).any() else -1
            best = int(np.flatnonzero(open_boxes)[0]) if best < 0 else best
            found.append((batch, kind, best))
            open_boxes[best] = False
            open_boxes &= ~_overlapping(low, high, best, overlap[0])
    listed = np.array(found, np.int64).reshape(-1, 3)
    return [_bounded(listed, graph.tensor(node.outputs[0]).shape[0], -1), _count(len(found))]


def _corners(boxes: Array, *, by_center: bool) -> tuple[Array, Array]:
    if by_center:
        half = boxes[:, 2:] / np.float32(2)
        return boxes[:, :2] - half, boxes[:, :2] + half
    return np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])


def _overlapping(low: Array, high: Array, box: int, limit: np.float32) -> Array:
    """Which boxes share more than ``limit`` of their union with ``box``."""
    with np.errstate(all="ignore"):
        shared = np.minimum(high, high[box]) - np.maximum(low, low[box])
        sides = high - low
        areas = sides[:, 0] * sides[:, 1]
        common = shared[:, 0] * shared[:, 1]
        union = areas + areas[box] - common
        real = (shared > 0).all(axis=1) & (common > 0) & (areas > 0) & (areas[box] > 0) & (union > 0)
        return np.asarray(real & (common / union > limit))


def _bounded(found: Array, bound: int, fill: int, axis: int = 0) -> Array:
    """The first ``bound`` entries along an axis, or as many with ``fill`` behind them."""
    kept = np.take(found, np.arange(min(bound, found.shape[axis])), axis)
    widths = [(0, bound - kept.shape[axis] if position == axis else 0) for position in range(kept.ndim)]
    return np.pad(kept, widths, constant_values=fill)


def _count(found: int) -> Array:
    return np.array([found], np.int32)


OPERATORS = (
    Operator("NonZero", nest, non_zero),
    Operator("Unique", nest, unique, UniqueAttributes),
    Operator("NonMaxSuppression", nest, non_max_suppression, SuppressionAttributes),
)
