"""Bytes of homes that are alive while layers run, and which of them a group of layers could hold as rings.

Before:  layers conv a, conv b, dense y; lives of a [0, 1], b [1, 2], y [2, 3]
After:   during layers 0 and 1: a and b; a is inside these two, so that a group of them holds some rows of it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tilewright.base.lazy_dataclass import dataclass
from tilewright.fusion.consuming import HomeShape
from tilewright.fusion.streams import rows_axis
from tilewright.fusion.timing import Ring
from tilewright.storage.homes import Homes
from tilewright.storage.lives import Life, is_one
from tilewright.tiling.operand import TILE_ALIGN_BYTES
from tilewright.tiling.problem import TilingProblem

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Alive:
    """Bytes of homes alive while layers run, and which of them a group could hold as rings.

    Attributes:
        begins, ends, sizes: for each family of homes its first layer, its last layer, and its bytes, aligned.
        lives: life of each tensor that is alone in its home, which no other tensor shares.
        whole: life of each tensor that has all bytes of its home, which views of it may share.
        shapes: shape of each tensor in ``whole``.
    """

    begins: Counts
    ends: Counts
    sizes: Counts
    lives: Mapping[str, Life]
    whole: Mapping[str, Life]
    shapes: Mapping[str, HomeShape]

    def during(self, first: int, end: int) -> int:
        """Bytes of all homes that are alive in one of the layers [first, end)."""
        return int(self.sizes[(self.begins < end) & (self.ends >= first)].sum())

    def is_inside(self, tensor: str, first: int, end: int) -> bool:
        """Whether only the layers [first, end) need the tensor."""
        life = self.lives.get(tensor)
        return life is not None and life.begin >= first and life.end < end

    def home_bytes(self, tensor: str) -> int:
        """Bytes of a whole tensor that is alone in its home."""
        return aligned(self.shapes[tensor].size_bytes)

    def ring_bytes(self, ring: Ring) -> int:
        """Bytes of a ring; 0 for a tensor that is no ring, since it shares its home."""
        if ring.tensor not in self.lives:
            return 0
        shape = self.shapes[ring.tensor]
        if ring.axis != shape.outermost:
            return aligned(shape.size_bytes)
        return aligned(min(ring.rows * shape.strides_bytes[ring.axis], shape.size_bytes))


def aligned(size_bytes: int) -> int:
    """The bytes, rounded up to the alignment of homes."""
    return -(-size_bytes // TILE_ALIGN_BYTES) * TILE_ALIGN_BYTES


def alive_homes(problems: Sequence[TilingProblem], homes: Homes, lives: Mapping[str, Life]) -> Alive:
    """The homes that the plan places, for layers with these problems; ``lives`` of groups that share all bytes."""
    families: dict[str, list[str]] = {}
    for group in lives:
        if not homes.is_callers(group):
            families.setdefault(homes.roots[group], []).append(group)
    spans = [
        (min(lives[name].begin for name in names), max(lives[name].end for name in names), aligned(homes.sizes[root]))
        for root, names in families.items()
    ]
    begins, ends, sizes = (np.array(column, np.int64) for column in zip(*spans, strict=True)) if spans else _NONE
    members: dict[str, list[str]] = {}
    for name, root in homes.roots.items():
        members.setdefault(root, []).append(name)
    whole = {
        name: Life(lives[homes.groups[root]].begin, max(lives[group].end for group in groups))
        for root, groups in families.items()
        if homes.groups[root] in lives and is_one(lives, homes.groups[root], groups) and root not in homes.fixed
        for name in members[root]
        if homes.groups[name] == homes.groups[root]
    }
    shapes = dict[str, HomeShape]()
    for problem in problems:
        for operand in (item for item in problem.operands if item.tensor in whole and item.tensor not in shapes):
            assert operand.tensor is not None
            outermost = rows_axis(operand)
            if outermost is not None:
                strides = homes.strides[operand.tensor]
                size = operand.extents[outermost] * strides[outermost]
                shapes[operand.tensor] = HomeShape(strides, outermost, size)
    whole = {name: whole[name] for name in shapes}
    alone = {name: life for name, life in whole.items() if len(members[homes.roots[name]]) == 1}
    return Alive(begins, ends, sizes, alone, whole, shapes)


_NONE = (np.zeros(0, np.int64),) * 3
