"""Nodes of trees as TreeEnsemble of ai.onnx.ml 5 writes them: branches and leaves in lists of their own, and sets.

A node that asks whether a feature is in a set becomes a chain of nodes that compare it with one member each.
"""

from __future__ import annotations

from dataclasses import field

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.context import Call
from tilewright.operators.trees import MODES

LEAF = "LEAF"
_MEMBER = len(MODES)
_MOST_NODES = 1 << 18
_BROKEN = "export the model again"
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A comparison of a feature and the places of its branches, or a leaf."""

    feature: int
    threshold: float
    mode: str
    first: Place
    second: Place
    missing_true: bool


@dataclass(slots=True)
class Grown:
    """Nodes by place, and the (target, value) pairs of leaves."""

    nodes: dict[Place, TreeNode] = field(default_factory=dict)
    leaves: dict[Place, list[tuple[int, float]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Lists:
    features: tuple[int, ...]
    thresholds: tuple[float, ...]
    modes: tuple[int, ...]
    branches: tuple[tuple[int, ...], tuple[int, ...]]
    are_leaves: tuple[tuple[int, ...], tuple[int, ...]]
    missing: tuple[int, ...]
    members: dict[int, tuple[float, ...]]
    targets: tuple[int, ...]
    weights: tuple[float, ...]


def grown(call: Call) -> Grown:
    """The trees of a node, each branch a node of its own."""
    lists, result = _lists(call), Grown()
    # (place, number, whether that is a leaf's, members of its set that are left)
    waiting = [
        ((0, number), root, 0, _members(lists, root)) for number, root in enumerate(call.integers("tree_roots", ()))
    ]
    fresh = 0
    while waiting:
        place, number, is_leaf, members = waiting.pop()
        if len(result.nodes) > _MOST_NODES:
            raise Unsupported("a circle in a tree, or sets that are too large", _BROKEN)
        if is_leaf:
            result.nodes[place] = TreeNode(0, 0.0, LEAF, place, place, False)
            result.leaves[place] = [(_at(lists.targets, number), float(_at(lists.weights, number)))]
            continue
        first, second = (1, fresh), (1, fresh + 1)
        fresh += 2
        mode, threshold = _at(lists.modes, number), _at(lists.thresholds, number)
        name = "BRANCH_EQ" if mode == _MEMBER else MODES[mode]
        compared = members[0] if mode == _MEMBER else threshold
        missing = bool(lists.missing[number])
        result.nodes[place] = TreeNode(lists.features[number], compared, name, first, second, missing)
        for side, branch in enumerate((first, second)):
            if side == 1 and len(members) > 1:
                waiting.append((branch, number, 0, members[1:]))
                continue
            to, leaf = lists.branches[side][number], lists.are_leaves[side][number]
            waiting.append((branch, to, leaf, () if leaf else _members(lists, to)))
    return result


def _at(listed: tuple[float, ...], number: int) -> int:
    if not 0 <= number < len(listed):
        raise Unsupported(f"a branch to number {number} of {len(listed)}", _BROKEN)
    return listed[number]  # type: ignore[return-value]


def _members(lists: _Lists, number: int) -> tuple[float, ...]:
    return lists.members[number] if _at(lists.modes, number) == _MEMBER else ()


def _lists(call: Call) -> _Lists:
    modes = call.integers("nodes_modes", ())
    zeros = (0,) * len(modes)
    sides = [
        tuple(call.integers(f"nodes_{side}{word}", ()) for side in ("true", "false")) for word in ("nodeids", "leafs")
    ]
    lists = _Lists(
        call.integers("nodes_featureids", ()),
        call.numbers("nodes_splits", ()),
        modes,
        (sides[0][0], sides[0][1]),
        (sides[1][0], sides[1][1]),
        call.integers("nodes_missing_value_tracks_true", zeros) or zeros,
        _sets(call, modes),
        call.integers("leaf_targetids", ()),
        call.numbers("leaf_weights", ()),
    )
    of_nodes = (lists.features, lists.thresholds, *lists.branches, *lists.are_leaves, lists.missing)
    if any(len(item) != len(modes) for item in of_nodes) or len(lists.targets) != len(lists.weights):
        raise Unsupported("attributes of nodes or leaves of different lengths", _BROKEN)
    if any(not 0 <= mode <= _MEMBER for mode in modes):
        raise Unsupported(f"nodes of mode {max(modes)}", _BROKEN)
    return lists


def _sets(call: Call, modes: tuple[int, ...]) -> dict[int, tuple[float, ...]]:
    """The members of each node's set; NaN ends each."""
    sets: list[tuple[float, ...]] = [()]
    for value in call.numbers("membership_values", ()):
        if np.isnan(value):
            sets.append(())
        else:
            sets[-1] = (*sets[-1], value)
    asking = [number for number, mode in enumerate(modes) if mode == _MEMBER]
    if len(sets) < len(asking) or not all(sets[: len(asking)]):
        raise Unsupported(f"{len(asking)} nodes that ask for members of {len(sets) - 1} sets", _BROKEN)
    return dict(zip(asking, sets, strict=False))
