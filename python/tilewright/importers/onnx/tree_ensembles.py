"""TreeEnsemble, TreeEnsembleRegressor and TreeEnsembleClassifier of ai.onnx.ml, as one operator and what follows it.

Nodes are numbered anew from each root, so that branches stand behind their node: a walk always ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import DType
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.composed import Steps, Translators, with_steps
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.ensemble_nodes import LEAF, Grown, TreeNode, grown
from tilewright.importers.onnx.learned import class_labels, finish_binary, finish_classes, transformed
from tilewright.operators.trees import AGGREGATES, MISSING_TRUE, MODES


@dataclass(frozen=True, slots=True)
class _Tables:
    """What the operator reads: four words for each node, thresholds, roots, and the values of leaves."""

    nodes: list[tuple[int, int, int, int]] = field(default_factory=list)
    thresholds: list[float] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


_Place = tuple[int, int]
_Leaves = Mapping[_Place, list[tuple[int, float]]]


def regressor(call: Call, steps: Steps) -> None:
    """The sum, mean, least or largest of what the leaves of all trees give to each target."""
    targets = int(call.attribute("n_targets", 1))
    sums = _ensemble(call, steps, _of_lists(call, "target", targets), targets)
    steps.finish(transformed(steps, sums, str(call.attribute("post_transform", "NONE"))))


def classifier(call: Call, steps: Steps) -> None:
    """The class to which the leaves of all trees give the largest value, and the values of all classes."""
    labels = class_labels(call)
    classes = set(call.integers("class_ids", ()))
    post = str(call.attribute("post_transform", "NONE"))
    if len(labels) == 2 and len(classes) == 1:
        shares = all(weight >= 0 for weight in call.numbers("class_weights", ()))
        score = _ensemble(call, steps, _of_lists(call, "class", 1), 1)
        finish_binary(call, steps, score, labels, post, threshold=0.5 if shares else 0.0, shares=shares)
        return
    finish_classes(
        call, steps, _ensemble(call, steps, _of_lists(call, "class", len(labels)), len(labels)), labels, post
    )


def ensemble(call: Call, steps: Steps) -> None:
    """What the leaves of all trees give to each target; a node may ask whether a feature is in a set."""
    aggregates = ("AVERAGE", "SUM", "MIN", "MAX")
    post, number = int(call.attribute("post_transform", 0)), int(call.attribute("aggregate_function", 1))
    if post:
        what = f"post_transform {post}: ONNX Runtime's numbers of transforms are not the specification's"
        raise Unsupported(what, "leave it out, and put Softmax or Sigmoid behind the node")
    if not 0 <= number < len(aggregates):
        raise Unsupported(f"aggregate_function {number}", "export the model again")
    targets = int(call.attribute("n_targets", 1))
    steps.finish(_ensemble(call, steps, grown(call), targets, aggregates[number]))


def _of_lists(call: Call, word: str, targets: int) -> Grown:
    """The trees of the older operators."""
    return Grown(_nodes(call), dict(_leaves(call, word, 0 if targets == 1 else None)))


def _ensemble(call: Call, steps: Steps, trees: Grown, targets: int, given: str = "") -> str:
    """The aggregated values for each row and target."""
    x = steps.cast(call.operand(0), DType.FLOAT32)
    shape = steps.tensor(x).shape
    x = x if len(shape) == 2 else steps.reshape(x, 1, *shape)
    tables = _tables(trees, targets, steps.tensor(x).shape[-1])
    aggregate = given or str(call.attribute("aggregate_function", "SUM"))
    kind = "SUM" if aggregate == "AVERAGE" else aggregate
    if kind not in AGGREGATES:
        raise Unsupported(f"aggregate_function '{aggregate}'")
    inputs = [
        x,
        steps.constant(tables.nodes, np.int32),
        steps.constant(tables.thresholds),
        steps.constant(tables.roots, np.int32),
        steps.constant(tables.targets or [0], np.int32),
        steps.constant(tables.values or [0.0]),
    ]
    result = (steps.tensor(x).shape[0], targets)
    sums = call.emit("TreeEnsemble", inputs, result, {"aggregate": kind}, part="sums")
    if aggregate == "AVERAGE":
        sums = steps("Mul", sums, steps.constant(1.0 / len(tables.roots)))
    base = call.numbers("base_values", ())
    return steps("Add", sums, steps.constant(base)) if any(base) else sums


def _tables(trees: Grown, targets: int, features: int) -> _Tables:
    nodes, leaves = trees.nodes, trees.leaves
    tables = _Tables()
    children = {branch for node in nodes.values() if node.mode != LEAF for branch in (node.first, node.second)}
    for root in (place for place in nodes if place not in children):
        tables.roots.append(_numbered(tables, nodes, leaves, root))
    if len(tables.nodes) != len(nodes) or not nodes:
        raise Unsupported("nodes that no root reaches", "export the model again")
    if any(node[0] >= features for node in tables.nodes) or any(target >= targets for target in tables.targets):
        raise Unsupported(f"a feature beyond {features}, or a target beyond {targets}", "export the model again")
    return tables


def _nodes(call: Call) -> dict[tuple[int, int], TreeNode]:
    """Nodes by (tree, number)."""
    trees, numbers = call.integers("nodes_treeids", ()), call.integers("nodes_nodeids", ())
    modes = call.attribute("nodes_modes", [])
    first, second = call.integers("nodes_truenodeids", ()), call.integers("nodes_falsenodeids", ())
    features, values = call.integers("nodes_featureids", ()), call.numbers("nodes_values", ())
    missing = call.integers("nodes_missing_value_tracks_true", (0,) * len(trees)) or (0,) * len(trees)
    lists = (trees, numbers, modes, first, second, features, values, missing)
    if len({len(item) for item in lists}) != 1:
        raise Unsupported("attributes of nodes of different lengths", "export the model again")
    found = {}
    for tree, number, mode, true, false, feature, value, tracks in zip(*lists, strict=True):
        if mode not in (*MODES, LEAF):
            raise Unsupported(f"nodes of mode '{mode}'")
        found[tree, number] = TreeNode(feature, value, mode, (tree, true), (tree, false), bool(tracks))
    return found


def _leaves(call: Call, word: str, only: int | None) -> Mapping[tuple[int, int], list[tuple[int, float]]]:
    """The (target, value) pairs of each leaf; ``only`` stands for all targets where there is one."""
    trees, numbers = call.integers(f"{word}_treeids", ()), call.integers(f"{word}_nodeids", ())
    targets, values = call.integers(f"{word}_ids", ()), call.numbers(f"{word}_weights", ())
    found: dict[tuple[int, int], list[tuple[int, float]]] = {}
    if not len(trees) == len(numbers) == len(targets) == len(values):
        raise Unsupported("attributes of leaves of different lengths", "export the model again")
    for tree, number, target, value in zip(trees, numbers, targets, values, strict=True):
        found.setdefault((tree, number), []).append((target if only is None else only, value))
    return found


def _numbered(
    tables: _Tables,
    nodes: Mapping[tuple[int, int], TreeNode],
    leaves: Mapping[tuple[int, int], list[tuple[int, float]]],
    root: tuple[int, int],
) -> int:
    """Add the nodes of a tree, each before its branches; gives the number of the root."""
    start = len(tables.nodes)
    order, numbers = [root], {root: start}
    for place in order:
        node = nodes.get(place)
        if node is None:
            raise Unsupported(f"a branch to node {place[1]}, which tree {place[0]} lacks", "export the model again")
        for branch in (node.first, node.second) if node.mode != LEAF else ():
            if branch in numbers and branch != node.first:
                raise Unsupported(f"two branches to one node of tree {place[0]}", "export the model again")
            numbers[branch] = start + len(order)
            order.append(branch)
        if len(order) > len(nodes):
            raise Unsupported(f"a circle in tree {place[0]}", "export the model again")
    for place in order:
        _add_node(tables, nodes[place], numbers, leaves.get(place, []))
    return start


def _add_node(
    tables: _Tables, node: TreeNode, numbers: Mapping[tuple[int, int], int], values: list[tuple[int, float]]
) -> None:
    if node.mode == LEAF:
        tables.nodes.append((-1, len(tables.values), len(values), 0))
        tables.thresholds.append(0.0)
        tables.targets.extend(target for target, _ in values)
        tables.values.extend(value for _, value in values)
        return
    mode = MODES.index(node.mode) + (MISSING_TRUE if node.missing_true else 0)
    tables.nodes.append((node.feature, numbers[node.first], numbers[node.second], mode))
    tables.thresholds.append(node.threshold)


def trees(earlier: Translators) -> Translators:
    """Translators by operator; ``earlier`` has those of the ONNX operators."""
    composed = {
        "TreeEnsemble": ensemble,
        "TreeEnsembleRegressor": regressor,
        "TreeEnsembleClassifier": classifier,
    }
    return with_steps(earlier, composed)
