"""Axes of a tensor that lie side by side in what the tensor is a view of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from math import prod

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array, Node, Tensor
from tilewright.graph.edit import GraphEditor
from tilewright.operators.movement import TransposeAttributes

_MOST_ELEMENTS = 1 << 20
_MOST_VIEWS = 4


@dataclass(frozen=True, slots=True)
class Lines:
    """How a tensor lies in the tensor that it is made of by views, whose rows are the lines.

    Attributes:
        source: the tensor that the views begin with.
        views: Transpose and Reshape nodes, in order.
        perm: the axes of the last view's output, as they follow each other in the source.
        lines: the shape of the source as lines.
    """

    source: str
    views: tuple[Node, ...]
    perm: tuple[int, ...]
    lines: tuple[int, ...]

    def turned(self, values: Tensor) -> Array:
        """A constant that broadcasts to the tensor, its axes in the source's order."""
        if values.data is None:
            raise ValueError(f"'{values.name}' is no constant")
        wide = values.data.reshape((1,) * (len(self.perm) - values.data.ndim) + values.data.shape)
        return np.ascontiguousarray(wide.transpose(self.perm))


def lines_behind_views(editor: GraphEditor, name: str, axes: tuple[int, ...]) -> Lines | None:
    """Where the elements along ``axes`` of a tensor lie side by side, before the views that it is made by.

    None where they lie in no tensor so, or where it is too large to be looked through.
    """
    tensor = editor.tensors[name]
    if tensor.elements > _MOST_ELEMENTS:
        return None
    kept = tuple(axis for axis in range(len(tensor.shape)) if axis not in axes)
    for views in _views(editor, name):
        places = _places(editor, views)
        for order in permutations(axes):
            perm = (*kept, *order)
            if np.array_equal(places.transpose(perm).reshape(-1), np.arange(places.size)):
                lines = (*(tensor.shape[axis] for axis in kept), prod(tensor.shape[axis] for axis in axes))
                return Lines(views[0].inputs[0], views, perm, lines)
    return None


def _views(editor: GraphEditor, name: str) -> Iterator[tuple[Node, ...]]:
    """The chains of views that end with a tensor, the shortest first."""
    views: tuple[Node, ...] = ()
    while len(views) < _MOST_VIEWS:
        node = editor.producer(views[0].inputs[0] if views else name)
        if node is None or node.operator not in ("Transpose", "Reshape") or node.epilogue is not None:
            return
        views = (node, *views)
        yield views


def _places(editor: GraphEditor, views: tuple[Node, ...]) -> Array:
    """Which element of the first view's input each element of the last view's output is."""
    shape = editor.tensors[views[0].inputs[0]].shape
    places = np.arange(prod(shape)).reshape(shape)
    for view in views:
        if isinstance(view.attributes, TransposeAttributes):
            places = places.transpose(view.attributes.perm)
        places = places.reshape(editor.tensors[view.outputs[0]].shape)
    return places
