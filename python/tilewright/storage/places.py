"""Where a tensor lies within the bytes of another: stride arithmetic of views and parts.

Before:  out [1, 6, 4, 4], strides (96, 16, 4, 1); part a = out[:, 2:5]; r = a as [1, 3, 16]
After:   a at byte 32, strides (96, 16, 4, 1); r at byte 32, strides (96, 16, 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Node
from tilewright.operators.movement import TransposeAttributes
from tilewright.rewrites.views import runs_of_axes

Strides = tuple[int, ...]
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A tensor's place in its root: the byte of the tensor's first element, and its strides in bytes."""

    offset_bytes: int
    strides_bytes: Strides


@dataclass(frozen=True, slots=True)
class Part:
    """``tensor`` is every ``steps``-th element of ``whole`` from ``starts``, on each axis.

    With ``made_of`` the whole is made of such parts, each computed by itself (Concat); without, the
    part is read from a whole that was computed (Slice).
    """

    tensor: str
    whole: str
    starts: tuple[int, ...]
    steps: tuple[int, ...]
    made_of: bool = False

    def place(self, whole: Place) -> Place:
        """Where the part lies if the whole lies at ``whole``."""
        first = sum(start * stride for start, stride in zip(self.starts, whole.strides_bytes, strict=True))
        # Where a step is negative the part has one element on the axis.
        strides = tuple(abs(step) * stride for step, stride in zip(self.steps, whole.strides_bytes, strict=True))
        return Place(whole.offset_bytes + first, strides)


def reach_bytes(shape: Shape, strides: Strides, element_bytes: int) -> int:
    """Bytes from the first element's first byte to the last element's end; 0 without elements."""
    if 0 in shape:
        return 0
    return sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)) + element_bytes


def same_strides(shape: Shape, one: Strides, other: Strides) -> bool:
    """Whether both strides put all elements of ``shape`` at the same places; axes of extent 1 do not count."""
    return all(extent == 1 or a == b for extent, a, b in zip(shape, one, other, strict=True))


def viewed(node: Node, source: Shape, strides: Strides, target: Shape) -> Strides | None:
    """Strides of a Reshape's or Transpose's output, if its input has ``strides``; None if bytes would have to move."""
    if isinstance(node.attributes, TransposeAttributes):
        return tuple(strides[axis] for axis in node.attributes.perm)
    return reshaped_strides(source, strides, target)


def viewed_back(node: Node, source: Shape, strides: Strides, target: Shape) -> Strides | None:
    """Strides of a Reshape's or Transpose's input, if its output has ``strides``; None if bytes would have to move."""
    if isinstance(node.attributes, TransposeAttributes):
        perm = node.attributes.perm
        return tuple(strides[perm.index(axis)] for axis in range(len(source)))
    return reshaped_strides(target, strides, source)


def reshaped_strides(source: Shape, strides: Strides, target: Shape) -> Strides | None:
    """Strides under which the row-major elements of ``source`` are an array of shape ``target``.

    None if axes that are merged or split do not follow each other in memory. An axis of extent 1 gets
    stride 0. Both shapes have the same number of elements, not 0.
    """
    result = [0] * len(target)
    for ins, outs in runs_of_axes(source, target):
        if not _is_contiguous(source, strides, ins):
            return None
        step = strides[ins[-1]]
        for axis in reversed(outs):
            result[axis] = step
            step *= target[axis]
    return tuple(result)


def _is_contiguous(shape: Shape, strides: Strides, axes: Sequence[int]) -> bool:
    return all(strides[outer] == strides[inner] * shape[inner] for outer, inner in pairwise(axes))
