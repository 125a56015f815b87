"""Ensembles of decision trees: ONNX's ai.onnx.ml operator TreeEnsemble."""

from __future__ import annotations

from math import nan

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Attributes, Graph, Node
from tilewright.operators.nest import Dimension, Iteration, Nest, along, whole
from tilewright.operators.operator import Arrays, Operator, operand

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
"""Comparisons of a feature with a node's threshold; their positions are their numbers in C."""

AGGREGATES = ("SUM", "MIN", "MAX")
"""Ways in which the values that leaves give to one target become one; their positions are their numbers in C."""

MISSING_TRUE = len(MODES)
"""Added to the number of a mode if NaN takes the first branch, whatever the comparison says."""

NODE_WORDS = 4


@dataclass(frozen=True, slots=True)
class TreeAttributes(Attributes):
    """How values for one target become one: a word of ``AGGREGATES``."""

    aggregate: str


def nest(node: Node, graph: Graph) -> Nest:
    """Rows are independent; each reads all features and all trees."""
    rows, features = graph.tensor(node.inputs[0]).shape
    targets = graph.tensor(node.outputs[0]).shape[1]
    tables = tuple(tuple(whole(extent) for extent in graph.tensor(name).shape) for name in node.inputs[1:])
    dimensions = (Dimension("n", rows), Dimension("t", targets, Iteration.WHOLE))
    reads = ((along("n"), whole(features)), *tables)
    return Nest(dimensions, reads, ((along("n"), whole(targets)),))


def reference(node: Node, graph: Graph, arrays: Arrays) -> list[Array]:
    """For each row, each tree is walked from its root to a leaf, whose values are added to its targets in float32."""
    x, nodes, thresholds, roots, targets, values = (operand(arrays, index) for index in range(6))
    aggregate = node.given(TreeAttributes).aggregate
    result = np.full(graph.tensor(node.outputs[0]).shape, 0.0 if aggregate == "SUM" else nan, np.float32)
    for row in range(x.shape[0]):
        for root in roots:
            at = int(root)
            while nodes[at, 0] >= 0:
                feature, first, second, mode = (int(word) for word in nodes[at])
                at = first if _takes_first(x[row, feature], thresholds[at], mode) else second
            begin, count = int(nodes[at, 1]), int(nodes[at, 2])
            for entry in range(begin, begin + count):
                _add(result[row], int(targets[entry]), values[entry], aggregate)
    result[np.isnan(result)] = 0.0
    return [result]


def _takes_first(value: float, threshold: float, mode: int) -> bool:
    if mode >= MISSING_TRUE and np.isnan(value):
        return True
    name = MODES[mode % MISSING_TRUE]
    return bool(
        {
            "BRANCH_LEQ": value <= threshold,
            "BRANCH_LT": value < threshold,
            "BRANCH_GTE": value >= threshold,
            "BRANCH_GT": value > threshold,
            "BRANCH_EQ": value == threshold,
            "BRANCH_NEQ": value != threshold,
        }[name]
    )


def _add(row: Array, target: int, value: np.float32, aggregate: str) -> None:
    before = row[target]
    if aggregate == "SUM":
        row[target] = before + value
    elif np.isnan(before) or (value < before if aggregate == "MIN" else value > before):
        row[target] = value


OPERATORS = (Operator("TreeEnsemble", nest, reference, TreeAttributes),)
